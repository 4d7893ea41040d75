"""The public names: what users may import, and nothing else."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from difflib import unified_diff

import pytest
from dpmine_cli.options import OPTIONS
from support.cases import every
from support.public_names import MODULES, STORED, public_names

import dpmine

PINNED = dpmine.__all__

MEANING = (
    "",
    "Names that users have were changed.",
    "- A name, an option, a key or a default that is gone or another breaks users: the next version is major from 1.0",
    "  on, a minor one before. Say so in CHANGELOG.md.",
    "- A name that was added is the next minor version: guarantee it only if it is to stay.",
    "If that is meant: PYTHONPATH=tests .venv/bin/python -m support.public_names",
)
HEAVY = ["numpy", "pandas", "pyarrow", "flint", "scipy", "mlxtend", "sklearn", "matplotlib", "typer", "rich"]


def test_public_names_are_those_that_are_stored() -> None:
    """The stored text is part of every change of a name: reviewers see it, and what it means."""
    before, now = (text.splitlines() for text in (STORED.read_text(encoding="utf-8"), public_names()))
    change = [line for line in unified_diff(before, now, "guaranteed", "now", lineterm="", n=1) if line]
    assert not change, "\n".join([*change, *MEANING])


def test_what_is_stored_names_every_module_and_command() -> None:
    text = STORED.read_text(encoding="utf-8")
    assert all(f"\n[module {name}]\n" in text for name in MODULES)
    commands = re.findall(r"^dpmine (?:ledger )?([a-z-]+): ", text, flags=re.MULTILINE)
    assert sorted(commands) == sorted(OPTIONS)
    assert {name for name in PINNED if not re.search(rf"^{name}\b", text, flags=re.MULTILINE)} == set()


def test_no_name_is_guaranteed_twice() -> None:
    """Whatever has a home in `dpmine` has no second one."""
    for module in MODULES[1:]:
        assert set(importlib.import_module(module).__all__).isdisjoint(PINNED)
    assert sorted(PINNED) == PINNED


@every("name", PINNED)
def test_public_name_is_importable_and_documented(name: str) -> None:
    value = getattr(dpmine, name)
    assert value.__name__ == name
    assert value.__module__.startswith("dpmine.")
    documentation = inspect.getdoc(value)
    assert documentation
    assert documentation != inspect.getdoc(object)
    assert name in value.__doc__ or not value.__doc__.startswith(f"{name}(")  # not the one that dataclasses make up


@every("name", PINNED)
def test_public_functions_are_typed(name: str) -> None:
    value = getattr(dpmine, name)
    if inspect.isfunction(value):
        signature = inspect.signature(value)
        assert signature.return_annotation is not inspect.Signature.empty
        assert all(p.annotation is not inspect.Parameter.empty for p in signature.parameters.values())


def test_star_import_and_dir_show_the_public_names() -> None:
    names: dict[str, object] = {}
    exec("from dpmine import *", names)
    assert set(PINNED) <= set(names)
    assert set(dir(dpmine)) == {*PINNED, "__version__"}


def test_the_module_of_mlxtends_calls_needs_no_import() -> None:
    code = "import dpmine, inspect; print(*inspect.signature(dpmine.frequent_patterns.fpgrowth).parameters)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "df min_support null_values use_colnames max_len verbose"


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'bottom_itemset'"):
        dpmine.bottom_itemset  # noqa: B018
    with pytest.raises(ImportError):
        importlib.import_module("dpmine.bottom_itemset")


def test_errors_are_one_tree_and_children_of_builtins() -> None:
    errors = [dpmine.BadData, dpmine.BadParameter, dpmine.NotPrivate, dpmine.UnreadableFile]
    assert all(issubclass(error, dpmine.DpmineError) for error in errors)
    assert issubclass(dpmine.UnreadableFile, OSError)
    assert all(issubclass(error, ValueError) for error in errors[:3])


def loaded_after(code: str) -> set[str]:
    """The heavy modules that a fresh interpreter holds after running `code`."""
    show = f"import sys; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_is_light() -> None:
    assert loaded_after("import dpmine") == set()
    assert loaded_after("import dpmine; dpmine.BadParameter, dpmine.Guarantee, dir(dpmine)") == set()


def test_selection_needs_no_data_library() -> None:
    code = "import dpmine; dpmine.select({'a': 900, 'b': 1}, mechanism='exponential')"
    assert loaded_after(code) & {"pandas", "pyarrow", "mlxtend", "typer", "rich", "scipy"} == set()


def test_top_itemset_of_a_file_needs_neither_pandas_nor_mlxtend() -> None:
    code = (
        "import dpmine, pathlib; root = pathlib.Path(dpmine.__file__).parents[1]\n"
        "dpmine.top_itemset(str(root / 'datasets' / 'mushroom.parquet'), mechanism='large_margin')"
    )
    assert loaded_after(code) & {"pandas", "mlxtend", "scipy", "typer", "rich"} == set()
