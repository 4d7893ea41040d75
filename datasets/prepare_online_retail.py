"""Make `online_retail.parquet` from the full UCI Online Retail table.

python datasets/prepare_online_retail.py ORIGINAL.parquet -o datasets/online_retail.parquet

ORIGINAL holds the eight columns of the UCI file (InvoiceNo, StockCode, Description, Quantity, InvoiceDate, UnitPrice,
CustomerID, Country), one row per invoice line. Every row is kept, in its order; the columns a basket analysis does not
need are left out, and `Item` is added: one readable name per stock code.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

KEPT_COLUMNS = ["InvoiceNo", "StockCode", "Description", "CustomerID"]


def reduced(original: pa.Table) -> pa.Table:
    """The kept columns and `Item`, row for row; `Item` and `StockCode` determine each other."""
    names = unique_names(most_frequent_descriptions(original))
    codes = original["StockCode"].to_pylist()
    items = pa.array([names.get(code, code) for code in codes], pa.string())
    return original.select(KEPT_COLUMNS).append_column("Item", items)


def most_frequent_descriptions(original: pa.Table) -> dict[str, str]:
    """Stock code -> its most frequent stripped description, the alphabetically first among equals.

    A code without any description is missing from the answer.
    """
    stripped = pa.table(
        {
            "code": original["StockCode"],
            "text": pc.utf8_trim_whitespace(original["Description"]),
        }
    ).filter(pc.is_valid(pc.field("text")))
    counted = stripped.group_by(["code", "text"]).aggregate([([], "count_all")])
    ordered = counted.sort_by([("count_all", "ascending"), ("text", "descending")])
    # Later pairs overwrite earlier ones: the last of a code is its most frequent.
    return dict(zip(ordered["code"].to_pylist(), ordered["text"].to_pylist(), strict=True))


def unique_names(descriptions: dict[str, str]) -> dict[str, str]:
    """The same mapping with the code appended wherever several codes share a description."""
    codes_of: dict[str, list[str]] = {}
    for code, text in descriptions.items():
        codes_of.setdefault(text, []).append(code)
    return {code: text if len(codes_of[text]) == 1 else f"{text} ({code})" for code, text in descriptions.items()}


def main() -> None:
    """Read the original, write the reduced table."""
    parser = argparse.ArgumentParser(description="Reduce the UCI Online Retail table to what a basket analysis needs.")
    parser.add_argument("original", type=Path, help="the full table as a Parquet file")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the Parquet file to write")
    options = parser.parse_args()
    table = reduced(pq.read_table(options.original))
    pq.write_table(table, options.output, compression="zstd", compression_level=19)


if __name__ == "__main__":
    main()
