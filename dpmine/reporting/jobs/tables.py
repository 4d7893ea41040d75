"""Jobs on tables: densities of columns, and models that are learned."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpmine.errors import BadParameter
from dpmine.options.option import DECLARED_UNITS
from dpmine.parameters import listed, one_or_each, whole_numbers
from dpmine.privacy import Neighbors
from dpmine.reporting.jobs.job import Job, Released

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from dpmine.ledger.charging import Account
    from dpmine.models.contribution import PrivateCount
    from dpmine.models.histogram.estimator import PrivateHistogram
    from dpmine.options.option import Option
    from dpmine.privacy import Guarantee


_UNDECLARED = (
    "how many units are in a window is private, and the job needs a number of them: give a public one, about as many "
    "as a window has, such as units = 5000."
)


class TableJob(Job):
    """A job on rows of a table, with columns that may name their privacy unit."""

    use: ClassVar[str] = "training"
    """What needs a number of units."""

    def parameters(self, *left_out: str) -> dict[str, Any]:
        """The estimator's parameters that are given, without those left out. Raises BadParameter."""
        if "unit" in self.options and "one_row_per" in self.options:
            raise BadParameter("one_row_per is for tables without a column of the unit: leave it out, or unit.")
        parameters = self.given("unit", "one_row_per", "units", *left_out)
        if self.asserted is not None:
            parameters["unit"] = self.asserted
        if self.private_count is not None:  # places are private under both relations
            parameters.pop("neighbors", None)
        return parameters

    @property
    def private_count(self) -> PrivateCount | None:
        """That the number of units is private, and the public number that the job declares; None where it is public.

        Raises BadParameter.
        """
        from dpmine.models.contribution import PrivateCount

        if "units" not in self.options:
            return None
        return PrivateCount.of(self.relation, self.options["units"], self.use)

    @property
    def relation(self) -> Neighbors:
        """That of the guarantee. Raises BadParameter."""
        return Neighbors.parse(self.options.get("neighbors", Neighbors.REPLACE_ONE))

    @property
    def asserted(self) -> str | None:
        """The privacy unit of which the job file asserts that it has one row each; None for none."""
        return self.options.get("one_row_per")

    @property
    def notices(self) -> tuple[str, ...]:
        """See `Job.notices`."""
        return self._columns[1]

    @property
    @abstractmethod
    def _columns(self) -> tuple[frozenset[str], tuple[str, ...]]:
        """What `require_columns` gives for the columns that are read. Raises as `_checked`."""

    @property
    def units(self) -> Sequence[str]:
        """The columns that name the privacy unit of a row; none where each row is one. Raises BadParameter."""
        columns = self.options.get("unit", [])
        columns = [columns] if isinstance(columns, str) else columns
        if not isinstance(columns, list) or not all(isinstance(name, str) and name for name in columns):
            raise BadParameter("unit must be a column of the table, or a list of them; to assert it, take one_row_per.")
        return columns

    def text(self, name: str) -> str:
        """An option, as text. Raises BadParameter."""
        value = self.options.get(name)
        if not isinstance(value, str) or not value:
            raise BadParameter(f"{name} must be text.")
        return value


class HistogramJob(TableJob):
    """The density of a column."""

    kind: ClassVar[str] = "histogram"
    procedure: ClassVar[str] = "noisy counts"
    known: ClassVar[Mapping[str, Option]] = {"units": DECLARED_UNITS}
    use: ClassVar[str] = "the choice of bins"

    def _checked(self) -> Guarantee:
        guarantee = self.guarantee_at()
        self._columns  # noqa: B018 - the column is there, and holds numbers
        return guarantee

    def run(self, account: Account, *, progress: Callable[[float], None]) -> Released:
        """See `Job.run`."""
        from dpmine.models.histogram.bin_search import density_of_column
        from dpmine.models.tables import unit_name

        column, units, estimator = self.text("column"), self.units, self._estimator()
        unit = estimator.privacy_unit(unit_name(units))
        search = estimator.search(unit.rows)
        density = density_of_column(search, unit, account, self.data, column=column, units=units, progress=progress)
        about = {
            "column": column,
            "whole": column in self._columns[0],
            "rows_per_unit": unit.rows,
            "count_error": search.count_error,
        }
        return Released({**about, **density.to_dict()}, density.guarantee, {"": density.to_arrow()})

    def guarantee_at(self) -> Guarantee:
        """See `Job.guarantee_at`."""
        from dpmine.models.tables import unit_name

        self.require_options()
        return self._estimator().guarantee(unit_name(self.units))

    @property
    def obstacle(self) -> str:
        """See `Job.obstacle`: counts need no number of units, and a choice among several numbers of bins does."""
        return "" if len(self._bins) == 1 or "units" in self.options else f"{_UNDECLARED} Or give one number of bins."

    @property
    def private_count(self) -> PrivateCount | None:
        """See `TableJob.private_count`; the counts of one number of bins need no public number."""
        from dpmine.models.contribution import PrivateCount

        if len(self._bins) > 1:
            return super().private_count
        if "units" in self.options:
            raise BadParameter("units is for a choice among several bins: leave it out.")
        hidden = self.in_window or self.relation is Neighbors.ADD_REMOVE
        return PrivateCount(self.relation) if hidden else None

    @cached_property
    def _bins(self) -> list[int]:
        return whole_numbers("bins", self.options.get("bins", self.table["bins"].default))

    @cached_property
    def _columns(self) -> tuple[frozenset[str], tuple[str, ...]]:
        from dpmine.models.tables import require_columns

        return require_columns(self.data, [self.text("column")], keys=self.units, asserted=self.asserted)

    def _estimator(self) -> PrivateHistogram:
        from dpmine.models.histogram.estimator import PrivateHistogram

        made, count = PrivateHistogram(bins=self._bins, **self.parameters("column", "bins")), self.private_count
        return made if count is None else made.hiding_units(count)


class ModelJob(TableJob):
    """A job that learns a model of a label from features; the commands train by it, too."""

    learns: ClassVar[bool] = True
    label: ClassVar[str] = "label"
    """The option that names the column to be predicted."""

    @property
    def obstacle(self) -> str:
        """See `Job.obstacle`: n divides what is trained, and a public number of places may stand for it."""
        return "" if "units" in self.options else _UNDECLARED

    def guarantee_at(self) -> Guarantee:
        """See `Job.guarantee_at`."""
        from dpmine.models.tables import unit_name

        guarantee: Guarantee = self.estimator().guarantee(unit_name(self.units), self._features())
        return guarantee

    def _checked(self) -> Guarantee:
        self.estimator().require_parameters(self._features())
        self._columns  # noqa: B018 - the columns are there, with usable types
        return self.guarantee_at()

    @cached_property
    def _columns(self) -> tuple[frozenset[str], tuple[str, ...]]:
        from sklearn.base import is_regressor

        from dpmine.models.tables import require_columns

        features, label = self._features(), self.text(self.label)
        numbers, labels = ([*features, label], []) if is_regressor(self.estimator()) else (features, [label])
        return require_columns(self.data, numbers, labels=labels, keys=self.units, asserted=self.asserted)

    def run(self, account: Account, *, progress: Callable[[float], None]) -> Released:
        """See `Job.run`."""
        estimator = self.estimator(ledger=account.ledger, dataset=account.dataset)
        self.fit(estimator, progress)
        model = estimator.to_json()
        return Released(json.loads(model), estimator.guarantee_, {"": self.summary(estimator).to_arrow()}, model)

    def fit(self, estimator: Any, progress: Callable[[float], None]) -> None:
        """Train on the columns that the options name; classes are spelled out for files. Raises as `fit_table`."""
        from dpmine.models.model_file import spell_out_classes
        from dpmine.models.tables import fit_table

        label, features = self.text(self.label), listed(self.options["features"])
        fit_table(estimator, self.data, label=label, features=features, units=self.units, progress=progress)
        spell_out_classes(estimator)

    def estimator(self, **others: Any) -> Any:
        """The estimator, with the options of the job and other parameters. Raises BadParameter."""
        made, count = self._made(**others), self.private_count
        return made if count is None else made.hiding_units(count)

    @abstractmethod
    def _made(self, **others: Any) -> Any:
        """The estimator, where the number of units is public."""

    def summary(self, estimator: Any, *remarks: str) -> Any:
        """What is written as a table."""
        from dpmine.models.model_file import LinearModel

        return LinearModel(estimator, *remarks)

    def _features(self) -> list[str]:
        features = listed(self.options["features"])
        if not features or not all(isinstance(name, str) for name in features):
            raise BadParameter("features must be names of columns, such as ['age', 'hours'].")
        if len(set(features)) < len(features) or self.options.get(self.label) in features:
            raise BadParameter(f"features must be different columns, and {self.label} none of them.")
        return features


class NoisyTrainingJob(ModelJob):
    """A model that is trained with noise, of a kind that spends a δ or of one that spends none."""

    def charging(self, epsilon: Fraction, delta: Fraction) -> Self:
        """See `Job.charging`; no δ is given to a training that spends none."""
        charged = super().charging(epsilon, delta)
        if delta and self._agrees(self.table["delta"]):
            return charged
        return replace(charged, options={name: value for name, value in charged.options.items() if name != "delta"})


class LinearJob(NoisyTrainingJob):
    """A linear model for a fixed budget, of features with public bounds."""

    def parameters(self, *left_out: str) -> dict[str, Any]:
        """See `TableJob.parameters`; with the bounds of the features."""
        parameters = super().parameters(self.label, "features", "lower", "upper", *left_out)
        if "lower" in self.options:
            parameters["feature_bounds"] = tuple(one_or_each(self.options[bound]) for bound in ("lower", "upper"))
        return parameters

    def require_options(self) -> None:
        """See `Job.require_options`."""
        super().require_options()
        missing = [name for name in ("lower", "upper") if name not in self.options]
        if len(missing) == 1:
            raise BadParameter(
                f"`{missing[0]}=…` is missing: give `lower=…` and `upper=…` together, the public bounds of the "
                "features."
            )
        if missing and "norm_bound" not in self.options:
            raise BadParameter(
                "`lower=…` and `upper=…` are missing, the public bounds of the features (or `norm_bound=…`)."
            )


class ClassifyJob(LinearJob):
    """A linear classifier."""

    kind: ClassVar[str] = "classify"
    procedure: ClassVar[str] = "{} perturbation"
    known: ClassVar[Mapping[str, Option]] = {"units": DECLARED_UNITS}

    def _made(self, **others: Any) -> Any:
        from dpmine.models.linear.estimators import PrivateHuberSVC, PrivateLogisticRegression

        name = self.choice("loss")
        self.require_options()
        options = self.parameters("loss", "lambdas")
        if "lambdas" in self.options:
            strengths = listed(self.options["lambdas"])
            if len(strengths) > 1 and "auto" in strengths:
                raise BadParameter("lambdas must be auto alone, or numbers such as 0.001,0.01: leave out auto.")
            options["lambdas"] = strengths[0] if len(strengths) == 1 else strengths
        parameters = {**options, **others}
        if name == PrivateHuberSVC.kind:
            return PrivateHuberSVC(**parameters)
        return PrivateLogisticRegression(**parameters, loss=name)


class RegressJob(LinearJob):
    """Ridge regression."""

    kind: ClassVar[str] = "regress"
    procedure: ClassVar[str] = "noise on sufficient statistics"
    known: ClassVar[Mapping[str, Option]] = {"units": DECLARED_UNITS}
    label: ClassVar[str] = "target"

    def _made(self, **others: Any) -> Any:
        from dpmine.models.linear.ridge import PrivateRidge

        self.require_options()
        bounds = listed(self.options["target_bounds"])
        return PrivateRidge(**{**self.parameters("target_bounds"), "target_bounds": bounds, **others})


class AccuracyFirstJob(NoisyTrainingJob):
    """The least privacy loss that reaches a target."""

    loss: ClassVar[str] = "epsilon_max"
    kind: ClassVar[str] = "accuracy-first"
    procedure: ClassVar[str] = "noise reduction with a noisy comparison"
    known: ClassVar[Mapping[str, Option]] = {"units": DECLARED_UNITS}
    label: ClassVar[str] = "target"

    def _made(self, **others: Any) -> Any:
        from dpmine.models.accuracy_first.estimators import ESTIMATORS

        name = self.choice("model_kind")
        self.require_options()
        return ESTIMATORS[name](**{**self.parameters("target", "features", "model_kind"), **others})


class HypothesisJob(ModelJob):
    """A rule out of a class of rules."""

    kind: ClassVar[str] = "hypothesis"

    def _made(self, **others: Any) -> Any:
        from dpmine.models.pac.selector import HypothesisSelector

        self.require_options()
        if not isinstance(self.options.get("class", ""), str):
            raise BadParameter("class must be the name of a class of rules, such as 'stumps'.")
        options = self.parameters("label", "features", "lower", "upper", "grid")
        bounds = {name: one_or_each(self.options.get(name)) for name in ("lower", "upper")}
        grid = whole_numbers("grid", self.options.get("grid"))
        return HypothesisSelector(**{**options, **bounds, "grid": one_or_each(grid), **others})

    @property
    def obstacle(self) -> str:
        """See `Job.obstacle`: whether a window has any units is private, and so is which labels occur there."""
        if self.relation is not Neighbors.ADD_REMOVE:
            return (
                "under replace-one the number of units is public, and how many are in a window is not: give "
                'neighbors = "add-remove" in [budget].'
            )
        if "classes" not in self.options:
            return (
                "which labels occur in a window is private: give the two as classes, such as classes = ['no', 'yes']."
            )
        return ""

    def summary(self, estimator: Any, *remarks: str) -> Any:  # noqa: ARG002 - a rule says all of itself
        """See `ModelJob.summary`."""
        from dpmine.models.model_file import ChosenHypothesis

        return ChosenHypothesis(estimator)
