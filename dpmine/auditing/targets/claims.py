"""What is claimed of a mechanism, and how much of it two output distributions, or an event's probabilities, show.

A claim bounds every pair of neighbours. Each form has a figure of its own: ε at the claimed δ, ρ, or the δ at some ε of
a privacy profile. What is measured is a lower bound of that figure, so that more than is claimed refutes the claim.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, inf, isnan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpmine.auditing.blackbox import joint_bounds
from dpmine.auditing.pairs import Tolerance, measured_epsilon, privacy_profile
from dpmine.errors import BadParameter
from dpmine.parameters import Number, below_one, positive
from dpmine.zcdp import delta_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpmine.selection.distributions.profile import FloatArray

GIVEN = Tolerance(1e-9, 1e-14)
"""How exact an output distribution of other code is: small masses are often differences of large ones."""
_LARGEST = 1e4  # a claimed ε or ρ above it is a mistake
GRID = np.concatenate([np.linspace(0, 4, 41), np.linspace(4.25, 16, 48)])
"""The ε at which privacy profiles are compared, and drawn."""
_ORDERS = 1 + np.geomspace(1e-3, 1e3, 61)
"""Of Rényi divergences: each gives a valid bound, so floats do."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a pair of neighbours shows of a claim.

    Attributes:
        measured: a lower bound on the claim's figure; infinite where it has no bound.
        claimed: the figure that is claimed.
        hint: a second figure, δ, which says which of two pairs is worse where `measured` does not.
        figure: what is measured: "ε", "ρ", or "δ at ε = 0.5".
    """

    measured: float
    claimed: float
    hint: float
    figure: str

    @property
    def refutes(self) -> bool:
        """Whether more is measured than claimed."""
        return self.measured > self.claimed

    @property
    def rank(self) -> tuple[float, float]:
        """What a search for the worst pair maximises."""
        return self.measured - self.claimed, self.hint


class Figures(NamedTuple):
    """Of several events, or of two distributions: arrays of shape (cases,). `at` is the ε of a profile's δ, else 0."""

    measured: FloatArray
    claimed: FloatArray
    hint: FloatArray
    at: FloatArray


class ClaimForm(ABC):
    """A form of claim."""

    @abstractmethod
    def of_events(self, above: FloatArray, below: FloatArray) -> Figures:
        """The figures of every event.

        `above` holds lower bounds of its probability on one neighbour, `below` upper bounds of that on the other.
        """

    def of_corners(self, above: FloatArray, below: FloatArray) -> Figures:
        """The figure that all corners of a joint region show, of which one holds: see `joint_bounds`."""
        figures = self.of_events(above, below)  # the same is claimed of all of them
        place = int(np.argmin(figures.measured))
        return Figures(*(column[place : place + 1] for column in figures))

    @abstractmethod
    def of_laws(self, left: FloatArray, right: FloatArray) -> Figures:
        """The figures of two output distributions on the same outcomes, from `left` to `right`."""

    @abstractmethod
    def figure(self, at: float) -> str:
        """The figure's name."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """The δ that is claimed at ε, rounded up: for pictures."""


@dataclass(frozen=True, slots=True)
class _EpsilonDelta(ClaimForm):
    """(ε, δ)-differential privacy; the figure is ε at the claimed δ."""

    epsilon: float
    claimed_delta: float

    def of_events(self, above: FloatArray, below: FloatArray) -> Figures:
        """The figures: ln((p − δ)/p')."""
        with np.errstate(divide="ignore", invalid="ignore"):
            shown = np.log(np.maximum(above - self.claimed_delta, 0) / below)
        measured = np.maximum(np.nan_to_num(shown, nan=0.0, posinf=inf, neginf=0.0), 0.0)
        return _figures(measured, self.epsilon, above - exp(self.epsilon) * below)

    def of_laws(self, left: FloatArray, right: FloatArray) -> Figures:
        """The figures: the least ε with δ(ε) ≤ δ."""
        measured = measured_epsilon(left, right, self.claimed_delta, tolerance=GIVEN)
        hint = privacy_profile(left, right, self.epsilon, GIVEN)
        return _figures(np.array([measured]), self.epsilon, np.array([hint]))

    def figure(self, _at: float) -> str:
        return f"ε at δ = {self.claimed_delta:g}"

    def delta(self, epsilon: float) -> float:
        """Source: Kairouz, Oh & Viswanath 2015, section 3.1: the profile of the worst (ε, δ)-private mechanism."""
        if epsilon >= self.epsilon:
            return self.claimed_delta
        rest = 1 - self.claimed_delta
        return self.claimed_delta + rest * (exp(self.epsilon) - exp(epsilon)) / (exp(self.epsilon) + 1)


@dataclass(frozen=True, slots=True)
class _Rho(ClaimForm):
    """ρ-zero-concentrated differential privacy: the Rényi divergence of every order α is at most ρα."""

    rho: Fraction

    def of_events(self, above: FloatArray, below: FloatArray) -> Figures:
        """Of the two outcomes "in the event" and "not in it": their divergences are at most the full ones."""
        usable = above > below
        p, q = np.where(usable, above, 0.5), np.where(usable, below, 0.5)
        with np.errstate(divide="ignore"):
            inside = _powers(np.log(p), np.log(q))
            outside = _powers(np.log1p(-np.minimum(p, 1)), np.log1p(-np.minimum(q, 1)))
        shown = np.where(usable, _per_order(np.logaddexp(inside, outside)), 0.0)
        return _figures(shown, float(self.rho), above - below)

    def of_laws(self, left: FloatArray, right: FloatArray) -> Figures:
        """The figures. Every term grows with the left mass and falls with the right one, so rounding those suffices."""
        lower = left * (1 - GIVEN.relative) - GIVEN.absolute
        upper = right * (1 + GIVEN.relative) + GIVEN.absolute
        positive_mass = lower > 0
        terms = _powers(np.log(lower[positive_mass]), np.log(upper[positive_mass]))
        shown = _per_order(np.logaddexp.reduce(terms, axis=1, keepdims=True)) if positive_mass.any() else np.zeros(1)
        return _figures(shown, float(self.rho), np.maximum(0, lower - upper).sum(keepdims=True))

    def figure(self, _at: float) -> str:
        return "ρ"

    def delta(self, epsilon: float) -> float:
        """By conversion, which loses a little."""
        return float(delta_at(self.rho, Fraction(max(epsilon, 1e-9))))


@dataclass(frozen=True)
class _Profile(ClaimForm):
    """A privacy profile: δ as a function of ε; the figure is the δ at the ε where most is missing."""

    function: Callable[[float], float]

    @cached_property
    def _claimed(self) -> FloatArray:
        return np.array([self.delta(epsilon) for epsilon in GRID.tolist()])

    def of_events(self, above: FloatArray, below: FloatArray) -> Figures:
        """The figures: p − e^ε p'."""
        return self._worst(above[:, None] - np.exp(GRID) * below[:, None])

    def of_corners(self, above: FloatArray, below: FloatArray) -> Figures:
        """The figure: the least δ of all corners at each ε, since it holds at one ε for all of them."""
        return self._worst((above[:, None] - np.exp(GRID) * below[:, None]).min(axis=0, keepdims=True))

    def of_laws(self, left: FloatArray, right: FloatArray) -> Figures:
        """The figures: δ(ε)."""
        return self._worst(np.array([[privacy_profile(left, right, epsilon, GIVEN) for epsilon in GRID.tolist()]]))

    def _worst(self, deltas: FloatArray) -> Figures:
        places = np.argmax(deltas - self._claimed, axis=1)
        measured = np.maximum(np.take_along_axis(deltas, places[:, None], axis=1)[:, 0], 0)
        return Figures(measured, self._claimed[places], deltas[:, 0], GRID[places])

    def figure(self, at: float) -> str:
        return f"δ at ε = {at:g}"

    def delta(self, epsilon: float) -> float:
        """What the function says. Raises BadParameter unless that is a number of at least 0."""
        value = float(self.function(epsilon))
        if isnan(value) or value < 0:
            raise BadParameter(f"The profile must be a number of at least 0, but is not at ε = {epsilon:g}.")
        return value


def _figures(measured: FloatArray, claimed: float, hint: FloatArray) -> Figures:
    """Where one figure is claimed of all cases."""
    return Figures(measured, np.full(measured.shape, claimed), hint, np.zeros(measured.shape))


def _powers(left: FloatArray, right: FloatArray) -> FloatArray:
    """ln(p^α q^(1−α)) for every order and every p: shape (orders, outcomes)."""
    orders = _ORDERS[:, None]
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nan_to_num(orders * left + (1 - orders) * right, nan=-inf, posinf=inf, neginf=-inf))


def _per_order(logs: FloatArray) -> FloatArray:
    """The largest D_α/α over all orders, from ln Σ p^α q^(1−α) of shape (orders, cases); at least 0."""
    orders = _ORDERS[:, None]
    return np.asarray(np.maximum(0.0, (logs / ((orders - 1) * orders)).max(axis=0)))


@dataclass(frozen=True)
class Claim:
    """What is claimed of a mechanism: one of (ε, δ), ρ and a privacy profile.

    Attributes:
        epsilon: ε > 0, of (ε, δ)-differential privacy.
        delta: δ in [0, 1), beside ε.
        rho: ρ > 0, of zero-concentrated differential privacy.
        profile: a function that gives the δ claimed at each ε ≥ 0.

    Raises BadParameter unless exactly one of `epsilon`, `rho` and `profile` is given, or for unusable numbers.

    Example:
        >>> print(Claim(1, "1e-6"))
        ε = 1, δ = 1e-06
        >>> print(Claim(rho="1/8"))
        ρ = 0.125
    """

    epsilon: Number | None = None
    delta: Number = 0
    rho: Number | None = None
    profile: Callable[[float], float] | None = None

    def __post_init__(self) -> None:
        given = [value for value in (self.epsilon, self.rho, self.profile) if value is not None]
        if len(given) != 1:
            raise BadParameter("A claim has one of epsilon, rho and profile, such as epsilon=1.")
        if self.epsilon is None and self.delta != 0:
            raise BadParameter("delta belongs to epsilon: leave it out of a claim of rho or of a profile.")
        if self.profile is not None and not callable(self.profile):
            raise BadParameter("profile must be a function that gives δ for each ε.")
        _ = self.form

    @classmethod
    def parse(cls, text: str) -> Claim:
        """The claim that a text such as "epsilon=1, delta=1e-6" or "rho=1/8" states. Raises BadParameter."""
        parts = [part.partition("=") for part in text.split(",")]
        terms = {name.strip(): value.strip() for name, _, value in parts}
        if len(terms) < len(parts) or not terms.keys() <= {"epsilon", "delta", "rho"} or not all(terms.values()):
            raise BadParameter("A claim is written epsilon=1, or epsilon=1,delta=1e-6, or rho=0.5.")
        return cls(**terms)  # type: ignore[arg-type]

    @cached_property
    def form(self) -> ClaimForm:
        """The form, with checked numbers."""
        if self.profile is not None:
            return _Profile(self.profile)
        if self.rho is not None:
            return _Rho(_small("rho", self.rho))
        if self.epsilon is None:
            raise BadParameter("A claim has one of epsilon, rho and profile, such as epsilon=1.")
        return _EpsilonDelta(float(_small("epsilon", self.epsilon)), float(below_one("delta", self.delta)))

    @property
    def scale(self) -> float:
        """An ε of about this size is what the claim is about: a search takes its steps from it."""
        if self.epsilon is not None:
            return float(positive("epsilon", self.epsilon))
        return float(2 * positive("rho", self.rho)) ** 0.5 if self.rho is not None else 1.0

    def worst_event(self, above: FloatArray, below: FloatArray) -> tuple[int, Evidence]:
        """The place of the event that shows most, and what it shows; see `ClaimForm.of_events`. Requires: at least one.

        `above` are the lower bounds of events' probabilities on one side, `below` the upper bounds on the other.
        """
        figures = self.form.of_events(above, below)
        excess = figures.measured - figures.claimed
        place = int(np.argmax(np.where(excess == excess.max(), figures.hint, -inf)))  # the first of equal ones
        return place, self._evidence(figures, place)

    def least(self, above: FloatArray, below: FloatArray) -> Evidence:
        """What is shown by the least telling of several bounds, one of which holds; see `joint_bounds`.

        `above` are the lower bounds of probabilities on one side, `below` the upper bounds on the other.
        """
        return self._evidence(self.form.of_corners(above, below), 0)

    def of_laws(self, left: FloatArray, right: FloatArray) -> Evidence:
        """What two output distributions on the same outcomes show in the direction from `left` to `right`."""
        return self._evidence(self.form.of_laws(left, right), 0)

    def _evidence(self, figures: Figures, place: int) -> Evidence:
        measured, claimed, hint, at = (float(column[place]) for column in figures)
        return Evidence(measured, claimed, hint, self.form.figure(at))

    def to_dict(self) -> dict[str, float | str]:
        """JSON-ready form; of a profile that it is one."""
        if self.profile is not None:
            return {"profile": getattr(self.profile, "__name__", "a function")}
        if self.rho is not None:
            return {"rho": float(positive("rho", self.rho))}
        return {"epsilon": self.scale, "delta": float(below_one("delta", self.delta))}

    def __str__(self) -> str:
        terms = self.to_dict()
        if "profile" in terms:
            return f"the privacy profile {terms['profile']}"
        names = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
        return ", ".join(f"{names[name]} = {value:g}" for name, value in terms.items())


def _small(name: str, value: Number) -> Fraction:
    number = positive(name, value)
    if number > _LARGEST:
        raise BadParameter(f"{name} must be at most {_LARGEST:g}.")
    return number


def largest_visible(miss: float, draws: int) -> float:
    """The largest ε that a number of draws on each side can show: of an event that always, and never, occurs."""
    above, below = joint_bounds(draws, 0, draws, miss)
    return max(0.0, float(np.log(above / below).min()))
