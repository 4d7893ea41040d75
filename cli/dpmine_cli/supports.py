"""dpmine supports."""

from __future__ import annotations

from typing import Annotated

import typer

from dpmine_cli import options
from dpmine_cli.messages import Messages
from dpmine_cli.output import Destination
from dpmine_cli.quick_start import load_numba

MinSupport = Annotated[
    str, typer.Option("--min-support", metavar="N|F", help="A count of units (100), or a share of them (0.01, 1.0).")
]


def supports(
    files: options.Files,
    min_support: MinSupport,
    item: options.Item = None,
    unit: options.Unit = None,
    basket: options.Basket = None,
    one_hot: options.OneHot = False,
    size: options.Size = "2",
    catalogue: options.Catalogue = None,
    not_private: options.NotPrivate = False,
    memory: options.Memory = None,
    engine: options.Engine = "local",
    output_format: options.OutputFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    version: options.Version = False,
) -> None:
    """Print exact supports. NOT private: needs --not-private.

    Example: dpmine supports sales.parquet --min-support 100 --not-private
    """
    from dpmine.errors import NotPrivate
    from dpmine.io.atomic import require_apart
    from dpmine.io.columns import Columns
    from dpmine.itemsets.exact_supports import list_supports

    if not not_private:
        raise NotPrivate("Exact supports are not private: add --not-private to confirm, or use dpmine top-itemset.")
    destination = Destination.of(output_format, output)
    require_apart({"--output": destination.path}, files, {"the catalogue": catalogue})
    load_numba()
    with Messages(quiet=quiet) as messages:
        supports = list_supports(
            files,
            Columns.of(unit=unit, basket=basket, item=item, one_hot=one_hot),
            size=size,
            min_support=min_support,
            catalogue=catalogue,
            memory=memory,
            engine=engine,
            progress=messages.progress,
            notice=messages.notice,
        )
    destination.write_table(supports.table())
    if destination.format not in {options.Format.TEXT, options.Format.JSON}:
        messages.warn("exact supports; NOT private")
