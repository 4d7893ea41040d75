"""Why stability is asked for: a private training procedure whose validation score is not stable.

Two α-private procedures say which of l options has the largest f(D, i), and how large every f(D, i)
is, where one record moves f by at most 1/n. Their validation score is the noisy value of the option they name.
`ExponentialFirst` names it by the exponential mechanism: with the same random draw, one record can make it name another
option, and the score jumps by the distance of two values. `LargestNoisy` names the largest noisy value: its score
moves by at most 1/n whatever the draw. An example to run and to test; nothing else uses it, and it is not for release
(its noise is plain float64).

Source: Chaudhuri & Vinterbo 2013, appendix 6.1.

>>> from fractions import Fraction
>>> n, alpha = 100, Fraction(1)
>>> here, there = (1.0, 0.5), (1 - 1 / n, 0.5 + 1 / n)
>>> low, high = unstable_interval(here, there, n, alpha)
>>> draw = ((low + high) / 2, (0.0, 0.0))
>>> [ExponentialFirst(n).fit(values, 2, alpha, draw).score for values in (here, there)]
[1.0, 0.51]
>>> [LargestNoisy(n).fit(values, 2, alpha, draw).score for values in (here, there)]
[1.0, 0.99]
"""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, exp, log1p
from typing import TYPE_CHECKING, TypeAlias

from dpmine.exact.reals import uniform_below

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from dpmine.exact.bits import BitSource

Values: TypeAlias = "Sequence[float]"
"""f(D, 1), …, f(D, l): all that the procedures need of the data."""
Randomness: TypeAlias = tuple[float, tuple[float, ...]]
"""R_0, uniform in (0, 1), and R_1, …, R_l, standard Laplace."""

_RESOLUTION = 2**52  # below the resolution of float64, so that no uniform is 0 or 1


@dataclass(frozen=True, slots=True)
class Answer:
    """The option that was named, and all noisy values."""

    option: int
    values: tuple[float, ...]

    @property
    def score(self) -> float:
        """The validation score: the noisy value of the option that was named."""
        return self.values[self.option]


@dataclass(frozen=True, slots=True)
class _Procedure:
    """What both share: the draws. The parameter of the training is l, the number of options."""

    records: int

    def draw(self, options: int, _alpha: Fraction, *, bits: BitSource) -> Randomness:
        """R_0, R_1, …, R_l."""
        uniforms = [(uniform_below(_RESOLUTION, bits=bits) + 0.5) / _RESOLUTION for _ in range(options + 1)]
        return uniforms[0], tuple(_laplace(uniform) for uniform in uniforms[1:])


class ExponentialFirst(_Procedure):
    """α/2 for an option by the exponential mechanism, α/2 for the noisy values: α-private, not stable."""

    def fit(self, data: Values, options: int, alpha: Fraction, draw: Randomness) -> Answer:
        """The option whose interval of cumulated probabilities holds R_0, and f(D, i) + 2l R_i/(αn)."""
        ends = cumulated(data, self.records, alpha)
        option = next(i for i, end in enumerate(ends) if draw[0] <= end)
        return Answer(option, _noisy(data, draw[1], 2 * options / (float(alpha) * self.records)))


class LargestNoisy(_Procedure):
    """α for the noisy values, whose largest names the option: α-private, and stable with β1 = 1, δ = 0."""

    def fit(self, data: Values, options: int, alpha: Fraction, draw: Randomness) -> Answer:
        """F(D, i) + l R_i/(αn), and the option where it is largest."""
        values = _noisy(data, draw[1], options / (float(alpha) * self.records))
        return Answer(max(range(options), key=values.__getitem__), values)


def cumulated(data: Values, records: int, alpha: Fraction) -> list[float]:
    """Ends of the intervals of [0, 1] that the exponential mechanism at α/2 gives to the options; the last is 1."""
    top = max(data)
    weights = [exp(records * float(alpha) * (value - top) / 4) for value in data]
    total = sum(weights)
    return [sum(weights[: i + 1]) / total for i in range(len(data) - 1)] + [1.0]


def unstable_interval(here: Values, there: Values, records: int, alpha: Fraction) -> tuple[float, float]:
    """The draws R_0 with which `ExponentialFirst` names option 1 on the one data set and option 2 on the other."""
    first, second = (cumulated(data, records, alpha)[0] for data in (here, there))
    return min(first, second), max(first, second)


def _noisy(data: Values, noise: Sequence[float], scale: float) -> tuple[float, ...]:
    return tuple(value + scale * r for value, r in zip(data, noise, strict=True))


def _laplace(uniform: float) -> float:
    """The quantile of the standard Laplace distribution."""
    centred = uniform - 0.5
    return -copysign(log1p(-2 * abs(centred)), centred)
