"""Peeled lists, items first and discovered items: their laws stay within their claims, and those of twins do not."""

from __future__ import annotations

from typing import Any

from support.cases import every
from support.gallery.lists import broken_lists, lists

from dpmine.auditing.call import audit

BRIEF: dict[str, Any] = {"pairs": 25, "steps": 5}


@every("name", lists())
def test_no_list_exceeds_its_claim(name: str) -> None:
    """From laws, so a verdict is certain. Of items_first, 9 % of the claim shows on few rows, of the others more."""
    found = audit(lists()[name].target, lists()[name].claim, lists()[name].family, **BRIEF)
    assert not found.refuted, str(found)
    assert found.measured > 0.05 * found.evidence.claimed


@every("name", broken_lists())
def test_broken_lists_are_refuted(name: str) -> None:
    broken = broken_lists()[name]
    assert audit(broken.target, broken.claim, broken.family, **BRIEF).refuted
