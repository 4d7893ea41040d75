"""Names of earlier versions: they still work, and a warning says what to write instead and until when."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
from support.cases import every

import dpmine.auditing
from dpmine.deprecated import MOVED, deprecated

NAMES = [(module, name, new) for module, names in MOVED.items() for name, new in names.items()]


@every(("module", "name", "new"), NAMES)
def test_a_former_name_is_the_new_one_and_warns(module: str, name: str, new: str) -> None:
    home, _, named = new.rpartition(".")
    with pytest.warns(DeprecationWarning, match="is deprecated") as caught:
        value = getattr(importlib.import_module(module), name)
    assert value is getattr(importlib.import_module(home), named)
    text = f"{module}.{name} is deprecated and will be removed in dpmine 1.0: use {new}."
    assert [str(warning.message) for warning in caught] == [text]
    assert caught[0].filename == __file__


def test_an_import_statement_warns_at_its_line() -> None:
    code = "import warnings; warnings.simplefilter('error')\nfrom dpmine.validation.terms import Terms"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "use dpmine.models.validation.terms.ValidationTerms." in done.stderr
    shown = subprocess.run(
        [sys.executable, "-Wd", "-c", code.partition("\n")[2]], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0
    assert shown.stderr.startswith("<string>:1: DeprecationWarning: dpmine.validation.terms.Terms is deprecated")


def test_other_names_are_errors() -> None:
    with pytest.raises(AttributeError, match=r"module 'dpmine.auditing' has no attribute 'measure'"):
        dpmine.auditing.measure  # noqa: B018
    with pytest.raises(ImportError):
        importlib.import_module("dpmine.validation.nothing")
    with pytest.raises(ImportError):
        exec("from dpmine.validation.terms import nothing")


def test_the_version_can_be_another() -> None:
    with pytest.warns(DeprecationWarning, match=r"^old is deprecated and will be removed in dpmine 2.0: use new\.$"):
        deprecated("old", "new", removed_in="2.0")
