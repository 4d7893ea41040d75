"""Random inputs: any bytes, small ones, and bytes of a target's own alphabet.

Coverage alone leads to few long inputs: what reads text is NumPy's, Arrow's and DuckDB's code, and the kernels are C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

OUTCOMES = "outcomes.json"
"""Beside the findings of a target: how many inputs ended how."""
_LONGEST = 256  # bytes
_SMALL = bytes(range(8))
_ALPHABETS = {
    "baskets": b'aabbcd1 \n\n ,,;\t#%@-\x0b\x0c"\r\0\xc3\xa9',
    "attribute_table": b"ab?cn0123456789...,,,,,,\n\n\n\n\n\n-+eE \t\"'\0\r\xc3\xa9",
    "delimited": b'uuiiab01;;;;;;;;\n\n\n\n\n\n, \t""\r\0\xef\xbb\xbf\xc3\xa9',
    "catalogue_text": b'ab1 \n\n\r,\t"\0\xef\xbb\xbf\xc3\xa9',
}
"""Of targets that read text: without separators in plenty nothing is a row."""


def generated(target: str, rng: Random) -> bytes:
    """One input. Of small bytes, choices among few options are often the first ones."""
    data = rng.randbytes(rng.randrange(rng.choice((8, 64, _LONGEST))))
    kind = rng.randrange(4)
    if kind == 0:
        return data
    letters = _SMALL if kind == 1 else _ALPHABETS.get(target)
    return data.translate((letters * 256)[:256]) if letters else data
