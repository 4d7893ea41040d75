"""One row a customer out of the invoice lines of Online Retail: what an ETL job would hand to dpmine.

python examples/customers.py build/customers.parquet
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SOURCE = Path(__file__).resolve().parents[1] / "datasets" / "online_retail.parquet"


def customers(lines: pa.Table) -> pa.Table:
    """For each customer: purchases, different products bought, and whether anything was sent back."""
    known = lines.filter(pc.is_valid(lines.column("CustomerID")))
    returned = pc.starts_with(known.column("InvoiceNo"), "C")
    bought = {name: pc.if_else(returned, None, known.column(name)) for name in ("InvoiceNo", "Item")}
    marked = pa.table({"CustomerID": known.column("CustomerID"), **bought, "returned": returned.cast(pa.int8())})
    counted = marked.group_by("CustomerID").aggregate(
        [("InvoiceNo", "count_distinct"), ("Item", "count_distinct"), ("returned", "max")]
    )
    return pa.table(
        {
            "CustomerID": counted.column("CustomerID"),
            "purchases": counted.column("InvoiceNo_count_distinct"),
            "different_products": counted.column("Item_count_distinct"),
            "sends_back": pc.equal(counted.column("returned_max"), 1),
        }
    )


def main() -> None:
    """Write the table to the path that is given."""
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(customers(pq.read_table(SOURCE)), target)


if __name__ == "__main__":
    main()
