"""Files behind paths, folders, globs and URLs; and why one cannot be read, in words that quote nothing of it."""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
from pyarrow import fs

from dpmine.errors import BadParameter, UnreadableFile, require_memory
from dpmine.options.names import PARQUET

if TYPE_CHECKING:
    from collections.abc import Callable

PathName: TypeAlias = str | PathLike[str]
STDIN = "-"
"""The path that stands for standard input."""

READ_ERRORS = (pa.ArrowException, OSError, ValueError)
"""What Arrow raises for a file; damaged names are a ValueError of the codec."""


class Encrypted(ValueError):
    """What is raised for an encrypted Parquet file."""


ROWS_MISSING = "not all rows that its footer counts can be read; write it again, with larger pages and row groups."
NO_FILE = "is a pipe, a device or a socket: write its content to a file, and give the file's path."
_DAMAGED = (
    "it is damaged, incomplete or of another form than its name says (Parquet, if none); write it again, or say what "
    "it is: names of CSV files end in .csv, or take input_format (`input_format='csv'`); a database takes query and "
    "database (`query=…`, `database=…`)."
)


@dataclass(frozen=True, eq=False)
class DataFile:
    """A file of data, or standard input.

    Attributes:
        shown: its name in messages, without secrets.
        open: gives a stream of its bytes, from their beginning.
        path: inside its file system; "" for standard input.
        base: the folder below which folders called key=value are partitions.
        size: gives the number of its bytes, where that is known.
        repeatable: whether its rows can be read more than once.
    """

    shown: str
    open: Callable[[], pa.NativeFile]
    path: str = ""
    base: str = ""
    size: Callable[[], int | None] = lambda: None
    repeatable: bool = True


def found_files(argument: PathName, endings: tuple[str, ...] = PARQUET.endings) -> list[DataFile]:
    """The files behind a path, a folder, a glob or a URL; in a folder, those whose names end so.

    Raises UnreadableFile where there are none, or where they cannot be listed.
    """
    name = os.fspath(argument)
    if not name:
        raise UnreadableFile("A file's name is empty: give the path of a file.")
    if not is_glob(name):
        return _files_at(name, shown_name(name), endings)
    matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 - Path.glob rejects absolute patterns
    if not matches:
        raise UnreadableFile(f"{name} matches no file; check the pattern.")
    before = re.split(r"[*?[]", name, maxsplit=1)[0]
    base = str(Path(before + "name").absolute().parent)  # the folder in front of the first wildcard
    return [file for match in matches for file in _files_at(match, name, endings, base)]


def listed_file(folder: str, path: str) -> DataFile:
    """A file by its path inside a folder, or by its URL."""
    system, inside = locate(path if "://" in path else str(Path(folder) / path))
    return _data_file(system, inside, folder, str(Path(folder).absolute()))


def locate(name: str) -> tuple[fs.FileSystem, str]:
    """The Arrow file system of a path or URL, and the path inside it; UnreadableFile for an unknown kind of URL."""
    if "://" not in name:
        path = str(Path(name).absolute())
        _require_utf8(path)
        return fs.LocalFileSystem(), path
    try:
        system, path = fs.FileSystem.from_uri(name)
    except (pa.ArrowException, OSError, ValueError):
        raise UnreadableFile(
            f"{shown_name(name)} is no URL that pyarrow opens here: use file://, s3:// or gs://, or download the file."
        ) from None
    return system, path


def _require_utf8(name: str) -> None:
    """UnreadableFile where a path has bytes that are not UTF-8, which Arrow cannot open."""
    try:
        name.encode()
    except UnicodeEncodeError:
        shown = name.encode(errors="replace").decode()
        raise UnreadableFile(f"The name '{shown}' is not valid UTF-8: rename the file or folder.") from None


_SECRET = re.compile("pass|secret|key|token|sig|credential", re.IGNORECASE)
"""In the names of parameters of URLs."""
_PORT = re.compile(r"(?!s3|gs|gcs)[^:]*://(?:[^:@]*@)?[^:@]*:\d*")
_CONTAINER = re.compile(r"(?:abfs|wasb)s?://[^:@]*@[^@]*")


def shown_name(name: str) -> str:
    """A path as given; a URL without user names, passwords and parameters."""
    return _without_user(name).partition("?")[0] if "://" in name else name


def identity_of(name: str) -> str:
    """What distinguishes one file or database from another: as `shown_name`, with the parameters that are no secrets.

    Raises BadParameter for a URL with a password and a further @: it is then not sure where the password ends.
    """
    if "://" not in name:
        return name
    place, _, parameters = _without_user(name).partition("?")
    if name.partition("?")[0].count("@") > 1 + place.count("@"):
        raise BadParameter("A URL has a password and several @: write all but the one before the host as %40.")
    kept = sorted(each for each in parameters.split("&") if each and not _SECRET.search(each.partition("=")[0]))
    return f"{place}?{'&'.join(kept)}" if kept else place


def _without_user(url: str) -> str:
    """Without user name and password, which may hold any character: all up to the last @ before the parameters.

    Where there is none, an @ of the path stays: no colon but that of a port. Of Azure, what is before the @ is a
    container.
    """
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    whole = f"{scheme}://{authority}"
    if ":" in authority and not _PORT.fullmatch(whole):
        place, mark, parameters = rest.partition("?")
        if "@" not in place and "@" in authority:  # the mark is one of the password
            place, mark, parameters = rest, "", ""
        return f"{scheme}://{place.rpartition('@')[2]}{mark}{parameters}"
    return url if _CONTAINER.fullmatch(whole) else f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


def reason(error: BaseException) -> str:
    """Why a file cannot be read, in words that contain nothing of its content; MemoryError where memory is short."""
    require_memory(error)
    if isinstance(error, FileNotFoundError):
        return "it does not exist; check its name."
    if isinstance(error, PermissionError):
        return "permission denied; ask for the right to read it."
    if isinstance(error, Encrypted):
        return "it is encrypted; write it again without encryption."
    return _DAMAGED


def is_glob(name: str) -> bool:
    """Whether a name is a pattern, and not that of a file."""
    return "://" not in name and glob.has_magic(name) and not os.path.lexists(name)


def _files_at(name: str, argument: str, endings: tuple[str, ...], base: str | None = None) -> list[DataFile]:
    """The file or the folder's files; `base` is that of partitions, where it is another folder."""
    system, path = locate(name)
    try:
        kind = system.get_file_info(path).type
    except (pa.ArrowException, OSError) as error:
        raise UnreadableFile(f"{argument} cannot be reached: {_listing_reason(error)}") from None
    if kind == fs.FileType.NotFound:
        raise UnreadableFile(f"{argument} does not exist; check its name.")
    if kind == fs.FileType.Unknown:
        raise UnreadableFile(f"{argument} {NO_FILE}")
    is_folder = kind == fs.FileType.Directory
    paths = _folder_files(system, path, argument, endings) if is_folder else [path]
    own = path if is_folder else str(PurePosixPath(path).parent)
    return [_data_file(system, inside, argument, own if base is None else base) for inside in paths]


def _data_file(system: fs.FileSystem, path: str, argument: str, base: str) -> DataFile:
    return DataFile(
        _shown(path, argument, base),
        partial(system.open_input_file, path),
        path,
        base,
        lambda: system.get_file_info(path).size,
    )


def _shown(path: str, argument: str, base: str) -> str:
    """A file's name for a message: values in the names of partition folders are data and left out."""
    inside = path.removeprefix(base).strip("/")
    return argument if argument.endswith(inside) else f"{argument}: {re.sub(r'=[^/]*', '=…', inside)}"


def _folder_files(system: fs.FileSystem, folder: str, argument: str, endings: tuple[str, ...]) -> list[str]:
    try:
        entries = system.get_file_info(fs.FileSelector(folder, recursive=True))
        names = sorted(entry.path for entry in entries if entry.is_file)
    except UnicodeDecodeError:
        raise UnreadableFile(f"{argument} holds a name that is not valid UTF-8: rename that file or folder.") from None
    except (pa.ArrowException, OSError) as error:
        raise UnreadableFile(f"{argument} cannot be listed: {_listing_reason(error)}") from None
    paths = [name for name in names if _is_data(name, folder, endings)]
    if not paths:
        raise UnreadableFile(
            f"{argument} holds no file that ends in {endings[0]}: give a folder with such "
            "files, or say what they are (`input_format='csv'`)."
        )
    return paths


def _is_data(path: str, folder: str, endings: tuple[str, ...]) -> bool:
    """Whether a file is one of a data set's, not a writer's bookkeeping (names that begin with _ or .)."""
    parts = path[len(folder) :].strip("/").split("/")
    return path.lower().endswith(endings) and not any(part.startswith(("_", ".")) for part in parts)


def _listing_reason(error: BaseException) -> str:
    require_memory(error)
    return reason(error) if isinstance(error, PermissionError) else "check the address and the connection."
