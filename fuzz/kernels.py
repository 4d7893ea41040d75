"""The compiled loops: any arrays at all for each of them, and searches beside a count by hand.

Under sanitizers (make test-sanitized) a place outside of an array ends the process.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpmine.itemsets.counting.miner import Miner
from dpmine.itemsets.transactions.interface import Baskets
from dpmine.itemsets.transactions.lists import ListRoom
from dpmine.kernels import TO_WRITE, argument_kinds, kernel
from fuzz.choices import Choices
from fuzz.oracle import Refused, ask, require

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES = {
    "arranged": "n n b+1 x x+1 n",
    "bands_of_floats": "n 1 1 n b",
    "bands_of_integers": "n 1 1 n b",
    "place_rows": "r+1 b b+1",
    "copy_rows": "n r+1 1*r b b+1 b 9*n",
    "count_items": "n c",
    "count_listed": "n r+1 r c b+x b+x+1 x x",
    "count_pairs": "n r+1 first end c c*c",
    "count_unit_pairs": "n r+1 r first end c c*c c*c",
    "count_units": "n r+1 r c c",
    "deliver": "n r+1 r c number b b r+1 r n",
    "extent": "n 2",
    "frequent_pairs": "c*c number",
    "group_rows": "n r+1 1*r c 70*b 6 2*r",
    "in_order": "n n c c",
    "levels_of_pairs": "c*c number n",
    "listed_pairs": "c*c c number 2*n n",
    "mark_supersets": "n r+1 1*r r",
    "measure": "n r+1 r c c c",
    "number_codes": "n c c",
    "occurring": "n c",
    "pack_flags": "c*r r c b c c",
    "packed": "2*n 2 c bits n",
    "pairs_by_difference": "n n -3 3 0 5 number 6 7",
    "partners_of": "c*c number c",
    "rank_rows": "n r+1 c first end c c end-first n n n",
    "recoded": "n c n",
    "renumber": "n r+1 c c n",
    "restrict_rows": "n r+1 r first end c n+1 end-first end-first",
    "set_bits": "n r+1 c 2*c",
    "signs": "6*c 6*n c c number",
    "sort_rows": "n r+1",
    "sort_groups": "n r+1 c 70*b r number number 2*n",
    "sorted": "n n bits",
    "text_hashes": "n r+1 r",
    "unpacked": "n 2 c bits 2*n",
    "units_containing": "n r r r c",
}
"""Of every kernel but the searches, whose rows others have looked at: numbers, and lengths at which arrays may fit."""
_NUMBERS = (0, 1, 2, 3, 5, -1, 7, 63, 2**31 - 1, -(2**31), 2**40)
_LONGEST = 90


def arrays(data: bytes) -> None:
    """One kernel with arrays that nearly fit, or do: it computes something, or says that they do not fit."""
    choices = Choices(data)
    name = choices.one(list(SHAPES))
    arguments = _arguments(name, choices)
    try:
        kernel(name)(*arguments)
    except ValueError as error:
        raise Refused(str(error)) from None


def _arguments(name: str, choices: Choices) -> list[Any]:
    n, r, c, b = (choices.byte() % _LONGEST if choices.byte() % 8 == 0 else choices.byte() % 6 for _ in "nrcb")
    first = choices.byte() % (r + 1)
    end = first + choices.byte() % (r + 2 - first)
    known = {"n": n, "r": r, "c": c, "b": b, "x": min(b, n), "first": first, "end": end}
    known |= {"number": choices.one(_NUMBERS), "bits": choices.byte() % 34}
    arguments: list[Any] = []
    for kind, shape in zip(argument_kinds(name), SHAPES[name].split(), strict=True):
        value = int(eval(shape, {"__builtins__": {}}, known))
        if choices.byte() % 32 == 1:
            value += choices.byte() % 3 - 1
        ascending = shape in {"r+1", "r"} or (name == "rank_rows" and len(arguments) == 5)
        arguments.append(value if kind is None else _array(kind, max(0, value), n if ascending else None, choices))
    return arguments


def _array(kind: tuple[np.dtype[Any], int], length: int, last: int | None, choices: Choices) -> Any:
    """Starts of rows up to the last one; else zeros, small numbers, or at times odd ones where the kernel reads."""
    dtype, flags = kind
    if last is not None:
        values = sorted(choices.byte() % (last + 1) for _ in range(length))
        values[-1:] = [last] if values else []
    elif choices.byte() % 3 == 0:
        values = [0] * length
    else:
        values = [choices.byte() % 6 for _ in range(length)]
    if length and flags != TO_WRITE and choices.byte() % 16 == 1:
        values[choices.byte() % length] = choices.one(_NUMBERS)
    return np.array(values, np.int64).astype(dtype)


def searches(data: bytes) -> None:
    """All itemsets of a size and a threshold, how many have each support, and one by its number, as counted by hand."""
    choices = Choices(data)
    size, threshold, items = 2 + choices.byte() % 4, 1 + choices.byte() % 3, 1 + choices.byte() % 9
    units = [
        [{code for code in range(items) if mask >> code & 1} for mask in (choices.whole(), choices.whole())[: 1 + wide]]
        for wide in (choices.byte() % 4 == 1 for _ in range(1 + choices.byte() % _LONGEST))
    ]
    counted: Counter[tuple[int, ...]] = Counter()
    for unit in units:
        counted.update({itemset for basket in unit for itemset in combinations(sorted(basket), size)})
    wanted = {itemset: support for itemset, support in counted.items() if support >= threshold}
    miner = Miner(_baskets(units, items))
    found = miner.itemsets(size, threshold)
    told = dict(zip(map(tuple, found.items.tolist()), found.supports.tolist(), strict=True))
    require(told == wanted, "itemsets")
    lists = miner.lists((size, size + 2), threshold, ListRoom(10**9, size + 2, "", as_objects=False))
    starts, codes = lists.starts.tolist(), lists.codes.tolist()
    listed = {tuple(codes[a:b]): n for a, b, n in zip(starts, starts[1:], lists.supports.tolist(), strict=False)}
    require(
        {itemset: n for itemset, n in listed.items() if len(itemset) == size} == wanted, "itemsets of several sizes"
    )
    _require_closed(miner, units, threshold)
    require(miner.histogram(size, threshold) == Counter(wanted.values()), "supports")
    support, number = threshold + choices.byte() % 3, choices.byte() % 9
    one = ask(lambda: miner.nth(size, support, number))
    require(wanted.get(one) == support, "the itemset of a number")


def _require_closed(miner: Miner, units: list[list[set[int]]], threshold: int) -> None:
    """Closed and maximal itemsets of up to three items, by their definition."""
    every: Counter[frozenset[int]] = Counter()
    for unit in units:
        every.update(
            {frozenset(some) for basket in unit for size in range(1, 5) for some in combinations(sorted(basket), size)}
        )
    frequent = {items: support for items, support in every.items() if support >= threshold}
    above: dict[frozenset[int], int] = {}  # the largest support of what has one item more
    for items, support in frequent.items():
        for item in items:
            above[items - {item}] = max(above.get(items - {item}, 0), support)
    for maximal in (False, True):
        found = miner.closed((1, 3), threshold, ListRoom(10**9, 4, "", as_objects=False), maximal=maximal)
        starts, codes = found.starts.tolist(), found.codes.tolist()
        told = {frozenset(codes[a:b]): n for a, b, n in zip(starts, starts[1:], found.supports.tolist(), strict=False)}
        require(
            told
            == {
                items: support
                for items, support in frequent.items()
                if len(items) <= 3 and (items not in above if maximal else above.get(items) != support)
            },
            "maximal itemsets" if maximal else "closed itemsets",
        )


def _baskets(units: list[list[set[int]]], items: int) -> Baskets:
    rows = [sorted(basket) for unit in units for basket in unit]
    return Baskets(
        pa.array([f"{code}" for code in range(items)]),
        np.array([code for row in rows for code in row], np.int32),
        np.cumsum([0, *map(len, rows)]),
        np.cumsum([0, *map(len, units)]),
        "unit",
    )


KERNELS: dict[str, Callable[[bytes], None]] = {"arrays": arrays, "searches": searches}
