"""Laws of scores that floats cannot hold: the gaps are what counts."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import every
from support.mechanisms import PURE

import dpmine


@every("mechanism", PURE)
@every("start", [2**53, 2**62])
def test_only_gaps_matter_to_pure_mechanisms(mechanism: str, start: int) -> None:
    far = dpmine.law([start + 3, start + 1, start], mechanism=mechanism, epsilon=2)
    near = dpmine.law([3, 1, 0], mechanism=mechanism, epsilon=2)
    assert np.allclose(far.pmf, near.pmf, rtol=1e-12, atol=0)


@pytest.mark.parametrize("mechanism", ["large_margin", "limited_domain"])
def test_what_a_float_cannot_hold_is_refused_where_distance_from_0_matters(mechanism: str) -> None:
    with pytest.raises(dpmine.BadParameter, match="below 2\\^53"):
        dpmine.law([2**53 + 3, 2**53], mechanism=mechanism, epsilon=2)
    assert dpmine.law([2**52 + 3, 2**52], mechanism=mechanism, epsilon=2).pmf[0] > 0
