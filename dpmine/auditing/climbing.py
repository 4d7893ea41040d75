"""Random search for a worse pair: from random pairs or known bad ones, by small changes that do no harm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from dpmine.auditing.families import CROWDS
from dpmine.auditing.pairs import Group, Pair, on_grid
from dpmine.auditing.profile import NOTHING
from dpmine.errors import BadParameter
from dpmine.exact.decisions import uniform_below

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpmine.auditing.pairs import Scope
    from dpmine.auditing.profile import Finding
    from dpmine.exact.bits import BitSource

T = TypeVar("T")

_GROUPS = 5  # of a random pair, at most


@dataclass(frozen=True)
class Climber:
    """Proposes pairs that the scope admits, at the given critical gaps.

    Requires: at least one gap.
    """

    scope: Scope
    gaps: Sequence[float]
    crowds: Sequence[int] = CROWDS

    def climb(
        self, start: Pair | None, shows: Callable[[Pair], Finding], *, steps: int, bits: BitSource
    ) -> tuple[Finding, Pair | None]:
        """The best pair found in `steps` changes of `start` (of a random pair when None), and what it shows."""
        pair = start
        best = shows(pair) if pair else NOTHING
        for _ in range(steps):
            proposal = self._changed(pair, bits) if pair else self._random(bits)
            if proposal is None:
                continue
            found = shows(proposal)
            if pair is None or found.rank >= best.rank:
                pair, best = proposal, found
        return best, pair

    def _random(self, bits: BitSource) -> Pair | None:
        groups = [self._group(bits) for _ in range(1 + uniform_below(_GROUPS, bits=bits))]
        return self._admitted(groups, _pick(self.scope.dummies, bits))

    def _group(self, bits: BitSource) -> Group:
        height = _pick(self.gaps, bits) + uniform_below(3, bits=bits)
        return Group(height, _pick(self.scope.moves, bits), _pick(self.crowds, bits))

    def _changed(self, pair: Pair, bits: BitSource) -> Pair | None:
        """A neighbour in the space of pairs: one group changed, added or removed, or another padding."""
        groups, dummies = list(pair.groups), pair.dummies
        place = uniform_below(len(groups), bits=bits)
        kind = uniform_below(7, bits=bits)
        if kind == 0:
            groups.append(self._group(bits))
        elif kind == 1:
            groups.pop(place)
        elif kind == 2:
            dummies = _pick(self.scope.dummies, bits)
        else:
            groups[place] = self._change(groups[place], bits)
        return self._admitted(groups, dummies)

    def _change(self, group: Group, bits: BitSource) -> Group:
        kind = uniform_below(4, bits=bits)
        if kind == 0:
            return replace(group, move=_pick(self.scope.moves, bits))
        if kind == 1:
            return replace(group, count=_pick((group.count + 1, max(1, group.count // 2), 2 * group.count), bits))
        steps = (1.0, -1.0) if kind == 2 else (_pick(self.gaps, bits) / 4, -_pick(self.gaps, bits) / 4)
        step = _pick(steps, bits)
        return replace(group, score=on_grid(group.score + (step if self.scope.growth is None else round(step))))

    def _admitted(self, groups: list[Group], dummies: int) -> Pair | None:
        try:
            pair = Pair(tuple(groups), dummies)
        except BadParameter:
            return None
        within = sum(group.count for group in groups) <= 2 * max(CROWDS) * _GROUPS
        return pair if within and self.scope.admits(pair) else None


def _pick(values: Sequence[T], bits: BitSource) -> T:
    return values[uniform_below(len(values), bits=bits)]
