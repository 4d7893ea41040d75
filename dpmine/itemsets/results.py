"""What `top_itemset` returns: the released itemsets and the guarantee, in the forms that people pass on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from dpmine.privacy import Guarantee


@dataclass(frozen=True, slots=True)
class TopItemsets:
    """Itemsets chosen privately, best first; none when nothing stands out.

    Attributes:
        itemsets: the chosen itemsets; items are texts or integers.
        sizes: the smallest and the largest size asked for.
        requested: the mechanism that was asked for ("auto" included).
        mechanism: the mechanism that chose.
        guarantee: the guarantee of the whole run.
        advice: when nothing stands out, what would have been needed: facts of the parameters, not of the data.
    """

    itemsets: tuple[frozenset[Any], ...]
    sizes: tuple[int, int]
    requested: str
    mechanism: str
    guarantee: Guarantee
    advice: str = ""

    @property
    def itemset(self) -> frozenset[Any] | None:
        """The top itemset, or None."""
        return self.itemsets[0] if self.itemsets else None

    @property
    def noisy_supports(self) -> tuple[int, ...] | None:
        """None: no supports were released."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """A plain form for JSON."""
        from dpmine.version import __version__

        rows = [{"items": sorted(itemset), "noisy_support": None, "interval": None} for itemset in self.itemsets]
        return {
            "itemsets": rows,
            "sizes": list(self.sizes),
            "requested": self.requested,
            "mechanism": self.mechanism,
            "guarantee": self.guarantee.to_dict(),
            "dpmine": __version__,
        }

    def to_json(self) -> str:
        """One JSON object, on one line."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_arrow(self) -> Any:
        """A pyarrow Table: items (list), noisy_support (int64), interval (list of int64); the guarantee as metadata."""
        import pyarrow as pa

        items = pa.array([sorted(itemset) for itemset in self.itemsets])
        if not self.itemsets:
            items = items.cast(pa.list_(pa.string()))
        empty = [None] * len(self.itemsets)
        columns = {
            "items": items,
            "noisy_support": pa.array(empty, pa.int64()),
            "interval": pa.array(empty, pa.list_(pa.int64())),
        }
        return pa.table(columns).replace_schema_metadata({"dpmine": self.to_json()})

    def to_pandas(self) -> pd.DataFrame:
        """A frame with the columns noisy_support (Int64), support (a share) and itemsets (frozensets)."""
        import pandas as pd

        count = len(self.itemsets)
        return pd.DataFrame(
            {
                "noisy_support": pd.array([pd.NA] * count, dtype="Int64"),
                "support": pd.Series([float("nan")] * count, dtype="float64"),
                "itemsets": pd.Series(list(self.itemsets), dtype="object"),
            }
        )

    def __str__(self) -> str:
        if not self.itemsets:
            return f"Nothing stands out.\n{self.advice}\n({self.mechanism}; {self.guarantee})"
        lines = [", ".join(printable(item) for item in sorted(itemset)) for itemset in self.itemsets]
        return "\n".join([*lines, f"({self.mechanism}; {self.guarantee})"])


def printable(item: Any) -> str:
    """An item on one line, whatever characters its name holds."""
    text = str(item)
    return text if text.isprintable() else json.dumps(text)[1:-1]
