"""The options of every command: those of jobs are the library's table, the others stand here."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from dpmine.options.names import MECHANISMS, typed_names
from dpmine.options.option import OF_SOURCE, Option
from dpmine.options.tables import OF_ATTRIBUTES
from dpmine.options.tables import OPTIONS as OF_JOBS


class Format(StrEnum):
    """How a result is written."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


_QUIET = Option("No messages on stderr but errors.", kind=bool, default=False, flags=("--quiet", "-q"))
_DEBUG = Option("Add code positions (never data) to an error.", kind=bool, default=False)
_RUN = {"quiet": _QUIET, "debug": _DEBUG}
_OUTPUT = {
    "output": Option("Write the result here, whole or not at all.", "FILE", kind=Path, flags=("--output", "-o")),
}
_FORMAT = Option("Default: text, or what the suffix of -o says.", kind=Format)
_RESULT = {"format": _FORMAT, **_OUTPUT, **_RUN}
_DOCUMENT = {"format": replace(_FORMAT, choices=(Format.TEXT.value, Format.JSON.value)), **_OUTPUT, **_RUN}

_TOP = OF_JOBS["top-itemset"]
_FREQUENT = OF_JOBS["frequent-itemsets"]
_PLAN = {
    "size": _TOP["size"],
    "catalogue_size": Option("Items in the public catalogue, or unknown.", "N|unknown", "unknown"),
    "units": Option("Public number of units, for shares.", "N", kind=int),
    "epsilon": _TOP["epsilon"],
    "delta": _TOP["delta"],
    "neighbors": _TOP["neighbors"],
    "gap": Option("Ask about this lead of the best over the second, in units.", "G", kind=int),
    "success": Option("Wanted probability of finding the best.", "P", "0.95"),
    "plot": Option("Draw success against lead, or with --runs ε against runs (.svg or .png).", "FILE", kind=Path),
    "top": Option("What each way to choose a list of K itemsets needs, and which one is the default.", "K", kind=int),
    "frequent": Option(
        "How many supports frequent-itemsets counts, and how exactly: with --min-support or --top.",
        kind=bool,
        default=False,
    ),
    "min_support": replace(_FREQUENT["min_support"], help="With --frequent: the least support that is listed."),
    "max_size": replace(_FREQUENT["max_size"], help="With --frequent: the most items of an itemset, up to 12."),
    "runs": Option("What N runs at --epsilon each come to, under basic and zcdp accounting.", "N", kind=int),
    "noise": Option(
        "How far M supports released together at --epsilon are from the true ones.", "M", kind=int, parameter="numbers"
    ),
    "learn": Option("Records to learn thresholds, intervals, stumps or separators.", "CLASS"),
    "accuracy": Option("With --learn: error allowed beyond the best rule's.", "A"),
    "failure": Option("With --learn: probability of missing it.", "P", "0.05"),
    "smoothness": Option("With --learn: how far data may be from the reference.", "K", "1"),
    "dimension": Option("With --learn: number of features.", "D", kind=int),
    "best_error": Option("With --learn: error of the best rule.", "B", "0"),
}
_AUDIT = {
    "mechanism": Option(
        f"Audit this one only: {typed_names(*(named.name for named in MECHANISMS if named.name != 'exact'))}.",
        "NAME",
    ),
    "epsilon": _TOP["epsilon"],
    "delta": _TOP["delta"],
    "thorough": Option("Search longer, and around the given ε and δ: minutes.", kind=bool, default=False),
    "lists": Option("Audit choices of the 2 and 3 best candidates in place of single ones.", kind=bool, default=False),
    "target": Option("Audit this function of yours instead: scores in, position out.", "MODULE:FUNCTION"),
    "claim": Option('With --target: what it claims, such as "epsilon=1,delta=1e-6" or "rho=0.5".', "CLAIM"),
    "neighbors": replace(_TOP["neighbors"], default=None, shown="with --target: replace-one"),
    "sensitivity": Option("With --target: the most that one unit moves a score.", "S", shown="1"),
    "seconds": Option("With --target: the time to take.", "S", shown="60"),
    "plot": Option("Draw claimed against measured privacy (.svg or .png).", "FILE", kind=Path),
}
_SUPPORTS = {
    "files": _TOP["files"],
    **OF_SOURCE,
    "min_support": Option("A count of units (100), or a share of them (0.01, 1.0, 2%).", "N|F", needed=True),
    **{name: _TOP[name] for name in ("item", "unit", "basket", "one_hot", *OF_ATTRIBUTES)},
    "size": replace(_TOP["size"], metavar="R|R1-R2|all"),
    "maximal": Option("List only itemsets of which no superset has --min-support.", kind=bool, default=False),
    "closed": Option("List only itemsets of which no superset has the same support.", kind=bool, default=False),
    "rules": Option(
        "Association rules, too, of itemsets of all sizes up to --size. CSV and Parquet then hold the rules.",
        kind=bool,
        default=False,
    ),
    "min_confidence": _TOP["min_confidence"],
    **{name: _TOP[name] for name in ("catalogue", "not_private", "memory", "engine")},
}
_CATALOGUE = {
    "files": _TOP["files"],
    **OF_SOURCE,
    **{
        name: _TOP[name]
        for name in ("item", "unit", "basket", "one_hot", *OF_ATTRIBUTES, "epsilon", "delta", "neighbors")
    },
    "max_items_per_unit": Option("How many of its items a unit may name.", "N", 50, int),
    **{name: _TOP[name] for name in ("ledger", "dataset", "memory", "engine")},
}
_MUST_EXIST = Option(
    "Make no ledger, and grant no budget: the ledger must know the data set.", kind=bool, default=False
)
_REPORT = {
    "jobs": Option("The job file: a budget, inputs and jobs.", "[JOBS.toml]", kind=Path),
    "output": Option(
        "The page, written whole or not at all.", "FILE.html", Path("report.html"), Path, flags=("--output", "-o")
    ),
    "results": Option(
        "Where results are kept; jobs found there are not charged again. Default: JOBS-results, beside the page.",
        "FOLDER",
        kind=Path,
    ),
    "retry": Option("Run failed jobs again, and charge them again.", kind=bool, default=False),
    "window": Option(
        "Of a job file with a [schedule]: the day, week or month to run, such as 2026-W47; each is charged once.",
        "W",
        shown="the last one that has ended",
    ),
    "dry_run": Option(
        "Check all but the values, and print what each job would be charged. Reads no value, charges nothing.",
        kind=bool,
        default=False,
    ),
    "format": Option(
        "What --dry-run prints. text: a line for each job, the sum, and what is left. json: the same as one object for "
        "programs, with files and exact numbers.",
        choices=(Format.TEXT.value, Format.JSON.value),
        shown="text",
    ),
    "ledger_must_exist": _MUST_EXIST,
    "evidence": Option("Write a new folder, too, for others to check the report by.", "FOLDER", kind=Path),
    "verify_evidence": Option("Check such a folder; run nothing.", "FOLDER", kind=Path),
    "schema": Option("Print the JSON Schema of job files, for editors.", kind=bool, default=False),
}
_LEDGER = {"ledger": Option("sqlite:///budget.db or postgresql://user@host/database.", "URL")}
_DATASET = {"dataset": Option("Name of the data set.", "NAME")}
_GRANT = {
    "epsilon": Option("Total privacy loss, read exactly.", "E"),
    "delta": Option("Total δ of all guarantees, read exactly.", "D", shown="as granted before, or 0"),
    "neighbors": _TOP["neighbors"],
    "unit": Option("The privacy unit; otherwise the first charge fixes it.", "NAME"),
    "parts": Option(
        "How parts (charged as NAME/PART) come about: from a unit's own data, or by number.",
        default="none",
        choices=("none", "by-unit", "by-index"),
    ),
    "accounting": Option(
        "Add up ε and δ (basic), or ρ (zcdp), under which many small runs use less. The first charge fixes it.",
        choices=("basic", "zcdp"),
        shown="as granted before, or basic",
    ),
    "approximate_delta": Option(
        "With zcdp: the part of --delta that runs with a δ of their own may spend.", "D", shown="half of --delta"
    ),
    "ledger_must_exist": replace(_MUST_EXIST, help="Make no ledger: there must be one.", parameter="must_exist"),
}
_EXPORT = {
    "format": Option(
        "All that the ledger holds, or its charges as events of dp-accounting.",
        default="json",
        choices=("json", "dp-event"),
        parameter="form",
    )
}
_DRY_RUN = {
    "dry_run": Option(
        "Check all but the values, and print the charge and what it would leave. Reads no value, charges nothing.",
        kind=bool,
        default=False,
    )
}

OF_COMMANDS = {*_RESULT, *_DRY_RUN, "files"}
"""The options that a command line has beyond those of the call of the library."""
_DRY_RUN_OF_SUPPORTS = replace(
    _DRY_RUN["dry_run"], help="Check all but the values, and say how the columns are understood. Reads no value."
)


def typed(option: Option) -> str:
    """An option as it is typed, with a value that works or, where there is none, what stands for one in the help."""
    default = option.default
    value = (option.metavar or "|".join(option.choices)) if default is None or isinstance(default, bool) else default
    return f"{option.flags[0]} {value}"


def _spelled(table: dict[str, Option]) -> dict[str, Option]:
    """The options with their flags; arguments, which stand by their place, are never spelled so."""
    return {
        name: replace(option, flags=option.flags or (f"--{name.replace('_', '-')}",)) for name, option in table.items()
    }


_TABLES = {
    **{name: {**table, **_DRY_RUN, **_RESULT} for name, table in OF_JOBS.items()},
    "catalogue": {**_CATALOGUE, **_DRY_RUN, **_RESULT},
    "supports": {**_SUPPORTS, "dry_run": _DRY_RUN_OF_SUPPORTS, **_RESULT},
    "audit": {**_AUDIT, **_DOCUMENT},
    "plan": {**_PLAN, **_DOCUMENT},
    "report": {**_REPORT, **_RUN},
    "doctor": {"ledger": replace(_LEDGER["ledger"], help="Look whether this ledger can be read, too."), **_DOCUMENT},
    "grant": {**_LEDGER, **_DATASET, **_GRANT, **_RESULT},
    "show": {**_LEDGER, **_DATASET, **_RESULT},
    "history": {**_LEDGER, **_DATASET, **_RESULT},
    "verify": {**_LEDGER, **_RESULT},
    "export": {**_LEDGER, **_EXPORT, **_OUTPUT, **_RUN},
}
OPTIONS = {name: _spelled(table) for name, table in _TABLES.items()}
"""By the name of the command, in the order in which `--help` lists them."""
FLAGS = {option.parameter or name: option.flags[0] for table in OPTIONS.values() for name, option in table.items()} | {
    "feature_bounds": "--lower, --upper"
}
"""By the names that the library's messages use."""
OTHERWISE = {("catalogue", "'from-data'"): "--catalogue-from-data"}
"""The flags of values that have one of their own."""
