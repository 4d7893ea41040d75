"""The folder of evidence: written as a whole beside the page, and checked later by anyone who has it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import sys
import time
from dataclasses import dataclass
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import TYPE_CHECKING

from dpmine.errors import BadData, BadParameter, UnreadableFile
from dpmine.io.atomic import no_guard, read_file, require_writable, unwritable
from dpmine.ledger.ledger import Ledger
from dpmine.markup import json_text, without_passwords
from dpmine.reporting.document import Document
from dpmine.reporting.evidence.facts import (
    JOBS,
    LEDGER,
    RESULTS,
    WINDOWS,
    altered,
    checklist,
    read_facts,
    read_jobs,
    reading,
    registry_entry,
    windows_text,
)
from dpmine.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpmine.io.atomic import Guard
    from dpmine.reporting.batch import Report
    from dpmine.reporting.evidence.facts import Facts
    from dpmine.reporting.history import Timeline
    from dpmine.reporting.jobs.file import JobFile
    from dpmine.reporting.store import ResultsFolder

MANIFEST, PAGE = "evidence.json", "report.html"
_FORMAT = "dpmine evidence"
_PACKAGE = Path(__file__).parents[2]
_PARAMETERS = re.compile(r"""://[^\s"']*\?""")


@dataclass(frozen=True, slots=True)
class Verified:
    """Evidence that holds; `str` says so in one line.

    Attributes:
        files: how many files the manifest lists.
        results: how many jobs have a result.
        entries: length of the ledger's excerpt.
        seal: of its last entry, to compare with `dpmine ledger show --format json`.
        fingerprint: SHA-256 of the manifest, to compare with what was noted when it was written.
        same_code: whether dpmine here is the code that wrote it.
    """

    files: int
    results: int
    entries: int
    seal: str
    fingerprint: str
    same_code: bool

    def __str__(self) -> str:
        code = "the same as here" if self.same_code else "another than here, so its hashes were not recomputed"
        return (
            f"Evidence holds: {self.files} files, {self.results} result{'s' * (self.results != 1)}, {self.entries} "
            "ledger entries. "
            f"Fingerprint {self.fingerprint}; last ledger seal {self.seal}; code: {code}."
        )


def require_possible(folder: Path, job_file: JobFile) -> None:
    """Check before the run that evidence can be written. Raises UnreadableFile; BadParameter for a secret in it."""
    text = job_file.source.decode()
    if without_passwords(text) != text or _PARAMETERS.search(text):
        raise BadParameter(
            "The job file has a URL with a password or parameters, which can be secret, and evidence holds a copy of "
            "the file: take them from the environment (PGPASSWORD) or a password file."
        )
    if os.path.lexists(folder):
        raise UnreadableFile(
            f"'{folder}' exists, and evidence is never written over: name a new folder (`evidence=…`)."
        )
    try:
        require_writable(folder, probe=b"")
    except OSError as error:
        raise _unwritable(folder, error) from None


def write_evidence(report: Report, store: ResultsFolder, page: bytes, folder: Path, *, guard: Guard = no_guard) -> str:
    """Write the evidence of a report into a new folder, as a whole or not at all; returns its fingerprint.

    Of recurring jobs it has the results of every window on the page.
    `guard` surrounds the time in which a temporary folder exists.
    Raises UnreadableFile; BadLedger where the ledger cannot be read any more.
    """
    terms = report.job_file.terms
    excerpt = Ledger(terms.ledger).excerpt(terms.dataset)
    temporary = folder.with_name(f".dpmine-{os.getpid()}-{time.monotonic_ns()}.tmp")
    with guard(temporary):
        try:
            _write(temporary, {JOBS: report.job_file.source, PAGE: page, LEDGER: _json(excerpt)})
            if report.timeline is not None:
                _write(temporary, {WINDOWS: _windows(report.job_file.window, report.timeline)})
            stored = map(store.find, read_jobs(temporary)[1])
            names = [name for each in stored if each for name in each.files]
            _write(temporary, {f"{RESULTS}/{name}": read_file(store.folder / name) for name in names})
            _write(temporary, _derived(read_facts(temporary)))
            manifest = _manifest(temporary)
            _write(temporary, {MANIFEST: manifest})
            temporary.rename(folder)
        except OSError as error:
            raise _unwritable(folder, error) from None
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return hashlib.sha256(manifest).hexdigest()


def _windows(of_page: str, timeline: Timeline) -> bytes:
    """Those with a result, and that of the page."""
    with_result = [each.window for each in timeline.windows if any(each.documents.values())]
    return windows_text(of_page, (window for window in with_result if window != of_page))


def verify_evidence(folder: Path) -> Verified:
    """Recompute all that the folder says of itself: hashes, seals, charges, and the documents made of them.

    Args:
        folder: the path of the evidence, as `dpmine report --evidence` wrote it.

    This finds accidents and careless changes. A folder that someone forged as a whole holds, too: only a fingerprint
    or a ledger's seal that was kept elsewhere shows that.
    Raises BadData with the file that is changed, missing or new; UnreadableFile where there is no such folder.
    """
    if not folder.is_dir():
        raise UnreadableFile(f"'{folder}' is no folder of evidence: name one that `evidence=…` wrote.")
    with reading(folder / MANIFEST):
        content = read_file(folder / MANIFEST)
        manifest = Document.parse(content)
        files = manifest.part("files")
        hashes = {name: files.text(name) for name in files.entries}
        unsealed = {name: value for name, value in manifest.entries.items() if name != "seal"}
        if manifest["format"] != _FORMAT or content != _sealed(unsealed):
            raise altered(folder / MANIFEST)
    _require_listed(folder, hashes)
    facts, same = read_facts(folder), _code().items() <= manifest.entries.items()
    if names := {f"{RESULTS}/{name}" for _, result in facts.released for name in result.files} ^ {
        name for name in hashes if name.startswith(f"{RESULTS}/")
    }:
        raise BadData(f"'{folder / min(names)}' is the result of no job of the job file: remove it.")
    for name, made in _derived(facts).items() if same else ():
        with reading(folder / name):
            if read_file(folder / name) != made:
                raise altered(folder / name)
    fingerprint = hashlib.sha256(content).hexdigest()
    return Verified(len(hashes), len(facts.released), facts.budget.entries, facts.budget.seal, fingerprint, same)


def _derived(facts: Facts) -> dict[str, bytes]:
    """The documents that are made of the sources, by name."""
    return {
        "guarantees.json": _json(facts.guarantees()),
        "checklist.md": checklist(facts).encode(),
        "registry.json": _json(registry_entry(facts)),
    }


def _manifest(folder: Path) -> bytes:
    """Versions and hashes: of the code, and of every file in the folder so far."""
    loaded = {name.partition(".")[0] for name in sys.modules}
    used = sorted({each for name, found in packages_distributions().items() if name in loaded for each in found})
    return _sealed(
        {
            "format": _FORMAT,
            "dpmine": __version__,
            "python": f"{platform.python_version()} ({platform.python_implementation()})",
            "system": f"{platform.system()} {platform.machine()}",
            "packages": {name: version(name) for name in used},
            **_code(),
            "files": {name: _hash(folder / name) for name in sorted(_names(folder))},
        }
    )


@cache
def _code() -> dict[str, object]:
    """SHA-256 of every file of the installed package, and of the compiled kernels that are loaded."""
    from dpmine.kernels import LIBRARY

    files = [path for path in _PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {
        "code": {path.relative_to(_PACKAGE).as_posix(): _hash(path) for path in sorted(files)},
        "kernels": _hash(Path(LIBRARY)),
    }


def _require_listed(folder: Path, hashes: Mapping[str, str]) -> None:
    names = _names(folder) - {MANIFEST}
    if missing := sorted(hashes.keys() - names):
        raise BadData(f"'{folder / missing[0]}' is missing: restore the folder.")
    if added := sorted(names - hashes.keys()):
        raise BadData(f"'{folder / added[0]}' is no part of the evidence: remove it.")
    for name, digest in hashes.items():
        with reading(folder / name):
            if _hash(folder / name) != digest:
                raise altered(folder / name)


def _names(folder: Path) -> set[str]:
    """Everything in the folder but the folder of the results, which has no name of its own."""
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    return names - {RESULTS}


def _hash(path: Path) -> str:
    return hashlib.sha256(read_file(path)).hexdigest()


def _sealed(manifest: Mapping[str, object]) -> bytes:
    seal = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    return _json({**manifest, "seal": seal})


def _json(document: object) -> bytes:
    return f"{json_text(document, indent=2)}\n".encode()


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


def _unwritable(folder: Path, error: OSError) -> UnreadableFile:
    return unwritable(folder, error, advice="name a new folder where there is room (`evidence=…`)")
