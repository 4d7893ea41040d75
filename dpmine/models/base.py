"""What every estimator with a ledger shares: its fit is paid for before any data are read."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

from dpmine.errors import BadParameter
from dpmine.ledger.charging import Account, without_passwords
from dpmine.models.contribution import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpmine.ledger.charging import Charge
    from dpmine.ledger.ledger import Ledger
    from dpmine.privacy import Guarantee


class ChargedEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator whose fits a ledger may be charged for."""

    unit: str
    rows_per_unit: int
    ledger: Ledger | str | None
    dataset: str | None

    _read_from_file = False

    def pay(self, features: Sequence[str] | None = None, *, units: str | None = None) -> Charge:
        """Charge the ledger, where one is given, for a fit; for callers that read the data of the fit afterwards.

        `features` are the names of the columns, where they are known by now; `units` is the name of the units that the
        fit will be given, None for none. All parameters are checked first.
        Forgets an earlier fit. Raises as `fit`, and then an earlier fit stays.
        """
        if self._read_from_file:
            raise BadParameter("A model file does not keep what training needs: make a new estimator to train again.")
        self._require_usable(features)
        promise, account = self.promise(units), Account.of(self.ledger, self.dataset)
        charge = account.charge(promise, job=type(self).__name__)
        forget_fit(self)
        return charge

    def promise(self, units: str | None = None) -> Guarantee:
        """The most that a fit will promise, by its parameters alone; `units` as in `pay`.

        Raises BadParameter for unusable parameters.
        """
        unit = self.privacy_unit(units)
        return unit.protecting(self._promise(unit.rows))

    def privacy_unit(self, units: str | None) -> PrivacyUnit:
        """The privacy unit of a fit; `units` as in `pay`. Raises BadParameter."""
        return PrivacyUnit.of(self.unit, self.rows_per_unit, units)

    def _require_usable(self, features: Sequence[str] | None) -> None:
        """Raises BadParameter for parameters that `_promise` does not look at; `features` as in `pay`."""

    @abstractmethod
    def _promise(self, rows: int) -> Guarantee:
        """`promise`, for any `rows` rows together."""

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
