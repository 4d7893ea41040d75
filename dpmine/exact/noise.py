"""Discrete Laplace and Gaussian noise, in whole numbers.

Numbers drawn one by one may have any rational scale or variance, and are Python's whole numbers, without a limit.
Arrays have whole scales. Their numbers are kept in 64 bits and wrap around. Reducing a result modulo 2^64 is
post-processing, and sums of reduced numbers are the reduced sums. So their distributions are exact up to that
reduction. Where small numbers are drawn, the words are short: most of the time goes into random bits.
Source: Canonne, Kamath & Steinke 2020, "The discrete Gaussian for differential privacy", algorithms 1 to 3.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from dpmine.exact.reals import uniform_below

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dpmine.exact.bits import BitSource


LARGEST_SCALE = 1 << 30
"""Of `discrete_gaussian_array`: its square is then a whole number of 64 bits."""
Words: TypeAlias = "NDArray[np.uint64]"
Integers: TypeAlias = "NDArray[np.int64]"
Word = TypeVar("Word", bound="np.unsignedinteger[Any]")
Truths: TypeAlias = "NDArray[np.bool_]"


def words(count: int, kind: type[Word], *, bits: BitSource) -> NDArray[Word]:
    """`count` independent uniform words of 8, 16, 32 or 64 bits, as `kind` says: whole numbers from 0 up."""
    stored = np.dtype(kind).newbyteorder(">")
    drawn = bits.take(8 * stored.itemsize * count).to_bytes(stored.itemsize * count, "big")
    return np.frombuffer(drawn, dtype=stored).astype(kind)


def uniforms_below(bounds: NDArray[Word], *, bits: BitSource) -> NDArray[Word]:
    """Independent uniform whole numbers in [0, bound), for `bounds` of at least 1, of the same width.

    The remainder of a uniform word. Of the 2^64 words (2^8, …) the first few are drawn again: as many as leave a
    multiple of the bound.
    """
    kind = bounds.dtype.type
    surplus = (kind(0) - bounds) % bounds  # 2^width mod bound, as the difference wraps around
    drawn = words(len(bounds), kind, bits=bits)
    places = np.flatnonzero(drawn < surplus)
    while len(places):
        drawn[places] = words(len(places), kind, bits=bits)
        places = places[drawn[places] < surplus[places]]
    return drawn % bounds


def happen_exponentially(numerators: NDArray[Word], denominators: NDArray[Word], *, bits: BitSource) -> Truths:
    """Independent events of probability e^{−n/m}, for whole numbers 0 ≤ n ≤ m, m ≥ 1.

    Coins of probability (n/m)/1, (n/m)/2, … are flipped until one fails; the number of flips is odd that often.
    """
    result = np.zeros(len(numerators), dtype=np.bool_)
    going, flips = np.arange(len(numerators)), 0
    while len(going):
        flips += 1
        result[going] = flips % 2 == 1
        going = going[_one_in(flips, len(going), bits=bits)]
        going = going[uniforms_below(denominators[going], bits=bits) < numerators[going]]
    return result


def _one_in(bound: int, count: int, *, bits: BitSource) -> Truths:
    """Independent events of probability 1/bound, from words no wider than the bound needs."""
    if bound == 1:
        return np.ones(count, dtype=np.bool_)
    bounds: NDArray[np.unsignedinteger[Any]] = np.full(count, bound, dtype=np.min_scalar_type(bound))
    happen: Truths = uniforms_below(bounds, bits=bits) == 0
    return happen


def discrete_laplace(scales: Integers, *, bits: BitSource) -> Integers:
    """Independent whole numbers k with Pr[k] proportional to e^{−|k|/m}, for whole `scales` m in [1, 2^62]."""
    sizes = scales.astype(np.uint64)

    def attempt(places: NDArray[np.intp]) -> tuple[Integers, Truths]:
        size = sizes[places]
        distance, is_zero = _geometric(size, bits=bits)
        negative = words(len(places), np.uint8, bits=bits) % np.uint8(2) == 1
        signed = np.where(negative, -distance, distance)
        return signed, ~(negative & is_zero)  # or 0 would come twice as often

    return _until_accepted(len(scales), attempt)


def whole_scale(variance: Fraction) -> int:
    """The least whole σ with σ² at least that variance above 0: what `discrete_gaussian_array` takes."""
    return isqrt(-(-variance.numerator // variance.denominator) - 1) + 1


def discrete_gaussian_array(count: int, scale: int, *, bits: BitSource) -> Integers:
    """`count` independent whole numbers k with Pr[k] proportional to e^{−k²/(2σ²)}, for a whole `scale` σ in [1, 2^30].

    As `discrete_gaussian` with t = σ: discrete Laplace numbers, kept with probability e^{−(|k| − σ)²/(2σ²)}.
    """
    size = np.uint64(scale)

    def attempt(places: NDArray[np.intp]) -> tuple[Integers, Truths]:
        proposed = discrete_laplace(np.full(len(places), scale), bits=bits)
        wholes, rest = np.divmod(np.abs(np.abs(proposed) - scale).astype(np.uint64), size)
        # The square of (wholes + rest/σ), halved, is a sum of three exponents whose numbers fit into 64 bits.
        accepted = _coins(wholes * wholes, np.uint64(2), bits=bits)
        accepted &= _coins(wholes * rest, size, bits=bits)
        accepted &= _coins(rest * rest, 2 * size * size, bits=bits)
        return proposed, accepted

    return _until_accepted(count, attempt)


def _coins(numerators: Words, denominator: np.uint64, *, bits: BitSource) -> Truths:
    """Independent events of probability e^{−n/m}, for any n: e^{−1} as often as m goes into n, and the rest."""
    wholes, rest = np.divmod(numerators, denominator)
    result = happen_exponentially(rest, np.full(len(rest), denominator), bits=bits)
    going = np.flatnonzero(result & (wholes > 0))
    while len(going):
        one = np.ones(len(going), dtype=np.uint8)
        happened = happen_exponentially(one, one, bits=bits)
        result[going[~happened]] = False
        wholes[going] -= np.uint64(1)
        going = going[happened & (wholes[going] > 0)]
    return result


def discrete_laplace_of_scale(scale: Fraction, *, bits: BitSource) -> int:
    """One whole number k with Pr[k] proportional to e^{−|k|/scale}, for any rational `scale` > 0.

    Source: Canonne, Kamath & Steinke 2020, algorithm 2. Proof: docs/proofs/noisy_supports.md.
    """
    while True:
        distance = geometric_of_scale(scale, bits=bits)
        negative = bits.take(1)
        if distance or not negative:  # or 0 would come twice as often
            return -distance if negative else distance


def geometric_of_scale(scale: Fraction, *, bits: BitSource) -> int:
    """One whole number k ≥ 0 with Pr[k] proportional to e^{−k/scale}: for t/s, blocks of s numbers for the scale t."""
    size = scale.numerator
    rest = uniform_below(size, bits=bits)
    while not exponential_coin(rest, size, bits=bits):
        rest = uniform_below(size, bits=bits)
    wholes = 0
    while exponential_coin(1, 1, bits=bits):
        wholes += 1
    return (rest + size * wholes) // scale.denominator


def discrete_gaussian(variance: Fraction, *, bits: BitSource) -> int:
    """One whole number k with Pr[k] proportional to e^{−k²/(2σ²)}, for any rational `variance` σ² > 0.

    Discrete Laplace numbers of scale t = ⌊σ⌋ + 1, kept with probability e^{−(|k| − σ²/t)²/(2σ²)}: fewer than four
    attempts on average. Source: Canonne, Kamath & Steinke 2020, algorithm 3. Proof: docs/proofs/noisy_supports.md.
    """
    scale = isqrt(variance.numerator // variance.denominator) + 1
    while True:
        proposed = discrete_laplace_of_scale(Fraction(scale), bits=bits)
        if _coin((abs(proposed) - variance / scale) ** 2 / (2 * variance), bits=bits):
            return proposed


def _coin(exponent: Fraction, *, bits: BitSource) -> bool:
    """One event of probability e^{−exponent}, for any rational `exponent` ≥ 0: e^{−1} several times, and the rest."""
    wholes, rest = divmod(exponent, 1)
    certain = all(exponential_coin(1, 1, bits=bits) for _ in range(int(wholes)))
    return certain and exponential_coin(rest.numerator, rest.denominator, bits=bits)


def exponential_coin(numerator: int, denominator: int, *, bits: BitSource) -> bool:
    """One event of probability e^{−n/m}, for whole numbers 0 ≤ n ≤ m, m ≥ 1: as `happen_exponentially`."""
    flips = 1
    while uniform_below(flips * denominator, bits=bits) < numerator:
        flips += 1
    return flips % 2 == 1


def _geometric(sizes: Words, *, bits: BitSource) -> tuple[Integers, Truths]:
    """Whole numbers with Pr[k] ∝ e^{−k/m}, k ≥ 0, as r + m·w, and whether they are 0."""

    def attempt(places: NDArray[np.intp]) -> tuple[Words, Truths]:
        drawn = uniforms_below(sizes[places], bits=bits)
        return drawn, happen_exponentially(drawn, sizes[places], bits=bits)

    rest = _until_accepted(len(sizes), attempt)
    wholes = np.zeros(len(sizes), dtype=np.uint64)
    going = np.arange(len(sizes))
    while len(going):
        one = np.ones(len(going), dtype=np.uint8)
        going = going[happen_exponentially(one, one, bits=bits)]
        wholes[going] += np.uint64(1)
    return (rest + sizes * wholes).astype(np.int64), (rest == 0) & (wholes == 0)


def _until_accepted(count: int, attempt: Callable[[NDArray[np.intp]], tuple[NDArray, Truths]]) -> NDArray:  # type: ignore[type-arg]
    """One accepted draw for every place: rejected places are drawn again."""
    places = np.arange(count)
    drawn, accepted = attempt(places)
    result = drawn.copy()
    places = places[~accepted]
    while len(places):
        drawn, accepted = attempt(places)
        result[places[accepted]] = drawn[accepted]
        places = places[~accepted]
    return result
