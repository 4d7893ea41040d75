"""Ridge regression for a fixed budget, in scikit-learn's style, and its mechanism: noisy sufficient statistics.

XᵀX and Xᵀt of bounded rows and targets are released together, in one vector of noise. It holds the means of xxᵀ
(off-diagonal entries once, times √2) and of xt, for rows ‖x‖ ≤ 1 and targets |t| ≤ 1. It moves by at most 3/(√2 n) in
L2 when one row and its target are replaced. All that is computed from the release is post-processing.
Proof: docs/proofs/models/noisy_moments.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpmine.errors import BadParameter
from dpmine.models.contribution import Bounding, require_any
from dpmine.models.linear.losses import additions, in_blocks
from dpmine.models.linear.noise import GammaNoise, GaussianNoise, VectorNoise
from dpmine.models.linear.preprocessing import FeatureBounds, UnitBall, within
from dpmine.models.linear.sensitivities import accumulated, up
from dpmine.models.linear.training import AUTO, noise_named, regulariser
from dpmine.models.model_file import (
    Document,
    ModelFormat,
    SavedEstimator,
    finite,
    finite_row,
    fitted_attributes,
    fitted_entries,
)
from dpmine.models.supervised import PrivateRegressor, checked_numbers, checked_targets, linear_values
from dpmine.models.validation.terms import require_replace_one
from dpmine.options.explained import OF_ESTIMATORS, explained_by
from dpmine.parameters import Number, positive, probability, truth
from dpmine.privacy import ROW, Guarantee, Neighbors, Zcdp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dpmine.exact.bits import BitSource
    from dpmine.models.entries import Entries, Floats

_FORMAT = ModelFormat(name="dpmine ridge regression", command="regress", kind="model_kind")
_PUBLIC_ROWS = (
    "PrivateRidge needs neighbors='replace_one': the noise is divided by the number of rows, so it is public, and "
    "add_remove would have to hide it."
)
_TARGETS = (
    "target_bounds must be a public lower and upper bound on y, such as 0 and 100 (`target_bounds=(0, 100)`), the "
    "lower below the upper, and both between 1e-100 and 1e100 in absolute value."
)
_MOVED = up(3.0 * math.sqrt(0.5))
"""More than 3/√2: what one of n rows moves n times the exact vector by."""
_FINE = 20  # bits of the grid below the scale of the noise
_RELIEF = 16.0  # a relieved intercept has this part of the ridge


def moment_count(columns: int) -> int:
    """The length p(p + 3)/2 of the vector for p columns."""
    return columns * (columns + 3) // 2


@dataclass(frozen=True, slots=True)
class NoisyMoments:
    """The mechanism, and what is public about it: n rows of p columns, of which one unit has `rows`.

    Attributes:
        noise: the distribution of the noise, with its δ.
        size: n ≥ 1.
        columns: p ≥ 1, a constant column included.
        epsilon: ε, for all rows of one unit together.
        rows: M ≥ 1, the most rows of one unit.
    """

    noise: VectorNoise
    size: int
    columns: int
    epsilon: Fraction
    rows: int = 1

    @property
    def scale(self) -> Fraction:
        """κ of the noise: M rows move the computed vector by at most s = M(3/√2/n + 2γ), and κ = s/A."""
        rounding = accumulated(2 * additions(self.size) + 8)
        moved = Fraction(up(_MOVED / self.size)) + Fraction(up(2.0 * rounding))
        return self.rows * moved / self.noise.output_rate(self.epsilon)

    @property
    def level(self) -> float:
        """The mean length of the symmetric noise matrix by its spectral norm, about: √(2p) standard deviations."""
        count = moment_count(self.columns)
        deviation = float(self.scale) * self.noise.length(count) / math.sqrt(count)
        return deviation * math.sqrt(2.0 * self.columns)

    def release(self, rows: Floats, targets: Floats, *, bits: BitSource) -> Moments:
        """The statistics of rows, shape (n, p), and targets, shape (n,), with noise; (ε, δ)-private for one unit."""
        exact = _moments(rows, targets).vector
        grid = Fraction(2) ** (math.frexp(float(self.scale))[1] - _FINE)
        released = self.noise.draw(len(exact), bits=bits).rounded_sum(exact, self.scale, grid)
        return Moments.of(released, self.columns)


@dataclass(frozen=True, eq=False, slots=True)
class Moments:
    """The mean of xxᵀ, shape (p, p), and that of xt, shape (p,); exact, or with noise."""

    gram: Floats
    cross: Floats

    @classmethod
    def of(cls, vector: Floats, columns: int) -> Moments:
        """Out of what `vector` gives."""
        above = np.triu_indices(columns, 1)
        gram = np.diag(vector[:columns])
        gram[above] = vector[columns:-columns] * math.sqrt(0.5)
        return cls(gram + gram.T - np.diag(vector[:columns]), vector[-columns:])

    @property
    def vector(self) -> Floats:
        """The diagonal, √2 times what is above it, and the entries of Xᵀt: as long as both matrices together."""
        above = self.gram[np.triu_indices(len(self.gram), 1)]
        return np.concatenate([np.diag(self.gram), above * math.sqrt(2.0), self.cross])

    def ridge(self, regularization: float, *, relieved: bool) -> Floats:
        """The minimiser of ½wᵀGw − qᵀw + (λ/2)‖w‖², shape (p,), for the nearest G without negative eigenvalues.

        `relieved`: the last weight, of a constant column, has a sixteenth of λ.
        """
        values, vectors = np.linalg.eigh(self.gram)
        ridges = np.full(len(values), regularization)
        if relieved:
            ridges[-1] /= _RELIEF
        bounded = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return np.asarray(np.linalg.lstsq(bounded + np.diag(ridges), self.cross, rcond=None)[0])


def _moments(rows: Floats, targets: Floats) -> Moments:
    """Of the data, summed in blocks of about √n rows so that rounding grows with √n, not with n."""
    columns = rows.shape[1]
    gram, cross = np.zeros((columns, columns)), np.zeros(columns)
    for block in in_blocks(len(rows)):
        gram += rows[block].T @ rows[block]
        cross += rows[block].T @ targets[block]
    return Moments(gram / len(rows), cross / len(rows))


@dataclass(frozen=True, slots=True)
class RidgeSettings:
    """What a fit needs to know, apart from data; `PrivateRidge` makes it of its parameters.

    Attributes:
        regularization: λ; None for "auto".
        ball: how rows are scaled, of whatever number of features.
        targets: the public bounds of y.
        epsilon: ε of a unit.
        noise: the distribution of the noise.
        rows: M, the rows of a unit.
    """

    regularization: Fraction | None
    ball: UnitBall
    targets: FeatureBounds
    epsilon: Fraction
    noise: VectorNoise
    rows: int

    def guarantee(self) -> Guarantee:
        """(ε, δ) for all rows of a unit together, and the ρ of Gaussian noise; before its notes."""
        rho = self.noise.rho(self.epsilon)
        concentrated = None if rho is None else Zcdp(rho)
        return Guarantee(self.epsilon, self.noise.delta, Neighbors.REPLACE_ONE, ROW, concentrated=concentrated)


@explained_by(OF_ESTIMATORS)
@dataclass(eq=False, repr=False, kw_only=True)
class PrivateRidge(SavedEstimator, PrivateRegressor[RidgeSettings]):
    """Ridge regression for a fixed budget, private for every row under replace_one.

    Noise is added to XᵀX and Xᵀy of clipped rows and targets, once and jointly; the ridge regression of these is then
    free. Scaling by the data (StandardScaler) before the fit, or a search around it, voids `guarantee_`.

    Args:
        target_bounds: (lower, upper), public bounds of y, which must be given. A target beyond them is moved to the
            nearest, a missing one counts as their middle. They are mapped to [−1, 1]: wide bounds mean much noise.
        regularization: λ, between 1e-9 and 1e9, of (1/2n) Σ (t − xᵀw)² + (λ/2)‖w‖². Targets t are in [−1, 1], and
            rows x in the unit ball: x/norm_bound, times √(1/2) with an intercept. "auto", by public numbers: about
            the spectral norm of the noise on XᵀX/n. The intercept has a sixteenth of it.
        delta: δ in (0, 1), spent by Gaussian noise; otherwise the guarantee says δ = 0.
        fit_intercept: whether to train an intercept, protected as the coefficients are.
        noise: "gamma", whose length grows with d² and which spends no δ, or "gaussian", whose length grows with d and
            which spends `delta`. "auto": the shorter one on average, by d, ε and δ alone.
        neighbors: "replace_one"; n enters the noise, so add_remove is rejected.

    Attributes:
        coef_: shape (d,), in the units of the features and of y as they were given, for rows within the bounds.
        intercept_: a number; without an intercept, it makes the prediction the middle of target_bounds where the
            mapped features are 0.
        regularization_: the λ that was used.
        feature_bounds_: `lower` and `upper` of the features, shape (d,) each; None where none were given.
        norm_bound_: the norm bound. Predictions clip rows to both bounds, as training does.
        guarantee_: the guarantee for the release of all these attributes.

    Source: Dwork, Talwar, Thakurta & Zhang 2014 (noise on XᵀX); Wang 2018. Proof: docs/proofs/models/noisy_moments.md.

    See Also:
        AccuracyFirstRidge: for a target error instead of a budget.
        PrivateLogisticRegression: for classes.

    Example:
        >>> import numpy as np
        >>> from dpmine import PrivateRidge
        >>> ages = np.arange(20, 80).reshape(-1, 1)
        >>> model = PrivateRidge(feature_bounds=(18, 98), target_bounds=(0, 200), epsilon=1).fit(ages, 2 * ages[:, 0])
        >>> model.coef_.shape
        (1,)
        >>> print(model.guarantee_)
        ε = 1, δ = 0 per row, neighbours replace-one
    """

    target_bounds: Sequence[Number] | None = None
    regularization: Number = AUTO
    norm_bound: Number = 1.0
    epsilon: Number = 1
    delta: Number = 1e-6
    fit_intercept: bool = True
    feature_bounds: Sequence[object] | None = None
    noise: str = AUTO
    neighbors: str = Neighbors.REPLACE_ONE.value

    model_format = _FORMAT
    _has_places: ClassVar[bool] = True
    kind = "ridge"

    def _settings(self, rows: int = 1, features: Sequence[str] | None = None) -> RidgeSettings:
        require_replace_one(self.neighbors, _PUBLIC_ROWS)
        epsilon, intercept = positive("epsilon", self.epsilon), truth("fit_intercept", self.fit_intercept)
        columns = None if features is None else len(features) + intercept
        automatic = isinstance(self.regularization, str) and self.regularization == AUTO
        settings = RidgeSettings(
            regularization=None if automatic else regulariser("regularization", self.regularization),
            ball=UnitBall.of(self.norm_bound, intercept=intercept, feature_bounds=self.feature_bounds),
            targets=_target_bounds(self.target_bounds),
            epsilon=epsilon,
            noise=_noise_of(noise_named(self.noise), epsilon, probability("delta", self.delta), columns),
            rows=rows,
        )
        if features is not None:
            settings.ball.for_columns(len(features))
        return settings

    def _learn(self, X: Entries, y: Entries, settings: RidgeSettings, bounding: Bounding, *, bits: BitSource) -> None:
        features = checked_numbers(self, X, reset=True, least=self.least_rows)
        ball, bounds = settings.ball.for_columns(features.shape[1]), settings.targets
        middle, half = bounds.back(np.array([0.0]))[0], (bounds.back(np.array([1.0])) - bounds.back(np.array([0.0])))[0]
        targets = checked_targets(self, y, len(features), missing=middle)
        places = require_any(bounding.places(len(features), bits=bits))
        rows = ball.rows(places.of(features), places.filled())
        mechanism = NoisyMoments(settings.noise, len(rows), rows.shape[1], settings.epsilon, settings.rows)
        moments = mechanism.release(rows, places.of(np.clip(bounds.rows(targets), -1.0, 1.0)), bits=bits)
        given = settings.regularization
        self.regularization_ = mechanism.level if given is None else float(given)
        weights = moments.ridge(self.regularization_, relieved=ball.intercept)
        coefficients, intercept = ball.split(weights)
        self.coef_: Floats = coefficients * half
        self.intercept_ = float(intercept * half + middle)
        self.feature_bounds_: FeatureBounds | None = ball.bounds
        self.norm_bound_ = ball.norm_bound
        note = "targets are clipped to their public bounds, and a missing one counts as the middle"
        self.guarantee_ = settings.guarantee().noting(*settings.noise.notes, ball.note, note)

    def predict(self, X: ArrayLike) -> Floats:
        """The line wᵀx + b for every row of X, shape (n,), in the units of y, rows clipped as in training.

        Raises BadData as `fit`.
        """
        check_is_fitted(self)
        return linear_values(self, X, self._inside)

    def _entries(self) -> dict[str, object]:
        entries = {
            "coef": self.coef_.tolist(),
            "intercept": self.intercept_,
            "regularization": self.regularization_,
            "norm_bound": self.norm_bound_,
            "feature_bounds": None if self.feature_bounds_ is None else self.feature_bounds_.to_dict(),
        }
        return {**entries, **fitted_entries(self)}

    @classmethod
    def _attributes(cls, document: Document) -> dict[str, object]:
        coefficients, bounds = finite_row(document["coef"]), document["feature_bounds"]
        columns = len(coefficients)
        return {
            "coef_": coefficients,
            "intercept_": finite(document["intercept"]),
            "regularization_": float(positive("regularization", finite(document["regularization"]))),
            "feature_bounds_": None if bounds is None else FeatureBounds.read(bounds, columns),
            "norm_bound_": float(positive("norm_bound", finite(document["norm_bound"]))),
            **fitted_attributes(document, columns),
        }

    def _inside(self, features: Floats) -> Floats:
        return within(features, self.feature_bounds_, self.norm_bound_)


def _target_bounds(bounds: Any) -> FeatureBounds:
    """One pair. Raises BadParameter for anything else."""
    try:
        pair = FeatureBounds.of(bounds)
    except BadParameter:
        raise BadParameter(_TARGETS) from None
    if len(pair.lower) != 1:
        raise BadParameter(_TARGETS)
    return pair


def _noise_of(name: str, epsilon: Fraction, delta: Fraction, columns: int | None) -> VectorNoise:
    """The noise of that name. "auto": the shorter one on average; where p is not known, the one that spends δ."""
    gamma, gaussian = GammaNoise(), GaussianNoise(delta)
    if name == GammaNoise.name:
        return gamma
    if name == GaussianNoise.name or columns is None:
        return gaussian
    count = moment_count(columns)
    return min(gamma, gaussian, key=lambda noise: noise.length(count) / float(noise.output_rate(epsilon)))
