from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from support.adversary import Descent, LazyUniverse
from support.cases import every
from support.mechanisms import APPROXIMATE, PURE
from support.oracles.mechanisms import softmax

import dpmine
from dpmine import BadParameter, Guarantee, Levels, Neighbors, NotPrivate, Selection, law, select
from dpmine.selection.recommend import MECHANISMS

if TYPE_CHECKING:
    from pathlib import Path

PUBLIC_CANDIDATES = "the candidates are taken as public"
TENTHS = [0.1, "0.1", "1/10", Decimal("0.1"), Fraction(1, 10), np.float64(0.1), "1e-1", " 0.1 "]
OPTIONS: dict[str, dict[str, Any]] = {"bounded_growth": {"max_items_per_unit": 3}}


@every(
    ("option", "value", "meaning"),
    [
        *(("epsilon", tenth, Fraction(1, 10)) for tenth in TENTHS),
        *(("epsilon", two, Fraction(2)) for two in (2, np.int64(2), np.uint8(2), 2.0)),
        *(("epsilon", third, Fraction(1, 3)) for third in ("1/3", Fraction(1, 3))),
        *(("delta", tiny, Fraction(1, 10**6)) for tiny in ("1/1000000", 1e-6, np.float64(1e-6), Decimal("0.000001"))),
    ],
)
def test_the_budget_is_read_exactly(option: str, value: Any, meaning: Fraction) -> None:
    charged = getattr(select([1, 2], mechanism="large_margin", **{option: value}).guarantee, option)
    assert (charged, type(charged)) == (meaning, Fraction)


@every(
    "parameters",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": float("inf")},
        {"epsilon": "one"},
        {"epsilon": None},
        {"epsilon": True},
        {"epsilon": np.float32(0.1)},
        {"epsilon": "1/0"},
        {"epsilon": [1]},
        {"epsilon": 1j},
        {"delta": 1},
        {"delta": -1e-6},
        {"delta": 2},
        {"delta": "nan"},
        {"sensitivity": 0},
        {"sensitivity": -1},
        {"sensitivity": float("inf")},
        {"neighbors": "both"},
        {"neighbors": None},
        {"mechanism": "guess"},
        {"mechanism": None},
        {"mechanism": ""},
        {"monotone": True},
        {"kbar": 10},
        {"mechanism": "limited_domain", "kbar": 0},
        {"mechanism": "limited_domain", "kbar": 1.5},
        {"mechanism": "limited_domain", "max_items_per_unit": 3},
        {"mechanism": "bounded_growth"},
        {"mechanism": "bounded_growth", "max_items_per_unit": True},
    ],
)
@every("call", [select, law])
def test_unusable_parameters(call: Any, parameters: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        call([1, 2], **parameters)


def test_unknown_options_are_named() -> None:
    with pytest.raises(BadParameter, match="seed"):
        select([1, 2], seed=1)


@pytest.mark.parametrize("name", PURE)
def test_pure_mechanisms_report_no_delta(name: str) -> None:
    for delta in (1e-6, 0, 0.5):
        assert select([1, 2], mechanism=name, delta=delta).guarantee.delta == 0


def test_without_a_delta_auto_takes_a_pure_mechanism() -> None:
    chosen = select({"a": 900, "b": 1}, delta=0)
    assert chosen.mechanism in PURE
    assert chosen.label == "a"
    assert chosen.guarantee.delta == 0
    with pytest.raises(BadParameter, match="leaves no mechanism without a public list"):
        select({"a": 900, "b": 1}, delta=0, candidates="unknown")


@every("name", APPROXIMATE)
def test_approximate_mechanisms_report_their_delta(name: str) -> None:
    assert select([1, 2], mechanism=name, delta="1e-9", **OPTIONS.get(name, {})).guarantee.delta == Fraction(1, 10**9)


@every("name", [name for name in MECHANISMS if "_" in name])
def test_names_with_dashes(name: str) -> None:
    assert select([1, 2], mechanism=name.replace("_", "-"), **OPTIONS.get(name, {})).mechanism == name


@pytest.mark.parametrize("relation", ["add-remove", "add_remove", Neighbors.ADD_REMOVE])
def test_neighbors_by_any_name(relation: Any) -> None:
    guarantee = select([1, 2], neighbors=relation, mechanism="large_margin").guarantee
    assert replace(guarantee, notes=()) == Guarantee(Fraction(1), Fraction(1, 10**6), Neighbors.ADD_REMOVE)


@pytest.mark.parametrize(
    ("scores", "given", "notes"),
    [
        ({"a": 9, "b": 1}, {}, ("asserted, not checked: moves each score by at most 1 (unit)", PUBLIC_CANDIDATES)),
        (
            {"a": 9, "b": 1},
            {"unit": "user"},
            ("asserted, not checked: moves each score by at most 1 (user)", PUBLIC_CANDIDATES),
        ),
        ({"a": 9, "b": 1}, {"candidates": "unknown"}, ("asserted, not checked: moves each score by at most 1 (unit)",)),
        (
            [0.5, 0.25],
            {"sensitivity": "0.5"},
            ("asserted, not checked: moves each score by at most 0.5 (unit)", PUBLIC_CANDIDATES),
        ),
    ],
)
def test_what_is_asserted_is_noted(scores: Any, given: dict[str, Any], notes: tuple[str, ...]) -> None:
    assert select(scores, **given).guarantee.notes == notes


def test_auto_needs_no_catalogue() -> None:
    universe = LazyUniverse({"a": 10**6, "b": 1}, least=0, descent=Descent.HALVE, padding=2**128)
    chosen = select(universe)
    assert (chosen.index, chosen.label) == ("a", "a")
    assert not MECHANISMS[chosen.mechanism].needs_catalogue


@pytest.mark.parametrize("name", [name for name, kind in MECHANISMS.items() if kind.needs_catalogue])
def test_a_catalogue_is_needed(name: str) -> None:
    universe = LazyUniverse({"a": 10**6}, least=0, descent=Descent.HALVE, padding=2**128)
    with pytest.raises(BadParameter, match="large_margin"):
        select(universe, mechanism=name)


def test_labels_of_a_mapping() -> None:
    chosen = select({"bread": 1, "milk": 10**6, "tea": 2})
    assert (chosen.index, chosen.label) == (None, "milk")
    shown = json.loads(json.dumps(chosen.to_dict()))
    assert (shown["index"], shown["label"], shown["chosen"]) == (None, "milk", True)


def test_index_of_levels_is_a_pair() -> None:
    chosen = select(Levels([(10**6, 3), (0, 10**30)]))
    assert chosen.index == chosen.label
    level, member = chosen.index
    assert (level, member in range(3)) == (0, True)
    assert chosen.to_dict()["index"] == [level, member]


@every(
    "scores",
    [[0, 10**6, 1], (0, 10**6, 1), np.array([0, 10**6, 1]), np.array([0.0, 1e6, 1.0]), [0, Fraction(10**6), 0.5]],
)
def test_index_of_arrays_is_a_position(scores: Any) -> None:
    chosen = select(scores)
    assert chosen.index == chosen.label == 1
    assert type(chosen.index) is int


def test_nothing_stands_out() -> None:
    nothing = select(Levels([(5, 1)], padding=2**128), mechanism="large_margin")
    assert (nothing.index, nothing.label) == (None, None)
    assert not nothing
    assert "nothing stands out" in str(nothing)
    assert "large_margin needs" in nothing.advice
    shown = json.loads(json.dumps(nothing.to_dict()))
    assert (shown["index"], shown["chosen"]) == (None, False)


@pytest.mark.parametrize("candidates", ["public", "unknown"])
def test_a_chosen_label_of_none_is_not_nothing(candidates: str) -> None:
    chosen = select({None: 10**6, "b": 1}, candidates=candidates)
    assert chosen.label is None
    assert chosen
    assert chosen.chosen
    assert "nothing" not in str(chosen)


@pytest.mark.parametrize("options", [{"candidates": "unknown"}, {"padding": 2**128}])
def test_of_groups_that_are_not_public_only_the_choice_itself_is_released(options: dict[str, Any]) -> None:
    universe = Levels([(0, 5), (10**6, 3)], padding=options.get("padding", 0))
    chosen = select(universe, candidates=options.get("candidates", "public"))
    assert chosen
    assert (chosen.index, chosen.label) == (None, None)
    assert str(chosen).startswith("something stands out")


def test_repeated_labels_of_a_public_list_are_rejected_before_the_charge(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/b.db"
    dpmine.Ledger(url).grant("shop", epsilon=9, delta="1e-5")
    repeated = pd.Series([5, 7, 1], index=["a", "a", "b"])
    for call in (select, law):
        with pytest.raises(BadParameter, match="one entry per label") as caught:
            call(repeated, mechanism="exponential", **({"ledger": url, "dataset": "shop"} if call is select else {}))
        assert "'a'" not in str(caught.value)
    assert dpmine.Ledger(url).budget("shop").spent.epsilon == 0


def test_repeated_labels_that_are_data_are_separate_candidates() -> None:
    """Neither an error, which one unit could cause, nor one entry in the place of another."""
    repeated = pd.Series([10**6, 3, 10**6], index=["a", "b", "a"])
    assert select(repeated, candidates="unknown").label == "a"
    options: dict[str, Any] = {"candidates": "unknown", "mechanism": "limited_domain"}
    assert law(repeated, **options).pmf == pytest.approx(law([10**6, 3, 10**6], **options).pmf)


@every("scores", [[], {}, np.array([]), pd.Series([], dtype=int)])
def test_an_empty_public_list_is_rejected_before_the_charge(scores: Any, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/b.db"
    dpmine.Ledger(url).grant("shop", epsilon=9, delta="1e-5")
    with pytest.raises(BadParameter, match="nothing to select from"):
        select(scores, mechanism="exponential", ledger=url, dataset="shop")
    assert dpmine.Ledger(url).budget("shop").spent.epsilon == 0
    assert not select(scores, candidates="unknown", ledger=url, dataset="shop")


def test_scores_are_never_shown() -> None:
    chosen = select([123_457, 987_654_321])
    assert not any(score in f"{chosen!r} {chosen} {chosen.to_dict()}" for score in ("123457", "987654321"))


def test_exact_needs_an_opt_in() -> None:
    with pytest.raises(NotPrivate, match="not_private"):
        select([1, 2], mechanism="exact")
    chosen = select([1, 2], mechanism="exact", not_private=True)
    assert chosen.index == 1
    assert not chosen.guarantee.private
    assert chosen.guarantee.notes
    assert chosen.guarantee.to_dict()["private"] is False
    assert "not private" in str(chosen)


@every("name", MECHANISMS)
def test_opting_in_does_not_make_others_less_private(name: str) -> None:
    if MECHANISMS[name].private:
        assert select([1, 2], mechanism=name, not_private=True, **OPTIONS.get(name, {})).guarantee.private


def test_errors_come_before_the_data_is_read() -> None:
    class Untouchable:
        def __array__(self) -> None:
            raise AssertionError

    with pytest.raises(BadParameter):
        select(Untouchable(), epsilon=-1)  # type: ignore[arg-type]


def test_errors_hold_no_scores() -> None:
    unusable: list[Any] = [[7654321, None], ["7654321x"], {"canary7654321": "7654321x"}, np.array(["7654321"])]
    for scores in unusable:
        with pytest.raises(BadParameter) as caught:
            select(scores)
        assert "7654321" not in str(caught.value)


def test_results_are_frozen() -> None:
    chosen = select([1, 2])
    with pytest.raises(AttributeError):
        chosen.index = 0  # type: ignore[misc]


def test_law_of_arrays_and_mappings() -> None:
    expected = softmax([3, 2, 2, 0], 0.05)
    forms: list[Any] = [[3, 2, 2, 0], {"a": 3, "b": 2, "c": 2, "d": 0}, np.array([3.0, 2.0, 2.0, 0.0])]
    for scores in forms:
        exact = law(scores, mechanism="exponential", epsilon=0.1)
        assert exact.pmf == pytest.approx(expected)
        assert exact.nothing == 0


def test_law_of_levels_is_by_level() -> None:
    exact = law(Levels([(3, 1), (2, 2), (0, 1)], padding=4), mechanism="exponential", epsilon=0.1)
    masses = softmax([3, 2, 2, *[0] * 5], 0.05)
    assert exact.pmf == pytest.approx([masses[0], 2 * masses[1], masses[3]])
    assert exact.nothing == pytest.approx(4 * masses[3])


def test_law_reads_the_sensitivity() -> None:
    one = law([3, 2, 0], mechanism="max-of-laplaces", epsilon=0.5)
    two = law([6, 4, 0], mechanism="max_of_laplaces", epsilon=0.5, sensitivity=2)
    assert one.pmf == pytest.approx(two.pmf)


@every("mechanism", PURE)
@every("start", [2**53, 2**62])
def test_only_gaps_matter_to_pure_mechanisms(mechanism: str, start: int) -> None:
    far = law([start + 3, start + 1, start], mechanism=mechanism, epsilon=2)
    near = law([3, 1, 0], mechanism=mechanism, epsilon=2)
    assert np.allclose(far.pmf, near.pmf, rtol=1e-12, atol=0)


@pytest.mark.parametrize("mechanism", ["large_margin", "limited_domain"])
def test_what_a_float_cannot_hold_is_refused_where_distance_from_0_matters(mechanism: str) -> None:
    with pytest.raises(BadParameter, match="below 2\\^53"):
        law([2**53 + 3, 2**53], mechanism=mechanism, epsilon=2)
    assert law([2**52 + 3, 2**52], mechanism=mechanism, epsilon=2).pmf[0] > 0


@every("name", MECHANISMS)
def test_laws_are_distributions(name: str) -> None:
    for scores in ([500, 490, 3, 3, 0], Levels([(700, 2), (1, 1000)], padding=2**128)):
        exact = law(scores, mechanism=name, not_private=not MECHANISMS[name].private, **OPTIONS.get(name, {}))
        assert (exact.pmf >= 0).all()
        assert exact.pmf.sum() + exact.nothing == pytest.approx(1, abs=1e-6)


def test_a_named_unit_is_an_assertion() -> None:
    """Nothing checks how far one customer moves the scores; without a name the guarantee speaks of units."""
    named = dpmine.select([9, 1], mechanism="exponential", sensitivity="1/2", unit="customer").guarantee
    assert str(named).endswith("per customer (asserted: moves each score by at most 0.5), neighbours replace-one")
    assert "asserted, not checked: moves each score by at most 0.5 (customer)" in named.notes
    assert dpmine.select([9, 1], mechanism="exponential").guarantee.assertion == ""


def test_a_selection_in_a_notebook() -> None:
    found = select({"<b>tea</b>": 9000, "milk": 1}, mechanism="exponential")
    assert (len(found), list(found), bool(found)) == (1, ["<b>tea</b>"], True)
    assert "<td>&#x27;&lt;b&gt;tea&lt;/b&gt;&#x27;</td>" in found._repr_html_()
    assert str(found.guarantee) in found._repr_html_()
    nothing = select({"tea": 1}, candidates="unknown", mechanism="large_margin")
    assert (len(nothing), list(nothing), bool(nothing)) == (0, [], False)
    assert "<td>" not in nothing._repr_html_()
    assert "Try `mechanism='limited_domain'`, which" in nothing.advice
    assert str(nothing).splitlines()[1] == nothing.advice == nothing.to_dict()["advice"]
    twice = select({"tea": 1}, candidates="unknown", mechanism="limited_domain")
    assert "Try `epsilon=2`, with which about 33 is enough. Another run" in twice.advice
    assert twice.advice.endswith("Another run adds to the charge: ε = 3 for both. Stopping is an answer, too.")


def test_a_hidden_choice_counts_and_is_iterated_without_a_label() -> None:
    hidden = Selection(None, None, True, "m", Guarantee(Fraction(1), Fraction(0), Neighbors.REPLACE_ONE))
    assert (len(hidden), list(hidden)) == (1, [None])
    assert "something stands out" in hidden._repr_html_()


def test_terms_are_kept_by_type() -> None:
    """True equals 1 and is no ε; a list is none either, and cannot be looked up."""
    for _ in range(2):
        assert select([5000, 1], epsilon=1, mechanism="exponential").guarantee.epsilon == 1
        impropers: list[Any] = [True, [1], {}]
        for improper in impropers:
            with pytest.raises(BadParameter):
                select([5000, 1], epsilon=improper, mechanism="exponential")
    assert str(select([5000, 1], epsilon=1, sensitivity=Fraction(1, 3)).guarantee) == str(
        select([5000, 1], epsilon=1, sensitivity="1/3").guarantee
    )
