"""From what a user calls a file to the files behind it."""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import pyarrow as pa
from pyarrow import fs

from dpmine.errors import UnreadableFile, require_memory
from dpmine.io.atomic import SUFFIXES

PathName: TypeAlias = str | PathLike[str]

READ_ERRORS = (pa.ArrowException, OSError, ValueError)
"""What Arrow raises for a file; damaged names are a ValueError of the codec."""
ROWS_MISSING = "not all rows that its footer counts can be read; write it again, with larger pages and row groups."
NO_FILE = "is a pipe, a device or a socket: write its content to a file, and give the file's path."
_DAMAGED = (
    "it is damaged, incomplete or not a Parquet file; write it again, or say what it is: names of CSV files end in "
    ".csv, or take input_format (--input-format csv)."
)


@dataclass(frozen=True)
class FileSet:
    """Files found behind one argument.

    Attributes:
        system: the Arrow file system that holds them.
        paths: theirs inside it, sorted.
        base: the folder below which folders called key=value are partitions.
        argument: what the user gave, without secrets.
    """

    system: Any
    paths: tuple[str, ...]
    base: str
    argument: str

    def shown(self, path: str) -> str:
        """A file's name for a message: values in the names of partition folders are data and left out."""
        inside = path.removeprefix(self.base).strip("/")
        if self.argument.endswith(inside):
            return self.argument
        return f"{self.argument}: {re.sub(r'=[^/]*', '=…', inside)}"


def paths_of(data: Any) -> list[PathName] | None:
    """The paths that data are, one or a list or tuple of them; None for anything else."""
    if isinstance(data, str | PathLike):
        return [data]
    are_paths = isinstance(data, list | tuple) and data and all(isinstance(path, str | PathLike) for path in data)
    return list(data) if are_paths else None


def found_files(argument: PathName, endings: tuple[str, ...] = SUFFIXES) -> list[FileSet]:
    """The files behind a path, a folder, a glob or a URL; in a folder, those whose names end so.

    Raises UnreadableFile where there are none, or where they cannot be listed.
    """
    name = os.fspath(argument)
    if not name:
        raise UnreadableFile("A file's name is empty: give the path of a file.")
    if _is_glob(name):
        return _glob_files(name, endings)
    system, path = locate(name)
    return [_files_at(system, path, shown_name(name), endings)]


def locate(name: str) -> tuple[Any, str]:
    """The Arrow file system of a path or URL, and the path inside it; UnreadableFile for an unknown kind of URL."""
    if "://" not in name:
        path = str(Path(name).absolute())
        require_utf8(path)
        return fs.LocalFileSystem(), path
    try:
        system, path = fs.FileSystem.from_uri(name)
    except (pa.ArrowException, OSError, ValueError):
        raise UnreadableFile(
            f"{shown_name(name)} is no URL that pyarrow opens here: use file://, s3:// or gs://, or download the file."
        ) from None
    return system, path


def require_utf8(name: str) -> None:
    """UnreadableFile where a path has bytes that are not UTF-8, which Arrow cannot open."""
    try:
        name.encode()
    except UnicodeEncodeError:
        shown = name.encode(errors="replace").decode()
        raise UnreadableFile(f"The name '{shown}' is not valid UTF-8: rename the file or folder.") from None


def shown_name(name: str) -> str:
    """A path as given; a URL without user names, passwords and parameters."""
    if "://" not in name:
        return name
    return re.sub(r"://[^/]*@", "://", name).partition("?")[0]


def reason(error: BaseException) -> str:
    """Why a file cannot be read, in words that contain nothing of its content; MemoryError where memory is short."""
    require_memory(error)
    if isinstance(error, FileNotFoundError):
        return "it does not exist; check its name."
    if isinstance(error, PermissionError):
        return "permission denied; ask for the right to read it."
    return _DAMAGED


def _is_glob(name: str) -> bool:
    return "://" not in name and glob.has_magic(name) and not os.path.lexists(name)


def _glob_files(pattern: str, endings: tuple[str, ...]) -> list[FileSet]:
    matches = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - Path.glob refuses absolute patterns
    if not matches:
        raise UnreadableFile(f"{pattern} matches no file; check the pattern.")
    base = _fixed_folder(pattern)
    for match in matches:
        require_utf8(str(Path(match).absolute()))
    found = [_files_at(fs.LocalFileSystem(), str(Path(match).absolute()), pattern, endings) for match in matches]
    return [replace(files, base=base) for files in found]


def _fixed_folder(pattern: str) -> str:
    """The folder in front of the first wildcard, absolute."""
    before = re.split(r"[*?[]", pattern, maxsplit=1)[0]
    return str(Path(before + "name").absolute().parent)


def _files_at(system: Any, path: str, argument: str, endings: tuple[str, ...]) -> FileSet:
    kind = _info(system, path, argument).type
    if kind == fs.FileType.NotFound:
        raise UnreadableFile(f"{argument} does not exist; check its name.")
    if kind == fs.FileType.Unknown:
        raise UnreadableFile(f"{argument} {NO_FILE}")
    if kind == fs.FileType.Directory:
        return FileSet(system, _folder_files(system, path, argument, endings), path, argument)
    return FileSet(system, (path,), str(PurePosixPath(path).parent), argument)


def _info(system: Any, path: str, argument: str) -> Any:
    try:
        return system.get_file_info(path)
    except (pa.ArrowException, OSError) as error:
        raise UnreadableFile(f"{argument} cannot be reached: {_listing_reason(error)}") from None


def _folder_files(system: Any, folder: str, argument: str, endings: tuple[str, ...]) -> tuple[str, ...]:
    try:
        entries = system.get_file_info(fs.FileSelector(folder, recursive=True))
        paths = tuple(
            sorted(entry.path for entry in entries if entry.is_file and _is_data(entry.path, folder, endings))
        )
    except UnicodeDecodeError:
        raise UnreadableFile(f"{argument} holds a name that is not valid UTF-8: rename that file or folder.") from None
    except (pa.ArrowException, OSError) as error:
        raise UnreadableFile(f"{argument} cannot be listed: {_listing_reason(error)}") from None
    if not paths:
        raise UnreadableFile(f"{argument} holds no file that ends in {endings[0]}: give a folder with such files.")
    return paths


def _is_data(path: str, folder: str, endings: tuple[str, ...]) -> bool:
    """Whether a file is one of a data set's, not a writer's bookkeeping (names that begin with _ or .)."""
    parts = path[len(folder) :].strip("/").split("/")
    return path.lower().endswith(endings) and not any(part.startswith(("_", ".")) for part in parts)


def _listing_reason(error: BaseException) -> str:
    require_memory(error)
    return reason(error) if isinstance(error, PermissionError) else "check the address and the connection."
