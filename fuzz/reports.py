"""Targets: job files, stored results of jobs and evidence, changed in their entries or in their bytes."""

from __future__ import annotations

import tempfile
import tomllib
from datetime import date
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import dpmine
from dpmine.privacy import Guarantee
from dpmine.reporting.evidence.folder import verify_evidence
from dpmine.reporting.jobs.file import read_job_file
from dpmine.reporting.jobs.job import Released
from dpmine.reporting.store import ResultsFolder
from fuzz.choices import Choices
from fuzz.models import changed
from fuzz.oracle import CANARY, ask, require

if TYPE_CHECKING:
    from dpmine.reporting.jobs.file import JobFile

_DAY = date(2030, 1, 2)
_EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "online_retail.toml"
_WORDS = (
    "nan", "-inf", "1e9999", "9" * 5000, "0x10", "2024-01-01", '"1/0"', '"1/3"', '""', '"\\u0000"', "'''a\nb'''",
    "[]", "[[[]]]", "[1, 'a']", "{}", "{a = 1}", "true", "-1", "0", "1", "0.5", '"histogram"', '"invoices"',
    "[" * 900 + "]" * 900,
)  # fmt: skip
"""Values that a key of a TOML file may get."""


def job_file(data: bytes) -> None:
    """Job files. What is read is the same a second time, and has a job for each entry."""
    choices = Choices(data)
    text = _changed_toml(choices)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "jobs.toml")
        path.write_bytes(text)
        found = ask(lambda: read_job_file(path))
        again = read_job_file(path)
    require(len(found.jobs) == len(tomllib.loads(text.decode())["job"]), "Entries and jobs differ in number.")
    require([job.content for job in found.jobs] == [job.content for job in again.jobs], "Two readings differ.")


def stored_result(data: bytes) -> None:
    """Stored results. What is found is what was stored: every change is noticed."""
    text, document = _stored()
    choices = Choices(data)
    with tempfile.TemporaryDirectory() as folder:
        store, job = ResultsFolder(Path(folder)), _example().jobs[0]
        store.write(job, _released(), _DAY)
        (path,) = store.folder.glob("*.json")
        path.write_text(changed(text, choices), encoding="utf-8", errors="replace")
        found = ask(lambda: store.find(job))
    require(found is not None and found.document == document, "A result that was not stored is found.")
    require(found is not None and found.guarantee == _released().guarantee, "Its guarantee is another one.")


def _changed_toml(choices: Choices) -> bytes:
    """The example with some values, lines or bytes changed; or only bytes."""
    raw = bytearray(_EXAMPLE.read_bytes())
    kind = choices.byte() % 4
    if kind == 0:
        return choices.rest()
    if kind == 1:
        for _ in range(choices.byte() % 4 + 1):
            place = choices.whole() % len(raw)
            raw[place : place + choices.byte() % 4] = choices.take(choices.byte() % 4)
        return bytes(raw)
    lines = raw.decode().splitlines()
    for _ in range(choices.byte() % 3 + 1):
        place = choices.whole() % len(lines)
        key, equals, _value = lines[place].partition(" = ")
        lines[place] = f"{key} = {choices.one(_WORDS)}" if equals and choices.byte() % 4 else choices.one(lines)
    return "\n".join(lines).encode()


@cache
def _example() -> JobFile:
    return read_job_file(_EXAMPLE)


def _released() -> Released:
    job = _example().jobs[0]
    guarantee = Guarantee(Fraction(1), Fraction(0), neighbors=_example().terms.neighbors, unit="CustomerID")
    return Released({"kind": job.kind, "itemsets": [{"items": ["a", "é"], "noisy_support": 3}]}, guarantee)


@cache
def _stored() -> tuple[str, dict[str, Any]]:
    """A stored result as it stands in its file, and what was released."""
    with tempfile.TemporaryDirectory() as folder:
        store = ResultsFolder(Path(folder))
        document = store.write(_example().jobs[0], _released(), _DAY).document
        (path,) = store.folder.glob("*.json")
        return path.read_text(encoding="utf-8"), document


def evidence(data: bytes) -> None:
    """Folders of evidence, some bytes of one file changed. Whatever is changed, they do not hold."""
    choices = Choices(data)
    with tempfile.TemporaryDirectory() as folder:
        for name, original in _evidence().items():
            Path(folder, name).parent.mkdir(exist_ok=True)
            Path(folder, name).write_bytes(original)
        path = Path(folder, choices.one(sorted(_evidence())))
        content = bytearray(before := path.read_bytes())
        place = choices.whole() % len(content)
        content[place : place + choices.byte() % 4] = choices.take(choices.byte() % 4)
        path.write_bytes(content)
        found = ask(lambda: verify_evidence(Path(folder)))
    require(bytes(content) == before, "Changed evidence holds.")
    require(found.results == 1, "A result is missing in it.")


@cache
def _evidence() -> dict[str, bytes]:
    """The files of evidence for one result."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [{"customer": f"{CANARY}{row}", "item": item} for row in range(40) for item in ("a", "b")]
        pq.write_table(pa.Table.from_pylist(rows), f"{folder}/rows.parquet")
        budget = f'[budget]\nledger = "sqlite:///{folder}/b.db"\ndataset = "shop"\nepsilon = 100\ndelta = 1e-3\n'
        job = f'[[job]]\nkind = "top-itemset"\ninput = "{folder}/rows.parquet"\nunit = "customer"\nepsilon = 100\n'
        Path(folder, "jobs.toml").write_text(budget + job, encoding="utf-8")
        dpmine.report(f"{folder}/jobs.toml", f"{folder}/page.html", evidence=f"{folder}/evidence")
        files = [path for path in Path(folder, "evidence").rglob("*") if path.is_file()]
        return {path.relative_to(f"{folder}/evidence").as_posix(): path.read_bytes() for path in files}
