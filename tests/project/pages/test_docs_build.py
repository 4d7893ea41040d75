"""The pages build without a warning, name all there is, and their figures are what the script draws."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from reporting.browser import AXE, chromium, needs_chromium
from support.cases import every

import dpmine
from dpmine.planning.accounting import plan_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
STRICT = ["-W", "--keep-going", "-n", "-b", "html"]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def module(path: Path) -> Any:
    """A module that is no part of a package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def build(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-q", *STRICT, str(source), str(target)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "cli")])}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, env=environment)


LOADED = re.compile(
    r"""<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//|url\(["']?(?:https?:)?//"""
)


def loaded_from_elsewhere(site: Path) -> Iterator[str]:
    """What a browser would ask a network for."""
    for path in site.rglob("*"):
        if path.suffix in {".html", ".css"}:
            yield from (f"{path.name}: {found}" for found in LOADED.findall(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "page",
    ['<script src="https://cdn.example/a.js">', "<link rel=x href='//f.example/b.css'>", "url(http://c.example/d)"],
)
def test_a_page_that_needs_a_network_is_found(page: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    assert len(list(loaded_from_elsewhere(tmp_path))) == 1


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages, built without a warning."""
    target = tmp_path_factory.mktemp("site")
    done = build(DOCS, target)
    assert (done.returncode, done.stderr) == (0, "")
    return target


@pytest.mark.slow
def test_the_pages_have_what_is_put_in_at_the_build(site: Path) -> None:
    threats = (site / "project" / "threat_model.html").read_text(encoding="utf-8")
    assert "Not guaranteed" in threats
    assert 'href="../proofs/selection/noisy_max.html"' in threats
    commands = (site / "reference" / "command_line.html").read_text(encoding="utf-8")
    assert 'id="dpmine-ledger-verify"' in commands
    assert "<!-- commands -->" not in commands
    assert re.search(r'<dt><code[^>]*><span class="pre">--release-support</span>', commands)  # no paragraph of help
    assert list(loaded_from_elsewhere(site)) == []


@pytest.mark.slow
def test_the_menu_is_short(site: Path) -> None:
    menu = (site / "index.html").read_text(encoding="utf-8").partition('class="sidebar-tree"')[2].partition("</div>")[0]
    assert 40 <= menu.count("toctree-l") <= 60


@pytest.mark.slow
@needs_chromium
def test_pages_opened_from_a_folder_can_be_searched_and_read(site: Path) -> None:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        page.goto((site / "search.html").as_uri() + "?q=conviction")
        page.wait_for_selector("p.context")
        assert all("convic" in text.lower() for text in page.locator("p.context").all_inner_texts())
        page.goto((site / "tutorial" / "index.html").as_uri())
        wide = "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).length"
        assert page.eval_on_selector_all("pre", wide) == 0
        page.set_viewport_size({"width": 400, "height": 900})
        assert page.eval_on_selector_all("pre", wide) > 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("width", [400, 900, 1600])
def test_axe_finds_nothing_on_pages(site: Path, width: int) -> None:
    with chromium() as browser:
        for theme in ("light", "dark"):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
            for name in ("index", "how-to/frequent_itemsets", "how-to/compare", "how-to/recurring", "project/readme"):
                page.goto((site / f"{name}.html").as_uri())
                page.evaluate(AXE)
                faults = page.evaluate("axe.run()")["violations"]
                assert [(fault["id"], [node["target"] for node in fault["nodes"]]) for fault in faults] == []
            page.close()


NO_PICTURE = {"index", "unattended"}


@every("name", [page.stem for page in sorted((DOCS / "how-to").glob("*.md"))])
def test_pages_on_tasks_have_a_picture(name: str) -> None:
    page = (DOCS / "how-to" / f"{name}.md").read_text(encoding="utf-8")
    assert name in NO_PICTURE or re.search(r"^!\[.{20,}\]\(", page, flags=re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    ["[a](nowhere.md)", "[a](#nowhere)", "[a](other.md#nowhere)", "[a](../NOWHERE.md)", "```{nonsense}\n```"],
)
def test_a_wrong_link_fails_the_build(wrong: str, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "conf.py").write_text(
        "extensions = ['myst_parser']\nmyst_heading_anchors = 3\nhtml_theme = 'basic'\n", encoding="utf-8"
    )
    (pages / "index.md").write_text(f"# Index\n\n{wrong}\n\n```{{toctree}}\nother\n```\n", encoding="utf-8")
    (pages / "other.md").write_text("# Other\n", encoding="utf-8")
    done = build(pages, tmp_path / "html")
    assert done.returncode != 0
    assert "WARNING" in done.stderr or "ERROR" in done.stderr


def test_make_docs_is_as_strict() -> None:
    """Continuous integration builds the pages here only."""
    assert f"sphinx-build {' '.join(STRICT)} docs " in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_every_public_name_has_its_place_in_the_reference() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    documented = re.findall(r"^\.\. auto(?:class|function|exception):: dpmine\.(\w+)$", pages, flags=re.MULTILINE)
    assert sorted(documented) == sorted(dpmine.__all__)


def keys_by_kind(page: str) -> Iterator[tuple[str, set[str]]]:
    """The keys in the tables of the reference's sections, a section a kind of job."""
    for section in page.split("\n### ")[1:]:
        kind, _, rest = section.partition("\n")
        rows = re.findall(r"^\|[^|]*\|(.*)\|$", rest.partition("\n## ")[0], flags=re.MULTILINE)
        yield kind, set(re.findall(r"`(\w+)`", "".join(rows)))


def test_the_reference_of_job_files_has_every_key_of_every_kind() -> None:
    from dpmine.reporting.jobs.kinds import KINDS

    known = {kind: set(job.known) for kind, job in KINDS.items()}
    page = (DOCS / "reference" / "job_file.md").read_text(encoding="utf-8")
    assert dict(keys_by_kind(page)) == known


MEASURED = {"utility.svg"}
"""Of runs of a benchmark, which differ each time."""


def same_drawing(drawn: str, kept: str) -> bool:
    """The same words, and numbers that are the same but for rounding."""
    numbers = zip(NUMBER.findall(drawn), NUMBER.findall(kept), strict=False)
    return NUMBER.sub("#", drawn) == NUMBER.sub("#", kept) and all(abs(float(a) - float(b)) < 0.01 for a, b in numbers)


@pytest.mark.slow
def test_figures_are_what_the_script_draws(tmp_path: Path) -> None:
    figures = module(DOCS / "figures.py")
    figures.draw(tmp_path)
    plan_runs(200, epsilon="0.1", delta="1e-5").plot(tmp_path / "runs.svg")  # as its caption says
    drawn = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.svg")}
    kept = {path.name: path.read_text(encoding="utf-8") for path in DOCS.rglob("*.svg") if path.name not in MEASURED}
    assert drawn.keys() == kept.keys()
    assert [name for name in drawn if not same_drawing(drawn[name], kept[name])] == []


HEARD = re.compile(r'<svg role="img" aria-labelledby="title" [^>]*>\s*<title id="title">.{20,}</title>')


@every("name", sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.svg")))
def test_screen_readers_say_what_a_drawing_shows(name: str) -> None:
    assert HEARD.search((DOCS / name).read_text(encoding="utf-8"))


def test_drawings_that_differ_are_told_apart() -> None:
    assert same_drawing("L 1.0001 -2", "L 1.0002 -2")
    assert not same_drawing("L 1.5 -2", "L 1.0 -2")
    assert not same_drawing("L 1 2", "M 1 2")
    assert not same_drawing("L 1 2", "L 1 2 3")


def test_examples_in_docstrings_stay_as_they_are() -> None:
    plain = module(DOCS / "_extensions" / "plain_docstrings.py").plain
    assert [plain(line) for line in (">>> f(**x)", "    ...     f(**x)", "of **x")] == [
        ">>> f(**x)",
        "    ...     f(**x)",
        r"of \*\*x",
    ]


INDENTED_IN_LIST = re.compile(r"^(?:- |\d+\. ).*\n\n {4}(?:dpmine|from|import) ", flags=re.MULTILINE)


def test_code_after_a_list_has_a_fence() -> None:
    """Four spaces after a list continue its last entry."""
    pages = {page.name: page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")}
    assert [name for name, text in pages.items() if INDENTED_IN_LIST.search(text)] == []
    assert INDENTED_IN_LIST.search("- a\n\n    dpmine plan\n")


def test_links_lead_to_pages_of_the_site() -> None:
    pages = module(DOCS / "_extensions" / "repository_pages.py")
    shown = pages.shown_files()
    assert shown[ROOT / "THREAT_MODEL.md"] == DOCS / "project" / "threat_model.md"
    page = DOCS / "how-to" / "ledger.md"
    texts = {
        "[a](../../THREAT_MODEL.md#x)": "[a](../project/threat_model.md#x)",
        "[a](../proofs)": "[a](../proofs/index.md)",
        "[a](../nowhere.md)": "[a](../nowhere.md)",
        "[a](https://example.org/x.md)": "[a](https://example.org/x.md)",
        "[a](#anchor)": "[a](#anchor)",
    }
    assert {text: pages.relinked(text, page, page, shown) for text in texts} == texts
    readme = pages.relinked("[a](docs/proofs)", ROOT / "README.md", DOCS / "project" / "readme.md", shown)
    assert readme == "[a](../proofs/index.md)"
