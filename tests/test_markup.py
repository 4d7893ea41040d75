"""HTML for notebooks: whatever is given stays text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.cases import every

import dpmine
from dpmine.markup import MOST_ROWS, html_table, printable
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
