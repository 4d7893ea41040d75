"""The targets by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz import conditions, inputs, kernels, ledgers, models, parameters, parquet, reports

if TYPE_CHECKING:
    from collections.abc import Callable

GUIDED: dict[str, Callable[[bytes], None]] = {
    "numbers": parameters.numbers,
    "settings": parameters.settings,
    "ledger": parameters.ledger,
    "ledger_file": ledgers.ledger_file,
    "catalogue_text": parameters.catalogue_text,
    "catalogue_given": parameters.catalogue_given,
    "delimited": inputs.delimited,
    "baskets": inputs.baskets,
    "attribute_table": inputs.attribute_table,
    "dates": inputs.dates,
    "form_of_dates": inputs.form_of_dates,
    "condition": conditions.condition,
    "scores": parameters.scores,
    "classifier": models.classifier,
    "regression": models.regression,
    "hypothesis": models.hypothesis,
    "accuracy_first": models.accuracy_first,
    "job_file": reports.job_file,
    "stored_result": reports.stored_result,
    "evidence": reports.evidence,
    **kernels.KERNELS,
}
"""Led by the coverage of dpmine's own code, in one process each."""
FORKED: dict[str, Callable[[bytes, parquet.Case], None]] = {
    "top_itemset": parquet.top_itemset,
    "read_columns": parquet.read_columns,
    "catalogue_parquet": parquet.catalogue,
}
"""Mutated Parquet files, by number, in children that may crash."""
