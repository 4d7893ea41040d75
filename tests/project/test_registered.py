"""Whatever is registered has its proof note, an oracle, a broken twin, and its place in options and pages.

What is registered without one of these fails here, by the name of what is missing.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dpmine_cli.program import group
from support import broken
from support.cases import every
from support.gallery.lists import broken_lists, lists
from support.oracles.laws import OF_MECHANISMS

import dpmine
from dpmine.itemsets.ways.way import OPTIONS, ByMechanism, Way, loaded_ways
from dpmine.models.private_estimator import PrivateEstimator
from dpmine.options import names
from dpmine.options.names import FORMS, Registered, typed_names
from dpmine.options.tables import TOP_ITEMSET
from dpmine.privacy import Neighbors
from dpmine.reporting.jobs.kinds import KINDS
from dpmine.selection.mechanisms.mechanism import Mechanism
from dpmine.selection.mechanisms.report_noisy_max import Exponential
from dpmine.selection.recommend import MECHANISMS
from dpmine.selection.top_k import build_top_k
from fuzz.kernels import SHAPES

if TYPE_CHECKING:
    from dpmine.options.names import Form

ROOT = Path(__file__).resolve().parents[2]
PROOFS = ROOT / "docs" / "proofs"
NOTE = re.compile(r"docs/proofs/([\w/]+)\.md")
CHOOSING = (ROOT / "docs" / "decide" / "choosing.md").read_text(encoding="utf-8")
PRIVATE = {name: kind for name, kind in MECHANISMS.items() if kind.private}
"""Where privacy is not claimed, nothing is to be proved."""
NOT_FOR_SCORES = {each.name for each in names.MECHANISMS if each.not_for_scores}
REGISTERED: dict[str, type[Mechanism | Way]] = {**PRIVATE, **loaded_ways()}


def lacking(name: str, kind: type[Mechanism | Way]) -> list[str]:
    """What a mechanism or a way of that name does not have."""
    found = {
        "a proof note": has_note(name, kind),
        "an oracle": name in OF_MECHANISMS or any(key.startswith(f"{name},") for key in lists()),
        "a broken twin": has_twin(kind),
        "its name in --mechanism": typed_names(name) in re.split(r"[ ,.]+", TOP_ITEMSET["mechanism"].help),
        "a sentence for help()": not issubclass(kind, Way) or f'- "{name}": ' in (dpmine.top_itemset.__doc__ or ""),
        "options that users can give": own_options(kind) <= {*OPTIONS} & TOP_ITEMSET.keys(),
        "why it is not for scores": not getattr(kind, "needs_counts", False) or name in NOT_FOR_SCORES,
        "lists by its own draws": issubclass(kind, Way) or name not in MECHANISMS or builds_its_own(name, kind),
        "a line of the page": re.search(rf"`(?:{name}|{typed_names(name)})`", CHOOSING) is not None,
    }
    return [what for what, is_there in found.items() if not is_there]


def has_note(name: str, kind: type) -> bool:
    """Whether its module names a note (a mechanism's has its name) that is there."""
    named = NOTE.findall(inspect.getsource(inspect.getmodule(kind) or kind))
    there = [note for note in named if (PROOFS / f"{note}.md").is_file()]
    return f"selection/{name}" in there if issubclass(kind, Mechanism) else bool(there)


def has_twin(kind: type[Mechanism | Way]) -> bool:
    """Whether the audit is tried on a broken form of it."""
    if issubclass(kind, Way):
        return any(isinstance(getattr(listed.target, "way", None), kind) for listed in broken_lists().values())
    return any(issubclass(twin, kind) and twin is not kind for twin, _ in broken.CASES)


def own_options(kind: type[Mechanism | Way]) -> set[str]:
    """Its options as users name them; of a field of a mechanism that none sets, the field."""
    if issubclass(kind, Way):
        return set(kind.options)
    own = {field.name for field in fields(kind)} - {field.name for field in fields(Mechanism)}
    return own - {*kind.options().values()} | kind.options().keys()


def builds_its_own(name: str, kind: type[Mechanism]) -> bool:
    """Whether lists under its name are chosen by it, as its `list_way` says."""
    top_k = build_top_k(
        name,
        count=2,
        epsilon=Fraction(1),
        delta=Fraction(1, 10**6),
        neighbors=Neighbors.ADD_REMOVE,
        candidates=9,
        options=dict.fromkeys(kind.options(), 5),
    )
    return isinstance(top_k.mechanism, kind)


def lacking_of_form(form: Form) -> list[str]:
    """What a form of files does not have."""
    found = {
        "a row of the page": any(f"{ending}`" in text_of("docs/how-to/inputs.md") for ending in form.endings),
        "tests": any(ending in text_of("tests/io/*.py") for ending in form.endings),
    }
    return [what for what, is_there in found.items() if not is_there]


def lacking_of_estimator(name: str, kind: type) -> list[str]:
    """What a public estimator does not have."""
    found = {
        "a proof note": has_note(name, kind),
        "its place in the reference": f"autoclass:: dpmine.{name}\n" in text_of("docs/reference/estimators.md"),
        "tests of neighbours": f"dpmine.{name}(" in text_of("tests/models/test_neighbouring_inputs.py"),
        "an audit": name in text_of("tests/*/*/*learning.py"),
    }
    return [what for what, is_there in found.items() if not is_there]


def lacking_of_command(name: str) -> list[str]:
    """What a command does not have; whole files are about reports."""
    found = {
        "an example on a page": re.search(rf"\bdpmine {name}\b", text_of("docs/*/*.md")) is not None,
        "a run": name == "report" or f'": "{name}' in text_of("tests/cli/test_help.py").replace(': f"', ': "'),
    }
    return [what for what, is_there in found.items() if not is_there]


def lacking_of_job(kind: str) -> list[str]:
    """What a kind of job does not have."""
    found = {
        "its section of the page": f"\n### {kind}\n" in text_of("docs/reference/job_file.md"),
        "tests of its jobs": _runs(kind, text_of("tests/reporting/*.py")),
    }
    return [what for what, is_there in found.items() if not is_there]


def _runs(kind: str, tests: str) -> bool:
    """Whether tests make a job of the kind: as a table, or as a line of a job file."""
    return re.search(rf"""kind["']?\s*[:=]\s*['"]+{kind}\b""", tests) is not None


def kernels_not_fuzzed() -> set[str]:
    """Kernels of arrays alone that are not given any arrays at all; the searches take records."""
    kernels = re.findall(r"^KERNEL\((\w+), ([^)]*)\)", text_of("dpmine/kernels/*.c"), re.MULTILINE)
    plain = {name for name, fields in kernels if re.fullmatch(r"(?:\s*(?:\w+s(?:Out)?|int64_t) \w+;)+", fields)}
    return plain - SHAPES.keys() - {"instructions"}


def text_of(files: str) -> str:
    """Of all files that fit the pattern."""
    return "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob(files))


def estimators() -> dict[str, type]:
    """The public ones by name."""
    public = {name: getattr(dpmine, name) for name in dpmine.__all__}
    return {
        name: kind for name, kind in public.items() if isinstance(kind, type) and issubclass(kind, PrivateEstimator)
    }


@every("name", REGISTERED)
def test_nothing_is_missing(name: str) -> None:
    missing = lacking(name, REGISTERED[name])
    assert not missing, f"{name} lacks {', '.join(missing)}: docs/architecture.md says where each belongs."


def test_forms_estimators_commands_jobs_and_kernels_lack_nothing() -> None:
    found = {
        **{form.name: lacking_of_form(form) for form in FORMS},
        **{name: lacking_of_estimator(name, kind) for name, kind in estimators().items()},
        **{name: lacking_of_command(name) for name in group().commands},
        **{kind: lacking_of_job(kind) for kind in KINDS},
    }
    assert {name: missing for name, missing in found.items() if missing} == {}
    assert kernels_not_fuzzed() == set()


def test_an_entry_without_a_home_is_named() -> None:
    with pytest.raises(AttributeError) as raised:
        Registered("toy", "dpmine.errors:Toy").load()
    assert raised.value.__notes__ == ["It is registered as 'toy', with the home 'dpmine.errors:Toy'."]


@dataclass(frozen=True)
class Toy(Exponential):
    """A mechanism that nothing knows."""

    charm: int = 0


class ToyWay(ByMechanism):
    """A way that nothing knows."""


def test_all_that_is_missing_is_named() -> None:
    rest = [
        "an oracle",
        "a broken twin",
        "its name in --mechanism",
        "options that users can give",
        "a line of the page",
    ]
    assert lacking("toy", Toy) == ["a proof note", *rest]
    rest[3] = "a sentence for help()"
    assert lacking("toy_way", ToyWay) == ["a proof note", *rest]
