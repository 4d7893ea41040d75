"""How many pairs of places have each difference of gains: the compiled loop behind intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpmine.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


@compiled
def pairs_by_difference(
    gains: NDArray[np.int64], sizes: NDArray[np.uint64], least: int, most: int, prime: int
) -> NDArray[np.uint64]:
    """Residues modulo `prime` < 2^31: at v − `least`, Σ sizes_i · sizes_j over i < j with gains_j − gains_i = v.

    `sizes` are residues themselves. Only v of `least` … `most` are counted, so a record costs no more than the
    differences within reach of it.
    """
    lowest, highest = gains.min(), gains.max()
    seen = np.zeros(highest - lowest + 1, np.uint64)  # total size of the places so far, by gain
    found = np.zeros(most - least + 1, np.uint64)
    modulus = np.uint64(prime)
    least_gain = gains[0]
    for place in range(len(gains)):
        gain, size = gains[place], sizes[place]
        reach = min(most, gain - least_gain)
        for difference in range(max(least, gain - highest), reach + 1):
            before = seen[gain - difference - lowest]
            if before:
                found[difference - least] = (found[difference - least] + size * before) % modulus
        seen[gain - lowest] = (seen[gain - lowest] + size) % modulus
        least_gain = min(least_gain, gain)
    return found
