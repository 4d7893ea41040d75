"""The documents of evidence that are made of its facts: a page of questions, and an entry for a registry.

An evaluation of a guarantee asks the questions. They follow the pyramid of NIST SP 800-226 (March 2025), in words of
ours. Its parts are the parameters and the privacy unit; algorithms, utility and bias; trust, access, side channels and
data collection.

The entry is a draft for the Differential Privacy Deployments Registry, with what a run knows of its deployment. Source
of its format: github.com/opendp/deployments-registry-data, schemas/deployments-schema.yaml. Entries there are YAML, and
JSON is that, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dpmine.itemsets.release.results import printable
from dpmine.privacy import Neighbors, rounded_up, short
from dpmine.reporting.evidence.facts import mechanism
from dpmine.reporting.page.charts import templates
from dpmine.reporting.page.render import odds_text
from dpmine.version import __version__

if TYPE_CHECKING:
    from dpmine.reporting.evidence.facts import Facts

OPEN = "To be completed before submission."
"""What no run knows: who publishes the results, where and what for, and who registers them."""
_STATISTICS = {"top-itemset", "histogram"}
_NEIGHBOURING = {
    Neighbors.REPLACE_ONE: "All data of one {} are replaced by those of another; the number of units is public.",
    Neighbors.ADD_REMOVE: "All data of one {} are added or removed; the number of units is private.",
}
_MODEL = "One party holds the data, runs dpmine on them and publishes the results."
_SECURITY = (
    "Sampling is exact: no floating-point number decides a selection. Rounding errors of released models are bounded "
    "and covered by the guarantee. Running time is not protected."
)


def registry_entry(facts: Facts) -> dict[str, object]:
    """The entry, JSON-ready, as a draft: see `OPEN`."""
    budget, title = facts.budget, facts.job_file.title
    return {
        "url_slug": re.sub(r"\W+", "-", f"{title} {facts.day[:4]}".lower()),
        "status": "Draft",
        "tier": 2,
        "deployment": {
            "basic": {
                "name": title,
                "data_curators": [facts.job_file.owner or OPEN],
                "description": "; ".join(f"{job.name} ({job.kind})" for job, _ in facts.released),
                "intended_use": OPEN,
                "data_product_type": _product(facts),
                "data_product_region": OPEN,
                "publication_date": facts.day,
            },
            "dp_variant": {"variant_name": "Approximate DP" if facts.together.delta else "Pure DP"},
            "privacy_loss": {
                "privacy_unit": facts.unit,
                "privacy_unit_details": _NEIGHBOURING[budget.neighbors].format(facts.unit),
                **_parameters(facts),
            },
            "deployment_model": {
                "model_name": "Central",
                "model_name_details": _MODEL,
                **_repeated(facts),
                **_period(facts.job_file.period),
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": "Lists, intervals and rules are computed from released values alone.",
                "composition": f"Sequential, by a ledger with {budget.accounting} accounting.",
            },
            "implementation": {
                "mechanisms": f"{', '.join(_mechanisms(facts))}; dpmine {__version__}. {_SECURITY}",
            },
            "administrative": {"registry_authors": [OPEN]},
        },
    }


def _period(period: str) -> dict[str, str]:
    """What the job file says of the time that the data are from."""
    return {"data_source_type_details": f"Data of {period}."} if period else {}


def _repeated(facts: Facts) -> dict[str, str]:
    """Whether more data and more releases follow."""
    schedule = facts.job_file.schedule
    if schedule is None:
        return {"release_type": "One release", "data_source_type": "Static"}
    return {
        "release_type": "Many releases",
        "release_type_details": (
            f"This is {facts.job_file.window} of up to {schedule.runs} windows, one for each {schedule.every}. The "
            "job file alone decides what a run of a window is charged at most."
        ),
        "data_source_type": "Dynamic",
    }


def _product(facts: Facts) -> str:
    learnt = any(job.kind not in _STATISTICS for job, _ in facts.released)
    return "Machine learning model" if learnt else "Summary statistics"


def _mechanisms(facts: Facts) -> list[str]:
    return sorted({mechanism(job, result) for job, result in facts.released})


def _parameters(facts: Facts) -> dict[str, object]:
    """The sums of ε and δ, which hold under any accounting, and what else was charged to the data."""
    together, spent = facts.together, facts.budget.guarantee
    return {
        "privacy_parameters": {"epsilon": rounded_up(together.epsilon), "delta": rounded_up(together.delta)},
        "privacy_parameters_details": (
            f"The sums of these results, by basic composition. All charges to the data set together: {spent.decimals}."
        ),
    }


def checklist(facts: Facts) -> str:
    """The page, in Markdown. A ticked box is answered by the run, an empty one is for a person to answer."""
    from jinja2 import PackageLoader

    budget, terms = facts.budget, facts.job_file.terms
    replaced, spent = budget.neighbors is Neighbors.REPLACE_ONE, budget.guarantee
    own = templates().overlay(loader=PackageLoader("dpmine.reporting.evidence"), finalize=_shown)
    page = own.get_template("checklist.md.j2").render(
        title=facts.job_file.title,
        owner=facts.job_file.owner,
        period=facts.job_file.period,
        dataset=terms.dataset,
        unit=facts.words.one,
        column=facts.unit,
        replaced=replaced,
        accounting=str(budget.accounting),
        together=facts.together.shown(budget.accounting, short),
        spent=spent.decimals,
        granted=budget.granted.decimals,
        entries=budget.entries,
        seal=budget.seal,
        odds=odds_text(spent.epsilon if replaced else 2 * spent.epsilon),
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
    asked_for = {"name": job.name, "kind": job.kind, "input": job.source, "rows": job.options.get("rows_per_unit")}
    if result is None:
        return {**asked_for, "mechanism": "", "guarantee": ""}
    return {**asked_for, "mechanism": mechanism(job, result), "guarantee": str(result.guarantee)}


def _shown(value: object) -> object:
    """What the page prints: texts on one line."""
    return printable(value) if type(value) is str else value
