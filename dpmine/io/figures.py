"""Pictures as files: SVG or PNG, written whole, the same picture for the same figure."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from dpmine.errors import BadParameter, UnreadableFile
from dpmine.io.atomic import is_file, require_writable, write_whole

_SUFFIXES = (".svg", ".png")


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure of that size in inches, without a window and without global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def picture_target(path: str | Path) -> Path:
    """The path, checked before any work is done.

    Raises BadParameter when the suffix does not say which kind of picture, UnreadableFile where nothing can be written.
    """
    target = Path(path)
    if target.suffix.lower() not in _SUFFIXES:
        raise BadParameter("The plot's file must end in .svg or .png.")
    try:
        if target.exists() and not is_file(target):
            raise _unwritable(target)
        require_writable(target.resolve())
    except OSError:
        raise _unwritable(target) from None
    return target


def write_picture(figure: Any, path: str | Path) -> None:
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
