"""The one base class of the estimators: parameters are read once, charged, and only then a fit reads data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sklearn.base import BaseEstimator

from dpmine.errors import BadParameter
from dpmine.ledger.charging import ROW, Account, without_passwords
from dpmine.models.contribution import PrivacyUnit, Units, require_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.ledger.charging import Charge
    from dpmine.ledger.ledger import Ledger
    from dpmine.privacy import Guarantee


class PlannedFit(NamedTuple):
    """What one fit rests on, before any data are read."""

    unit: PrivacyUnit
    settings: Any
    """The parameters, read and checked; None for estimators that keep none."""
    guarantee: Guarantee
    """The most that the fit will promise, and what it is charged."""


@dataclass(eq=False, repr=False, kw_only=True)
class ChargedEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator whose fits a ledger may be charged for.

    Estimators are data classes: a field is a parameter of the constructor, kept as it was given, as scikit-learn asks.
    """

    unit: str = ROW
    rows_per_unit: int = 1
    ledger: Ledger | str | None = None
    dataset: str | None = None

    _read_from_file = False

    def pay(self, features: Sequence[str] | None = None, *, units: str | None = None) -> Charge:
        """Charge the ledger, where one is given, for a fit; for callers that read the data of the fit afterwards.

        `features` are the names of the columns, where they are known by now; `units` is the name of the units that the
        fit will be given, None for none. All parameters are checked first.
        Forgets an earlier fit. Raises as `fit`, and then an earlier fit stays.
        """
        return self._charged(units, features)[0]

    def promise(self, units: str | None = None) -> Guarantee:
        """The most that a fit will promise, by its parameters alone; `units` as in `pay`.

        Raises BadParameter for unusable parameters.
        """
        return self._planned(units).guarantee

    def require_parameters(self, features: Sequence[str] | None = None) -> None:
        """Raises BadParameter for unusable parameters, before any data are read; `features` as in `pay`."""
        self._promised(1, features)
        self._require_usable(features)

    def privacy_unit(self, units: str | None) -> PrivacyUnit:
        """The privacy unit of a fit; `units` as in `pay`. Raises BadParameter."""
        return PrivacyUnit.of(self.unit, self.rows_per_unit, units)

    def _charged_units(
        self, units: Any, X: Any, features: Sequence[str] | None
    ) -> tuple[Charge, PlannedFit, Units | None]:
        """A fit to X, planned and charged, and the privacy unit of each row; the units are read after the charge."""
        name = name_of_units(units)
        if name is not None:
            require_units(units, X)
        charge, planned = self._charged(name, features)
        return charge, planned, None if name is None else Units.of(units, name)

    def _charged(self, units: str | None, features: Sequence[str] | None) -> tuple[Charge, PlannedFit]:
        """A fit, planned and charged."""
        if self._read_from_file:
            raise BadParameter("A model file does not keep what training needs: make a new estimator to train again.")
        self._require_usable(features)
        planned, account = self._planned(units, features), Account.of(self.ledger, self.dataset)
        charge = account.charge(planned.guarantee, job=type(self).__name__)
        forget_fit(self)
        return charge, planned

    def _planned(self, units: str | None, features: Sequence[str] | None = None) -> PlannedFit:
        unit = self.privacy_unit(units)
        settings, promise = self._promised(unit.rows, features)
        return PlannedFit(unit, settings, unit.protecting(promise))

    def _promised(self, rows: int, features: Sequence[str] | None) -> tuple[Any, Guarantee]:
        """The settings, and the most that they promise for any `rows` rows together."""
        settings = self._settings(rows, features)
        return settings, self._promise(rows) if settings is None else settings.promise()

    def _require_usable(self, features: Sequence[str] | None) -> None:
        """Raises BadParameter for parameters that neither `_settings` nor `_promise` looks at."""

    def _settings(self, rows: int, features: Sequence[str] | None = None) -> Any:  # noqa: ARG002 - for subclasses
        """The parameters read and checked, for `rows` rows per unit; their `promise()` is for any `rows` together.

        None where `_promise` says it. Raises BadParameter.
        """
        return None

    def _promise(self, rows: int) -> Guarantee:
        """`promise`, for any `rows` rows together, of estimators without settings."""
        raise NotImplementedError

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """The constructor call, without the password of a ledger's URL."""
        return without_passwords(super().__repr__(N_CHAR_MAX))


def forget_fit(estimator: Any) -> None:
    """Drop what an earlier fit learnt, so that a fit that fails leaves an estimator that is not fitted."""
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]:
        delattr(estimator, name)


def name_of_units(units: Any) -> str | None:
    """The name of the units: that of a Series, "unit" for anything else; None for none."""
    if units is None:
        return None
    name = getattr(units, "name", None)
    return name if isinstance(name, str) and name else "unit"
