"""Files written whole or not at all, pictures among them; and reads of regular files."""

from __future__ import annotations

import os
import stat
import time
from contextlib import contextmanager, nullcontext
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from dpmine.errors import BadParameter, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from matplotlib.figure import Figure


Guard: TypeAlias = "Callable[[Path], AbstractContextManager[object]]"


_PROBE = bytes(2**20)  # as long as most results


def no_guard(_temporary: Path) -> AbstractContextManager[object]:
    """Nothing to do around a temporary file."""
    return nullcontext()


def is_file(path: str | Path) -> bool:
    """Whether a path leads to a regular file. Raises OSError where there is nothing.

    A pipe would block, and a device may have no end or act when it is opened.
    """
    return stat.S_ISREG(Path(path).stat().st_mode)


def read_file(path: Path) -> bytes:
    """The content of a regular file. Raises OSError for anything else."""
    if not is_file(path):
        raise OSError
    return path.read_bytes()


def require_writable(target: Path, *, guard: Guard = no_guard) -> None:
    """Raises OSError where `write_whole` would fail now: no permission to write, no room on the disk."""
    with _temporary(target, guard) as temporary, _created(temporary) as file:
        file.write(_PROBE)


def write_whole(
    target: Path,
    content: bytes,
    *,
    private: bool = False,
    guard: Guard = no_guard,
    ready: Callable[[], object] = lambda: None,
) -> None:
    """Write a file at once; see `written_whole`."""
    with written_whole(target, private=private, guard=guard, ready=ready) as file:
        file.write(content)


@contextmanager
def written_whole(
    target: Path,
    *,
    private: bool = False,
    guard: Guard = no_guard,
    ready: Callable[[], object] = lambda: None,
) -> Iterator[BinaryIO]:
    """A temporary file beside the target, readable by its owner only, which is renamed in the end.

    A `private` file stays readable by its owner only; others get the permissions of the file that they replace, or
    those of a new file.
    `guard` surrounds the time in which the temporary file exists; `ready` is called before it is renamed.
    Raises OSError, and then leaves what was there; so does any exception of the block.
    """
    with _temporary(target, guard) as temporary:
        with _created(temporary) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if not private:
            temporary.chmod(_rights(target))
        ready()
        temporary.replace(target)


@contextmanager
def _temporary(target: Path, guard: Guard) -> Iterator[Path]:
    """A name beside the target; no file of that name is left."""
    temporary = target.parent / f".dpmine-{os.getpid()}-{time.monotonic_ns()}.tmp"
    with guard(temporary):
        try:
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)


def _created(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _rights(target: Path) -> int:
    """The permissions of the file that is there, or of a new one."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


_SUFFIXES = (".svg", ".png")


def new_figure(width: float, height: float) -> Figure:
    """An empty matplotlib figure of that size in inches, without a window and without global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def picture_target(path: str | Path) -> Path:
    """The path, checked before any work is done.

    Raises BadParameter when the suffix does not say which kind of picture, UnreadableFile where nothing can be written.
    """
    target = Path(path)
    if target.suffix.lower() not in _SUFFIXES:
        raise BadParameter("The plot's file must end in .svg or .png, such as `plot='plot.svg'`.")
    try:
        if target.exists() and not is_file(target):
            raise _unwritable(target)
        require_writable(target.resolve())
    except OSError:
        raise _unwritable(target) from None
    return target


def write_picture(figure: Figure, path: str | Path) -> None:
    """Draw the figure, then write the file, whole or not at all. Raises as `picture_target`."""
    from matplotlib import rc_context

    target = picture_target(path)
    kind = target.suffix.lower()[1:]
    picture = BytesIO()
    with rc_context({"svg.hashsalt": "dpmine"}):
        figure.savefig(picture, format=kind, metadata={"Date": None} if kind == "svg" else None)
    try:
        write_whole(target.resolve(), picture.getvalue())
    except OSError:
        raise _unwritable(target) from None


def _unwritable(target: Path) -> UnreadableFile:
    return UnreadableFile(f"Cannot write '{target}': name a file in a folder that exists and is writable.")
