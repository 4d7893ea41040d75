"""A density of one number a person, private from end to end, in the style of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from dpmine.errors import BadData, BadParameter
from dpmine.exact.bits import SystemBits
from dpmine.histogram.bins import CLIPPING, Bounds, Floats, Grid, Values, as_values, bin_counts
from dpmine.histogram.density import Density
from dpmine.histogram.stability import Form, records_needed, stabilities
from dpmine.histogram.training import HistogramTraining, density_score
from dpmine.parameters import Number, exact_share, not_negative, positive, probability
from dpmine.privacy import Guarantee, Neighbors
from dpmine.selection.engine import MECHANISMS
from dpmine.validation.choosers import chooser_of, require_replace_one
from dpmine.validation.procedure import train_candidates, train_validated
from dpmine.validation.sensitivities import Sensitivities
from dpmine.validation.split import random_split, train_size_of
from dpmine.validation.terms import Terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dpmine.exact.bits import BitSource

_REFITS = ("all", "train")


class PrivateHistogram(BaseEstimator):  # type: ignore[misc]
    """A histogram density whose heights and whose number of bins are (ε, δ)-private together.

    The records are split at random; every candidate is trained on the training part, and one is chosen by its score on
    the validation part (minus the integrated square error, up to a constant) with `selection_share` of ε; the rest of ε
    pays for a last training with the chosen number of bins. With one candidate there is no choice: all of ε goes to
    the training, on all records, and δ is 0.

    The type of the data is public: numbers (missing ones are moved to the lower bound) are counted whatever they are,
    and any other type is refused, also where a single entry of an object array is of it.

    Parameters:
        bins: the candidate numbers of bins, each a whole number of at least 2; public.
        lower: public bound of the data; smaller values, and missing ones (NaN, null), are moved to it.
        upper: public bound of the data; larger values are moved to it.
        epsilon: ε > 0, read exactly (0.1 is one tenth).
        delta: δ in (0, 1).
        train_share: share of the records that trains, the rest validates; strictly between 0 and 1.
        mechanism: the chooser (see `dpmine.validation.procedure.select_parameter`). An approximate one takes half of δ,
            and the fewest bins are taken when it says nothing.
        sensitivities: "candidate", or "uniform" as in the paper.
        caution: how much fine bins are held back for their sensitivity (see `dpmine.validation.terms.Terms`); 0 gives
            the smaller errors in most cases of benchmarks/experiment_histogram.py.
        stability: "tight", or "paper" for the bound of Theorem 6 as it was published.
        selection_share: share of ε for the choice; strictly between 0 and 1.
        refit: which records the last training sees: "all", which costs no more, or "train" as in the paper.
        neighbors: "replace_one"; nothing else is possible, because the number of records is public.

    Attributes after `fit`:
        bin_width_: float, in units of the data.
        edges_: float64, shape (b + 1,), b the number of bins that was chosen.
        density_: float64, shape (b,), per unit of the data; all 1/(upper − lower) where noise left no count above 0.
        counts_: float64, shape (b,): noisy counts ≥ 0.
        guarantee_: `dpmine.Guarantee`, with what was clipped in its notes.
        result_: `dpmine.histogram.density.Density`, which writes itself as text, JSON and Arrow.

    Proof: docs/proofs/histogram.md. Source: Chaudhuri & Vinterbo 2013, Algorithms 2 and 5, Theorem 6.

    >>> ages = [31, 35, 36, 52, 67] * 1000
    >>> model = PrivateHistogram(bins=[4, 8, 16], lower=18, upper=98, epsilon=1, delta=1e-6).fit(ages)
    >>> model.bin_width_ in {5.0, 10.0, 20.0}
    True
    >>> print(model.guarantee_)
    ε = 1, δ = 1e-06 per row, neighbours replace-one
    """

    result_: Density

    def __init__(
        self,
        *,
        bins: Sequence[int],
        lower: Number,
        upper: Number,
        epsilon: Number = 1,
        delta: Number = 1e-6,
        train_share: Number = 0.5,
        mechanism: str = "max_of_exponentials",
        sensitivities: str = "candidate",
        caution: Number = 0,
        stability: str = "tight",
        selection_share: Number = 0.5,
        refit: str = "all",
        neighbors: str = "replace_one",
    ) -> None:
        self.bins = bins
        self.lower = lower
        self.upper = upper
        self.epsilon = epsilon
        self.delta = delta
        self.train_share = train_share
        self.mechanism = mechanism
        self.sensitivities = sensitivities
        self.caution = caution
        self.stability = stability
        self.selection_share = selection_share
        self.refit = refit
        self.neighbors = neighbors

    def fit(self, x: Any, y: object = None, *, bits: BitSource | None = None) -> Self:  # noqa: ARG002 - pipelines pass y
        """Estimate the density of the numbers x: shape (n,) or (n, 1), one record a person.

        All parameters are checked before x is read. `bits` is for tests; by default the operating system's generator.
        Raises BadParameter for unusable parameters, BadData for what is not numbers in one dimension, and where there
        are too few records for the stability of all candidates: the message says how many it takes.
        """
        search = _Search.of(self)
        source = SystemBits() if bits is None else bits
        clipped = search.bounds.clipped(as_values(x))
        self.result_ = search.only(clipped, bits=source) if len(search.bins) == 1 else search.run(clipped, bits=source)
        return self

    def check(self) -> None:
        """Raises BadParameter for unusable parameters, as `fit` does before it reads any data."""
        _Search.of(self)

    @property
    def bin_width_(self) -> float:
        """Width of a bin."""
        return self._released().bin_width

    @property
    def edges_(self) -> Floats:
        """Edges of the bins."""
        return self._released().edges

    @property
    def density_(self) -> Floats:
        """Height of the density in each bin."""
        return self._released().heights

    @property
    def counts_(self) -> Floats:
        """Noisy counts."""
        return self._released().counts

    @property
    def guarantee_(self) -> Guarantee:
        """What the release of everything above promises."""
        return self._released().guarantee

    def pdf(self, x: ArrayLike) -> Floats:
        """The density at each x; see `Density.pdf`."""
        return self._released().pdf(x)

    def sample(self, n: int, bits: BitSource | None = None) -> Floats:
        """`n` independent draws; see `Density.sample`."""
        return self._released().sample(n, bits=bits)

    def plot(self, ax: Any = None) -> Any:
        """Draw the density; see `Density.plot`."""
        return self._released().plot(ax)

    def _released(self) -> Density:
        """What `fit` found; scikit-learn's NotFittedError, a ValueError and an AttributeError, before it."""
        if "result_" not in vars(self):
            raise NotFittedError("This PrivateHistogram is not fitted yet: call fit(x) first.")
        return self.result_


@dataclass(frozen=True, slots=True)
class _Search:
    """An estimator's parameters, read and checked."""

    bins: tuple[int, ...]
    bounds: Bounds
    epsilon: Fraction
    delta: Fraction
    train_share: Fraction
    mechanism: str
    sensitivities: Sensitivities
    caution: Fraction
    form: Form
    selection_share: Fraction
    refit: str

    @classmethod
    def of(cls, estimator: PrivateHistogram) -> _Search:
        """Raises BadParameter for the first parameter that is not usable."""
        require_replace_one(estimator.neighbors)
        if estimator.refit not in _REFITS:
            raise BadParameter("refit must be 'all' or 'train'.")
        bounds = Bounds.of(estimator.lower, estimator.upper)
        bins = bin_counts(estimator.bins)
        for count in bins:
            bounds.edges(count)
        search = cls(
            bins,
            bounds,
            positive("epsilon", estimator.epsilon),
            probability("delta", estimator.delta),
            exact_share("train_share", estimator.train_share),
            str(estimator.mechanism),
            Sensitivities.parse(estimator.sensitivities),
            not_negative("caution", estimator.caution),
            Form.parse(estimator.stability),
            exact_share("selection_share", estimator.selection_share),
            estimator.refit,
        )
        search._mechanism()
        return search

    def only(self, clipped: Floats, *, bits: BitSource) -> Density:
        """One candidate: nothing is chosen, so that all of ε and all records train."""
        if not clipped.size:
            raise BadData("x holds no records.")
        grids = self._grids()
        model = train_candidates(HistogramTraining(), grids, Values.of(clipped), self.epsilon, bits=bits)[0]
        promise = Guarantee(self.epsilon, Fraction(0), Neighbors.REPLACE_ONE, "row")
        return Density(model, self.bins, None, promise.noting(CLIPPING))

    def run(self, clipped: Floats, *, bits: BitSource) -> Density:
        """Algorithm 2."""
        self._require_enough(clipped.size)
        size = train_size_of(clipped.size, self.train_share)
        terms = self._terms(size, clipped.size - size)
        stable = stabilities(self.form, self.bins, records=size, alpha=terms.training_epsilon, failure=terms.failure)
        rows, held_out = random_split(clipped.size, size, bits=bits)
        train, validation = Values.of(clipped[rows]), Values.of(clipped[held_out])
        found = train_validated(
            HistogramTraining(),
            self._grids(),
            train,
            validation,
            score=density_score,
            stabilities=stable,
            terms=terms,
            final=Values.of(clipped) if self.refit == "all" else None,
            bits=bits,
        )
        if found.model is None:  # cannot be: the terms name a fallback
            raise BadParameter("The chooser said nothing, and there is no number of bins to fall back on.")
        return Density(found.model, self.bins, self._mechanism(), found.guarantee.noting(CLIPPING))

    def _grids(self) -> list[Grid]:
        return [Grid(self.bounds, count) for count in self.bins]

    def _mechanism(self) -> str:
        """The chooser's name; "auto" is settled by public numbers."""
        epsilon, delta = self.epsilon * self.selection_share, self.delta / 2
        return chooser_of(self.mechanism, epsilon=epsilon, delta=delta, candidates=len(self.bins)).name

    def _terms(self, train_size: int, validation_size: int) -> Terms:
        mechanism = self._mechanism()
        choice = self.delta / 2 if MECHANISMS[mechanism].approximate else Fraction(0)
        return Terms.of(
            train_size=train_size,
            validation_size=validation_size,
            failure=self.delta - choice,
            training_epsilon=self.epsilon * (1 - self.selection_share),
            selection_epsilon=self.epsilon * self.selection_share,
            selection_delta=choice,
            mechanism=mechanism,
            sensitivities=self.sensitivities,
            caution=self.caution,
            fallback=int(np.argmin(self.bins)),
        )

    def _require_enough(self, records: int) -> None:
        """BadData, with the number needed, unless the training part is large enough for every candidate."""
        terms = self._terms(1, 1)
        needed = records_needed(self.form, self.bins, alpha=terms.training_epsilon, failure=terms.failure)
        total = least_records(needed, self.train_share)
        if records < total:
            raise BadData(
                f"Too few records: these bins, ε, δ and train_share need at least {total}. "
                "Take more records, fewer bins or a larger ε."
            )


def least_records(train_size: int, train_share: Fraction) -> int:
    """The fewest records of which `train_size` ≥ 1 train at that share."""
    total = max(2, int(train_size / train_share) - 1)
    while train_size_of(total, train_share) < train_size:
        total += 1
    return total
