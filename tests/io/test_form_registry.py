"""A form of files is its own module and one line of the registry: all else that names forms takes them from there."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from support.command_line import environment

if TYPE_CHECKING:
    from pathlib import Path

TOY = '''
from dpmine.io.source import BasketSource

def open_lines(_given, files):
    """Each line lists the items of one basket, with spaces between them."""
    lines = [line for file in files for line in file.open().read().decode().splitlines()]
    return BasketSource([line.split() for line in lines if not line.startswith("#")])
'''
TRIED = """
import json, sys
from contextlib import redirect_stdout
from io import StringIO
from dpmine.options import names

names.FORMS += (names.Form("lines", "toy:open_lines", "Lines", (".lines",), (b"#lin",)),)

from dpmine_cli.main import run
from dpmine.io.input import Input
from dpmine.reporting.jobs.schema import job_file_schema_text as schema

def out(*arguments):
    printed = StringIO()
    with redirect_stdout(printed):
        status = run(list(arguments))
    return [status, printed.getvalue()]

run_line = ["top-itemset", "--mechanism", "exact", "--not-private", "--catalogue-from-data", "--quiet"]
sys.stdin = open("rows.lines")
print(json.dumps({
    "by the ending": Input("rows.lines").form.name,
    "by its name": Input("rows", input_format="lines").form.name,
    "help": out("top-itemset", "--help"),
    "schema": schema(),
    "rows": out(*run_line, "rows.lines", "-o", "file.json"),
    "piped": out(*run_line, "-", "-o", "piped.json"),
    "unfit": out("top-itemset", "rows.lines", "--delimiter", ";"),
}))
"""


def test_a_new_form_is_one_line_of_the_registry_and_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(TOY, encoding="utf-8")
    (tmp_path / "rows.lines").write_text("#lines\na b\nb a c\na b\n", encoding="utf-8")
    environ = {**environment(), "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", TRIED], stdout=subprocess.PIPE, text=True, check=True, env=environ, cwd=tmp_path
    )
    said = json.loads(done.stdout)
    assert said["by the ending"] == said["by its name"] == "lines"
    assert "Parquet, CSV, TSV, Arrow or Lines files" in " ".join(said["help"][1].split())
    assert '"lines"' in said["schema"]
    assert said["unfit"][0] == 2
    for name in ("file.json", "piped.json"):
        (best,) = json.loads((tmp_path / name).read_text(encoding="utf-8"))["itemsets"]
        assert best["items"] == ["a", "b"]
