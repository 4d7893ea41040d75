"""The one base class of the estimators: parameters are read once, charged, and only then a fit reads private values."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

from sklearn.base import BaseEstimator

from dpmine.errors import BadLedger, BadParameter
from dpmine.exact.bits import BitSource, SystemBits
from dpmine.ledger.charging import Account, Charge
from dpmine.markup import without_passwords
from dpmine.models.contribution import EVERY_ROW, Bounding, PrivacyUnit, PrivateCount, Units, require_units
from dpmine.models.entries import Entries, known_features, shape_of
from dpmine.privacy import ROW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike
    from sklearn.utils import Tags

    from dpmine.ledger.ledger import Ledger
    from dpmine.privacy import Guarantee
    from dpmine.zcdp import RenyiBounds


class FitSettings(Protocol):
    """The parameters of a fit, read and checked: for some number of rows per unit."""

    def guarantee(self) -> Guarantee:
        """The most that a fit will guarantee for all rows of a unit together, before its notes."""


Settings = TypeVar("Settings", bound=FitSettings)


class PlannedFit(NamedTuple, Generic[Settings]):
    """What one fit rests on, before any data are read."""

    unit: PrivacyUnit
    settings: Settings
    """The parameters, read and checked."""
    guarantee: Guarantee
    """The most that the fit will guarantee, and what it is charged."""


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateEstimator(BaseEstimator, Generic[Settings]):  # type: ignore[misc]
    """An estimator whose fits are private, and charged where a ledger is given.

    The guarantee covers a fit only. A scaler, a feature selection or a hyperparameter search that reads the same
    data is not covered, and voids it; see docs/how-to/classifiers.md.
    Estimators are data classes: a field is a parameter of the constructor, kept as it was given, as scikit-learn asks.

    Attributes:
        guarantee_: the guarantee for the release of the fitted attributes; the last one that a fit sets.
    """

    unit: str = ROW
    rows_per_unit: int = 1
    ledger: Ledger | str | None = None
    dataset: str | None = None
    guarantee_: Guarantee = field(init=False)
    _renyi: RenyiBounds | None = field(init=False, default=None)
    """What fits keep to in the place of ε and δ, as runs of a search."""
    _private_count: PrivateCount | None = field(init=False, default=None)
    """That the number of units is private; None where it is public."""

    _read_from_file = False
    _has_places: ClassVar[bool] = False
    """Whether all that a fit uses of the number of units is the number of their places."""

    @property
    def least_rows(self) -> int:
        """The fewest rows that a fit takes: 0 where whether there are any is private, so that it can be no error."""
        return 1 if self._private_count is None else 0

    @property
    def labels_are_public(self) -> bool:
        """Whether the labels that occur are the classes: then they are looked at before a charge, never after it."""
        return False

    @property
    def has_result(self) -> bool:
        """Whether the last fit has something to predict with: some may find nothing, by their noise."""
        return True

    def fit(self, X: ArrayLike, y: ArrayLike, units: Entries = None) -> Self:
        """Learn privately from rows X, shape (n, d), with labels or targets y, shape (n,), by the system's randomness.

        `units`, shape (n,), names the privacy unit of every row. Each unit keeps at most `rows_per_unit` rows, drawn at
        random from its own, and the guarantee is for each unit. Rows whose unit is None, NaN or not hashable are
        dropped. Without `units` each row is its own unit.
        Shapes and declared types are public: what cannot be used is rejected by them, before the charge. In lists and
        in columns of objects each entry is read by itself, and one that is no number is missing.
        Where a ledger is given, the most that the fit may spend is charged first, and stays charged if the fit fails.
        Raises BadParameter for unusable parameters, and BadData for data that do not fit them. Raises BudgetExceeded
        where the budget does not allow the fit, and BadLedger where the ledger cannot be used.
        """
        return self._charged_fit(X, y, units, SystemBits())

    def fit_charged(self, X: ArrayLike, y: ArrayLike, charge: Charge, units: Units | None = None) -> Self:
        """`fit` to the rows X with answers y, for the `charge` that `charge` returned; `units` are as there.

        Once, with the parameters that were charged; else BadParameter.
        """
        self._require_private_labels()
        name = None if units is None else units.name
        planned = self._planned(name, known_features(X))
        if planned.guarantee != charge.guarantee:  # a charge that was made before the columns were known is the most
            planned = self._planned(name)
        return self._train(X, y, self._bounding(planned.unit, units), charge, planned, bits=SystemBits())

    def charge(self, features: Sequence[str] | None = None, *, units: str | None = None) -> Charge:
        """Charge the ledger, where one is given, for a fit; for callers that read the data of the fit afterwards.

        `features` are the names of the columns, where they are known by now. `units` is the name of the units that the
        fit will be given, None for none. All parameters are checked first.
        Forgets an earlier fit. Raises as `fit`, and then an earlier fit stays. Raises BadParameter where the labels
        that occur are taken as public, because they are looked at before a charge: name the classes.
        """
        self._require_private_labels()
        return self._charged(units, features)[0]

    def require_budget(
        self, features: Sequence[str] | None = None, *, units: str | None = None, rows: int | None = None
    ) -> None:
        """Raise what `charge` would raise but for labels, as far as a look at the ledger says it; a dry run ends here.

        `features` and `units` as in `charge`; `rows` is their number where each is its own unit, if it is known by now.
        """
        planned, account = self._accounted(units, features, rows=rows)
        account.require(planned.guarantee, job=type(self).__name__)

    def guarantee(self, units: str | None = None, features: Sequence[str] | None = None) -> Guarantee:
        """The most that a fit will guarantee, by its parameters alone; `units` and `features` as in `charge`.

        Raises BadParameter for unusable parameters.
        """
        return self._planned(units, features).guarantee

    def require_parameters(self, features: Sequence[str] | None = None) -> None:
        """Raises BadParameter for unusable parameters, before any data are read; `features` as in `charge`."""
        settings = self._checked_settings(1, features)
        if self._private_count is not None and features is not None:
            self._require_declared(settings, self._private_count, features)

    def require_rows(self, rows: int, features: Sequence[str]) -> None:
        """Raises what a fit to that many `rows` with these `features` would raise, whatever the rows hold.

        It raises as far as public numbers say it.
        """
        self._require_places(self._checked_settings(1, features), rows, 1, features)

    def privacy_unit(self, units: str | None) -> PrivacyUnit:
        """The privacy unit of a fit; `units` as in `charge`. Raises BadParameter."""
        unit = PrivacyUnit.of(self.unit, self.rows_per_unit, units)
        return replace(unit, private_count=self._private_count)

    def hiding_units(self, count: PrivateCount) -> Self:
        """Itself, whose fits keep the number of units private, and whether there are any; `count` says what is public.

        Raises BadParameter for estimators that use that number otherwise, and where the classes are not named: which
        labels occur is private then.
        """
        if not self._has_places:
            raise BadParameter(f"{type(self).__name__} uses the number of units, so it cannot be private.")
        self._require_named_classes()
        self._private_count = count
        return self

    def _require_named_classes(self) -> None:
        if getattr(self, "classes", ()) is None:
            raise BadParameter(
                "units keeps the number of units private, and which labels occur is private, too: name them as "
                "classes, such as `classes=['no', 'yes']`."
            )

    def _require_private_labels(self) -> None:
        if self.labels_are_public:
            raise BadParameter(
                "A charge before the labels are read needs the classes: name them, such as `classes=['no', 'yes']`."
            )

    def _bounding(self, unit: PrivacyUnit, units: Units | None) -> Bounding:
        return Bounding(unit.rows, units, None if unit.private_count is None else unit.private_count.places)

    def _require_declared(self, settings: Settings, count: PrivateCount, features: Sequence[str]) -> None:
        count.require_room(self.rows_per_unit, len(features) + 1)
        if count.places is not None:
            self._require_places(settings, count.places, self.rows_per_unit, features)

    def prefers(self, bounds: RenyiBounds, features: Sequence[str] | None = None) -> bool:  # noqa: ARG002 - some do
        """Whether a fit can keep to these Rényi `bounds`, and is better so than by its ε and δ.

        It says so by public numbers, and by the names of the `features` where they matter.
        """
        return False

    def keep_to(self, bounds: RenyiBounds) -> Self:
        """Itself, whose fits keep to these bounds in the place of ε and δ, which they imply; see `prefers`."""
        self._renyi = bounds
        return self

    def _charged_fit(self, X: Entries, y: Entries, units: Entries, bits: BitSource) -> Self:
        """A fit, charged before any data are read but those that are taken as public."""
        name = name_of_units(units)
        self.require_parameters()
        self._require_data(X, y)
        if name is not None:
            require_units(units, X)
        self.privacy_unit(name)  # unusable parameters are rejected first
        features, rows = known_features(X), None if units is not None else shape_of(X)[0]
        if self.ledger is not None and self.labels_are_public:
            self.require_budget(features, units=name, rows=rows)  # a run that is not charged looks at no label
        self._require_public(X, y, units)
        charge, planned = self._charged(name, features, rows=rows)
        bounding = self._bounding(planned.unit, None if name is None else Units.of(units, name))
        return self._train(X, y, bounding, charge, planned, bits=bits)

    def _train(
        self,
        X: Entries,
        y: Entries | None,
        bounding: Bounding,
        charge: Charge,
        planned: PlannedFit[Settings],
        *,
        bits: BitSource,
    ) -> Self:
        charge.use(planned.guarantee)
        forget_fit(self)
        self._learn(X, y, planned.settings, bounding, bits=bits)
        try:
            self.guarantee_ = charge.settled(planned.unit.protecting(self.guarantee_))
        except BadLedger:
            forget_fit(self)
            raise
        return self

    def _fit(self, X: Entries, y: Entries, *, bounding: Bounding = EVERY_ROW, bits: BitSource) -> Self:
        """A fit by given randomness, which nothing is charged for."""
        forget_fit(self)
        self._learn(X, y, self._checked_settings(bounding.rows, known_features(X)), bounding, bits=bits)
        return self

    def _charged(
        self, units: str | None, features: Sequence[str] | None, *, rows: int | None = None
    ) -> tuple[Charge, PlannedFit[Settings]]:
        """A fit, planned and charged; `rows` is their number where it is known by now, and each is its own unit."""
        planned, account = self._accounted(units, features, rows=rows)
        charge = account.charge(planned.guarantee, job=type(self).__name__)
        forget_fit(self)
        return charge, planned

    def _accounted(
        self, units: str | None, features: Sequence[str] | None, *, rows: int | None = None
    ) -> tuple[PlannedFit[Settings], Account]:
        """A fit that is planned, and what it is charged to; as `_charged`."""
        if self._read_from_file:
            raise BadParameter("A model file does not keep what training needs: make a new estimator to train again.")
        planned, account = self._planned(units, features), Account.of(self.ledger, self.dataset)
        if self._private_count is not None and features is not None:
            self._require_declared(planned.settings, self._private_count, features)
        elif rows and features is not None:
            self._require_places(planned.settings, rows, 1, features)
        return planned, account

    def _planned(self, units: str | None, features: Sequence[str] | None = None) -> PlannedFit[Settings]:
        unit = self.privacy_unit(units)
        settings = self._checked_settings(unit.rows, features)
        return PlannedFit(unit, settings, unit.protecting(settings.guarantee()))

    def _checked_settings(self, rows: int, features: Sequence[str] | None = None) -> Settings:
        """The parameters read and checked, for `rows` rows per unit; `features` as in `charge`. Raises BadParameter."""
        self._require_shared_parameters()
        if self._private_count is not None:
            self._require_named_classes()  # parameters may have changed since
        return self._settings(rows, features)

    def _require_shared_parameters(self) -> None:
        """Raises BadParameter for unusable parameters that a kind of estimators has in common."""

    @abstractmethod
    def _settings(self, rows: int, features: Sequence[str] | None = None) -> Settings:
        """See `_checked_settings`."""

    def _require_places(self, settings: Settings, units: int, each: int, features: Sequence[str]) -> None:
        """See `require_rows`, for that many units of `each` places; a row that is its own unit is one place."""

    def _require_data(self, X: Entries, y: Entries) -> None:
        """Raises BadData where X or y cannot be used, by shapes and types alone: what entries hold is no error."""

    def _require_public(self, X: Entries, y: Entries, units: Entries) -> None:
        """Raises BadData where entries that are taken as public cannot be used; `units` as in `fit`."""

    @abstractmethod
    def _learn(self, X: Entries, y: Entries, settings: Settings, bounding: Bounding, *, bits: BitSource) -> None:
        """Set the fitted attributes, `guarantee_` among them: for each record, or what `bounding` makes one.

        `settings` are those of `bounding.rows` rows.
        """

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "guarantee_")

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.allow_nan = True  # an error would disclose that some row has a missing value
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """The constructor call, without the password of a ledger's URL."""
        return without_passwords(super().__repr__(N_CHAR_MAX))


def forget_fit(estimator: BaseEstimator) -> None:
    """Drop what an earlier fit learnt, so that a fit that fails leaves an estimator that is not fitted."""
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]:
        delattr(estimator, name)


def name_of_units(units: Entries) -> str | None:
    """The name of the units: that of a Series, "unit" for anything else; None for none."""
    if units is None:
        return None
    name = getattr(units, "name", None)
    return name if isinstance(name, str) and name else "unit"
