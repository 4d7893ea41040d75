"""The compiled loops, a C library beside this file."""

from __future__ import annotations

import os
import sys
from ctypes import CDLL, c_char_p
from pathlib import Path

_SUFFIX = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
LIBRARY = Path(os.environ.get("DPMINE_KERNELS") or Path(__file__).with_name(f"libkernels.{_SUFFIX}"))
"""The file of the compiled loops; the environment variable names another one, as the sanitizers' tests do."""


def _loaded() -> CDLL:
    try:
        return CDLL(str(LIBRARY))
    except OSError:
        raise ImportError(
            f"The compiled loops of dpmine cannot be loaded from {LIBRARY}: install dpmine anew "
            "(pip install --force-reinstall dpmine); in a checkout, compile them: make kernels."
        ) from None


_LIBRARY = _loaded()


def about(what: str) -> str:
    """What the library says of itself: the hash of its "sources", the "instructions" that it uses on this processor."""
    function = _LIBRARY[f"dpmine_{what}"]
    function.restype = c_char_p
    told: bytes = function()
    return told.decode()
