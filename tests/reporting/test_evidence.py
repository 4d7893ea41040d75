"""Evidence: what is in the folder, that it holds, and that no byte of it can change unseen."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from reporting.jobs import AGES, HOSTILE, PAIRS, RULE, Folder, fail, job
from support.cases import every
from support.schemas import problems

import dpmine
from dpmine.reporting.evidence import folder as evidence_folder
from dpmine.reporting.evidence.facts import OPEN
from dpmine.reporting.evidence.folder import verify_evidence
from dpmine.reporting.jobs.tables import HistogramJob

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MADE = {"jobs.toml", "report.html", "ledger.json", "guarantees.json", "checklist.md", "registry.json", "evidence.json"}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of evidence for itemsets with rules, a density and a rule, which is a model."""
    made = Folder(tmp_path_factory.mktemp("sound"))
    return evidence_of(made, job(**PAIRS), job(**AGES), job(**RULE), head="# 100 % “bytes”\r\n").parent


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound / "evidence", tmp_path / "evidence")


def evidence_of(made: Folder, *jobs: str, head: str = "", **terms: str) -> Path:
    """A folder of evidence beside the data."""
    evidence = made.path / "evidence"
    dpmine.report(made.write(*jobs, head=head, **terms), made.path / "page.html", evidence=evidence)
    return evidence


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def refused(folder: Path) -> str:
    with pytest.raises(dpmine.BadData) as caught:
        verify_evidence(folder)
    message = str(caught.value)
    assert message.isprintable()
    return message


def test_what_is_in_the_folder(sound: Path) -> None:
    evidence = sound / "evidence"
    results = {f"results/{path.name}" for path in (sound / "jobs-results").iterdir() if path.suffix != ".lock"}
    assert set(files(evidence)) == MADE | results
    for name in results:
        assert (evidence / name).read_bytes() == (sound / "jobs-results" / name.removeprefix("results/")).read_bytes()
    assert (evidence / "jobs.toml").read_bytes() == (sound / "jobs.toml").read_bytes()
    assert (evidence / "report.html").read_bytes() == (sound / "page.html").read_bytes()


def test_it_holds_on_any_machine(copy: Path, sound: Path) -> None:
    """Neither data nor ledger are needed."""
    found = verify_evidence(copy)
    budget = dpmine.Ledger(f"sqlite:///{sound}/budget.db").budget("shop")
    assert (found.files, found.results, found.entries, found.seal) == (len(files(copy)) - 1, 3, 4, budget.seal)
    assert found.fingerprint == hashlib.sha256((copy / "evidence.json").read_bytes()).hexdigest()
    assert found.same_code
    assert str(found).startswith(f"Evidence holds: {found.files} files, 3 results, 4 ledger entries. Fingerprint ")


def test_a_changed_byte_anywhere_is_found(copy: Path) -> None:
    """The first, the middle and the last byte of every file."""
    names = files(copy)
    assert len(names) > 12
    for name in names:
        content = (copy / name).read_bytes()
        for place in (0, len(content) // 2, len(content) - 1):
            changed = bytearray(content)
            changed[place] ^= 1
            (copy / name).write_bytes(changed)
            assert f"{name}' is not as it was written" in refused(copy), (name, place)
        (copy / name).write_bytes(content)
    verify_evidence(copy)


def test_every_byte_of_the_manifest_counts(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence_folder, "_require_listed", pytest.fail)
    path = copy / "evidence.json"
    content = path.read_bytes()
    for place in range(0, len(content), 97):
        path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        assert "evidence.json' is not as it was written" in refused(copy), place
    path.write_bytes(content + b"\n")
    assert "evidence.json' is not as it was written" in refused(copy)


def test_a_missing_file_is_named(copy: Path) -> None:
    for name in files(copy):
        content = (copy / name).read_bytes()
        (copy / name).unlink()
        assert f"{name}' is" in refused(copy)
        (copy / name).write_bytes(content)


@every("name", ["more.json", "results/more.parquet", ".hidden", "folder/more.json"])
def test_a_file_that_was_added_is_named(name: str, tmp_path: Path, sound: Path) -> None:
    copied = shutil.copytree(sound / "evidence", tmp_path / "copied")
    (copied / name).parent.mkdir(exist_ok=True)
    (copied / name).write_bytes(b"{}")
    assert f"{name.partition('/m')[0]}' is no part of the evidence" in refused(copied) or "results/more" in name
    with pytest.raises(dpmine.BadData, match="is no part of the evidence: remove it"):
        verify_evidence(copied)


def test_a_folder_is_no_file(copy: Path) -> None:
    (copy / "empty").mkdir()
    assert "empty' is no part" in refused(copy)


def test_no_folder_of_evidence(tmp_path: Path) -> None:
    with pytest.raises(dpmine.UnreadableFile, match="is no folder of evidence"):
        verify_evidence(tmp_path / "none")
    assert "evidence.json' is not as it was written" in refused(tmp_path)


def rewritten(folder: Path, name: str, change: Callable[[Any], None]) -> None:
    """Change a document, and the manifest with it, as somebody who knows the format would."""
    document = read(folder, name)
    change(document)
    (folder / name).write_bytes(evidence_folder._json(document))
    resealed(folder)


def resealed(folder: Path) -> None:
    manifest = read(folder, "evidence.json")
    del manifest["seal"]
    names = evidence_folder._names(folder) - {"evidence.json"}
    manifest["files"] = {name: evidence_folder._hash(folder / name) for name in sorted(names)}
    (folder / "evidence.json").write_bytes(evidence_folder._sealed(manifest))


REWRITTEN: dict[str, tuple[str, Callable[[Any], None]]] = {
    "less": ("guarantees.json", lambda document: document["jobs"][0]["guarantee"].update(epsilon=0.1)),
    "unspent": ("ledger.json", lambda document: document["spent"].update(epsilon_exact="1")),
    "another entry": ("ledger.json", lambda document: document["history"][1].update(epsilon="1")),
    "shorter": ("ledger.json", lambda document: document["history"].pop()),
    "another data set": ("ledger.json", lambda document: document.update(dataset="barn")),
    "another slug": ("registry.json", lambda document: document.update(url_slug="x")),
}


@every("change", REWRITTEN)
def test_documents_that_contradict_each_other_are_found(change: str, tmp_path: Path, sound: Path) -> None:
    """With hashes that fit."""
    copied = shutil.copytree(sound / "evidence", tmp_path / "copied")
    name, do = REWRITTEN[change]
    rewritten(copied, name, do)
    assert f"{name}' is not as it was written" in refused(copied)


def test_results_of_other_jobs_are_found(copy: Path) -> None:
    """With hashes that fit: another job file, a result that no job asked for, and one whose seal does not fit."""
    text = (copy / "jobs.toml").read_bytes()
    (copy / "jobs.toml").write_bytes(text.replace(b"top = 2", b"top = 3"))
    resealed(copy)
    assert "is the result of no job" in refused(copy)
    (copy / "jobs.toml").write_bytes(text)
    [pairs] = copy.glob("results/pairs-*[0-9a-f].json")
    rewritten(copy, f"results/{pairs.name}", lambda document: document["result"].update(sizes=[2, 3]))
    assert f"{pairs.name}' is not as it was written" in refused(copy)


def test_a_history_without_the_charges_is_found(copy: Path) -> None:
    """A ledger whose history replays, and that has charged less than the results."""
    ledger = dpmine.Ledger(f"sqlite:///{copy.parent}/other.db")
    ledger.grant("shop", epsilon=100000, delta="0.01", unit="customer")
    (copy / "ledger.json").write_bytes(evidence_folder._json(ledger.excerpt("shop")))
    resealed(copy)
    assert "ledger.json' is not as it was written" in refused(copy)


def test_a_folder_forged_as_a_whole_holds(copy: Path) -> None:
    """The limit that the documentation states: only a fingerprint kept elsewhere shows it."""
    before = verify_evidence(copy)
    (copy / "report.html").write_bytes(b"another page")
    resealed(copy)
    assert verify_evidence(copy).fingerprint != before.fingerprint


def test_other_code_is_said(copy: Path) -> None:
    """Documents that another version of dpmine would write otherwise are taken as they are."""
    manifest = read(copy, "evidence.json")
    del manifest["seal"]
    manifest["code"]["__init__.py"] = "0" * 64
    (copy / "evidence.json").write_bytes(evidence_folder._sealed(manifest))
    found = verify_evidence(copy)
    assert not found.same_code
    assert str(found).endswith("code: another than here, so its hashes were not recomputed.")


def test_a_manifest_without_hashes_of_the_code_is_of_other_code(copy: Path) -> None:
    manifest = read(copy, "evidence.json")
    del manifest["seal"], manifest["kernels"]
    (copy / "evidence.json").write_bytes(evidence_folder._sealed(manifest))
    assert not verify_evidence(copy).same_code


def test_versions_and_hashes_of_the_code(sound: Path) -> None:
    manifest = read(sound / "evidence", "evidence.json")
    assert manifest["dpmine"] == dpmine.__version__
    assert {"numpy", "pyarrow", "SQLAlchemy"} <= manifest["packages"].keys()
    package = evidence_folder._PACKAGE
    for name in ("__init__.py", "exact/bits.py", "reporting/page/templates/report.html.j2"):
        assert manifest["code"][name] == hashlib.sha256((package / name).read_bytes()).hexdigest()
    assert not [name for name in manifest["code"] if "__pycache__" in name]


def test_the_checklist(sound: Path) -> None:
    page = (sound / "evidence" / "checklist.md").read_text(encoding="utf-8")
    assert "The results of this job file: ε = 4000, δ = 0.002." in page
    assert "**Pairs** (top-itemset): limited domain; ε = 2000, δ = 0.001 per customer" in page
    assert "**Which data sets are neighbours?** Those in which one customer is replaced by another" in page
    assert "- [ ] **Are these data needed?** The jobs read “sales”, “people”." in page
    assert HOSTILE not in page
    assert len(page.splitlines()) < 60


def test_what_is_asserted_is_for_a_person_to_confirm(tmp_path: Path) -> None:
    ages = {name: value for name, value in AGES.items() if name != "unit"} | {"one_row_per": "visitor"}
    evidence = evidence_of(Folder(tmp_path), job(**ages), unit='"visitor"')
    page = (evidence / "checklist.md").read_text(encoding="utf-8")
    assert "- [ ] **Is the assertion true?** The job file asserts, and nothing checked: one row each." in page


def test_the_unit_has_its_label(tmp_path: Path) -> None:
    evidence = evidence_of(Folder(tmp_path), job(**AGES), unit_label='"buyer"')
    page = (evidence / "checklist.md").read_text(encoding="utf-8")
    assert "**What is the privacy unit?** buyer (customer): all data of one buyer are protected together." in page
    loss = read(evidence, "registry.json")["deployment"]["privacy_loss"]
    assert loss["privacy_unit"] == "buyer (customer)"


def test_the_entry_of_the_registry(sound: Path) -> None:
    entry = read(sound / "evidence", "registry.json")
    loss = entry["deployment"]["privacy_loss"]
    assert loss["privacy_unit"] == "customer"
    assert loss["privacy_parameters"] == {"epsilon": 4000.0, "delta": 0.002}
    assert entry["deployment"]["basic"]["data_product_type"] == "Machine learning model"
    assert entry["deployment"]["basic"]["intended_use"] == OPEN
    assert entry["status"] == "Draft"


def test_owner_and_period_are_in_the_registry_and_the_checklist(tmp_path: Path) -> None:
    evidence = evidence_of(Folder(tmp_path), job(**AGES), head='owner = "The <shop>"\nperiod = "2026"\n')
    entry = read(evidence, "registry.json")
    assert problems("registry", entry) == []
    assert entry["deployment"]["basic"]["data_curators"] == ["The <shop>"]
    assert entry["deployment"]["deployment_model"]["data_source_type_details"] == "Data of 2026."
    page = (evidence / "checklist.md").read_text(encoding="utf-8")
    assert "nothing checked: The &lt;shop&gt;; 2026." in page


def test_no_name_is_markup_of_the_checklist(tmp_path: Path) -> None:
    owner = r"![x](http:e) `a` *b* _c_ customer_id ~~d~~ <img> \\\\"
    evidence = evidence_of(Folder(tmp_path), job(**AGES), head=f'owner = "{owner}"\n')
    page = (evidence / "checklist.md").read_text(encoding="utf-8")
    escaped = r"!\[x\](http:e) \`a\` \*b\* \_c\_ customer_id \~\~d\~\~ &lt;img&gt; \\\\"
    assert f"nothing checked: {escaped}" in page
    verify_evidence(evidence)


@every("name", ["evidence", "guarantees", "registry", "ledger"])
def test_documents_are_as_their_schemas_say(name: str, sound: Path) -> None:
    assert problems(name, read(sound / "evidence", f"{name}.json")) == []


def test_a_job_without_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HistogramJob, "run", fail(dpmine.BadData("kanarienvogel"), after_charge=False))
    with pytest.raises(dpmine.BadData, match="1 of 2 jobs failed"):
        evidence_of(Folder(tmp_path), job(**PAIRS), job(**AGES))
    assert verify_evidence(tmp_path / "evidence").results == 1
    assert read(tmp_path / "evidence", "guarantees.json")["jobs"][1]["files"] == []
    page = (tmp_path / "evidence" / "checklist.md").read_text(encoding="utf-8")
    assert "**Ages** (histogram): no stored result" in page
    assert "kanarienvogel" not in page


def test_zcdp_accounting(tmp_path: Path) -> None:
    small = job(**AGES | {"epsilon": "0.1", "delta": "1e-6"})
    evidence = evidence_of(Folder(tmp_path), small, epsilon="2", accounting='"zcdp"')
    verify_evidence(evidence)
    assert "under zcdp accounting" in (evidence / "checklist.md").read_text(encoding="utf-8")
    assert problems("ledger", read(evidence, "ledger.json")) == []


# --------------------------------------------------------------------------------------------------- before the run


def test_evidence_is_never_written_over(tmp_path: Path) -> None:
    made = Folder(tmp_path)
    jobs = made.write(job(**AGES))
    (tmp_path / "evidence").mkdir()
    with pytest.raises(dpmine.UnreadableFile, match="evidence is never written over"):
        dpmine.report(jobs, tmp_path / "page.html", evidence=tmp_path / "evidence")
    with pytest.raises(dpmine.UnreadableFile, match="name a new folder"):
        dpmine.report(jobs, tmp_path / "page.html", evidence=tmp_path / "none" / "evidence", dry_run=True)
    assert not (tmp_path / "budget.db").exists()


def test_evidence_does_not_lie_among_the_inputs(tmp_path: Path) -> None:
    made = Folder(tmp_path)
    (tmp_path / "data").mkdir()
    shutil.move(tmp_path / "people.parquet", tmp_path / "data")
    jobs = made.write(job(**AGES | {"input": f"{tmp_path}/data"}))
    with pytest.raises(dpmine.BadParameter, match="evidence is a new file among the inputs"):
        dpmine.report(jobs, tmp_path / "page.html", evidence=tmp_path / "data" / "evidence")
    assert not (tmp_path / "budget.db").exists()


@every("url", ["postgresql://me:kanarienvogel@host/db", "https://host/sales.parquet?signature=kanarienvogel"])
def test_a_secret_in_the_job_file_is_no_evidence(url: str, tmp_path: Path) -> None:
    with pytest.raises(dpmine.BadParameter, match="URL with a password or parameters") as caught:
        evidence_of(Folder(tmp_path), job(**AGES), head=f"# {url}\n")
    assert "kanarienvogel" not in str(caught.value)
    assert not (tmp_path / "budget.db").exists()


@pytest.mark.parametrize("failure", [OSError("no space"), KeyboardInterrupt(), RuntimeError("surprise")])
def test_a_failing_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    def failing(*_: object) -> None:
        raise failure

    made = Folder(tmp_path)
    monkeypatch.setattr(evidence_folder, "_manifest", failing)
    expected = dpmine.UnreadableFile if isinstance(failure, OSError) else type(failure)
    with pytest.raises(expected):
        evidence_of(made, job(**AGES))
    assert not (tmp_path / "evidence").exists()
    assert not list(tmp_path.glob(".dpmine*"))
    monkeypatch.undo()
    assert verify_evidence(evidence_of(made, job(**AGES))).entries == 2  # stored results are charged once


def test_a_job_file_that_changed_during_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes that were run are kept, not those that stand there later."""
    made = Folder(tmp_path)
    jobs = made.write(job(**AGES))
    content, honest = jobs.read_bytes(), HistogramJob.run

    def run(*arguments: Any, **options: Any) -> Any:
        jobs.write_bytes(b"changed")
        return honest(*arguments, **options)

    monkeypatch.setattr(HistogramJob, "run", run)
    dpmine.report(jobs, tmp_path / "page.html", evidence=tmp_path / "evidence")
    assert (tmp_path / "evidence" / "jobs.toml").read_bytes() == content


def test_names_near_those_of_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that looks like a mistyped name is one on the machine of the run alone."""
    made = Folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    shutil.copy("people.parquet", "peoples")
    jobs = made.write(job(**AGES | {"input": "peoples"}))
    dpmine.report(jobs, "page.html", evidence="evidence")
    (tmp_path / "peoples").unlink()
    verify_evidence(tmp_path / "evidence")
