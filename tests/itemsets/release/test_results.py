"""The forms that a result is passed on in."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from support.cases import every

import dpmine
from dpmine.errors import BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.itemsets.release.noise import DiscreteLaplace
from dpmine.itemsets.release.results import TopItemsets, listed_items
from dpmine.itemsets.release.rules import rules_table
from dpmine.itemsets.release.supports import LARGEST_SUPPORT, Consistency, SupportRelease, release, with_subsets
from dpmine.privacy import Guarantee, Neighbors, decimal

if TYPE_CHECKING:
    from pathlib import Path

GUARANTEE = Guarantee(Fraction(1, 3), Fraction(1, 10**6), Neighbors.REPLACE_ONE, unit="customer")


def result(*itemsets: Any, guarantee: Guarantee = GUARANTEE, advice: str = "") -> TopItemsets:
    return TopItemsets(tuple(map(frozenset, itemsets)), (2, 3), "auto", "large_margin", guarantee, advice)


TEXTS = result(("milk", "beer", "Ähre"))
INTEGERS = result((10, 9, 2**40))
NOTHING = result(advice="large_margin needs a lead of about 450.")


def test_first_itemset() -> None:
    assert TEXTS.itemset == frozenset({"milk", "beer", "Ähre"})
    assert NOTHING.itemset is None
    assert result((1, 2), (3, 4)).itemset == frozenset({1, 2})
    assert TEXTS.noisy_supports is None


def test_a_result_without_itemsets_is_false_and_others_are_read_in_order() -> None:
    two = result((1, 2), (3, 4))
    assert (bool(NOTHING), len(NOTHING), list(NOTHING)) == (False, 0, [])
    assert (bool(two), len(two), list(two)) == (True, 2, [frozenset({1, 2}), frozenset({3, 4})])


def test_dictionary_has_the_keys_of_the_contract() -> None:
    document = TEXTS.to_dict()
    assert list(document) == ["itemsets", "sizes", "requested", "mechanism", "guarantee", "remarks", "dpmine"]
    assert document["itemsets"] == [{"items": ["beer", "milk", "Ähre"], "noisy_support": None, "interval": None}]
    assert document["sizes"] == [2, 3]
    assert document["dpmine"] == dpmine.__version__
    guarantee = ["epsilon", "delta", "epsilon_exact", "delta_exact", "neighbors", "unit", "private"]
    assert list(document["guarantee"]) == [*guarantee, "rho", "rho_exact", "approximate_delta_exact", "notes"]
    assert document["guarantee"]["epsilon_exact"] == "1/3"
    assert document["guarantee"]["neighbors"] == "replace_one"


@every("value", [TEXTS, INTEGERS, NOTHING, result((1, 2), (3, 4))])
def test_json_is_one_line_and_says_the_same(value: TopItemsets) -> None:
    text = value.to_json()
    assert "\n" not in text
    assert json.loads(text) == value.to_dict()


def test_json_keeps_letters_and_integers() -> None:
    assert "Ähre" in TEXTS.to_json()
    assert '"items": [9, 10, 1099511627776]' in INTEGERS.to_json()


@pytest.mark.parametrize(
    ("value", "kind", "rows"),
    [
        (TEXTS, pa.string(), [["beer", "milk", "Ähre"]]),
        (INTEGERS, pa.int64(), [[9, 10, 2**40]]),
        (NOTHING, pa.string(), []),
    ],
)
def test_arrow_has_a_list_column(value: TopItemsets, kind: Any, rows: list[Any]) -> None:
    table = value.to_arrow()
    assert table.schema.names == ["items", "noisy_support", "interval"]
    assert table.schema.field("items").type == pa.list_(kind)
    assert table.schema.field("noisy_support").type == pa.int64()
    assert table["items"].to_pylist() == rows
    assert table["noisy_support"].null_count == len(rows)
    assert json.loads(table.schema.metadata[b"dpmine"]) == value.to_dict()


def test_rules_in_arrow_are_those_of_the_frame() -> None:
    """Of no rule, too; and items are of one type on both sides."""
    table, frame = WITH_RULES.rules_to_arrow(), WITH_RULES.rules()
    assert table.schema.names == list(frame.columns)
    assert table.drop_columns(["antecedents", "consequents"]).to_pylist() == frame.iloc[:, 2:].to_dict("records")
    for side in ("antecedents", "consequents"):
        assert table[side].to_pylist() == [sorted(items) for items in frame[side]]
    assert json.loads(table.schema.metadata[b"dpmine"]) == WITH_RULES.to_dict()
    none = rules_table(frame[:0], "")
    assert none.schema.equals(table.schema)
    for consequent, kind, types in (("a", "", pa.string()), (2, "uint64", pa.uint64())):
        items: dict[str, list[Any]] = {"antecedents": [frozenset([1])], "consequents": [frozenset([consequent])]}
        schema = rules_table(pd.DataFrame(items), kind).schema
        assert schema.types == [pa.list_(types)] * 2


@pytest.mark.parametrize("value", [TEXTS, INTEGERS, NOTHING])
def test_pandas_has_no_column_of_unknown_shares(value: TopItemsets) -> None:
    frame = value.to_pandas()
    assert list(frame.columns) == ["noisy_support", "itemsets"]  # a share needs a number of units
    assert frame["noisy_support"].dtype == pd.Int64Dtype()
    assert frame["noisy_support"].isna().all()
    assert tuple(frame["itemsets"]) == value.itemsets
    assert frame["itemsets"].dtype == object


def test_text_shows_itemsets_and_guarantee() -> None:
    assert (
        str(TEXTS) == "beer, milk, Ähre\n(large_margin; ε = 0.333334, δ = 1e-06 per customer, neighbours replace-one)"
    )
    assert str(result((1, 2), (3, 4))).splitlines()[:2] == ["1, 2", "3, 4"]


def test_text_of_nothing_says_what_was_needed() -> None:
    first, second, last = str(NOTHING).splitlines()
    assert first == "Nothing stands out."
    assert second == NOTHING.advice
    assert "1e-06" in last


def test_lack_of_privacy_is_said_in_every_form() -> None:
    open_result = result((1, 2), guarantee=GUARANTEE.without_privacy("it was asked for"))
    assert "not private: it was asked for" in str(open_result)
    assert open_result.to_dict()["guarantee"]["private"] is False
    assert open_result.to_dict()["guarantee"]["notes"] == ["it was asked for"]


def test_results_are_values() -> None:
    assert result((1, 2)) == result((2, 1))
    with pytest.raises(dataclasses.FrozenInstanceError):
        TEXTS.mechanism = "another"  # type: ignore[misc]


def supported(supports: dict[str, int], *chosen: str, rules: bool = False, units: int | None = None) -> TopItemsets:
    """Itemsets of letters with supports that are as good as exact."""
    itemsets = tuple(map(frozenset, chosen))
    listed = with_subsets(itemsets) if rules else itemsets
    values = [supports["".join(sorted(itemset))] for itemset in listed]
    kind = Consistency.MONOTONE if rules else Consistency.AS_DRAWN
    found = release(listed, values, noise=DiscreteLaplace(Fraction(10**6)), consistency=kind, bits=SystemBits())
    return TopItemsets(itemsets, (2, 2), "auto", "exponential", GUARANTEE, supports=found, units=units)


SUPPORTS = {"a": 9, "b": 8, "c": 6, "ab": 7, "bc": 5}
AS_DRAWN = supported(SUPPORTS, "bc", "ab")
IN_SHARES = supported(SUPPORTS, "bc", "ab", units=20)
WITH_RULES = supported(SUPPORTS, "bc", "ab", rules=True, units=20)
ALL = [AS_DRAWN, IN_SHARES, WITH_RULES]


@pytest.mark.parametrize("value", ALL)
def test_every_form_says_the_same_of_supports(value: TopItemsets) -> None:
    assert value.itemsets == (frozenset("bc"), frozenset("ab"))
    assert (value.noisy_supports, value.intervals) == ((5, 7), ((5, 5), (7, 7)))
    rows = value.to_dict()["itemsets"]
    assert [row["noisy_support"] for row in rows] == [5, 7]
    assert [row["interval"] for row in rows] == [[5, 5], [7, 7]]
    table = value.to_arrow()
    assert table["noisy_support"].to_pylist() == [5, 7]
    assert table["interval"].type == pa.list_(pa.int64())
    assert table.to_pylist() == rows
    assert json.loads(table.schema.metadata[b"dpmine"]) == json.loads(value.to_json()) == value.to_dict()
    frame = value.to_pandas()
    assert frame["noisy_support"].tolist()[:2] == [5, 7]
    assert frame["noisy_support"].dtype == pd.Int64Dtype()
    shares = [row.get("support") for row in rows]
    assert shares == ([None, None] if value.units is None else [0.25, 0.35])
    assert ("support" in frame) is (value.units is not None)
    if value.units is not None:
        assert frame["support"].dtype == "float64"
        assert frame["support"].tolist()[:2] == shares


def test_subsets_follow_where_rules_were_asked_for() -> None:
    assert [row["items"] for row in WITH_RULES.to_dict()["subsets"]] == [["a"], ["b"], ["c"]]
    assert WITH_RULES.to_pandas()["itemsets"].tolist() == [*map(frozenset, ["bc", "ab", "a", "b", "c"])]
    assert WITH_RULES.to_pandas()["support"].tolist() == [0.25, 0.35, 0.45, 0.4, 0.3]
    assert len(WITH_RULES.to_arrow()) == len(str(WITH_RULES).splitlines()) - 2 == 2
    assert "(with probability 95% or more, all intervals together hold the true supports)" in str(WITH_RULES)
    for value in (AS_DRAWN, IN_SHARES):
        assert "subsets" not in value.to_dict()
        with pytest.raises(BadParameter, match="rules=True"):
            value.rules()


def test_rules_of_a_result() -> None:
    rules = WITH_RULES.rules(Fraction(7, 9))
    sides = ("".join(*side) for column in ("antecedents", "consequents") for side in rules[[column]].to_numpy())
    assert list(sides) == ["b", "c", "a", "a", "b", "b"]
    assert rules["confidence"].tolist() == [7 / 8, 5 / 6, 7 / 9]
    assert len(WITH_RULES.rules("7/9")) == len(WITH_RULES.rules(0.7)) == 3
    assert len(WITH_RULES.rules()) == 4


def test_text_with_supports_and_shares() -> None:
    assert str(AS_DRAWN).splitlines()[:2] == ["b, c: about 5 (5 to 5)", "a, b: about 7 (7 to 7)"]
    assert str(IN_SHARES).splitlines()[:2] == [
        "b, c: about 5 (5 to 5), 25.000% of all",
        "a, b: about 7 (7 to 7), 35.000% of all",
    ]


@every("units", [1, 7, 10**18, 10**400])
def test_noise_beyond_the_units(units: int) -> None:
    """Noisy supports may be above the number of units: no share is, and the text says so."""
    itemsets = (frozenset("ab"), frozenset("cd"))
    extremes = LARGEST_SUPPORT, -LARGEST_SUPPORT
    ends = ((LARGEST_SUPPORT - 9, LARGEST_SUPPORT), (0, 0))
    drawn = SupportRelease(itemsets, extremes, ends, DiscreteLaplace(Fraction(1)), Consistency.AS_DRAWN)
    value = TopItemsets(itemsets, (2, 2), "auto", "exponential", GUARANTEE, supports=drawn, units=units)
    assert value.to_pandas()["noisy_support"].tolist() == list(extremes)
    assert value.to_arrow()["noisy_support"].to_pylist() == list(extremes)
    assert value.to_pandas()["support"].tolist() == [min(1, extreme / units) for extreme in extremes]
    assert json.loads(value.to_json()) == value.to_dict()
    assert ("shares end at 100 %" in str(value)) == (units < LARGEST_SUPPORT)


NAMES = ["new\nline", "\x1b[31m", "\u202eleft", "\u2028", "\x85", 'quo"te', "com, ma", "שלום", "", "\x00"]


@every("name", NAMES)
def test_hostile_names(name: str) -> None:
    value = result((name, "bread"))
    assert len(str(value).split("\n")) == 2
    assert all(character.isprintable() or character == "\n" for character in str(value))
    assert json.loads(value.to_json())["itemsets"][0]["items"] == sorted([name, "bread"])
    assert value.to_arrow()["items"].to_pylist() == [sorted([name, "bread"])]


@every("k", [1, 4])
@every("released", ["auto", "1/3"])
def test_the_budget_is_told(released: str, k: int) -> None:
    options: dict[str, Any] = {"catalogue": list("abcde"), "mechanism": "exponential", "delta": 0}
    value = dpmine.top_itemsets([["a", "b"]], k, epsilon=2, release_support=released, **options)
    document = json.loads(value.to_json())
    parts = document["budget"]["selection"], document["budget"]["supports"]
    assert sum(Fraction(part["epsilon_exact"]) for part in parts) == Fraction(document["guarantee"]["epsilon_exact"])
    shown = [decimal(Fraction(part["epsilon_exact"])) for part in parts]
    assert str(value).splitlines()[-1].startswith(f"(selection ε = {shown[0]}, δ = 0 ({k} round")
    assert str(value).endswith(f"; supports ε = {shown[1]}, δ = 0)")


class Shown(HTMLParser):
    """The tags and the texts of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.attributes: list[Any] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


HARMLESS = {"div", "table", "thead", "tbody", "tr", "th", "td", "p", "br"}


@every("value", [TEXTS, NOTHING, *ALL, result((1, 2), advice="It needs more.")])
def test_notebooks_show_what_the_text_says_and_nothing_more(value: TopItemsets) -> None:
    shown = Shown(value._repr_html_())
    assert set(shown.tags) <= HARMLESS
    assert shown.attributes == []
    facts = [text for text in shown.texts if text not in {"itemset", "noisy support", "interval", "share"}]
    assert facts
    assert all(fact in str(value) for fact in facts)
    assert all(line in facts for line in str(value).splitlines()[len(value) :])
    assert shown.tags.count("tr") == (len(value) + 1 if value else 0)


@every("name", [*NAMES, "<script>alert(1)</script>", "</td><img src=x onerror=y>", "&amp;", "' onload='"])
def test_notebooks_show_hostile_names_as_text(name: str) -> None:
    shown = Shown(result((name, "bread"))._repr_html_())
    assert set(shown.tags) <= HARMLESS
    assert shown.attributes == []
    assert any(text.startswith("bread, ") or text.endswith(", bread") for text in shown.texts)


def test_long_tables_are_cut_in_notebooks() -> None:
    shown = Shown(result(*((place, place + 1) for place in range(60)))._repr_html_())
    assert shown.tags.count("tr") == 51
    assert "… and 10 more" in shown.texts


def test_a_picture_of_supports_and_of_ranks() -> None:
    axes: Any = AS_DRAWN.plot()
    assert [bar.get_width() for bar in axes.patches] == [5, 7]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b, c", "a, b"]
    assert "customer" in axes.get_title()
    ranks: Any = result((1, 2), (3, 4)).plot()
    assert ranks.lines[0].get_xdata().tolist() == [1, 2]
    assert ranks.patches == [] or not list(ranks.patches)
    assert AS_DRAWN.plot(ranks) is ranks


@every("value", [NOTHING, result(("$x^{", "a_b$")), result(("x" * 500, "y")), WITH_RULES])
def test_any_result_can_be_drawn(value: TopItemsets) -> None:
    buffer = BytesIO()
    axes: Any = value.plot()
    axes.figure.savefig(buffer, format="svg")
    assert b"</svg>" in buffer.getvalue()


@every("value", [TEXTS, INTEGERS, NOTHING, result((1, "a")), result((2**64 - 1, 3)), *ALL])
def test_frames_of_lists_can_be_written(value: TopItemsets, tmp_path: Path) -> None:
    value = replace(value, item_type="uint64") if value.itemset == frozenset({2**64 - 1, 3}) else value
    frame = value.to_pandas(items="list")
    listed = [list(items) for items in frame["itemsets"]]
    assert listed == [row["items"] for row in value.to_arrow().to_pylist()] + listed[len(value) :]
    assert len(listed) == len(value.to_pandas())
    frame.to_parquet(tmp_path / "frame.parquet")
    read = pd.read_parquet(tmp_path / "frame.parquet")
    assert [list(items) for items in read["itemsets"]] == listed


@every("items", [None, "set", "", 7, []])
def test_other_forms_of_items(items: Any) -> None:
    with pytest.raises(BadParameter, match="items"):
        TEXTS.to_pandas(items=items)


def test_advice_is_in_json() -> None:
    assert NOTHING.to_dict()["advice"] == NOTHING.advice
    assert "advice" not in TEXTS.to_dict()


@every(
    ("items", "line"),
    [
        (["tea", "milk"], "tea, milk"),
        (["tea", "milk, whole"], 'tea, "milk, whole"'),
        (["tea, milk"], '"tea, milk"'),
        (['the "best" tea'], '"the \\"best\\" tea"'),
        (["tea -> milk", "a: about 3"], '"tea -> milk", "a: about 3"'),
        ([" tea", ""], '" tea", ""'),
        (["crème, brûlée", "two\nlines, at least"], '"crème, brûlée", "two\\nlines, at least"'),
        (["two\nlines", 7], "two\\nlines, 7"),
    ],
)
def test_items_with_commas_are_quoted(items: list[Any], line: str) -> None:
    """Read as the fields of CSV or JSON, the line has as many items as the itemset."""
    assert listed_items(items) == line
