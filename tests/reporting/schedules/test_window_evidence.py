"""Evidence of all windows on a page: that it holds by itself, and that nothing in it can change unseen."""

from __future__ import annotations

import json
import re
import shutil
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from reporting.jobs import PAIRS as PLAIN
from reporting.jobs import Folder, job
from reporting.schedules.weeks import ITEMS, PAIRS, Shop, sales
from reporting.test_evidence import MADE, evidence_of, files, read, refused, resealed, rewritten
from reporting.test_page import Page
from support.cases import every
from support.schemas import problems

import dpmine
from dpmine.privacy import Guarantee, Neighbors
from dpmine.reporting.evidence import folder as evidence_folder
from dpmine.reporting.evidence.folder import verify_evidence
from dpmine.reporting.page.strength import readable

if TYPE_CHECKING:
    from pathlib import Path


def with_evidence(shop: Shop, window: str, **options: Any) -> Path:
    folder = shop.path / f"evidence-{window}"
    dpmine.report(shop.write(), shop.path / "page.html", window=window, evidence=folder, **options)
    return folder


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """Evidence of week 2025-W04, whose run caught up with the week before it; W02 has evidence, too."""
    path = tmp_path_factory.mktemp("sound")
    sales(path / "sales.parquet", 3)
    shop = Shop(path, jobs=(PAIRS, ITEMS))
    with_evidence(shop, "2025-W02")
    with_evidence(shop, "2025-W04")
    for name in ("sales.parquet", "budget.db"):
        (path / name).rename(path / f"away-{name}")
    return shop


@pytest.fixture
def copy(sound: Shop, tmp_path: Path) -> Path:
    return shutil.copytree(sound.path / "evidence-2025-W04", tmp_path / "evidence")


def test_it_holds_all_windows_without_data_and_ledger(copy: Path, sound: Shop) -> None:
    found = verify_evidence(copy)
    assert (found.results, found.entries, found.same_code) == (6, 7, True)  # a grant, and two jobs in three weeks
    assert (copy / "windows.txt").read_bytes() == b"2025-W04\n2025-W02\n2025-W03\n"
    results = [name for name in files(copy) if name.startswith("results/")]
    assert set(files(copy)) == {*MADE, "windows.txt", *results}
    stored = {json.loads((copy / name).read_text())["job"]["window"] for name in results if name.endswith(".json")}
    assert stored == {"2025-W02", "2025-W03", "2025-W04"}
    assert (copy / "jobs.toml").read_bytes() == (sound.path / "jobs.toml").read_bytes()


def test_earlier_evidence_holds_after_later_windows(sound: Shop) -> None:
    found = verify_evidence(sound.path / "evidence-2025-W02")
    assert (found.results, found.entries) == (2, 3)


def test_evidence_can_be_written_later(tmp_path: Path) -> None:
    """Of a window that was caught up with; it is charged nothing again."""
    sales(tmp_path / "sales.parquet", 3)
    shop = Shop(tmp_path)
    with_evidence(shop, "2025-W02")
    shop.run("2025-W04")
    before = len(shop.charges)
    assert verify_evidence(with_evidence(shop, "2025-W03")).results == 3
    assert len(shop.charges) == before == 3


def test_every_byte_of_the_window_counts(copy: Path) -> None:
    content = (copy / "windows.txt").read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        (copy / "windows.txt").write_bytes(changed)
        assert "windows.txt' is not as it was written" in refused(copy), place
    (copy / "windows.txt").write_bytes(content)
    verify_evidence(copy)


FORMS = ["", "2025-W04", "2025-W04\n\n", "2025-W04\r\n", " 2025-W04\n", "2025-W60\n", "2025-01\n", "\udcff\n"]
FORMS += [f"2025-W04\n{others}" for others in ("2025-W04\n", "2025-W03\n2025-W02\n", "2025-W02\n2025-W02\n", "\n")]


@every("text", FORMS)
def test_a_window_of_another_form_is_found(text: str, tmp_path: Path, sound: Shop) -> None:
    """With hashes that fit."""
    copied = shutil.copytree(sound.path / "evidence-2025-W04", tmp_path / "copied")
    (copied / "windows.txt").write_bytes(text.encode(errors="surrogateescape"))
    resealed(copied)
    assert "windows.txt' is not as it was written" in refused(copied)


def test_another_window_is_found(copy: Path) -> None:
    """With hashes that fit: a result is of no window that is named, or the page is of another one."""
    (copy / "windows.txt").write_bytes(b"2025-W04\n2025-W02\n")
    resealed(copy)
    assert "is the result of no job" in refused(copy)
    (copy / "windows.txt").write_bytes(b"2025-W03\n2025-W02\n2025-W04\n")
    resealed(copy)
    assert "guarantees.json' is not as it was written" in refused(copy)


def test_each_result_needs_the_charge_of_its_window(copy: Path) -> None:
    """With hashes that fit, and a ledger that lacks what one earlier window was charged."""
    ledger = dpmine.Ledger(f"sqlite:///{copy.parent}/other.db")
    ledger.grant("shop", epsilon=52000, delta="0.052", unit="customer")
    charge = Guarantee(Fraction(500), Fraction(1, 2000), Neighbors.REPLACE_ONE, unit="customer")
    jobs = [entry["job"] for entry in read(copy, "ledger.json")["history"] if entry["kind"] == "charge"]
    for name in jobs[1:]:
        ledger._charge("shop", charge, name)
    ledger.charge(
        "shop", Guarantee(Fraction(900), Fraction(1, 900), Neighbors.REPLACE_ONE, unit="customer"), job="more"
    )
    (copy / "ledger.json").write_bytes(evidence_folder._json(ledger.excerpt("shop")))
    resealed(copy)
    assert "ledger.json' is not as it was written" in refused(copy)


def test_no_window_at_all_is_found(copy: Path) -> None:
    (copy / "windows.txt").unlink()
    resealed(copy)
    assert "windows.txt' is not as it was written" in refused(copy)


def test_another_schedule_is_found(copy: Path) -> None:
    """With hashes that fit: the results are of no such window, or were charged for more than it says."""
    text = (copy / "jobs.toml").read_bytes()
    (copy / "jobs.toml").write_bytes(text.replace(b'column = "at"', b'column = "on"'))
    resealed(copy)
    assert "is the result of no job" in refused(copy)
    (copy / "jobs.toml").write_bytes(text.replace(b'every = "week"', b'every = "month"'))
    resealed(copy)
    assert "windows.txt' is not as it was written" in refused(copy)
    (copy / "jobs.toml").write_bytes(text.replace(b"runs = 52", b"runs = 0"))
    resealed(copy)
    assert "jobs.toml' is not as it was written" in refused(copy)


def test_charges_of_other_runs_do_not_cover_a_window(copy: Path) -> None:
    """A history that replays and has charged more than the results, but nothing for this window."""
    ledger = dpmine.Ledger(f"sqlite:///{copy.parent}/other.db")
    ledger.grant("shop", epsilon=52000, delta="0.052", unit="customer")
    other = Guarantee(Fraction(5000), Fraction(5, 1000), Neighbors.REPLACE_ONE, unit="customer")
    ledger.once("2025-W03 0123456789abcdef").charge("shop", other, job="top-itemset")
    (copy / "ledger.json").write_bytes(evidence_folder._json(ledger.excerpt("shop")))
    resealed(copy)
    assert "ledger.json' is not as it was written" in refused(copy)


def test_what_the_checklist_and_the_registry_say(copy: Path) -> None:
    page = (copy / "checklist.md").read_text(encoding="utf-8")
    assert page.startswith("# Checklist for “Private results of shop, 2025-W04”")
    assert "The results of all 3 windows: ε = 3000, δ = 0.003. All charges to “shop” so far: ε = 3000, δ" in page
    assert "Up to 52 times, once for each week. The page is of window 2025-W04: rows whose “at” is in it." in page
    entry = read(copy, "registry.json")
    assert problems("registry", entry) == []
    assert problems("guarantees", read(copy, "guarantees.json")) == []
    model = entry["deployment"]["deployment_model"]
    assert (model["release_type"], model["data_source_type"]) == ("Many releases", "Dynamic")
    assert model["release_type_details"].startswith("This is 2025-W04 of up to 52 windows, one for each week.")
    rewritten(copy, "registry.json", lambda document: document["deployment"]["deployment_model"].clear())
    assert "registry.json' is not as it was written" in refused(copy)


def stated(folder: Path) -> str:
    """The total of the page, as its text has it."""
    text = Page((folder / "report.html").read_text(encoding="utf-8")).text
    found = re.search(r"where (ε = \S+, δ = \S+)\. ", text)
    assert found
    return found[1]


def registered(folder: Path) -> str:
    """The same of the registry's entry, as numbers are read on a page."""
    given = read(folder, "registry.json")["deployment"]["privacy_loss"]["privacy_parameters"]
    epsilon, delta = (readable(repr(given[name]).removesuffix(".0")) for name in ("epsilon", "delta"))
    return f"ε = {epsilon}, δ = {delta}"


@every("accounting", ["basic", "zcdp"], quick=1)
def test_the_registry_has_the_number_of_the_page(accounting: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """As text, for one window and for several, with a job that does not recur, and small losses that add up by ρ."""
    path = tmp_path_factory.mktemp(accounting)
    sales(path / "sales.parquet", 4)
    once = ITEMS | {"name": "All time", "recurs": False, "epsilon": "0.5", "delta": "1e-7"}
    terms = {"accounting": accounting, "epsilon": 8, "delta": "1e-3"}
    schedule = {"every": "week", "runs": 8, "column": "at", "ready": "clock"}
    for jobs in ((PAIRS,), (PAIRS, once)):
        own = path / str(len(jobs))
        own.mkdir()
        (own / "sales.parquet").write_bytes((path / "sales.parquet").read_bytes())
        shop = Shop(own, jobs=jobs, terms=terms, schedule=schedule)
        said = []
        for window in ("2025-W02", "2025-W05"):
            folder = with_evidence(shop, window)
            assert stated(folder) == registered(folder)
            assert verify_evidence(folder).same_code
            said.append(stated(folder))
        assert said[0] != said[1]


@every("accounting", ["basic", "zcdp"])
def test_the_registry_has_the_number_of_a_page_without_windows(
    accounting: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = Folder(tmp_path_factory.mktemp(accounting))
    terms = {"accounting": f'"{accounting}"', "epsilon": "4", "delta": "1e-3"}
    own = {"release_support": "auto", "rules": False, "epsilon": "0.4", "delta": "1e-4"}
    jobs = [job(**{**PLAIN, **own, "name": f"of {size}", "size": str(size)}) for size in (1, 2, 3)]
    folder = evidence_of(made, *jobs, **terms)
    assert stated(folder) == registered(folder)


def test_windows_of_different_people(tmp_path: Path) -> None:
    """Each is a part of the data set; that no one is in two of them is for a person to confirm."""
    sales(tmp_path / "sales.parquet", 3)
    terms = {"neighbors": "add-remove", "epsilon": 1000, "delta": 0.001}
    shop = Shop(
        tmp_path,
        terms=terms,
        schedule={"every": "week", "runs": 52, "column": "at", "ready": "clock", "disjoint_units": True},
    )
    ledger = dpmine.Ledger(shop.url)
    ledger.grant("shop", epsilon=1000, delta="0.001", neighbors="add_remove", parts="by_unit")
    with_evidence(shop, "2025-W02")
    folder = with_evidence(shop, "2025-W03")
    assert verify_evidence(folder).entries == 3
    page = (folder / "checklist.md").read_text(encoding="utf-8")
    assert "The job file asserts, and nothing checked: no customer has data in two windows." in page
    history = read(folder, "ledger.json")["history"]
    assert [entry["part"] for entry in history] == ["", "2025-W02", "2025-W03"]
