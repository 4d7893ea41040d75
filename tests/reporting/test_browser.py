"""The page in a real browser: nothing runs, nothing is loaded, it fits every width, and axe-core finds no fault."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from reporting.browser import AXE, chromium, needs_chromium
from reporting.jobs import ALL, Folder, job
from reporting.test_page import HOSTILE_NAMES, hostile_page

from dpmine.reporting.page.render import render

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, needs_chromium]

VIEWS = [(width, theme) for width in (400, 900, 1600) for theme in ("light", "dark")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A usual page, and one whose every name is hostile."""
    usual, hostile = (Folder(tmp_path_factory.mktemp(name)) for name in ("usual", "hostile"))
    texts = {
        "usual": render(usual.run(*(job(**options) for options in ALL.values()))),
        "hostile": hostile_page(hostile),
    }
    made = {}
    for name, text in texts.items():
        made[name] = tmp_path_factory.mktemp("pages") / f"{name}.html"
        made[name].write_text(text, encoding="utf-8")
    return made


class Visit:
    """A page in a window: what it asked for, and what it said on the console."""

    def __init__(self, browser: Any, path: Path, width: int, theme: str) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, bypass_csp=True
        )
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.said: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", self._dismiss)
        self.page.goto(path.as_uri())

    def _dismiss(self, dialog: Any) -> None:
        self.said.append(dialog.message)
        dialog.dismiss()


@pytest.mark.parametrize("name", ["usual", "hostile"])
@pytest.mark.parametrize(("width", "theme"), VIEWS)
def test_it_is_quiet_fits_and_is_accessible(
    browser: Any, pages: dict[str, Path], name: str, width: int, theme: str
) -> None:
    visit = Visit(browser, pages[name], width, theme)
    visit.page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    assert visit.requests == [pages[name].as_uri()]
    assert visit.said == []
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    visit.page.evaluate(AXE)
    found = visit.page.evaluate("axe.run()")
    faults = [(fault["id"], [node["target"] for node in fault["nodes"]]) for fault in found["violations"]]
    assert faults == []
    assert len(found["passes"]) > 20
    visit.context.close()


def test_hostile_names_are_shown_and_inert(browser: Any, pages: dict[str, Path]) -> None:
    visit = Visit(browser, pages["hostile"], 1600, "light")
    text = " ".join(visit.page.evaluate("document.body.innerText").split())
    for name in HOSTILE_NAMES[:6]:
        assert " ".join(name.split()) in text
    counted = {tag: visit.page.locator(tag).count() for tag in ("script", "img", "iframe", "body b")}
    assert counted == dict.fromkeys(counted, 0)
    assert visit.said == []
    visit.context.close()


def test_without_our_rules_of_the_page_nothing_would_run_either(browser: Any, pages: dict[str, Path]) -> None:
    """Escaping alone makes names inert: the visits above ignore the policy in the page's head."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(pages["usual"].as_uri())
    policy = page.evaluate("document.querySelector('meta[http-equiv]').content")
    assert policy.startswith("default-src 'none'")
    blocked = page.evaluate("fetch('https://example.org/').then(() => 'loaded', () => 'refused')")
    assert blocked == "refused"
    context.close()


def test_themes_differ_and_print_is_light(browser: Any, pages: dict[str, Path]) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    light, dark = (Visit(browser, pages["usual"], 1600, theme) for theme in ("light", "dark"))
    assert light.page.evaluate(colour) != dark.page.evaluate(colour)
    dark.page.emulate_media(media="print")
    assert dark.page.evaluate(colour) == "rgb(255, 255, 255)"
    assert len(dark.page.pdf()) > 10_000
    hidden = "[...document.querySelectorAll('dl')].filter(part => !part.checkVisibility()).length"
    assert light.page.evaluate(hidden) > 0
    assert dark.page.evaluate(hidden) == 0  # on paper nothing can be unfolded
    for visit in (light, dark):
        visit.context.close()


def test_one_of_two_widths_of_a_chart_is_shown(browser: Any, pages: dict[str, Path]) -> None:
    seen = "[...f.querySelectorAll('svg')].filter(s => s.checkVisibility()).length"
    shown = f"[...document.querySelectorAll('figure')].map(f => {seen})"
    for width in (400, 1600):
        visit = Visit(browser, pages["usual"], width, "light")
        visit.page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        counts = visit.page.evaluate(shown)
        assert counts
        assert set(counts) == {1}, json.dumps(counts)
        visit.context.close()


def test_the_keyboard_reaches_the_results(browser: Any, pages: dict[str, Path]) -> None:
    visit = Visit(browser, pages["usual"], 1600, "light")
    visit.page.keyboard.press("Tab")
    assert visit.page.evaluate("document.activeElement.textContent") == "Skip to the results"
    visit.page.keyboard.press("Enter")
    assert visit.page.evaluate("location.hash") == "#results"
    visit.context.close()
