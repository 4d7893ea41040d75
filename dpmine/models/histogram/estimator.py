"""A density of one number a person, private from end to end, in the style of scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from sklearn.exceptions import NotFittedError

from dpmine.exact.bits import SystemBits
from dpmine.ledger.charging import ROW
from dpmine.models.base import ChargedEstimator, name_of_units
from dpmine.models.contribution import Bounding, Units, require_units
from dpmine.models.histogram.search import Search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dpmine.exact.bits import BitSource
    from dpmine.ledger.charging import Charge
    from dpmine.ledger.ledger import Ledger
    from dpmine.models.histogram.bins import Floats
    from dpmine.models.histogram.density import Density
    from dpmine.parameters import Number
    from dpmine.privacy import Guarantee

_NOT_SEARCHED = ("unit", "rows_per_unit", "ledger", "dataset")


class PrivateHistogram(ChargedEstimator):
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
        mechanism: the chooser (see `dpmine.models.validation.procedure.select_parameter`). An approximate one takes
            half of δ, and the fewest bins are taken when it says nothing.
        sensitivities: "candidate", or "uniform" as in the paper.
        caution: how much fine bins are held back for their sensitivity (see `dpmine.models.validation.terms.Terms`);
            0 gives the smaller errors in most cases of experiments/histogram.py.
        stability: "tight", or "paper" for the bound of Theorem 6 as it was published.
        selection_share: share of ε for the choice; strictly between 0 and 1.
        refit: which records the last training sees: "all", which costs no more, or "train" as in the paper.
        neighbors: "replace_one"; nothing else is possible, because the number of units is public.
        unit: name of the privacy unit, such as "CustomerID". Without `fit(..., units=...)` it asserts that no customer
            has two rows: nothing checks this, and the guarantee says so.
        rows_per_unit: the most rows that each unit of `fit(..., units=...)` keeps; the guarantee covers them together.
        ledger: a `dpmine.Ledger` or its URL, charged before the fit.
        dataset: the data set's name in the ledger.

    Attributes after `fit`:
        bin_width_: float, in units of the data.
        edges_: float64, shape (b + 1,), b the number of bins that was chosen.
        density_: float64, shape (b,), per unit of the data; all 1/(upper − lower) where noise left no count above 0.
        counts_: float64, shape (b,): noisy counts ≥ 0.
        guarantee_: `dpmine.Guarantee`, with what was clipped in its notes.
        result_: `dpmine.models.histogram.density.Density`, which writes itself as text, JSON and Arrow.

    Proof: docs/proofs/models/histogram.md. Source: Chaudhuri & Vinterbo 2013, Algorithms 2 and 5, Theorem 6.

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
        unit: str = ROW,
        rows_per_unit: int = 1,
        ledger: Ledger | str | None = None,
        dataset: str | None = None,
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
        self.unit = unit
        self.rows_per_unit = rows_per_unit
        self.ledger = ledger
        self.dataset = dataset

    def fit(
        self,
        x: Any,
        y: object = None,  # noqa: ARG002 - pipelines pass y
        units: Any = None,
        *,
        bits: BitSource | None = None,
    ) -> Self:
        """Estimate the density of the numbers x: shape (n,) or (n, 1).

        `units`, shape (n,), names the privacy unit of every number: each keeps at most `rows_per_unit` numbers, drawn
        at random from its own; those whose unit is None or NaN are dropped. Without it each number is its own unit.
        All parameters are checked, and the ledger is charged, before x is read; an earlier fit is forgotten then.
        `bits` is for tests; by default the operating system's generator.
        Raises BadParameter for unusable parameters, BadData for what is not numbers in one dimension, and where there
        are too few records for the stability of all candidates: the message says how many it takes.
        """
        name = name_of_units(units)
        if name is not None:
            require_units(units, x)
        charge = self.pay(units=name)
        return self.fit_paid(x, charge, None if name is None else Units.of(units, name), bits=bits)

    def fit_paid(self, x: Any, charge: Charge, units: Units | None = None, *, bits: BitSource | None = None) -> Self:
        """`fit`, for what `pay` returned, once, and with the parameters that were paid for; BadParameter otherwise."""
        name = None if units is None else units.name
        charge.use(self.promise(name))
        unit = self.privacy_unit(name)
        source = SystemBits() if bits is None else bits
        density = self.search(unit.rows).density(x, bounding=Bounding(unit.rows, units), bits=source)
        self.result_ = replace(density, guarantee=unit.protecting(density.guarantee))
        return self

    def require_parameters(self) -> None:
        """Raises BadParameter for unusable parameters, before any data are read."""
        self.search()

    def _promise(self, rows: int) -> Guarantee:
        return self.search(rows).promise()

    def search(self, rows: int = 1) -> Search:
        """The parameters, read and checked, for `rows` records per privacy unit. Raises BadParameter."""
        given = {name: value for name, value in self.get_params().items() if name not in _NOT_SEARCHED}
        return Search.of(**given, rows=rows)

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
