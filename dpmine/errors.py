"""Everything dpmine raises on purpose.

    DpmineError
    ├── BadParameter (ValueError)   a parameter, an option or a combination of them
    ├── BadData (ValueError)        the input's columns, types or layout
    ├── UnreadableFile (OSError)    a file or folder that cannot be read or written
    │   └── FailedPass              inputs that can be read: a row of a query, or a temporary file, failed
    ├── NotPrivate (ValueError)     a request that would not be private and was not opted in to
    ├── BadLedger (OSError)         a ledger that cannot be reached, read, written or trusted
    │   └── NoLedger                there is none yet
    ├── BudgetExceeded (ValueError) a charge that the granted budget does not allow
    ├── AlreadyCharged (ValueError) a run that is to be charged once, and was
    ├── NotReady (ValueError)       a run for which it is too early
    └── AlreadyGranted (ValueError) a data set that is to be granted a first time, and was

and what it warns of:

    LayoutWarning (UserWarning)     the layout of the data was found, not named, or may not be what was meant
    AccuracyWarning (UserWarning)   a result will mostly be noise
    SpeedWarning (UserWarning)      a faster way of counting cannot be used

Messages name parameters and their values; of the data they name only columns and rules, never a value.
A shortage of memory stays a MemoryError, whatever a library turns it into.
"""

import errno
import sys
import warnings

_SHORTAGES = {errno.ENOMEM, errno.EAGAIN}  # of memory, of threads


class DpmineError(Exception):
    """Base of every error that dpmine raises on purpose."""


class BadParameter(DpmineError, ValueError):
    """A parameter, an option or a combination of them is not acceptable."""


class BadData(DpmineError, ValueError):
    """The input's columns, types or layout do not fit the request."""


class UnreadableFile(DpmineError, OSError):
    """A file or folder cannot be read or written."""


class FailedPass(UnreadableFile):
    """A pass over inputs that can be read ended: a query failed at a row, or a temporary file did."""


class NotPrivate(DpmineError, ValueError):
    """The request would not be private, and the caller did not opt in."""


class BadLedger(DpmineError, OSError):
    """The ledger cannot be reached, read or written, or was changed by hand."""


class NoLedger(BadLedger):
    """There is no ledger at the URL: a grant makes one."""


class BudgetExceeded(DpmineError, ValueError):
    """A budget does not allow a charge; nothing was run."""


class AlreadyCharged(DpmineError, ValueError):
    """A run that is to be charged once was charged before; nothing was run."""


class NotReady(DpmineError, ValueError):
    """It is too early for a run, so nothing was charged for it: the same call may succeed later."""


class AlreadyGranted(DpmineError, ValueError):
    """A data set that is to be granted a first budget has one; it stays as it is."""


class LayoutWarning(UserWarning):
    """A `LayoutWarning` says how the columns were read, where the call did not name them, or names may be mistaken."""


class AccuracyWarning(UserWarning):
    """An `AccuracyWarning` says, from public parameters alone, that most of a result is expected to be noise."""


class SpeedWarning(UserWarning):
    """A `SpeedWarning` says that the same counts could be had much faster, and what is missing for it."""


def require_memory(error: BaseException) -> None:
    """Raise MemoryError, without a library's words, where an error comes from a shortage of memory or threads."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _SHORTAGES):
        raise MemoryError from None


def warn(text: str, kind: type[Warning]) -> None:
    """A warning at the caller's line outside the library: Python shows each once per line."""
    frame, level = sys._getframe(1), 2  # noqa: SLF001 - `warnings` itself counts frames in this way
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("dpmine."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, kind, stacklevel=level)
