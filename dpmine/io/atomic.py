"""Files that will be written: whole or not at all, and none of those that are read or kept; and regular files read."""

from __future__ import annotations

import glob
import os
import re
import stat
import time
from contextlib import contextmanager, nullcontext
from io import BytesIO
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from dpmine.errors import BadParameter, UnreadableFile
from dpmine.options.names import PARQUET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
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


def require_writable(target: Path, *, probe: bytes = _PROBE, guard: Guard = no_guard) -> None:
    """Raises OSError where `write_atomically` would fail now: no permission to write, no room for `probe`."""
    with _temporary(target, guard) as temporary, _created(temporary) as file:
        file.write(probe)


def write_atomically(
    target: Path,
    content: bytes,
    *,
    private: bool = False,
    guard: Guard = no_guard,
    ready: Callable[[], object] = lambda: None,
) -> None:
    """Write a file at once; see `atomic_file`."""
    with atomic_file(target, private=private, guard=guard, ready=ready) as file:
        file.write(content)


@contextmanager
def atomic_file(
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

    Raises BadParameter when the suffix does not say which kind of picture; else as `writable_target`.
    """
    target = Path(path)
    if target.suffix.lower() not in _SUFFIXES:
        raise BadParameter("The plot's file must end in .svg or .png, such as `plot='plot.svg'`.")
    writable_target(target)
    return target


def write_picture(figure: Figure, path: str | Path, title: str) -> None:
    """Draw the figure, then write the file, whole or not at all. Raises as `picture_target`.

    The title of an SVG is not drawn: screen readers say it.
    """
    from matplotlib import rc_context

    target = picture_target(path)
    kind = target.suffix.lower()[1:]
    picture = BytesIO()
    with rc_context({"svg.hashsalt": "dpmine"}):
        figure.savefig(picture, format=kind, metadata={"Date": None} if kind == "svg" else None)
    try:
        write_atomically(target.resolve(), _titled(picture.getvalue(), title) if kind == "svg" else picture.getvalue())
    except OSError as error:
        raise unwritable(target, error) from None


def _titled(drawing: bytes, title: str) -> bytes:
    """A drawing of matplotlib with a role and a title, which it has no option for."""
    from html import escape

    said = f'>\n <title id="title">{escape(title)}</title>\n <metadata>'.encode()
    drawing = drawing.replace(b"<svg ", b'<svg role="img" aria-labelledby="title" ', 1)
    return drawing.replace(b">\n <metadata>", said, 1)


_BESIDE = ("-wal", "-shm", "-journal")  # files of a database


def writable_target(path: Path, *, guard: Guard = no_guard) -> Path:
    """The file that will be written, links followed; UnreadableFile where it cannot be.

    `guard` surrounds the time in which a temporary file is there.
    """
    try:
        found = path.resolve()
        if os.path.lexists(found) and not found.is_file():  # a folder, a device, a pipe or a circle of links
            raise unwritable(path)
        _require_no_database(found)
        require_writable(found, guard=guard)
    except UnreadableFile:
        raise
    except (OSError, RuntimeError) as error:  # before Python 3.13 links in a circle, too
        raise unwritable(path, error) from None
    return found


def unwritable(
    path: Path,
    error: Exception | None = None,
    *,
    advice: str = "name a file in a folder that exists, is writable and has room",
) -> UnreadableFile:
    """The error for a file or folder that cannot be written, with the system's sentence for the number of `error`."""
    number = getattr(error, "errno", None)
    reason = f" ({os.strerror(number)})" if number else ""
    return UnreadableFile(f"Cannot write to '{path}'{reason}: {advice}.")


def database_files(url: object, name: str = "the ledger") -> dict[str, str]:
    """The files of a database, by the names that messages use; none for a server."""
    path = re.sub(r"^(sqlite|duckdb):///", "", url) if isinstance(url, str) else ""
    return {f"{name}{part}": f"{path}{part}" for part in ("", *_BESIDE)} if path and path != url else {}


def _require_no_database(target: Path) -> None:
    """A ledger that a result is written over is lost, with all that was spent: UnreadableFile for any database."""
    for beside in _BESIDE:
        if target.name.endswith(beside) and target.with_name(target.name.removesuffix(beside)).exists():
            raise UnreadableFile(f"'{target.name}' belongs to a database: name another file.")
    if target.is_file():
        with target.open("rb") as file:
            if file.read(16) == b"SQLite format 3\0":
                raise UnreadableFile(f"'{target.name}' is a database, such as a ledger: name another file.")


def require_apart(
    targets: Mapping[str, str | os.PathLike[str] | None],
    paths: Sequence[str | os.PathLike[str]],
    files: Mapping[str, str | os.PathLike[str] | None] | None = None,
) -> None:
    """Check, before anything is read, that files to be written are different ones and none of those to be read.

    Args:
        targets: what the user calls each file to be written (an option, say), and the file; None for none.
        paths: the data to be read: paths, folders, globs, URLs.
        files: what the user calls each other file that is read or kept (a catalogue, a ledger), and the file.

    Files are compared, not names: links, hard links and letter case do not matter. Nor may a new file be one that the
    next run reads as data, behind a folder or a glob. Raises BadParameter.
    """
    places = {name: file_identity(path) for name, path in targets.items() if path is not None}
    for one, other in combinations(places, 2):
        if places[one] == places[other]:
            raise BadParameter(f"{one} and {other} name the same file: give each a file of its own.")
    kept = {file_identity(path): name for name, path in (files or {}).items() if path is not None}
    for name, place in places.items():
        if place in kept:
            raise BadParameter(f"{name} names {kept[place]}: give it a file of its own.")
    for name, place in places.items():
        if isinstance(place, str) and any(_would_hold(os.fspath(path), place) for path in paths):
            raise BadParameter(f"{name} is a new file among the inputs, which the next run reads: name another folder.")
    if not any(isinstance(place, tuple) for place in places.values()):
        return  # what does not exist is not read
    read = {file_identity(file) for path in paths for file in _local_files(os.fspath(path))}
    for name, place in places.items():
        if place in read:
            raise BadParameter(f"{name} names one of the input files: give it a file of its own.")


def _would_hold(name: str, new: str) -> bool:
    """Whether a path, a folder or a glob stands for a new file, too, once it is there."""
    if "://" in name:
        return False
    if os.path.isdir(name):  # noqa: PTH112 - a text may be no path
        return new.lower().endswith(PARQUET.endings) and Path(new).is_relative_to(os.path.realpath(name))
    return glob.has_magic(name) and not os.path.lexists(name) and Path(new).match(os.path.realpath(name))


def file_identity(path: str | os.PathLike[str]) -> tuple[int, int] | str:
    """What identifies a file: for one that exists the same for all its names, else its name.

    The name also where a file system, such as some that Windows mounts, numbers no files: each has the number 0 there.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - a text may be no path
    except (OSError, ValueError):
        return os.path.realpath(path)
    return (found.st_dev, found.st_ino) if found.st_ino else os.path.realpath(path)


def _local_files(name: str) -> Iterator[str]:
    """The files of this machine behind a path, a folder, a glob or a URL, whatever they hold."""
    if name.startswith("file:"):
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        name = url2pathname(urlsplit(name).path)
    elif "://" in name:
        return
    found = [name] if os.path.lexists(name) else glob.glob(name, recursive=True)  # noqa: PTH207
    for path in found:
        yield path
        yield from (os.path.join(folder, file) for folder, _, files in os.walk(path) for file in files)  # noqa: PTH118
