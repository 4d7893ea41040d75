"""The shipped JSON Schemas: sound, complete, as strict as they look, and the one of job files made of the table."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from reporting.jobs import AGES, ALL, PAIRS, WEIGHTS, Folder, job
from support.cases import every
from support.schemas import problems, schemas

import dpmine
from dpmine.reporting.jobs import file
from dpmine.reporting.jobs.kinds import KINDS
from dpmine.reporting.jobs.schema import job_file_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


@every("name", sorted(schemas()))
def test_schemas_are_sound(name: str) -> None:
    schema = schemas()[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"]


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every part of a schema that lists properties."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for part in schema.values():
            yield from objects(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects(part)


@every("name", sorted(schemas()))
def test_schemas_leave_no_key_unnamed(name: str) -> None:
    assert all(part["additionalProperties"] is False for part in objects(schemas()[name]))


@every("name", sorted(set(schemas()) - {"jobs"}))
def test_schemas_reject_other_documents(name: str) -> None:
    assert problems(name, {}) != []
    assert problems(name, {"format": "another", "more": 1}) != []


# ---------------------------------------------------------------------------------------------------------- job files


def test_keys_are_those_that_job_files_know() -> None:
    schema = job_file_schema()["properties"]
    assert set(schema["budget"]["properties"]) == {*file._OF_BUDGET, "neighbours"}
    kinds = {job["properties"]["kind"]["const"]: job["properties"] for job in schema["job"]["items"]["oneOf"]}
    assert kinds.keys() == KINDS.keys()
    for kind, properties in kinds.items():
        assert properties.keys() == KINDS[kind].known.keys() | {"kind", "name", "input", "recurs", "neighbours"}


def test_keys_of_the_top_level_are_those_that_job_files_know(tmp_path: Path) -> None:
    made = Folder(tmp_path)
    with pytest.raises(dpmine.BadParameter) as caught:
        made.read(job(**AGES), head="kanarienvogel = 1")
    keys = re.findall(r"\w+", str(caught.value).partition("the keys are")[2])
    assert sorted(job_file_schema()["properties"]) == keys


@every("key", [key for table in objects(job_file_schema()) for key in table["properties"].items()])
def test_every_key_is_described(key: tuple[str, dict[str, Any]]) -> None:
    assert key[1]["description"].endswith((".", ")")), key


@every("name", ALL)
def test_job_files_of_every_kind(name: str, tmp_path: Path) -> None:
    made = Folder(tmp_path)
    assert problems("jobs", tomllib.loads(made.write(job(**ALL[name])).read_text(encoding="utf-8"))) == []


EXAMPLES = [*ROOT.glob("examples/*.toml"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]


def job_files() -> list[str]:
    """The job files of the examples and of all pages."""
    texts = [path.read_text(encoding="utf-8") for path in EXAMPLES]
    blocks = [block for text in texts for block in re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]
    return [text for text in (*texts[: len(list(ROOT.glob("examples/*.toml")))], *blocks) if "[budget]" in text]


def test_the_job_files_of_examples_and_pages() -> None:
    found = job_files()
    assert len(found) >= 3
    for text in found:
        assert problems("jobs", tomllib.loads(text)) == [], text


WRONG: dict[str, dict[str, Any]] = {
    "an unknown key": AGES | {"bin": 4},
    "a key of another kind": PAIRS | {"column": "age"},
    "an unknown kind": AGES | {"kind": "histograms"},
    "a missing column": {key: value for key, value in AGES.items() if key != "column"},
    "no input": {key: value for key, value in AGES.items() if key != "input"},
    "a text for a truth value": PAIRS | {"rules": "yes"},
    "a text for a whole number": PAIRS | {"top": "ten"},
    "another choice": WEIGHTS | {"loss": "squared"},
    "a number for a column": AGES | {"column": 3},
    "a table for a number": AGES | {"units": {"a": 1}},
    "a table for a list": PAIRS | {"items": {"a": 1}},
}


@every("what", WRONG)
def test_mistakes_are_seen(what: str, tmp_path: Path) -> None:
    """As a run sees them, only earlier."""
    made = Folder(tmp_path)
    jobs = made.write(job(**WRONG[what]))
    assert problems("jobs", tomllib.loads(jobs.read_text(encoding="utf-8"))) != []
    with pytest.raises(dpmine.DpmineError):
        dpmine.report(jobs, tmp_path / "page.html", dry_run=True)


@every(("term", "value"), [("epsilon", None), ("dataset", None), ("ledger", "1"), ("accounting", '"rdp"')])
def test_mistakes_in_the_budget_are_seen(term: str, value: str | None, tmp_path: Path) -> None:
    terms: dict[str, Any] = {term: value}
    jobs = Folder(tmp_path).write(job(**AGES), **terms)
    assert problems("jobs", tomllib.loads(jobs.read_text(encoding="utf-8"))) != []


# ------------------------------------------------------------------------------------------------------------ results


def test_stored_results(tmp_path: Path) -> None:
    """Of every kind of job, and the model files beside them."""
    made = Folder(tmp_path)
    made.run(*(job(**options) for options in ALL.values()))
    documents = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("results/*.json")}
    assert len(documents) == 11
    for name, document in documents.items():
        found = "job_result"
        if name.endswith("-model.json"):
            found = "hypothesis" if name.startswith("rule") else "model"
        assert problems(found, document) == [], name


def test_densities_of_two_columns() -> None:
    density = dpmine.PrivateHistogram(bins=[2, 3], lower=[0, 0], upper=[1, 1], epsilon=5).fit([[0.1, 0.9]] * 300)
    assert problems("histogram", json.loads(density.result_.to_json())) == []
