"""Files that will be written: whether they can be, and that they are none of those that are read or kept."""

from __future__ import annotations

import glob
import os
import re
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from dpmine.errors import BadParameter, UnreadableFile
from dpmine.io.atomic import no_guard, require_writable
from dpmine.options.names import PARQUET

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dpmine.io.atomic import Guard
    from dpmine.io.files import PathName

_BESIDE = ("-wal", "-shm", "-journal")  # files of a database


def file_target(path: Path, *, guard: Guard = no_guard) -> Path:
    """The file that will be written, links followed; UnreadableFile where it cannot be.

    `guard` surrounds the time in which a temporary file is there.
    """
    try:
        found = path.resolve()
        writable = os.access(found.parent, os.W_OK | os.X_OK) and found.parent.is_dir()
        if writable and (found.is_file() or not os.path.lexists(found)):  # no folder, device, pipe or circle of links
            _require_no_database(found)
            require_writable(found, guard=guard)
            return found
    except UnreadableFile:
        raise
    except (OSError, RuntimeError):  # too long a name; before Python 3.13 links in a circle, too
        pass
    raise unwritable(path)


def unwritable(path: Path) -> UnreadableFile:
    """The error for a file that cannot be written."""
    return UnreadableFile(f"Cannot write to '{path}': name a file in a folder that exists, is writable and has room.")


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
    targets: Mapping[str, PathName | None],
    paths: Sequence[PathName],
    files: Mapping[str, PathName | None] | None = None,
) -> None:
    """Check, before anything is read, that files to be written are different ones and none of those to be read.

    Args:
        targets: what the user calls each file to be written (an option, say), and the file; None for none.
        paths: the data to be read: paths, folders, globs, URLs.
        files: what the user calls each other file that is read or kept (a catalogue, a ledger), and the file.

    Files are compared, not names: links, hard links and letter case do not matter. Nor may a new file be one that the
    next run reads as data, behind a folder or a glob. Raises BadParameter.
    """
    places = {name: _identity(path) for name, path in targets.items() if path is not None}
    for one, other in combinations(places, 2):
        if places[one] == places[other]:
            raise BadParameter(f"{one} and {other} name the same file: give each a file of its own.")
    kept = {_identity(path): name for name, path in (files or {}).items() if path is not None}
    for name, place in places.items():
        if place in kept:
            raise BadParameter(f"{name} names {kept[place]}: give it a file of its own.")
    for name, place in places.items():
        if isinstance(place, str) and any(_would_hold(os.fspath(path), place) for path in paths):
            raise BadParameter(f"{name} is a new file among the inputs, which the next run reads: name another folder.")
    if not any(isinstance(place, tuple) for place in places.values()):
        return  # what does not exist is not read
    read = {_identity(file) for path in paths for file in _local_files(os.fspath(path))}
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


def _identity(path: PathName) -> tuple[int, int] | str:
    """What identifies a file: for one that exists the same for all its names, else its name."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a text may be no path
    except (OSError, ValueError):
        return os.path.realpath(path)
    return found.st_dev, found.st_ino


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
