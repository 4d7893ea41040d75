"""The JSON Schemas, those shipped and that of job files, as tests use them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

import dpmine
from dpmine.reporting.jobs.schema import job_file_schema

FOLDER = Path(dpmine.__file__).parent / "schemas"


@cache
def schemas() -> dict[str, Any]:
    """Every schema by its name."""
    shipped = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.iterdir())}
    return {**shipped, "jobs": job_file_schema()}


@cache
def _registry() -> Registry[Any]:
    """Schemas refer to each other by the names of their files."""
    found = ((f"{name}.json", DRAFT202012.create_resource(schema)) for name, schema in schemas().items())
    made: Registry[Any] = Registry().with_resources(found)
    return made


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"{name}.json"}, registry=_registry())


def problems(name: str, document: Any) -> list[str]:
    """What is wrong with a document by the schema of that name; empty where nothing is."""
    errors = sorted(_validator(name).iter_errors(document), key=lambda error: error.json_path)
    return [f"{error.json_path}: {error.message}"[:500] for error in errors]
