"""What a command does not wait for when it starts."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.command_line import environment

HEAVY = ["scipy", "pandas", "pydantic", "numpy.ma", "sklearn", "matplotlib", "sqlalchemy"]
CODE = """
import sys
sys.argv = ["dpmine", {command!r}, "sales.parquet", *{options!r}, "--quiet"]
from dpmine_cli import main
try:
    main.main()
finally:
    print(*(name for name in {heavy!r} if name in sys.modules), file=sys.stderr)
"""


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("top-itemset", ["--epsilon", "9"]),
        pytest.param("supports", ["--min-support", "1", "--not-private"], marks=pytest.mark.slow),
    ],
)
def test_counting_loads_nothing_that_it_does_not_use(command: str, options: list[str]) -> None:
    code = CODE.format(command=command, options=options, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    assert done.stderr.splitlines()[-1] == ""


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_histograms_do_without_scikit_learn() -> None:
    options = ["--column", "item", "--lower", "0", "--upper", "20", "--bins", "2"]
    code = CODE.replace("sales.parquet", "numbers.parquet").format(
        command="histogram", options=options, heavy=["sklearn"]
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    assert done.stderr.splitlines()[-1] == ""
