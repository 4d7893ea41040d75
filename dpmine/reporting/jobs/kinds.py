"""The kinds of jobs; here those on tables: densities of columns, and models that are learned."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from dpmine.errors import BadData, BadParameter
from dpmine.parameters import listed, one_or_each, whole_numbers
from dpmine.privacy import Neighbors
from dpmine.reporting.jobs.compare import CompareJob
from dpmine.reporting.jobs.itemsets import FrequentItemsetsJob, TopItemsetJob
from dpmine.reporting.jobs.job import Job, Released

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpmine.ledger.charging import Account
    from dpmine.models.histogram.estimator import PrivateHistogram
    from dpmine.privacy import Guarantee


class TableJob(Job):
    """A job on rows of a table, with columns that may name their privacy unit."""

    def parameters(self, *left_out: str) -> dict[str, Any]:
        """The estimator's parameters that are given, without those left out. Raises BadParameter."""
        if "unit" in self.options and "one_row_per" in self.options:
            raise BadParameter("one_row_per is for tables without a column of the unit: leave it out, or unit.")
        parameters = self.given("unit", "one_row_per", *left_out)
        return parameters if self.asserted is None else {**parameters, "unit": self.asserted}

    @property
    def asserted(self) -> str | None:
        """The privacy unit of which the job file asserts that it has one row each; None for none."""
        return self.options.get("one_row_per")

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

    def _checked(self) -> Guarantee:
        guarantee = self.guarantee_at()
        self._whole  # noqa: B018 - the column is there, and holds numbers
        return guarantee

    def run(self, account: Account, *, progress: Callable[[float], None]) -> Released:
        """See `Job.run`."""
        from dpmine.models.histogram.bin_search import density_of_column
        from dpmine.models.tables import unit_name

        column, units, estimator = self.text("column"), self.units, self._estimator()
        unit = estimator.privacy_unit(unit_name(units))
        search = replace(estimator.search(unit.rows), may_be_empty=self.scheduled is not None)
        density = density_of_column(search, unit, account, self.data, column=column, units=units, progress=progress)
        about = {"column": column, "whole": self._whole, "rows_per_unit": unit.rows, "count_error": search.count_error}
        return Released({**about, **density.to_dict()}, density.guarantee, {"": density.to_arrow()})

    def guarantee_at(self) -> Guarantee:
        """See `Job.guarantee_at`."""
        from dpmine.models.tables import unit_name

        self.require_options()
        return self._estimator().guarantee(unit_name(self.units))

    @property
    def obstacle(self) -> str:
        """See `Job.obstacle`: counts need no number of units, and a choice among several numbers of bins does."""
        if len(self._bins) == 1:
            return ""
        return "a choice among bins takes the number of units as public: give one number of them, such as bins = 20."

    @cached_property
    def _bins(self) -> list[int]:
        return whole_numbers("bins", self.options.get("bins", self.table["bins"].default))

    @cached_property
    def _whole(self) -> bool:
        """Whether the column's type, which is public, has whole numbers only. Raises as `_checked`."""
        from dpmine.models.tables import require_columns

        column = self.text("column")
        return column in require_columns(self.data, [column], keys=self.units, asserted=self.asserted)

    def _estimator(self) -> PrivateHistogram:
        from dpmine.models.histogram.estimator import PrivateHistogram

        return PrivateHistogram(bins=self._bins, **self.parameters("column", "bins"))


class ModelJob(TableJob):
    """A job that learns a model of a label from features; the commands train by it, too."""

    label: ClassVar[str] = "label"
    """The option that names the column to be predicted."""

    def _checked(self) -> Guarantee:
        from sklearn.base import is_regressor

        from dpmine.models.tables import require_columns, unit_name

        estimator, features, label = self.estimator(), self._features(), self.text(self.label)
        estimator.require_parameters(features)
        numbers, labels = ([*features, label], []) if is_regressor(estimator) else (features, [label])
        require_columns(self.data, numbers, labels=labels, keys=self.units, asserted=self.asserted)
        guarantee: Guarantee = estimator.guarantee(unit_name(self.units), features)
        return guarantee

    def run(self, account: Account, *, progress: Callable[[float], None]) -> Released:
        """See `Job.run`."""
        estimator = self.estimator(ledger=account.ledger, dataset=account.dataset)
        self.fit(estimator, progress)
        model = _model_file(estimator)
        return Released(json.loads(model), estimator.guarantee_, {"": self.summary(estimator).to_arrow()}, model)

    def fit(self, estimator: Any, progress: Callable[[float], None]) -> None:
        """Train on the columns that the options name. Raises as `fit_table`."""
        from dpmine.models.tables import fit_table

        label, features = self.text(self.label), listed(self.options["features"])
        fit_table(estimator, self.data, label=label, features=features, units=self.units, progress=progress)

    @abstractmethod
    def estimator(self, **others: Any) -> Any:
        """The estimator, with the options of the job and other parameters. Raises BadParameter."""

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


def _model_file(estimator: Any) -> str:
    """The model as JSON; labels that JSON and pages cannot hold are spelled out, so that no charged result is lost."""
    try:
        return str(estimator.to_json())
    except BadData:
        import numpy as np

        from dpmine.itemsets.release.results import printable

        estimator.classes_ = np.array([printable(repr(label)) for label in estimator.classes_.tolist()])
        return str(estimator.to_json())


class LinearJob(ModelJob):
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

    def estimator(self, **others: Any) -> Any:
        """See `ModelJob.estimator`."""
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
    label: ClassVar[str] = "target"

    def estimator(self, **others: Any) -> Any:
        """See `ModelJob.estimator`."""
        from dpmine.models.linear.ridge import PrivateRidge

        self.require_options()
        bounds = listed(self.options["target_bounds"])
        return PrivateRidge(**{**self.parameters("target_bounds"), "target_bounds": bounds, **others})


class AccuracyFirstJob(ModelJob):
    """The least privacy loss that reaches a target."""

    kind: ClassVar[str] = "accuracy-first"
    label: ClassVar[str] = "target"

    def estimator(self, **others: Any) -> Any:
        """See `ModelJob.estimator`."""
        from dpmine.models.accuracy_first.estimators import ESTIMATORS

        name = self.choice("model_kind")
        self.require_options()
        return ESTIMATORS[name](**{**self.parameters("target", "features", "model_kind"), **others})


class HypothesisJob(ModelJob):
    """A rule out of a class of rules."""

    kind: ClassVar[str] = "hypothesis"

    def estimator(self, **others: Any) -> Any:
        """See `ModelJob.estimator`."""
        from dpmine.models.pac.selector import HypothesisSelector

        self.require_options()
        if not isinstance(self.options.get("class", ""), str):
            raise BadParameter("class must be the name of a class of rules, such as 'stumps'.")
        options = self.parameters("label", "features", "lower", "upper", "grid")
        bounds = {name: one_or_each(self.options.get(name)) for name in ("lower", "upper")}
        grid = whole_numbers("grid", self.options.get("grid"))
        return HypothesisSelector(**{**options, **bounds, "grid": one_or_each(grid), **others})

    def guarantee_at(self) -> Guarantee:
        """See `Job.guarantee_at`."""
        guarantee: Guarantee = self.estimator().guarantee(None, self._features())
        return guarantee

    @property
    def obstacle(self) -> str:
        """See `Job.obstacle`: whether a window has any units is private, and so is which labels occur there."""
        if Neighbors.parse(self.options.get("neighbors", Neighbors.REPLACE_ONE)) is not Neighbors.ADD_REMOVE:
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


KINDS: dict[str, type[Job]] = {
    job.kind: job
    for job in (
        TopItemsetJob,
        FrequentItemsetsJob,
        CompareJob,
        HistogramJob,
        ClassifyJob,
        RegressJob,
        AccuracyFirstJob,
        HypothesisJob,
    )
}
