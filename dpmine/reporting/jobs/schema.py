"""The JSON Schema of job files, made of the table of options: editors complete and check a job file by it.

`dpmine report --schema` prints it. A run does not read it: the checks of `file` and of each kind say more, and know the
columns.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dpmine.markup import json_text
from dpmine.reporting.jobs.kinds import KINDS

if TYPE_CHECKING:
    from dpmine.options.option import Option
    from dpmine.reporting.jobs.job import Job

Schema: TypeAlias = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NUMBER: Schema = {"type": ["number", "string"]}
_TEXT: Schema = {"type": "string", "minLength": 1}
_ENTRIES = {"type": ["string", "number", "boolean"]}
_NESTED: dict[str | None, Schema] = {
    "CONDITIONS": {"type": "object", "additionalProperties": _TEXT, "minProperties": 2},
    "COUNTS": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}, "minProperties": 2},
    "LISTS": {"type": "array", "items": {"type": "array", "items": _ENTRIES, "minItems": 1}},
}
_RELATION = {"enum": ["replace-one", "add-remove", "replace_one", "add_remove"], "default": "replace-one"}
_BUDGET: dict[str, tuple[str, Schema]] = {
    "ledger": ("Where charges are recorded: sqlite:///budget.db or postgresql://….", _TEXT),
    "dataset": ("The data set's name in the ledger, or a part of it (shop/north).", _TEXT),
    "epsilon": ("The most ε that the file's jobs may charge together.", _NUMBER),
    "delta": ("The most δ that the file's jobs may charge together.", {**_NUMBER, "default": 0}),
    "neighbors": ("The neighbouring relation of every job.", _RELATION),
    "neighbours": ("The same as `neighbors`.", _RELATION),
    "unit": ("The privacy unit of every job.", _TEXT),
    "accounting": ("What is added up: ε and δ, or ρ.", {"enum": ["basic", "zcdp"]}),
    "unit_label": (
        "What the page calls the unit: a word, or its singular and plural.",
        {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2}]},
    ),
    "create": (
        "Whether a data set that the ledger does not know is granted this budget, in a new ledger if there is none.",
        {"enum": ["if-missing", "never", "if_missing"], "default": "if-missing"},
    ),
    "approximate_delta": ("With zcdp: the part of delta that jobs with a δ of their own may spend.", _NUMBER),
}
_NEEDED = ["ledger", "dataset", "epsilon"]
_SCHEDULE: dict[str, tuple[str, Schema]] = {
    "every": ("How long a window is.", {"enum": ["day", "week", "month"]}),
    "runs": ("Among how many windows the budget is divided.", {"type": "integer", "minimum": 1}),
    "column": ("The column of dates or timestamps that says which window a row is in.", _TEXT),
    "ready": (
        "What must be there before a window is run: newer-file, clock, or a path such as sales/week={window}.",
        _TEXT,
    ),
    "on_empty": (
        "What is done if the folder that ready names has no file.",
        {"enum": ["run", "stop"], "default": "run"},
    ),
    "start": ("The first window, such as 2026-W01.", _TEXT),
    "skip": (
        "Windows that are left out for good, such as a week of holidays.",
        {"type": "array", "items": _TEXT, "default": []},
    ),
    "missed": (
        "What is done about earlier windows that were never charged.",
        {"enum": ["catch_up", "skip", "catch-up"], "default": "catch_up"},
    ),
    "disjoint_units": (
        "Assert that no unit has rows in two windows: each may then use the whole budget.",
        {"type": "boolean", "default": False},
    ),
}

_RESULTS: dict[str, tuple[str, Schema]] = {
    "store": (
        "Where results are kept, beside the folder: in the ledger, for all of its machines, or nowhere else.",
        {"enum": ["ledger", "folder"], "default": "ledger"},
    ),
}


def job_file_schema() -> Schema:
    """The schema, in the dialect 2020-12, without references: it can be copied beside a job file.

    Example:
        >>> sorted(job_file_schema()["properties"])
        ['budget', 'inputs', 'job', 'owner', 'period', 'results', 'schedule', 'title']
    """
    paths = [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]
    about_data = {
        "owner": {"description": "The person or body that answers for the data.", **_TEXT},
        "period": {"description": "Which the data are from.", **_TEXT},
    }
    files = {"path": {"description": "A path, or a list of paths.", "anyOf": paths}, **about_data}
    described = _table("Files, and what the page says of them.", files, ["path"])
    budget = {name: {"description": text, **schema} for name, (text, schema) in _BUDGET.items()}
    schedule = {name: {"description": text, **schema} for name, (text, schema) in _SCHEDULE.items()}
    results = {name: {"description": text, **schema} for name, (text, schema) in _RESULTS.items()}
    jobs = [_job(job) for job in KINDS.values()]
    return {
        "$schema": DIALECT,
        "title": "dpmine job file",
        **_table(
            "Jobs on private data under one budget, for dpmine report.",
            {
                "title": {"description": "The page's title.", **_TEXT},
                **about_data,
                "budget": _table("The budget that all jobs are charged to.", budget, _NEEDED),
                "schedule": _table(
                    "Jobs that recur, for one window after another.", schedule, ["every", "runs", "column", "ready"]
                ),
                "results": _table("Results of jobs that recur.", results, []),
                "inputs": {
                    "description": "Names for files: a path, a list of paths, or a table that says more.",
                    "type": "object",
                    "additionalProperties": {"anyOf": [*paths, described]},
                },
                "job": {"description": "The jobs.", "type": "array", "minItems": 1, "items": {"oneOf": jobs}},
            },
            ["budget", "job"],
        ),
    }


def job_file_schema_text() -> str:
    """The schema as it is printed and shipped, without the end of its last line."""
    return json_text(job_file_schema(), indent=2)


def _table(description: str, properties: Schema, needed: list[str]) -> Schema:
    required = {"required": needed, "additionalProperties": False}
    return {"description": description, "type": "object", "properties": properties, **required}


def _job(job: type[Job]) -> Schema:
    """One kind of job; which options need or exclude each other is left to the run."""
    options = {**job.known, "neighbours": job.known["neighbors"]}
    needed = [name for name, option in options.items() if option.needed and option.only_with is None]
    head = {
        "kind": {"description": "What is asked for.", "const": job.kind},
        "name": {"description": "The heading on the page.", **_TEXT},
        "input": {"description": "A name of [inputs], or a path.", **_TEXT},
        "recurs": {
            "description": "With a [schedule]: false for a job that is run once, on all rows.",
            "type": "boolean",
            "default": True,
        },
    }
    of_options = {name: {"description": option.help, **_value(option)} for name, option in options.items()}
    table = _table(f"A job of the kind {job.kind}.", {**head, **of_options}, ["kind", *needed])
    return {**table, "anyOf": [{"required": ["input"]}, {"required": ["query"]}]}


def _value(option: Option) -> Schema:
    """What an option's value may be, and its default."""
    default = {} if option.default is None else {"default": _plain(option.default)}
    if option.choices:
        return {"enum": list(option.choices), **default}
    if option.metavar in _NESTED:
        return _NESTED[option.metavar]
    if option.kind in {bool, int}:
        return {"type": "boolean" if option.kind is bool else "integer", **default}
    if option.bare:
        return {"type": ["boolean", "array", "string"], "items": _ENTRIES}
    if option.has_list or option.kind is Path:
        return {"type": ["array", "string", "number"], "items": _ENTRIES, **default}
    return {**(_NUMBER if option.has_numbers else _TEXT), **default}


def _plain(default: object) -> object:
    """A number as a number: "1e-6" is easier to read without quotation marks."""
    try:
        return json.loads(default) if isinstance(default, str) else default
    except ValueError:
        return default
