"""The gallery's lists, and some of its mechanisms; benchmarks/audit_gallery.py has all of them, with more time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.cases import every
from support.effort import PROFILE, Profile, draws
from support.gallery.listed import NONE, ONE
from support.gallery.lists import broken_lists, lists, of
from support.gallery.mistakes import BROKEN
from support.gallery.sound import SOUND
from support.gallery.twins import twins
from support.goodness import assert_sampled_law

from dpmine.auditing import ScoreVectors
from dpmine.auditing.call import audit
from dpmine.errors import BadParameter
from dpmine.privacy import Guarantee, Neighbors
from dpmine.selection.top_k import OneShot

if TYPE_CHECKING:
    from support.gallery.exhibit import Exhibit

    from dpmine.auditing import TargetReport

CLEAR = {
    "sparse vector of exact queries",
    "permute-and-flip under zCDP",
    "textbook Laplace noise",
    "truncated noise",
    "mean by a private number",
    "early stopping",
    "one noise for all counts",
}
BRIEF: dict[str, Any] = {"samples": 5000, "pairs": 30, "steps": 2, "seconds": 30}


def test_the_gallery_is_large_enough() -> None:
    assert len({exhibit.name for exhibit in BROKEN}) == len(BROKEN) >= 20
    assert len({exhibit.name for exhibit in SOUND}) == len(SOUND) >= 10
    assert all(exhibit.mistake for exhibit in BROKEN)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("exhibit", [each for each in BROKEN if each.name in CLEAR], ids=lambda each: each.name)
def test_broken_ones_are_refuted(exhibit: Exhibit) -> None:
    """Each shows more than twice its claim on pairs that are tried first; a miss needs an error of ten deviations."""
    assert audit(exhibit.run, exhibit.claim, exhibit.family, **BRIEF).refuted


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("exhibit", SOUND, ids=lambda each: each.name)
def test_sound_ones_are_not(exhibit: Exhibit) -> None:
    """False-alarm rate: at most 1e-6 for each."""
    options: dict[str, Any] = {**BRIEF, "confidence": "0.999999"}
    assert not audit(exhibit.run, exhibit.claim, exhibit.family, **options).refuted


WHOLE: dict[str, Any] = {"pairs": 25, "steps": 5}
SHORT: dict[str, Any] = {"pairs": 10, "steps": 1}
FEW: dict[str, Any] = WHOLE if PROFILE is Profile.FULL else SHORT


def is_refuted(broken: Any) -> bool:
    """A search of laws that refutes is certain, so a long one is left to where a short one shows nothing."""
    return any(audit(broken.target, broken.claim, broken.family, **effort).refuted for effort in (SHORT, WHOLE))


@every("name", lists())
def test_no_list_exceeds_its_claim(name: str) -> None:
    """From laws, so a verdict is certain. Of items_first, 9 % of the claim shows on few rows, of the others more."""
    found = audit(lists()[name].target, lists()[name].claim, lists()[name].family, **FEW)
    assert not found.refuted, str(found)
    assert found.evidence.claimed
    assert shows(found, 0.05)


def shows(found: TargetReport, share: float) -> bool:
    """Whether more than a share of the claim was measured; nothing is to be seen where nothing is claimed."""
    return found.measured > share * found.evidence.claimed or not found.evidence.claimed


class NothingChosen(OneShot):
    """Whatever the data, the same list."""

    def guarantee(self) -> Guarantee:
        return Guarantee(NONE, NONE, self.neighbors)

    def law(self, _scores: object) -> dict[tuple[()], float]:
        return {(): 1.0}


def test_a_list_may_claim_to_say_nothing() -> None:
    way = NothingChosen.of(2, ONE, NONE, Neighbors.REPLACE_ONE)
    found = audit(way, of(way), ScoreVectors(sizes=(3,), lowest=0), **SHORT)
    assert not found.refuted
    assert not found.evidence.claimed


def test_an_error_in_a_list_names_its_way() -> None:
    way = OneShot.of(2, 10**9 * ONE, NONE, Neighbors.REPLACE_ONE)
    with pytest.raises(BadParameter) as raised:
        of(way)
    assert raised.value.__notes__ == [f"That is the claim of a list by {way.name!r}."]


@every("name", broken_lists(), quick=6)
def test_broken_lists_are_refuted(name: str) -> None:
    assert is_refuted(broken_lists()[name])


@every("name", twins(), quick=3)
def test_parts_keep_their_claims_and_their_twins_do_not(name: str) -> None:
    """From laws, so both verdicts are certain."""
    kept, broken = twins()[name]
    sound = audit(kept.target, kept.claim, kept.family, **WHOLE)
    assert not sound.refuted, str(sound)
    assert sound.measured > 0.5 * sound.evidence.claimed
    assert is_refuted(broken)


@pytest.mark.slow
@pytest.mark.statistical
@every("name", [*lists(), *twins()])
def test_the_code_follows_the_laws(name: str) -> None:
    """Of lists and of sound parts, on the largest data that are tried first."""
    listed = lists().get(name) or twins()[name].sound
    data = [*listed.family.starts()][-1].sides()[1]
    law = listed.target.law(data)
    assert_sampled_law(lambda bits: listed.target.run(data, bits), law, draws=draws(2000))
