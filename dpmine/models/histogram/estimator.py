"""A density of one number a person, or of two, private from end to end, in the style of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import _check_feature_names

from dpmine.errors import BadData
from dpmine.exact.bits import BitSource, SystemBits
from dpmine.models.entries import Entries, Floats, require_names
from dpmine.models.histogram.bin_search import Bins, BinSearch, Bound
from dpmine.models.histogram.training import as_records, require_records
from dpmine.models.private_estimator import PrivateEstimator
from dpmine.options.explained import OF_ESTIMATORS, explained_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from dpmine.models.contribution import Bounding
    from dpmine.models.histogram.density import Density
    from dpmine.parameters import Number
    from dpmine.privacy import Guarantee

_NOT_OF_SEARCH = ("unit", "rows_per_unit", "ledger", "dataset")


def _of_released(name: str, doc: str) -> property:
    """An attribute of the released density, as one of the estimator."""
    return property(lambda estimator: getattr(estimator._released(), name), doc=doc)  # noqa: SLF001 - its own class


@explained_by(OF_ESTIMATORS)
@dataclass(eq=False, repr=False, kw_only=True)
class PrivateHistogram(DensityMixin, PrivateEstimator[BinSearch]):  # type: ignore[misc]
    """A histogram density whose heights and whose number of bins are (ε, δ)-private together.

    A record is one number, or two: it is laid over a rectangle where a bound, or a candidate, is a pair.

    The records are split at random. Every candidate is trained on the training part. `selection_share` of ε chooses one
    by its score on the validation part: minus the integrated square error, up to a constant. The rest of ε is spent on
    a last training, on all records, with the chosen number of bins. With one candidate there is no choice: all of ε
    goes to the training, and δ is 0.

    The type of the data is public, and must be one of numbers, or of objects. All records are counted: what is missing,
    or an object that is no number, is moved to the lower bound.

    Parameters:
        bins: the candidate numbers of bins, each a whole number of at least 2; public. On a rectangle a candidate is a
            pair of them, and one number stands for the same one twice.
        lower: public bound of the data; smaller values, and missing ones (NaN, null), are moved to it. On a rectangle a
            pair; one number is the bound of both numbers of a record.
        upper: public bound of the data, likewise; larger values are moved to it.
        epsilon: ε > 0, read exactly (0.1 is one tenth).
        delta: δ in (0, 1); with one candidate none is spent, and 0 will do.
        train_share: share of the records that trains, the rest validates; strictly between 0 and 1.
        mechanism: what chooses (see `dpmine.models.validation.procedure.select_parameter`). An approximate one takes
            half of δ, and the fewest bins are taken where it returns no candidate.
        selection_share: share of ε for the choice; strictly between 0 and 1.
        neighbors: "replace_one"; nothing else is possible, because the number of units is public.

    Attributes after `fit`:

    - bin_width_: float, in units of the data; a pair on a rectangle.
    - edges_: float64, shape (b + 1,), b the number of bins that was chosen; a pair of such arrays on a rectangle.
    - density_: float64, shape (b,) or (b1, b2), per unit of the data or of area; equal where no count is above 0.
    - counts_: float64, of that shape: noisy counts ≥ 0.
    - n_features_in_: 1, or 2 on a rectangle.
    - guarantee_: `dpmine.Guarantee`, with what was clipped in its notes.
    - result_: `dpmine.models.histogram.density.Density`; writes itself as text, JSON and Arrow.

    Proof: docs/proofs/models/histogram.md. Source: Chaudhuri & Vinterbo 2013, Algorithms 2 and 5, Theorem 6.

    See Also:
        dpmine.models.histogram.density.Density: what a fit finds.

    Example:
        >>> from dpmine import PrivateHistogram
        >>> ages = [31, 35, 36, 52, 67] * 1000
        >>> model = PrivateHistogram(bins=[4, 8, 16], lower=18, upper=98, epsilon=1, delta=1e-6).fit(ages)
        >>> model.bin_width_ in {5.0, 10.0, 20.0}
        True
        >>> print(model.guarantee_)
        ε = 1, δ = 1e-06 per row, neighbours replace-one

        Ages and incomes together, in cells of 8 by 8 or of 16 by 4:

        >>> pairs = [(31, 2.4), (35, 3.1), (67, 1.9)] * 2000
        >>> model = PrivateHistogram(bins=[8, (16, 4)], lower=(18, 0), upper=(98, 10)).fit(pairs)
        >>> model.density_.shape in {(8, 8), (16, 4)}
        True
    """

    bins: Bins
    lower: Bound
    upper: Bound
    epsilon: Number = 1
    delta: Number = 1e-6
    train_share: Number = 0.5
    mechanism: str = "max_of_exponentials"
    selection_share: Number = 0.5
    neighbors: str = "replace_one"

    _has_places: ClassVar[bool] = True

    bin_width_ = _of_released("bin_width", "Width of a bin.")
    edges_ = _of_released("edges", "Edges of the bins.")
    density_ = _of_released("heights", "Height of the density in each bin.")
    counts_ = _of_released("counts", "Noisy counts.")

    @property  # type: ignore[misc]
    def guarantee_(self) -> Guarantee:
        """The guarantee for the release of everything above."""
        return self._released().guarantee

    @guarantee_.setter
    def guarantee_(self, guarantee: Guarantee) -> None:
        self.result_: Density = replace(self._released(), guarantee=guarantee)

    def fit(
        self,
        x: Any,
        y: object = None,  # noqa: ARG002 - pipelines pass y
        units: Entries = None,
    ) -> Self:
        """Estimate the density of the records x: shape (n,) or (n, 1), on a rectangle (n, 2). y is ignored.

        `units`, shape (n,), names the privacy unit of every record. Each unit keeps at most `rows_per_unit` records,
        drawn at random from its own. Those whose unit is None, NaN or not hashable are dropped. Without it each
        record is its own unit.
        All parameters are checked, and the ledger is charged, before x is read; an earlier fit is forgotten then.
        Raises BadParameter for unusable parameters, and BadData for what is not such numbers. Raises BadData also where
        there are too few records for the stability of all candidates: the message says how many it takes.
        """
        return self._charged_fit(x, None, units, SystemBits())

    def search(self, rows: int = 1) -> BinSearch:
        """The parameters, read and checked, for `rows` records per privacy unit. Raises BadParameter."""
        parameters = {name: value for name, value in self.get_params().items() if name not in _NOT_OF_SEARCH}
        return BinSearch.of(**parameters, rows=rows, private_count=self._private_count)

    def _settings(self, rows: int, features: Sequence[str] | None = None) -> BinSearch:  # noqa: ARG002 - it has none
        return self.search(rows)

    def _require_data(self, X: Entries, y: Entries) -> None:  # noqa: ARG002 - pipelines pass y
        require_records(X, self.search().space.features)
        require_names(X)

    def _learn(self, X: Entries, y: Entries, settings: BinSearch, bounding: Bounding, *, bits: BitSource) -> None:  # noqa: ARG002
        density = settings.density(X, bounding=bounding, bits=bits)
        _check_feature_names(self, X, reset=True)
        self.n_features_in_ = settings.space.features
        self.result_ = density

    def pdf(self, x: ArrayLike) -> Floats:
        """The density at each x, on a rectangle at points of shape (…, 2); see `Density.pdf`."""
        return self._released().pdf(x)

    def score_samples(self, X: Entries) -> Floats:
        """The logarithm of the density at each record of X, shape (n,): −∞ outside the bounds, and at density 0.

        NaN at a missing value. Raises BadData for what is not records as in the fit.
        """
        released = self._released()
        try:
            _check_feature_names(self, X, reset=False)
        except ValueError as error:  # it names columns only
            raise BadData(str(error)) from None
        records = as_records(X, self.n_features_in_)
        with np.errstate(divide="ignore"):
            return np.log(released.pdf(records[:, 0] if self.n_features_in_ == 1 else records))

    def score(self, X: Entries, y: object = None) -> float:  # noqa: ARG002 - scikit-learn passes y
        """The logarithm of the likelihood of the records X: the sum of `score_samples`. y is ignored.

        Not private: a score on private data says something about them that no guarantee covers.
        """
        return float(self.score_samples(X).sum())

    def sample(self, n: int) -> Floats:
        """`n` independent draws; see `Density.sample`."""
        return self._released().sample(n)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the density on `ax`, or on new axes; see `Density.plot`."""
        return self._released().plot(ax)

    def _released(self) -> Density:
        """What `fit` found; scikit-learn's NotFittedError, a ValueError and an AttributeError, before it."""
        if "result_" not in vars(self):
            raise NotFittedError("This PrivateHistogram is not fitted yet: call fit(x) first.")
        return self.result_
