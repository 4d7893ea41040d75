"""The ledger: budgets that outlive processes, and that no number of them can overspend.

A charge is on the disk before private values are read; whatever fails afterwards stays charged. Charges to a data set
take turns: each locks its row, so no charge sees an outdated total. Proof: docs/proofs/ledger.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpmine.errors import AlreadyCharged, AlreadyGranted, BadLedger, BadParameter, BudgetExceeded, NoLedger, NotPrivate
from dpmine.ledger import records
from dpmine.ledger.budget import WHOLE, Accounting, Amount, Budget, Parts, checked_name, name_and_part, whole_name
from dpmine.ledger.database import Database
from dpmine.ledger.records import Entry, ExportForm, Kind, dp_event, replayed
from dpmine.ledger.results import key_mark, require_no_mark, require_sealed
from dpmine.ledger.tables import require_own_schema
from dpmine.markup import json_text
from dpmine.parameters import Number, below_one, exact_number, named, positive, truth
from dpmine.privacy import ExPostGuarantee, Neighbors, Zcdp

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from dpmine.privacy import Guarantee

_begun_charges = [0]


def charges_begun() -> int:
    """The number of charges of this process that are on the disk, or may already be there."""
    return _begun_charges[0]


@dataclass(frozen=True, slots=True)
class Receipt:
    """A charge that was written: of which data set and part, and its number in the history."""

    dataset: str
    part: str
    number: int


class Ledger:
    """Budgets in a database, shared by all who have its URL.

    `Ledger("sqlite:///budget.db")` is a file beside the work of one machine; `Ledger("postgresql://user@host/db")` is
    for teams. Nothing is opened before it is needed. All methods raise BadLedger where the database cannot be used.

    Args:
        url: of the database; BadLedger for a URL of another kind.

    Example:
        >>> import tempfile
        >>> import dpmine
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = dpmine.Ledger(f"sqlite:///{folder}/budget.db")
        ...     budget = ledger.grant("shop", epsilon=3, unit="customer")
        ...     options = {"mechanism": "exponential", "epsilon": 1, "unit": "customer"}
        ...     chosen = dpmine.select([90, 20], **options, ledger=ledger, dataset="shop")
        ...     print(ledger.budget("shop").remaining)
        ε = 2, δ = 0

    See Also:
        dpmine.top_itemsets, dpmine.select: charge a ledger before they read data, as estimators do.
    """

    def __init__(self, url: str) -> None:
        self._database = Database(url)

    def __repr__(self) -> str:
        return f"Ledger({str(self._database)!r})"

    def grant(
        self,
        dataset: str,
        *,
        epsilon: Number,
        delta: Number | None = None,
        neighbors: str | Neighbors = Neighbors.REPLACE_ONE,
        unit: str | None = None,
        parts: str | Parts = Parts.NONE,
        only_first: bool = False,
        accounting: str | Accounting | None = None,
        approximate_delta: Number | None = None,
        must_exist: bool = False,
    ) -> Budget:
        """Set the total of a data set, and the first time its relation, unit and parts; makes the ledger if need be.

        Args:
            dataset: its name.
            epsilon: ε > 0 of all charges together.
            delta: δ in [0, 1) of all charges together; None: as it is, at first 0.
            neighbors: "replace_one" or "add_remove", for every charge.
            unit: the privacy unit; None: the first charge fixes it.
            parts: how disjoint parts, charged as "dataset/part", come about: "none", "by_index" or "by_unit".
            only_first: whether a data set that is granted already stays as it is, and AlreadyGranted is raised.
            accounting: "basic" (ε and δ add up) or "zcdp" (ρ adds up), until the first charge; None: as it is, at first
                basic.
            approximate_delta: under "zcdp", what of δ is for approximate parts; None: a half.
            must_exist: whether BadLedger is raised where there is no ledger; else one is made.

        Raises BudgetExceeded where a number of the total falls after a charge. Raises BadParameter for another
        relation, unit, parts or accounting than the charges rest on.
        """
        total_epsilon = positive("epsilon", epsilon)
        total_delta = None if delta is None else below_one("delta", delta)
        relation, rule = Neighbors.parse(neighbors), named(Parts, "parts", parts)
        if rule is Parts.BY_INDEX and relation is not Neighbors.REPLACE_ONE:
            raise BadParameter("parts by_index needs the relation replace_one: an added unit would move the numbers.")
        if rule is Parts.BY_UNIT and relation is not Neighbors.ADD_REMOVE:
            raise BadParameter("parts by_unit needs the relation add_remove: a replaced unit may leave its part.")
        kind = None if accounting is None else named(Accounting, "accounting", accounting)
        approximate = None if approximate_delta is None else below_one("approximate_delta", approximate_delta)
        _require_short(Amount(total_epsilon, total_delta or Fraction(0), Fraction(0), approximate or Fraction(0)))
        name = whole_name(dataset)
        with self._database.writing(create=not truth("must_exist", must_exist)) as connection:
            records.lock_ledger(connection)
            granted_before = self._found(connection, name)
            if granted_before is not None and only_first:
                raise AlreadyGranted(f"{name!r} is granted a budget already: leave only_first out to change it.")
            chosen = kind or (Accounting.BASIC if granted_before is None else granted_before.accounting)
            total = _total(total_epsilon, total_delta, chosen, approximate, granted_before)
            if granted_before is None:
                fixed = "" if unit is None else checked_name("unit", unit)
                budget = Budget(name, relation, rule, total, fixed, chosen)
                records.add(connection, budget)
            else:
                budget = _same_terms(granted_before, relation, rule, unit, chosen).granting(total)
            return records.append(connection, budget, Kind.GRANT, WHOLE, total)

    def charge(self, dataset: str, guarantee: Guarantee, *, job: str) -> Receipt:
        """Charge the most that a run can need, before it reads data; of an ex-post guarantee, set the most aside.

        `dataset` may be a part, "dataset/part". `guarantee` is that of the run. `job` is for the history: words of the
        tool, nothing read from data, and no key of `once` in brackets at the end.
        Raises BudgetExceeded where it does not fit, and NotPrivate for a run without a guarantee. Raises BadParameter
        for a data set that was not granted, or one of another relation or unit.
        """
        require_no_mark(job)
        return self._charge(dataset, guarantee, job)

    def _charge(self, dataset: str, guarantee: Guarantee, job: str, only_once: str = "") -> Receipt:
        """`only_once`: how no earlier job on this data set, or part, may end. It is looked for with the row locked."""
        name, part = name_and_part(dataset)
        amount, kind = _largest_charge(guarantee), _kind(guarantee)
        records.require_words(job)
        with self._database.writing() as connection:
            budget = _require(self._found(connection, name), name)
            if only_once and records.charge_of(connection, name, part, only_once):
                raise _charged_before(dataset, only_once)
            after = records.append(connection, _after(budget, part, guarantee, amount), kind, part, amount, job=job)
            _begun_charges[0] += 1  # here, so that it is known before it is on the disk
        return Receipt(name, part, after.entries)

    def once(self, key: str) -> Ledger:
        """The same ledger for one run that has a name, such as "pairs 2026-W47": however often started, charged once.

        The history keeps the key, which has no brackets, in brackets after the run's own words. `charge` raises
        AlreadyCharged, and nothing is run, where the data set, or its part, has been charged by that key.
        """
        return KeyedLedger(self, key)

    def after(self, dataset: str, guarantee: Guarantee) -> Budget:
        """The budget of `dataset` if `guarantee` were charged, which it is not. Raises as `charge`."""
        part, amount = name_and_part(dataset)[1], _largest_charge(guarantee)
        with self._database.reading() as connection:
            return _after(_granted(connection, dataset), part, guarantee, amount)

    def settle(self, receipt: Receipt, epsilon: Number) -> None:
        """Give back what a reservation did not need: it comes to `epsilon`, and all of its δ.

        Raises BadParameter for a receipt that is no open reservation, or an ε beyond it.
        """
        settled = exact_number("epsilon", epsilon)
        with self._database.writing() as connection:
            budget = _require(self._found(connection, receipt.dataset), receipt.dataset)
            reserved = records.open_reservation(connection, receipt.dataset, receipt.number, receipt.part)
            if reserved is None or not 0 < settled <= reserved.epsilon:
                raise BadParameter("A settlement is of an open reservation, and lies between 0 and what it reserved.")
            final = replace(reserved, epsilon=settled)
            _require_short(final)
            after = budget.charging(receipt.part, final - reserved)
            records.append(connection, after, Kind.SETTLE, receipt.part, final, reservation=receipt.number)

    def exists(self) -> bool:
        """Whether there is a ledger: a file without one, or a new database, is none."""
        try:
            with self._database.reading():
                return True
        except NoLedger:
            return False

    def budgets(self) -> tuple[Budget, ...]:
        """Every data set's budget, by name."""
        with self._database.reading() as connection:
            return records.all_budgets(connection)

    def known(self, dataset: str) -> Budget | None:
        """The budget of the data set `dataset`; None where it was not granted, or where there is no ledger yet."""
        name = name_and_part(dataset)[0]
        try:
            with self._database.reading() as connection:
                return records.find(connection, name)
        except NoLedger:
            return None

    def budget(self, dataset: str) -> Budget:
        """The budget of `dataset`. Raises BadParameter for one that was not granted."""
        with self._database.reading() as connection:
            return _granted(connection, dataset)

    def history(self, dataset: str | None = None) -> tuple[Entry, ...]:
        """All entries of `dataset`, the oldest first; by default of every data set, one after another.

        Raises BadParameter for a data set that was not granted.
        """
        with self._database.reading() as connection:
            budgets = records.all_budgets(connection) if dataset is None else [_granted(connection, dataset)]
            return tuple(entry for each in budgets for entry, _ in records.entries(connection, each.dataset))

    def verify(self) -> int:
        """The number of entries, all of them found to be as they were written.

        Raises BadLedger, with data set and number, where an entry, a total or the end of a history was changed. Raises
        it also for triggers, and for tables, indexes and constraints that are not as they were made. A user who can
        write to the database can also write a new history from the start: keep seals (`budgets`) elsewhere.
        """
        with self._database.reading() as connection:
            require_own_schema(connection)
            require_sealed(connection)
            budgets = records.all_budgets(connection)
            if records.names(connection) != {budget.dataset for budget in budgets}:
                raise BadLedger("The ledger has charges of a data set that it does not list: restore a copy.")
            for budget in budgets:
                if replayed(records.entries(connection, budget.dataset)) != budget:
                    raise BadLedger(f"The totals of {budget.dataset!r} are not what its history adds up to.")
            return sum(budget.entries for budget in budgets)

    def export(self, form: str | ExportForm = ExportForm.JSON) -> str:
        """All but results, as one JSON object; as "dp_event", what was charged, as events of the library dp_accounting.

        Raises BadParameter for another form.
        """
        wanted, datasets = named(ExportForm, "form", form), list[dict[str, object]]()
        with self._database.reading() as connection:
            for budget in records.all_budgets(connection):
                if wanted is ExportForm.DP_EVENT:
                    datasets += dp_event(entry for entry, _ in records.entries(connection, budget.dataset))
                else:
                    datasets.append(records.exported(connection, budget))
        return json_text({"datasets": datasets}, indent=2)

    def excerpt(self, dataset: str) -> dict[str, Any]:
        """What `export` has of the data set `dataset`, JSON-ready. Raises BadParameter for one that was not granted."""
        with self._database.reading() as connection:
            return records.exported(connection, _granted(connection, dataset))

    def _found(self, connection: Connection, dataset: str) -> Budget | None:
        """The budget, locked, as far as the last entry of its history bears it out; `verify` reads all of them.

        Raises BadLedger where it does not: nothing is charged by totals of another history.
        """
        budget = records.find(connection, dataset, lock=True)
        if budget is not None:
            last = [(entry.number, seal) for entry, seal in records.entries(connection, dataset, budget.entries)]
            if last != [(budget.entries, budget.seal)]:
                raise BadLedger(f"The totals of {dataset!r} are not those of its history: restore a copy.")
        return budget


class KeyedLedger(Ledger):
    """A ledger at which one run is charged by a key: see `Ledger.once`. With `again`, also if it was charged before."""

    def __init__(self, ledger: Ledger, key: str, *, again: bool = False, title: str = "") -> None:
        self._database = ledger._database  # noqa: SLF001 - another ledger's, of the same class
        self._mark, self._again = key_mark(key), again
        self._words = f"{title!r} {self._mark}" if title else self._mark

    def charge(self, dataset: str, guarantee: Guarantee, *, job: str) -> Receipt:
        """Charges `guarantee` to `dataset` for the `job`, as `Ledger.charge`; raises AlreadyCharged."""
        return self._charge(dataset, guarantee, f"{job} {self._words}", "" if self._again else self._mark)

    def after(self, dataset: str, guarantee: Guarantee) -> Budget:
        """What is left of `dataset` after a charge of `guarantee`, as `Ledger.after`; raises AlreadyCharged."""
        after = super().after(dataset, guarantee)
        with self._database.reading() as connection:
            if not self._again and records.charge_of(connection, *name_and_part(dataset), self._mark):
                raise _charged_before(dataset, self._mark)
        return after


def _charged_before(dataset: str, mark: str) -> AlreadyCharged:
    return AlreadyCharged(f"{dataset!r} was charged for {mark} before: nothing was run, or charged again.")


def _kind(guarantee: Guarantee) -> Kind:
    return Kind.RESERVE if isinstance(guarantee, ExPostGuarantee) else Kind.CHARGE


def _after(known: Budget, part: str, guarantee: Guarantee, amount: Amount) -> Budget:
    """After a charge of `amount`, the most of `guarantee`. Raises as `Budget.charging`, with advice on searches."""
    budget = _of_unit(known, guarantee)
    try:
        return budget.charging(part, amount)
    except BudgetExceeded as error:
        if _kind(guarantee) is not Kind.RESERVE or budget.accounting is Accounting.BASIC:
            raise
        raise BudgetExceeded(
            f"{error} What a search sets aside (`epsilon_max=…`) has half its square as ρ and stays charged under zcdp "
            "accounting: run searches on a data set with basic accounting."
        ) from None


def _granted(connection: Connection, dataset: str) -> Budget:
    name = name_and_part(dataset)[0]
    return _require(records.find(connection, name), name)


def _require(budget: Budget | None, dataset: str) -> Budget:
    if budget is None:
        raise BadParameter(
            f"The ledger knows no data set {dataset!r}: name one that it knows (dpmine ledger show lists them), or "
            "grant this one a budget (dpmine ledger grant `epsilon=E` `delta=D`)."
        )
    return budget


def _same_terms(known: Budget, neighbors: Neighbors, parts: Parts, unit: str | None, accounting: Accounting) -> Budget:
    """The known budget, its unit named where it had none. BadParameter for terms that charges do not rest on."""
    if (neighbors, parts) != (known.neighbors, known.parts):
        raise BadParameter(
            f"{known.dataset!r} was granted for the relation {known.neighbors} and parts {known.parts}: "
            "its charges rest on that. Grant another data set."
        )
    if known.charged and accounting is not known.accounting:
        raise BadParameter(
            f"{known.dataset!r} has charges under {known.accounting} accounting, which the first charge fixed: leave "
            "`accounting` out, or grant another data set."
        )
    same = replace(known, accounting=accounting)
    return same if unit is None else _with_unit(same, checked_name("unit", unit))


def _of_unit(budget: Budget, guarantee: Guarantee) -> Budget:
    """The budget, its unit fixed by this charge if by none before. BadParameter for another relation or unit."""
    if guarantee.neighbors is not budget.neighbors:
        raise BadParameter(
            f"{budget.dataset!r} was granted for the relation {budget.neighbors}, and this run is for "
            f"{guarantee.neighbors}: name the same relation (`neighbors=…`), or grant another data set."
        )
    return _with_unit(budget, checked_name("unit", guarantee.unit))


def _with_unit(budget: Budget, unit: str) -> Budget:
    if budget.unit not in {"", unit}:
        raise BadParameter(
            f"{budget.dataset!r} is a budget for each {budget.unit!r}, not for each {unit!r}: "
            "name the same unit (`unit=COL`; none where rows are the units), or grant another data set."
        )
    return replace(budget, unit=unit)


def _largest_charge(guarantee: Guarantee) -> Amount:
    """The most that a guarantee is charged. NotPrivate without one; BadParameter where it cannot be recorded."""
    if not guarantee.private:
        raise NotPrivate("A ledger takes private runs only: leave out ledger and dataset (`ledger=…`, `dataset=…`).")
    epsilon, delta = exact_number("epsilon", guarantee.epsilon), exact_number("delta", guarantee.delta)
    proved = guarantee.concentrated
    if proved is not None:
        proved = Zcdp(exact_number("rho", proved.rho), exact_number("delta", proved.delta))
    amount = Amount.of(replace(guarantee, epsilon=epsilon, delta=delta, concentrated=proved))
    if min(amount) < 0:
        raise BadParameter("epsilon and delta of a charge must be at least 0.")
    _require_short(amount)
    return amount


def _total(
    epsilon: Fraction, delta: Fraction | None, accounting: Accounting, share: Fraction | None, known: Budget | None
) -> Amount:
    """What is granted: a δ that is not given is that of the budget so far, and so is its approximate part."""
    before = Amount() if known is None else known.granted
    if accounting is Accounting.BASIC:
        if share is not None:
            raise BadParameter(
                "approximate_delta belongs to zcdp accounting: leave it out, or give `accounting='zcdp'`."
            )
        return Amount(epsilon, before.delta if delta is None else delta)
    if delta is None and share is None and known is not None and known.accounting is accounting:
        share = before.approximate_delta
    return Amount.granted(epsilon, before.delta if delta is None else delta, share)


def _require_short(amount: Amount) -> None:
    if not amount.is_short:
        raise BadParameter("epsilon and delta must have at most 780 digits, such as 0.1, 1e-6 or 1/3.")
