"""dpmine top-itemset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from dpmine_cli import options
from dpmine_cli.messages import Messages
from dpmine_cli.output import Destination, ledger_files
from dpmine_cli.quick_start import load_numba

if TYPE_CHECKING:
    from fractions import Fraction

    from dpmine.itemsets.results import TopItemsets

Top = Annotated[int, typer.Option("--top", metavar="K", help="How many itemsets; the budget is that of all together.")]
ReleaseSupport = Annotated[
    Optional[str],
    typer.Option(
        "--release-support",
        metavar="E|auto",
        help="Release noisy supports, too: ε that adds to the budget, or auto to split --epsilon.",
        show_default=False,
    ),
]
Rules = Annotated[
    bool, typer.Option("--rules", help="Association rules of the released supports; needs --release-support.")
]
MinConfidence = Annotated[
    Optional[str],
    typer.Option(
        "--min-confidence", metavar="F", help="Of the rules that are shown; 0 by default.", show_default=False
    ),
]
Units = Annotated[
    Optional[int],
    typer.Option(
        "--units",
        metavar="N",
        help="A public number of units: turns supports into shares, gives rules lift, and warns where a list will "
        "mostly be noise (default: 5,000 assumed).",
        show_default=False,
    ),
]


_AS_GIVEN = (
    "size",
    "epsilon",
    "delta",
    "mechanism",
    "neighbors",
    "unit",
    "basket",
    "item",
    "one_hot",
    "release_support",
    "rules",
    "units",
    "kbar",
    "max_items_per_unit",
    "not_private",
    "ledger",
    "dataset",
    "memory",
    "engine",
)
"""Options that the library's call has by the same names."""


def top_itemset(
    context: typer.Context,
    files: options.Files,
    item: options.Item = None,
    unit: options.Unit = None,
    basket: options.Basket = None,
    one_hot: options.OneHot = False,
    size: options.Size = "2",
    top: Top = 1,
    epsilon: options.Epsilon = "1",
    delta: options.Delta = "1e-6",
    mechanism: options.Mechanism = "auto",
    neighbors: options.Relation = "replace-one",
    catalogue: options.Catalogue = None,
    catalogue_from_data: options.CatalogueFromData = False,
    release_support: ReleaseSupport = None,
    rules: Rules = False,
    min_confidence: MinConfidence = None,
    units: Units = None,
    kbar: options.Kbar = None,
    max_items_per_unit: options.MaxItems = None,
    not_private: options.NotPrivate = False,
    ledger: options.LedgerUrl = None,
    dataset: options.Dataset = None,
    memory: options.Memory = None,
    engine: options.Engine = "local",
    output_format: options.OutputFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    version: options.Version = False,
) -> None:
    """Choose the top itemsets of transactions, privately, and print them with their guarantee.

    Example: dpmine top-itemset sales.parquet --unit customer --item product --top 10 --release-support 0.5
    """
    import dpmine
    from dpmine.io.atomic import require_apart

    answer = _Answer.prepared(output_format, output, rules=rules, min_confidence=min_confidence)
    require_apart({"--output": answer.destination.path}, files, {"the catalogue": catalogue, **ledger_files(ledger)})
    with Messages(quiet=quiet) as messages:
        result = dpmine.top_itemsets(
            files,
            top,
            catalogue=_catalogue(catalogue, from_data=catalogue_from_data),
            **{name: context.params[name] for name in _AS_GIVEN},
            progress=messages.progress,
            notice=messages.notice,
        )
    answer.write(result, messages)


@dataclass(frozen=True, slots=True)
class _Answer:
    """Where the answer goes, and the confidence that rules must have to be shown; None where none are asked for."""

    destination: Destination
    confidence: Fraction | None

    @classmethod
    def prepared(
        cls, output_format: options.OutputFormat, output: options.Output, *, rules: bool, min_confidence: str | None
    ) -> _Answer:
        """Checked before any work is done; what counts is loaded meanwhile."""
        from dpmine_cli.rules import parse_confidence

        destination = Destination.of(output_format, output)
        if rules:
            destination.require_document()
        least = parse_confidence(min_confidence, rules=rules)
        load_numba()
        return _Answer(destination, least if rules else None)

    def write(self, result: TopItemsets, messages: Messages) -> None:
        """The result, and on stderr what it does not say."""
        if self.confidence is None:
            self.destination.write_result(result)
        else:
            from dpmine_cli.rules import TopItemsetsAndRules

            self.destination.write_document(TopItemsetsAndRules.of(result, self.confidence))
        tell = messages.notice if result.guarantee.private else messages.warn
        for line in self.destination.untold(result):
            tell(line)


def _catalogue(file: options.Catalogue, *, from_data: bool) -> object:
    from dpmine import BadParameter

    if file is not None and from_data:
        raise BadParameter("--catalogue and --catalogue-from-data exclude each other.")
    return "from-data" if from_data else file
