"""The engine: scores and parameters in, one private choice and its guarantee out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dpmine.errors import BadParameter
from dpmine.exact.bits import BitSource, SystemBits
from dpmine.ledger.budget import checked_name
from dpmine.ledger.charging import Account
from dpmine.markup import html_table
from dpmine.options.explained import explained_by
from dpmine.options.names import AUTO
from dpmine.parameters import Number, named, positive
from dpmine.privacy import Guarantee, Neighbors, short
from dpmine.selection.advice import advice
from dpmine.selection.recommend import build_mechanism
from dpmine.selection.scores import Scores, is_universe, labelled_universe, number_of, released, require_form
from dpmine.selection.universes.dense import Dense, Levels
from dpmine.selection.universes.protocol import MANY_DUMMIES, C, Scaled, Universe

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from dpmine.ledger.ledger import Ledger
    from dpmine.selection.distributions.profile import Profile
    from dpmine.selection.mechanisms.mechanism import Mechanism

_LARGEST_WHOLE = 2**53  # beyond it floats skip whole numbers


class Candidates(StrEnum):
    """Whether the list of candidates is public."""

    PUBLIC = "public"
    UNKNOWN = "unknown"

    @classmethod
    def parse(cls, value: str | Candidates) -> Candidates:
        """The value of that name; BadParameter otherwise."""
        return named(cls, "candidates", value)

    @property
    def padding(self) -> int:
        """Dummies that stand for candidates that are unknown."""
        return MANY_DUMMIES if self is Candidates.UNKNOWN else 0


@dataclass(frozen=True, slots=True)
class Selection:
    """A private choice. It is true where something was chosen: `if dpmine.select(...):`.

    Attributes:
        index: the chosen candidate: a position for arrays, (group, member) for `Levels`, the candidate for other
            universes. None where nothing was chosen; for mappings and Series, whose order can be that of the data; and
            for `Levels` that are not public.
        label: the candidate's label where a mapping or Series was given, else the same as `index`.
        chosen: whether something was chosen, which is the truth value; not so `label`, which can be None.
        mechanism: the mechanism that chose.
        guarantee: the guarantee.
        advice: when nothing stood out, what would have been needed, whether the run was charged, and what to try next.
            It states facts of the parameters alone. "" when something was chosen.

    Example:
        >>> bool(select([5000, 10], epsilon=1, mechanism="exponential"))
        True
        >>> for label in select({"tea": 5000, "milk": 10}, epsilon=1, mechanism="exponential"):
        ...     print(label)
        tea

    See Also:
        select: makes it.
    """

    index: Any
    label: Any
    chosen: bool
    mechanism: str
    guarantee: Guarantee
    advice: str = ""

    def __len__(self) -> int:
        """1 where something was chosen, else 0, which is false."""
        return int(self.chosen)

    def __iter__(self) -> Iterator[Any]:
        """The label of what was chosen; nothing else."""
        return iter([self.label] if self.chosen else [])

    def to_dict(self) -> dict[str, Any]:
        """A plain form for JSON."""
        index = list(self.index) if isinstance(self.index, tuple) else self.index
        return {
            "index": index,
            "label": self.label,
            "chosen": self.chosen,
            "mechanism": self.mechanism,
            "guarantee": self.guarantee.to_dict(),
            **({"advice": self.advice} if self.advice else {}),
        }

    def __str__(self) -> str:
        said = f"{self._shown()}  ({self.mechanism}; {self.guarantee})"
        return f"{said}\n{self.advice}" if self.advice else said

    def _repr_html_(self) -> str:
        """What `str` says, as a table: notebooks show it."""
        said = [] if self.chosen else [self._shown()]
        remarks = [*said, *filter(None, [self.advice]), f"({self.mechanism}; {self.guarantee})"]
        return html_table(["chosen"], [[self._shown()]] if self.chosen else [], remarks)

    def _shown(self) -> str:
        if not self.chosen:
            return "nothing stands out"
        return "something stands out" if self.label is None else f"{self.label!r}"


@dataclass(frozen=True, eq=False, slots=True)
class Law:
    """The exact probabilities of a selection.

    Attributes:
        pmf: float64. For arrays and mappings, one entry per candidate; for `Levels`, the total per group. For other
            universes, the total per level, best first.
        nothing: the probability that nothing is chosen.
    """

    pmf: NDArray[np.float64]
    nothing: float


def select(
    scores: Scores,
    *,
    epsilon: Number = 1,
    delta: Number = 1e-6,
    mechanism: str = AUTO,
    sensitivity: Number = 1,
    neighbors: str | Neighbors = Neighbors.REPLACE_ONE,
    candidates: str | Candidates = "public",
    unit: str = "unit",
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    **options: Number | None,
) -> Selection:
    """Choose a candidate with a high score, privately.

    Args:
        scores: 1-D integers, floats (taken exactly) or Fractions, a {label: score} mapping or Series, or a Universe.
            A position of an array must stand for the same candidate whatever the data; so must what a Universe gives.
        epsilon: ε > 0, read exactly (0.1 is one tenth).
        delta: δ in (0, 1), used by approximate mechanisms only.
        mechanism: a name out of `dpmine.selection.recommend.MECHANISMS`, or "auto": what `recommend` says for the
            number of candidates.
        sensitivity: the most that one unit can move any score. Under replace_one each score may move up or down by it.
            Under add_remove all scores must move together: an added unit raises each by 0 to `sensitivity`, as counts
            are. For scores that do not, ask for replace_one: its form protects any scores of this sensitivity.
        neighbors: "replace_one" or "add_remove".
        candidates: "public" if the list of candidates is the same whatever the data. The list is the length of an
            array, the keys of a mapping or Series, or the groups of `Levels`. "unknown" if it was found in the data, as
            the keys of a Counter are. Then only mechanisms for an unknown universe are used, and candidates of score 0
            are never chosen. Scores must be at least 0. Labels are released in one form: 1 for 1, 1.0 and True. Of
            `Levels` nothing is released but whether something was chosen. Entries with the same label are separate
            candidates.
        unit: the name of the privacy unit, whose data move a score by at most `sensitivity`. Nothing checks this
            assertion, and the guarantee says so. A ledger accepts charges for one unit per data set, so give the name
            that the other calls give, such as "row" or a column.
        ledger: a `dpmine.Ledger` or its URL, charged before any score is looked at ("auto" looks at their number).
        dataset: the data set's name in the ledger.
        options: further options of mechanisms

            - `kbar`: of limited_domain and limited_domain_permute_and_flip, how many candidates are kept; public,
              default 2^20
            - `max_items_per_unit`: of bounded_growth, the most candidates that one unit supports. The scores must have
              been counted so: nothing is cut here
            - `not_private=True`: opts in to "exact"

    Scores must be finite numbers, and for limited_domain, bounded_growth and unknown candidates at least 0, *whatever
    the data*. Like `sensitivity`, this is for the caller to ensure. It is checked after the charge, so an error there
    shows something of the data.

    Raises BadParameter for unusable parameters and, before a charge, for a public list that is empty or repeats labels.
    Raises NotPrivate for "exact" without the opt-in. Where a ledger is given, raises BudgetExceeded, BadLedger, and
    BadParameter for another unit or relation than the data set's.

    Example:
        >>> votes = {"tea": 9400, "coffee": 3100, "water": 250}
        >>> found = select(votes, epsilon=1, mechanism="max_of_exponentials", unit="voter")
        >>> found.label
        'tea'
        >>> print(found.guarantee.epsilon, found.guarantee.delta)
        1 0

    See Also:
        law: the probabilities of every outcome, for public scores.
        dpmine.plan: the lead that each mechanism needs.
        dpmine.Levels: scores of groups of candidates.
    """
    padding = Candidates.parse(candidates).padding
    hidden = _is_hidden(scores, padding)
    require_form(scores, hidden=hidden)
    chooser, step, guarantee = _terms(
        mechanism,
        sensitivity,
        unit,
        size=None if hidden or mechanism != AUTO else number_of(scores),
        hidden=hidden,
        listed=not is_universe(scores),
        epsilon=epsilon,
        delta=delta,
        neighbors=neighbors,
        **options,
    )
    account = Account.of(ledger, dataset)
    account.charge(guarantee, job=f"select {chooser.name}")
    universe, labels = labelled_universe(scores, padding)
    choice = choose(chooser, universe, sensitivity=step, bits=SystemBits())
    index, label = released(scores, labels, choice, hidden=hidden)
    charged = account.ledger is not None
    hint = "" if choice is not None else advice(chooser, public_size(universe), step, charged=charged)
    return Selection(index, label, choice is not None, chooser.name, guarantee, hint)


@explained_by(select.__doc__)
def law(
    scores: Scores,
    *,
    epsilon: Number = 1,
    delta: Number = 1e-6,
    mechanism: str = AUTO,
    sensitivity: Number = 1,
    neighbors: str | Neighbors = Neighbors.REPLACE_ONE,
    candidates: str | Candidates = "public",
    **options: Number | None,
) -> Law:
    """The exact output distribution of `select` with the same arguments, in float64.

    For public data only: it shows the scores. Raises BadParameter as `select` does.

    Example:
        >>> law([3, 1], epsilon=2, mechanism="exponential").pmf.round(3).tolist()
        [0.881, 0.119]

    See Also:
        select: the private choice itself.
    """
    parameters = {"epsilon": epsilon, "delta": delta, "neighbors": neighbors, **options}
    step, padding = positive("sensitivity", sensitivity), Candidates.parse(candidates).padding
    hidden = _is_hidden(scores, padding)
    require_form(scores, hidden=hidden)
    chooser = _built(mechanism, None if hidden else number_of(scores), parameters)
    universe, _ = labelled_universe(scores, padding)
    by_level = chooser.distribution(
        _profile(universe, step, only_differences=not (chooser.approximate or universe.padding))
    )
    parts = scores if isinstance(scores, Levels) else universe
    masses = parts.spread(by_level.masses) if isinstance(parts, Dense | Levels) else by_level.masses
    return Law(masses, by_level.nothing)


def _terms(name: str, sensitivity: Number, unit: str, **given: Any) -> tuple[Mechanism, Fraction, Guarantee]:
    """The mechanism, the exact sensitivity and the guarantee; they are kept, as calls are often repeated.

    Raises as `select`.
    """
    try:
        hash((name, sensitivity, unit, *given.values()))
    except TypeError:
        return _read_terms(name, sensitivity, unit, **given)
    return _kept_terms(name, sensitivity, unit, **given)  # type: ignore[arg-type]


def _read_terms(
    name: str, sensitivity: Number, unit: str, *, size: int | None, hidden: bool, listed: bool, **parameters: Any
) -> tuple[Mechanism, Fraction, Guarantee]:
    """`size`: the number of public candidates, None where it is not needed. `listed`: they come one by one."""
    step, protected = positive("sensitivity", sensitivity), checked_name("unit", unit)
    chooser = _built(name, size, parameters)
    _require_fit(chooser, step, hidden=hidden)
    guarantee = chooser.guarantee()
    moved = f"moves each score by at most {short(step)}"
    if protected != guarantee.unit:
        guarantee = guarantee.asserting(protected, moved)
    elif guarantee.private:
        guarantee = guarantee.noting(f"asserted, not checked: {moved} ({protected})")
    if guarantee.private and not hidden and listed:
        guarantee = guarantee.noting("the candidates are taken as public")
    return chooser, step, guarantee


_kept_terms = lru_cache(maxsize=64, typed=True)(_read_terms)  # typed: True is no number, and equal to 1


def _is_hidden(scores: Scores, padding: int) -> bool:
    """Whether the list of candidates is private: dummies stand for the unknown ones."""
    return padding > 0 or (is_universe(scores) and scores.padding > 0)


def _profile(universe: Universe[Hashable], step: Fraction, *, only_differences: bool) -> Profile:
    """The levels in sensitivities, as floats; counted from the top where only differences matter.

    Raises BadParameter for scores that no float can hold, where their distance from 0 matters.
    """
    from dpmine.selection.distributions.profile import Profile

    levels = universe.head(universe.least)
    origin = levels[0].score if levels and (only_differences or levels[-1].score < 0) else 0
    exact = [Fraction(level.score - origin) / step for level in levels]
    scores = tuple(float(score) for score in exact)
    if any(score > _LARGEST_WHOLE and score != Fraction(rounded) for score, rounded in zip(exact, scores, strict=True)):
        raise BadParameter("dpmine.law needs scores below 2^53 sensitivities for this mechanism: take a pure one.")
    return Profile(scores, tuple(level.count for level in levels), universe.padding)


def _built(name: str, size: int | None, parameters: dict[str, Any]) -> Mechanism:
    """The mechanism, before any score is read; "auto" asks for the number of public candidates. Raises as `select`."""
    if name != AUTO:
        return build_mechanism(name, **parameters)
    return build_mechanism(AUTO, candidates=size, are_counts=size is None, **parameters)  # dummies guarantee scores ≥ 0


def choose(mechanism: Mechanism, universe: Universe[C], *, sensitivity: Fraction, bits: BitSource) -> C | None:
    """One run of a mechanism on scores of any sensitivity: a candidate, or None."""
    _require_fit(mechanism, sensitivity, hidden=public_size(universe) is None)
    return mechanism.choose(universe if sensitivity == 1 else Scaled(universe, sensitivity), bits=bits)


def _require_fit(mechanism: Mechanism, sensitivity: Fraction, *, hidden: bool) -> None:
    """Reject what would void the guarantee; `hidden` where the list of candidates is not public."""
    if mechanism.needs_catalogue and hidden:
        raise BadParameter(
            f"{mechanism.name} needs a public list of all candidates, and padding stands for an unknown one: "
            "use limited_domain, large_margin_tight or large_margin."
        )
    if mechanism.needs_bounded_units and sensitivity != 1:
        raise BadParameter(
            f"{mechanism.name} needs scores of sensitivity 1: give counts and sensitivity=1, or another mechanism."
        )


def public_size(universe: Universe[Hashable]) -> int | None:
    """How many candidates there are, None where it is private, which dummies stand for."""
    return None if universe.padding else universe.size
