"""A page of questions that an evaluation of a guarantee asks, with the values of a run.

The questions follow the pyramid of NIST SP 800-226 (March 2025), in words of ours. Its parts are the parameters and the
privacy unit; algorithms, utility and bias; trust, access, side channels and data collection.
"""

from __future__ import annotations

from functools import cache
from math import exp
from typing import TYPE_CHECKING, Any

from dpmine.itemsets.release.results import printable
from dpmine.privacy import Neighbors, short
from dpmine.reporting.evidence.facts import mechanism
from dpmine.version import __version__

if TYPE_CHECKING:
    from fractions import Fraction

    from jinja2 import Template

    from dpmine.reporting.evidence.facts import Facts

_MOST_SAID = 20  # ε beyond which the bound is 100 % to any digit


def checklist(facts: Facts) -> str:
    """The page, in Markdown. A ticked box is answered by the run, an empty one is for a person to answer."""
    budget, terms = facts.budget, facts.job_file.terms
    replaced = budget.neighbors is Neighbors.REPLACE_ONE
    spent = budget.guarantee
    granted = budget.granted
    page = _template().render(
        title=facts.job_file.title,
        owner=facts.job_file.owner,
        period=facts.job_file.period,
        dataset=terms.dataset,
        unit=facts.words.one,
        column=facts.unit,
        replaced=replaced,
        accounting=str(budget.accounting),
        together=facts.together.shown(budget.accounting, short),
        spent=f"ε = {short(spent.epsilon)}, δ = {short(spent.delta)}",
        granted=f"ε = {short(granted.epsilon)}, δ = {short(granted.delta)}",
        entries=budget.entries,
        seal=budget.seal,
        odds=_odds(spent.epsilon if replaced else 2 * spent.epsilon),
        jobs=[_job(facts, place) for place in range(len(facts.results))],
        asserted=facts.asserted,
        window=facts.job_file.window,
        schedule=facts.job_file.schedule,
        notes=sorted({note for _, result in facts.released for note in result.guarantee.notes}),
        version=__version__,
    )
    return page.replace("&#39;", "'").replace("&#34;", '"') + "\n"  # quotes are no markup


def _job(facts: Facts, place: int) -> dict[str, object]:
    job, result = facts.job_file.jobs[place], facts.results[place]
    said = {"name": job.name, "kind": job.kind, "input": job.source, "rows": job.options.get("rows_per_unit")}
    if result is None:
        return {**said, "mechanism": "", "guarantee": ""}
    return {**said, "mechanism": mechanism(job, result), "guarantee": str(result.guarantee)}


def _odds(epsilon: Fraction) -> str:
    """What a guess that is right with 50 % can become at most, rounded up to tenths of a per cent."""
    if epsilon > _MOST_SAID:
        return "100 %"
    return f"{-(-1000 // (1 + exp(-float(epsilon)))) / 10:g} %"


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("dpmine.reporting.evidence")
    options: dict[str, Any] = {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    return Environment(loader=loader, autoescape=True, finalize=_shown, **options).get_template("checklist.md.j2")


def _shown(value: object) -> object:
    """What the page prints: texts on one line."""
    return printable(value) if type(value) is str else value
