"""Which mechanism a name stands for, and which one to take, from public parameters alone: what `auto` means.

Mechanisms are compared on stylised profiles: three shapes of supports, each known by the lead of its best candidate.
They say what a mechanism can be expected to do before any data are read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter, NotPrivate
from dpmine.options import names
from dpmine.options.names import AUTO, plain_name
from dpmine.parameters import Number, exact_number, positive, probability, public_count, resembling, truth, whole
from dpmine.privacy import Neighbors
from dpmine.selection.distributions.profile import Profile
from dpmine.selection.mechanisms.large_margin import MarginMechanism
from dpmine.selection.mechanisms.mechanism import Mechanism, lead_sensitivity
from dpmine.selection.universes.protocol import MANY_DUMMIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


MECHANISMS: dict[str, type[Mechanism]] = {named.name: named.load() for named in names.MECHANISMS}
"""The class of every mechanism by its name, which is also that of its proof note."""
_OPTIONS = {option for kind in MECHANISMS.values() for option in kind.options()}
SUCCESS = 0.95
"""The probability of choosing the best candidate for which mechanisms are compared."""
EPSILONS = Fraction(1, 10**4), Fraction(1000)
DELTAS = Fraction(1, 10**100), 1 - Fraction(1, 10**6)
"""Where output distributions in float64 are exact to all digits that matter here."""
_RUNNERS_UP = 10
DECAY = 0.25
"""Of supports by rank: shop baskets, customers and clicks have 0.2 to 0.4 over their first million itemsets."""
_SUPPORTED = 2**20  # candidates above zero where their number is unknown
_SINGLE = 8  # ranks below this are levels of their own in the power law, the others stand in blocks
_BLOCK = 4
_MOST = 2**400  # candidates: 10^120; a larger number counts as this one
_STEPS = 64  # leads are compared to a 64th of the scale of the noise


class Shape(StrEnum):
    """What the candidates below the best look like."""

    ALONE = "alone"
    """All others have score 0."""
    NEAR_TIES = "near_ties"
    """Ten runners-up with nine tenths of the best score; all others have score 0."""
    POWER_LAW = "power_law"
    """The j-th best has j^(−1/4) times the best score, as supports in real baskets do."""

    @property
    def top(self) -> float:
        """The best score, as a multiple of its lead over the second."""
        return {Shape.ALONE: 1.0, Shape.NEAR_TIES: 10.0, Shape.POWER_LAW: 1 / (1 - 2**-DECAY)}[self]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A mechanism by name, and one sentence that says why; both follow from public parameters."""

    mechanism: str
    reason: str


def build_mechanism(
    name: str,
    *,
    epsilon: Number,
    delta: Number,
    neighbors: str | Neighbors,
    candidates: int | None = None,
    are_counts: bool = True,
    not_private: bool = False,
    **options: Number | None,
) -> Mechanism:
    """The mechanism of that name (dashes or underscores) with its parameters read exactly.

    `candidates` and `are_counts` are those of `recommend`; only "auto" asks for them.
    Raises BadParameter for unusable parameters, NotPrivate for "exact" without `not_private`.
    """
    chosen = plain_name(name)
    if chosen == AUTO:
        chosen = recommend(
            epsilon=epsilon, delta=delta, neighbors=neighbors, candidates=candidates, are_counts=are_counts
        ).mechanism
    kind = kind_of(chosen, not_private=not_private)
    exact_delta = probability("delta", delta) if kind.approximate else Fraction(0)
    return kind(positive("epsilon", epsilon), exact_delta, Neighbors.parse(neighbors), **own_options(kind, options))


def kind_of(name: str, *, not_private: bool) -> type[Mechanism]:
    """The class of that name. Raises BadParameter where there is none, NotPrivate for "exact" without `not_private`."""
    kind = MECHANISMS.get(name)
    if kind is None:
        raise unknown(name, [AUTO, *MECHANISMS])
    if not truth("not_private", not_private) and not kind.private:
        raise NotPrivate(f"{kind.name} is not private: opt in with `not_private`, or drop the mechanism.")
    return kind


def unknown(mechanism: str, known: Iterable[str]) -> BadParameter:
    """That a mechanism is none of these; what the field calls otherwise is named, too."""
    like = resembling(_OTHER_NAMES.get(plain_name(mechanism), mechanism), known)
    return BadParameter(f"mechanism must be one of: {', '.join(known)}.{like}")


_OTHER_NAMES = {other: named.name for named in names.MECHANISMS for other in named.other_names}


def own_options(kind: type[Mechanism], options: Mapping[str, Number | None]) -> dict[str, int]:
    """The options that this mechanism has, by the names of its fields; BadParameter for any other."""
    unknown = sorted(set(options) - _OPTIONS)
    if unknown:
        known = ", ".join(sorted({"not_private", *_OPTIONS}))
        raise BadParameter(f"Unknown option: {', '.join(unknown)}. There are: {known}.")
    given = {name: public_count(name, value) for name, value in options.items() if value is not None}
    own = kind.options()
    for option in given:
        if option not in own:
            raise no_option(kind.name, option)
    if kind.needs_bounded_units and not given:
        raise BadParameter(
            f"{kind.name} has a guarantee only where a unit supports few candidates: give max_items_per_unit, such "
            "as 20 (`max_items_per_unit=20`)."
        )
    return {own[name]: value for name, value in given.items()}


def no_option(name: str, option: str, others: Iterable[str] = ()) -> BadParameter:
    """That an option is none of this mechanism, and which have it, of all mechanisms and of `others`."""
    having = [*(kind.name for kind in MECHANISMS.values() if option in kind.options()), *others]
    choices = " or ".join(f"`mechanism={each!r}`" for each in having)
    return BadParameter(f"mechanism {name!r} has no option {option}: leave it out, or say {choices}.")


def recommend(
    *,
    epsilon: Number,
    delta: Number,
    neighbors: str | Neighbors,
    candidates: int | None = None,
    are_counts: bool = True,
) -> Recommendation:
    """The mechanism that finds the best candidate at the smallest lead over the second, with probability 0.95.

    It compares exact output distributions where scores fall off by a power law, as the supports of itemsets do. A lone
    winner would flatter `stable_maximiser`, which fails as soon as the second best comes close. Only mechanisms that
    need no further options take part. `limited_domain_permute_and_flip` does not: under zCDP it is charged four times
    the ρ of `limited_domain`, and the accounting is unknown here.

    Args:
        epsilon: ε > 0; compared at the nearest value in [10^−4, 1000].
        delta: δ in (0, 1); 0 for pure mechanisms only, which need a public list.
        neighbors: "replace_one" or "add_remove".
        candidates: how many there are in a public list; None where there is no such list.
        are_counts: whether scores are at least 0 whatever the data; some mechanisms need that.

    Raises BadParameter for unusable parameters.
    """
    budget = positive("epsilon", epsilon)
    count = None if candidates is None else whole("candidates", candidates)
    exact_delta = probability("delta", delta) if exact_number("delta", delta) else Fraction(0)
    return recommended(budget, exact_delta, Neighbors.parse(neighbors), count, are_counts=are_counts)


def recommended(
    epsilon: Fraction, delta: Fraction, neighbors: Neighbors, candidates: int | None, *, are_counts: bool = True
) -> Recommendation:
    """As `recommend`, by parameters that were read."""
    if not delta and candidates is None:
        raise BadParameter(
            "delta = 0 leaves no mechanism without a public list of candidates: give delta, such as 1e-6, or the list "
            "(`catalogue=FILE`)."
        )
    budget, exact_delta = _within(epsilon, EPSILONS), _within(delta, DELTAS) if delta else delta
    found = _recommend(budget, exact_delta, neighbors, candidates, are_counts=are_counts)
    if budget == epsilon:
        return found
    return replace(found, reason=f"{found.reason} (That is the nearest ε that is compared.)")


def usable(
    epsilon: Fraction, delta: Fraction, neighbors: Neighbors, *, candidates: int | None, are_counts: bool = True
) -> list[Mechanism]:
    """The private mechanisms that need nothing but these parameters; pure ones hold δ = 0.

    `candidates` is the number of public candidates, None where there is no public list of them. `are_counts` says that
    scores are at least 0 whatever the data. Left out are `bounded_growth`, whose data must be truncated first, and with
    δ = 0 every mechanism that needs a δ.
    """
    kinds = [
        kind
        for kind in MECHANISMS.values()
        if kind.private and not kind.needs_bounded_units and (delta or not kind.approximate)
        if (candidates is not None or not kind.needs_catalogue) and (are_counts or not kind.needs_counts)
    ]
    return [kind(epsilon, delta if kind.approximate else Fraction(0), neighbors) for kind in kinds]


@lru_cache(maxsize=256)
def _recommend(
    epsilon: Fraction, delta: Fraction, neighbors: Neighbors, candidates: int | None, *, are_counts: bool
) -> Recommendation:
    """The mechanism that succeeds at the smallest lead; the estimates settle ties.

    The output distributions of margin mechanisms take a hundred times as long to compute. So they are compared only at
    leads where another one succeeds: there, their cheap bound mostly shows that they do not.
    """
    every = usable(epsilon, delta, neighbors, candidates=candidates, are_counts=are_counts)
    able = [mechanism for mechanism in every if not mechanism.only_by_name]
    estimates = {mechanism: mechanism.lead(candidates or 1) for mechanism in able}
    hopefuls = sorted(able, key=estimates.__getitem__)
    step = float(lead_sensitivity(neighbors) / epsilon) / _STEPS

    def successful(mechanisms: list[Mechanism], steps: int) -> list[Mechanism]:
        profile = stylised(Shape.POWER_LAW, steps * step, candidates)
        return [mechanism for mechanism in mechanisms if succeeds(mechanism, profile)]

    quick = [mechanism for mechanism in hopefuls if not isinstance(mechanism, MarginMechanism)] or hopefuls
    left, high = _first_to_succeed(quick, successful, ceil(estimates[quick[0]] / (2 * step)), step)
    margins = successful([mechanism for mechanism in hopefuls if mechanism not in quick], high)
    if margins:
        rivals = [mechanism for mechanism in hopefuls if mechanism in left or mechanism in margins]
        left, high = _first_to_succeed(rivals, successful, high, step)
    best = left[0]
    known = "Without a public list of candidates" if candidates is None else f"For {_rounded(candidates)} candidates"
    return Recommendation(
        best.name,
        f"auto uses {best.name}, the mechanism that needs the smallest lead. {known}, at ε = {float(epsilon):g}, "
        f"δ = {float(delta):g}, {str(neighbors).replace('_', '-')}, that is about {ceil(high * step)} over the second "
        "best, if scores follow a power law.",
    )


def _first_to_succeed(
    hopefuls: list[Mechanism], successful: Callable[[list[Mechanism], int], list[Mechanism]], start: int, step: float
) -> tuple[list[Mechanism], int]:
    """Those that succeed at the smallest lead, in steps; of a single one, a lead that is the same in whole units.

    By bisection: a mechanism that fails where another one succeeds is out.
    """
    low, high = 0, start
    while not (left := successful(hopefuls, high)):
        low, high = high, 2 * high
    while high - low > 1 and (len(left) > 1 or ceil((low + 1) * step) < ceil(high * step)):
        middle = (low + high) // 2 if len(left) > 1 else _middle_in_whole_units(low, high, step)
        if found := successful(left, middle):
            left, high = found, middle
        else:
            low = middle
    return left, high


def _middle_in_whole_units(low: int, high: int, step: float) -> int:
    """A number of steps between the two that halves the leads in whole units: all that is asked of a single mechanism.

    Requires: not all numbers above `low`, up to `high`, are the same lead rounded up.
    """
    units = (ceil((low + 1) * step) + ceil(high * step) - 1) // 2
    return min(max(low + 1, int(units / step)), high - 1)


def success_probability(mechanism: Mechanism, profile: Profile) -> float:
    """The probability that the best candidate is chosen. Requires: the profile has a single best candidate."""
    return float(mechanism.distribution(profile).masses[0])


def succeeds(mechanism: Mechanism, profile: Profile, target: float = SUCCESS) -> bool:
    """Whether the best candidate is found often enough; of a search, the cheap bound mostly shows that it is not."""
    if isinstance(mechanism, MarginMechanism) and success_probability(mechanism, head(profile)) < target:
        return False
    return success_probability(mechanism, profile) >= target


def least_gap(mechanism: Mechanism, shape: Shape, candidates: int | None, target: float) -> int:
    """The least lead of the best candidate at which the mechanism succeeds with probability `target`.

    Requires: target ≤ 1 − 10^−6. Success grows with the lead, because all differences of scores grow with it.
    """

    def bound_passes(gap: int) -> bool:
        return success_probability(mechanism, head(stylised(shape, gap, candidates))) >= target

    def passes(gap: int) -> bool:
        return success_probability(mechanism, stylised(shape, gap, candidates)) >= target

    return least(passes, start=least(bound_passes, start=1))


def least(passes: Callable[[int], bool], *, start: int, end: int | None = None) -> int:
    """The smallest whole number ≥ `start` that passes. Requires: all above one that passes do; `end` does, if given."""
    low, high, step = start - 1, start if end is None else end, max(1, start // 8)
    while end is None and not passes(high):
        low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def _within(value: Fraction, bounds: tuple[Fraction, Fraction]) -> Fraction:
    return min(max(value, bounds[0]), bounds[1])


def _rounded(count: int) -> str:
    """A number of candidates for reading."""
    return f"{count:,}" if count < 10**9 else f"about 10^{len(str(count)) - 1}"


def stylised(shape: Shape, gap: float, candidates: int | None) -> Profile:
    """The profile of that shape whose best candidate leads the second by `gap` > 0, in sensitivities.

    `candidates` ≥ 1 is how many there are; None for an unknown universe: dummies then stand for those without support.
    """
    count = _SUPPORTED if candidates is None else min(candidates, _MOST)
    levels = _first(count, _levels(shape, shape.top * gap, count))
    if candidates is None:
        return _profile([(score, size) for score, size in levels if score > 0], MANY_DUMMIES)
    return _profile(levels)


@lru_cache(maxsize=1)  # mechanisms are compared on one profile after the other
def head(profile: Profile, size: int = _SINGLE) -> Profile:
    """The `size` best candidates alone, without dummies.

    No mechanism chooses the best candidate less often among fewer rivals, so this bounds its success from above. For a
    margin mechanism it takes a hundredth of the time.
    """
    return _profile(_first(size, zip(profile.scores, profile.counts, strict=True)))


def _profile(levels: list[tuple[float, int]], dummies: int = 0) -> Profile:
    return Profile(tuple(score for score, _ in levels), tuple(count for _, count in levels), dummies)


def _first(size: int, levels: Iterable[tuple[float, int]]) -> list[tuple[float, int]]:
    """The levels, cut after `size` candidates."""
    kept: list[tuple[float, int]] = []
    for score, count in levels:
        if size <= 0:
            break
        kept.append((score, min(count, size)))
        size -= count
    return kept


def _levels(shape: Shape, top: float, candidates: int) -> Iterator[tuple[float, int]]:
    """The levels in order, of at least `candidates` candidates."""
    yield top, 1
    if shape is Shape.POWER_LAW:
        yield from _power_law(top, candidates)
        return
    if shape is Shape.NEAR_TIES:
        yield 0.9 * top, _RUNNERS_UP
    yield 0.0, candidates


def _power_law(top: float, candidates: int) -> Iterator[tuple[float, int]]:
    """Ranks from 2 on; a block of ranks has the score of its first."""
    rank = 2
    while rank <= candidates:
        size = 1 if rank < _SINGLE else (_BLOCK - 1) * rank
        yield top * rank**-DECAY, size
        rank += size
