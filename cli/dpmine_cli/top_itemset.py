"""dpmine top-itemset."""

from __future__ import annotations

from dpmine_cli import options
from dpmine_cli.messages import Messages
from dpmine_cli.output import Destination
from dpmine_cli.quick_start import load_numba


def top_itemset(
    files: options.Files,
    item: options.Item = None,
    unit: options.Unit = None,
    basket: options.Basket = None,
    one_hot: options.OneHot = False,
    size: options.Size = "2",
    epsilon: options.Epsilon = "1",
    delta: options.Delta = "1e-6",
    mechanism: options.Mechanism = "auto",
    neighbors: options.Relation = "replace-one",
    catalogue: options.Catalogue = None,
    catalogue_from_data: options.CatalogueFromData = False,
    kbar: options.Kbar = None,
    max_items_per_unit: options.MaxItems = None,
    not_private: options.NotPrivate = False,
    ledger: options.LedgerUrl = None,
    dataset: options.Dataset = None,
    memory: options.Memory = None,
    output_format: options.OutputFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    version: options.Version = False,
) -> None:
    """Choose the top itemset of transactions, privately, and print it with its guarantee.

    Example: dpmine top-itemset sales.parquet --unit customer --basket receipt --item product --size 2
    """
    import dpmine

    destination = Destination.of(output_format, output)
    load_numba()
    with Messages(quiet=quiet) as messages:
        result = dpmine.top_itemset(
            files,
            size=size,
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            neighbors=neighbors,
            unit=unit,
            basket=basket,
            item=item,
            one_hot=one_hot,
            catalogue=_catalogue(catalogue, from_data=catalogue_from_data),
            kbar=kbar,
            max_items_per_unit=max_items_per_unit,
            not_private=not_private,
            ledger=ledger,
            dataset=dataset,
            memory=memory,
            progress=messages.progress,
            notice=messages.notice,
        )
    destination.write_result(result)
    tell = messages.notice if result.guarantee.private else messages.warn
    for line in destination.untold(result):
        tell(line)


def _catalogue(file: options.Catalogue, *, from_data: bool) -> object:
    from dpmine import BadParameter

    if file is not None and from_data:
        raise BadParameter("--catalogue and --catalogue-from-data exclude each other.")
    return "from-data" if from_data else file
