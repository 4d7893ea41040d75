"""The notebook of the tutorial, run without Jupyter: code cells in order, in one namespace.

`PYTHONPATH=tests python -m support.pages.notebook docs/tutorial/shop.ipynb` runs it and writes its outputs anew.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

_DOTS = 60  # per inch of a picture


def run(cells: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The outputs of each cell, as notebooks hold them: what is printed, then the value of the last expression."""
    import matplotlib as mpl

    mpl.use("agg")
    names: dict[str, Any] = {}
    return [_outputs("".join(cell["source"]), names, number) for number, cell in enumerate(cells, 1)]


def code_cells(path: Path) -> list[dict[str, Any]]:
    """The code cells of a notebook."""
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def _outputs(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    import matplotlib.pyplot as plt

    body = ast.parse(source)
    last = body.body[-1] if body.body else None
    expression = ast.Expression(last.value) if isinstance(last, ast.Expr) else None
    if expression is not None:
        body.body.pop()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(body, f"<cell {number}>", "exec"), names)
        value = eval(compile(expression, f"<cell {number}>", "eval"), names) if expression else None
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append(
            {"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)}
        )
    if value is not None:
        data = {"text/plain": [repr(value)]}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    for place in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(place).savefig(picture, format="png", dpi=_DOTS, bbox_inches="tight")
        drawn = {"image/png": base64.b64encode(picture.getvalue()).decode()}
        outputs.append({"data": drawn, "metadata": {}, "output_type": "display_data"})
    plt.close("all")
    return outputs


def main(path: Path) -> None:
    """Run a notebook where its paths lead to its data, write nothing else there, and keep its outputs."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    root = path.resolve().parents[2]
    with tempfile.TemporaryDirectory() as made:
        prepare(Path(made), root)
        with contextlib.chdir(Path(made) / "docs" / "tutorial"):
            found = run(cells)
    for number, (cell, outputs) in enumerate(zip(cells, found, strict=True), 1):
        cell.update(execution_count=number, outputs=outputs)
    path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + os.linesep, encoding="utf-8")


def prepare(folder: Path, root: Path) -> None:
    """A folder in which the notebook finds the data of the repository, and may write."""
    (folder / "docs" / "tutorial").mkdir(parents=True)
    (folder / "datasets").symlink_to(root / "datasets")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
