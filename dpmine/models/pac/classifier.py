"""What classifiers that choose one hypothesis share, and classes of hypotheses by name, of features known in public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpmine.errors import BadData, BadParameter
from dpmine.models.entries import Entries, Labels, unnamed_features
from dpmine.models.pac.conjunctions import Conjunctions
from dpmine.models.pac.hypothesis import AnyClass, Hypothesis, Records
from dpmine.models.pac.intervals import Intervals
from dpmine.models.pac.separators import MOST_DIMENSIONS, Separators, finest_resolution
from dpmine.models.pac.thresholds import PublicGrid, Stumps, Thresholds
from dpmine.models.private_estimator import Settings, forget_fit
from dpmine.models.supervised import MISSING_NOTE, PrivateClassifier, checked_features, checked_labels, classes_note
from dpmine.parameters import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from numpy.typing import ArrayLike

    from dpmine.exact.bits import BitSource
    from dpmine.models.contribution import Bounding


DEFAULT_GRID = 1001
DEFAULT_WIDTH = 3
DEFAULT_RESOLUTION = 8
_MOST_PRESUMED = 1000  # features; conjunctions of as many are rejected anyway


@dataclass(frozen=True, slots=True)
class PublicFeatures:
    """What is public about the features; an entry that is None is the class's default, or has no use in it.

    Attributes:
        features: their names, one per column.
        lower: public lower bound, one for all features or one a feature.
        upper: public upper bound, alike.
        grid: number of points of a feature's grid, alike.
        width: the most features of a conjunction.
        resolution: the largest whole weight of a separator.
        whole: the features whose type has whole numbers only.
    """

    features: tuple[str, ...]
    lower: Any = None
    upper: Any = None
    grid: Any = None
    width: Any = None
    resolution: Any = None
    whole: tuple[str, ...] = ()

    def grids(self) -> tuple[PublicGrid, ...]:
        """One a feature. Raises BadParameter without bounds, or where they are not one, or one a feature."""
        if self.lower is None or self.upper is None:
            raise BadParameter("Give lower and upper, the public bounds of the features (`lower=0` `upper=100`).")
        return tuple(
            PublicGrid.of(low, high, points, only_whole=name in self.whole)
            for name, low, high, points in zip(self.features, *map(self._each, _GRID), strict=True)
        )

    def grid_of_one(self, name: str) -> tuple[PublicGrid, str]:
        """The grid and the name of the only feature. Raises BadParameter where there are several."""
        if len(self.features) != 1:
            raise BadParameter(
                f"{name} are rules of one feature: give one (`features=COL`), or stumps (`hypotheses='stumps'`)."
            )
        return self.grids()[0], self.features[0]

    def separators(self) -> Separators:
        """Each feature bounded by the larger of |lower| and |upper|."""
        count = len(self.features)
        if count < 2:
            raise BadParameter(
                "separators weigh 2 features or more: give more (`features=['A', 'B']`), or stumps "
                "(`hypotheses='stumps'`)."
            )
        usual = min(DEFAULT_RESOLUTION, finest_resolution(min(max(2, count), MOST_DIMENSIONS)))
        resolution = usual if self.resolution is None else self.resolution
        return Separators.of(count, resolution, bound=self.largest, features=self.features)

    @property
    def largest(self) -> list[Fraction]:
        """The largest absolute value that each feature may have."""
        return [max(abs(grid.lower), abs(grid.upper)) for grid in self.grids()]

    def require_unused(self, what: str, used: tuple[str, ...] = ()) -> None:
        """Raises BadParameter, with their names, for options that are given and not among the `used`."""
        idle = [name for name in _OPTIONS if name not in used and getattr(self, name) is not None]
        if idle:
            raise BadParameter(f"{what} have no {' or '.join(idle)}: leave it out.")

    def _each(self, name: str) -> list[Any]:
        value = getattr(self, name)
        value = DEFAULT_GRID if value is None else value
        values = list(value) if isinstance(value, list | tuple | np.ndarray) else [value] * len(self.features)
        if len(values) != len(self.features):
            raise BadParameter(f"{name} must be one value, or one for each of the {len(self.features)} features.")
        return values


def class_of(name: str, public: PublicFeatures) -> AnyClass:
    """The class of that name. Raises BadParameter for unusable parameters, or ones that the class has no use for."""
    made = _CLASSES.get(str(name))
    if made is None:
        raise BadParameter(
            f"hypotheses must be one of: {', '.join(_CLASSES)}, a HypothesisClass, or a list of predictors."
        )
    make, used = made
    public.require_unused(name, used)
    return make(public)


def presumed_features(hypotheses: object, *bounds: Any, width: Any = None) -> tuple[str, ...]:
    """Names of as many features as the parameters are for, to check them where the features are not known.

    `bounds` are lower, upper and grid, as far as the class has them.
    """
    fewest = {"separators": 2}.get(str(hypotheses), 1)
    if type(width) is int:
        fewest = max(fewest, min(width, _MOST_PRESUMED))
    several = (len(value) for value in bounds if isinstance(value, list | tuple | np.ndarray))
    return tuple(unnamed_features(max(fewest, *several, 0)))


def _conjunctions(public: PublicFeatures) -> Conjunctions:
    width = min(DEFAULT_WIDTH, len(public.features)) if public.width is None else whole("width", public.width)
    return Conjunctions(public.features, width)


_OPTIONS = ("lower", "upper", "grid", "width", "resolution")
_GRID = ("lower", "upper", "grid")
_CLASSES: dict[str, tuple[Callable[[PublicFeatures], AnyClass], tuple[str, ...]]] = {
    "thresholds": (lambda public: Thresholds(*public.grid_of_one("thresholds")), _GRID),
    "intervals": (lambda public: Intervals(*public.grid_of_one("intervals")), _GRID),
    "stumps": (lambda public: Stumps(public.grids(), public.features), _GRID),
    "conjunctions": (_conjunctions, ("width",)),
    "separators": (PublicFeatures.separators, ("lower", "upper", "resolution")),
}
NAMES = tuple(_CLASSES)
GRIDDED = tuple(name for name, (_, used) in _CLASSES.items() if "grid" in used)


class HypothesisClassifier(PrivateClassifier[Settings]):
    """Predicts by one hypothesis, which describes the second of the two classes.

    Attributes:
        hypothesis_: the chosen one, readable with `str`; None when the mechanism returned none.
        classes_: the two classes: as given, or those that occur, sorted.
        names_: names of the features: of the columns, or x0, x1, …
    """

    classes: Sequence[object] | None
    hypothesis_: Hypothesis | None

    def predict(self, X: ArrayLike) -> Labels:
        """The class of every row of X. Raises BadData as `fit`, and where the mechanism returned no hypothesis."""
        check_is_fitted(self)
        features = checked_features(self, X, reset=False)
        if self.hypothesis_ is None:
            raise BadData("Nothing stood out when this was fitted, so there is no hypothesis to predict with.")
        predictions: Labels = self.classes_[self.hypothesis_.predict(features).astype(np.intp)]
        return predictions

    @property
    def has_result(self) -> bool:
        """See `PrivateEstimator.has_result`."""
        return self.hypothesis_ is not None

    def _data_notes(self) -> tuple[str, str]:
        """The guarantee's notes on labels and missing values."""
        return classes_note(self.classes), MISSING_NOTE

    def _records(self, X: Entries, y: Entries, bounding: Bounding, *, bits: BitSource) -> Records:
        """The checked and bounded data; also learns the classes and the features' names. Forgets any earlier fit."""
        forget_fit(self)
        features = checked_features(self, X, reset=True, least=self.least_rows)
        self.classes_, signs = checked_labels(self, y, len(features), self.classes, bounding.known)
        names = getattr(self, "feature_names_in_", None)
        self.names_ = unnamed_features(features.shape[1]) if names is None else [str(name) for name in names]
        if bounding.units is None:
            return Records(features, signs > 0)
        kept = bounding.places(len(features), bits=bits).rows()
        return Records(features[kept], signs[kept] > 0)
