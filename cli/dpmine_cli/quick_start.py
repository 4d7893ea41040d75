"""What commands that count do first, so that they start sooner."""

from __future__ import annotations

import sys
from typing import Any

_BLAS: Any = "scipy.linalg.cython_blas"


def load_numba() -> None:
    """Import numba without linear algebra: looking for it takes a quarter of a second, and no loop here needs it.

    For a process of our own only: other users of numba in the process would miss it.
    """
    if _BLAS in sys.modules:
        return
    sys.modules[_BLAS] = None  # type: ignore[assignment]  # how Python is told that there is no such module
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules[_BLAS]
