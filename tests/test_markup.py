"""HTML for notebooks: whatever is given stays text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from support.cases import every

import dpmine
from dpmine.markup import MOST_ROWS, harmless, html_table, json_text, printable
from dpmine.planning.accounting import plan_noise, plan_runs
from dpmine.planning.lists import plan_list

if TYPE_CHECKING:
    from collections.abc import Callable

HOSTILE = "<script>alert('x')</script> & \"y\""


def test_cells_columns_and_remarks_are_escaped() -> None:
    html = html_table([HOSTILE], [[HOSTILE]], [HOSTILE])
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 3


def test_only_characters_that_a_terminal_would_obey_are_escaped() -> None:
    assert printable('Käse "Brie"\n\x1b[31m\u202e') == r'Käse "Brie"\n\u001b[31m\u202e'
    assert printable("שלום") == "שלום"


@every("indent", [None, 2])
def test_json_holds_nothing_that_a_terminal_would_obey(indent: int | None) -> None:
    """JSON itself escapes the first 32 characters alone."""
    document = {"Käse\x7f\x9b31m": ["\u202e", "\u2028", "\x1b[2J\n", "\U000e0041", "שלום"], "n": 1.5}
    text = json_text(document, indent=indent)
    assert json.loads(text) == document
    assert all(line.isprintable() for line in text.split("\n"))
    assert "Käse" in text
    assert text.isprintable() is (indent is None)


def test_lines_and_tabs_of_a_text_stay() -> None:
    assert harmless("a\tb\x9b\n\x1b[0m\n") == "a\tb\\u009b\n\\u001b[0m\n"


def test_no_table_without_rows_and_the_first_of_many() -> None:
    assert "<table" not in html_table(["a"], [], ["none"])
    html = html_table(["a"], [[str(place)] for place in range(MOST_ROWS + 1)], ["end"])
    assert html.count("<td>") == MOST_ROWS
    assert "… and 1 more<br>end" in html


PLANS: dict[str, Callable[[], Any]] = {
    "plan": lambda: dpmine.plan(size=1, units=100),
    "plan_list": lambda: plan_list(10),
    "plan_runs": lambda: plan_runs(52),
    "plan_noise": lambda: plan_noise(3),
}
"""Made in the test: every worker imports every module."""


@every("name", PLANS)
def test_plans_are_shown_as_their_text(name: str) -> None:
    plan = PLANS[name]()
    html = plan._repr_html_()
    assert html.startswith("<pre>")
    assert str(plan).splitlines()[-1] in html
