"""A target by its name: "package.module:function", also of the folder that the command runs in."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from dpmine.errors import BadParameter


def load_target(name: str) -> Any:
    """The function, or the object with `law` or `sample`, of that name.

    Importing a module runs it. Raises BadParameter where there is none, or its module raises on import.
    """
    module, colon, path = name.partition(":")
    if not (module and colon and path):
        raise BadParameter("A target is written package.module:function, such as noise:noisy_max.")
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        raise BadParameter(
            f"There is no module {error.name!r}: install it, or run the command in the folder it is in."
        ) from None
    except Exception as error:  # noqa: BLE001 - whatever a stranger's module raises
        raise BadParameter(f"Importing {module} raised {type(error).__name__}: import it in Python to see.") from None
    finally:
        sys.path.remove(folder)
    for part in path.split("."):
        if not hasattr(found, part):
            raise BadParameter(f"{module} has no {path!r}: name one of its functions after the colon.")
        found = getattr(found, part)
    return found
