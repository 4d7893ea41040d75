"""The lists of docs/architecture.md, each taken for a toy: its steps suffice, and each of them is needed."""

from __future__ import annotations

import importlib
import io
import re
import tomllib
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import pytest
from project.toys.copies import PAGE, Copy, Edit, made, steps

if TYPE_CHECKING:
    from pathlib import Path

BASKETS = [["a", "b"]] * 40 + [["c"]]


class Kind:
    """A kind of thing that can be added: the edits that the page's steps ask for, and what they come to."""

    edits: tuple[Edit, ...]

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.monkeypatch = root, monkeypatch

    def works(self) -> None:
        """It does what it is for, as users ask for it."""
        raise NotImplementedError

    def lacking(self, registered: Any) -> list[str]:
        """What the registration test of the copy, or `unplaced`, names as missing."""
        raise NotImplementedError

    def unplaced(self) -> list[str]:
        """Modules without a place in the contracts on imports that place all modules."""
        tables = tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
        found = []
        for contract in tables["contracts"]:
            if contract.get("exhaustive"):
                (container,) = contract["containers"]
                folder = self.root / ("cli" if container == "dpmine_cli" else "") / container.replace(".", "/")
                modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or [*path.glob("*.py")]}
                placed = re.findall(r"\w+", " ".join(contract["layers"]))
                found += [f"{container}.{name}" for name in modules - {*placed} if name[0] != "_"]
        return found


class OfMechanism(Kind):
    """The exponential mechanism with twice the noise."""

    edits = (
        made("dpmine/selection/mechanisms/NAME.py", "mechanism.py"),
        Edit(
            "dpmine/options/names.py",
            {')\n"""What chooses one candidate': '    Named("toy", f"{_MECHANISMS}.toy:Toy"),'},
        ),
        Edit("docs/proofs/selection/NAME.md", {"": "# Toy\n"}, ("a proof note",)),
        Edit("tests/support/oracles/laws.py", {'    "exact": lambda': '    "toy": lambda *_: _best,'}, ("an oracle",)),
        Edit(
            "tests/support/broken.py",
            {
                "REPLACE_ONLY = (": "from dpmine.selection.mechanisms.toy import Toy\nclass Loud(Toy):\n    scale = 1",
                "    LargeMarginWithoutThreshold,\n    T": "    Loud,",
            },
            ("a broken twin",),
        ),
        Edit("docs/decide/choosing.md", {"| `exact` |": "| `toy` | ε | yes | never |"}, ("a line of the page",)),
    )

    def works(self) -> None:
        """In one choice and in lists."""
        import dpmine

        assert dpmine.select([90, 1], epsilon=90, mechanism="toy").mechanism == "toy"
        assert dpmine.top_itemsets(BASKETS, 2, mechanism="toy", catalogue=["a", "b", "c"]).mechanism == "toy"
        assert ", toy" in " ".join(printed("top-itemset", "--help").split())

    def lacking(self, registered: Any) -> Any:
        """Of a mechanism."""
        return registered.lacking("toy", registered.MECHANISMS["toy"])


class OfWay(Kind):
    """The first itemset of each size."""

    edits = (
        made("dpmine/itemsets/ways/NAME.py", "way.py"),
        Edit(
            "dpmine/options/names.py",
            {')\n"""What chooses a list': '    Named("toy", "dpmine.itemsets.ways.toy:Toy", about="the first"),'},
        ),
        Edit("docs/proofs/NAME.md", {"": "# Toy\n"}, ("a proof note",)),
        Edit(
            "tests/support/gallery/lists.py",
            {
                "BASKETS = [": "from dpmine.itemsets.ways.toy import Toy",
                "    return found\n\n\ndef broken_lists": '    found["toy, one"] = found["discover, replace_one"]',
                '        "each round has all': '        "": Listed(Peeled(Toy(1, ONE, NONE, relation)), scores, 0),',
            },
            ("an oracle", "a broken twin"),
        ),
        Edit("docs/decide/choosing.md", {"| `exact` |": "| `toy` | ε | no | never |"}, ("a line of the page",)),
    )

    def works(self) -> None:
        """By name, and in the planner; tests/itemsets/ways/test_way.py shows the rest."""
        import dpmine
        from dpmine.planning import plan_list

        assert dpmine.top_itemsets(BASKETS, 2, mechanism="toy", size="1-2").mechanism == "toy"
        assert "toy" in {row.mechanism for row in plan_list(20).rows}
        assert ", toy" in " ".join(printed("top-itemset", "--help").split())

    def lacking(self, registered: Any) -> Any:
        """Of a way."""
        return registered.lacking("toy", registered.loaded_ways()["toy"])


class OfForm(Kind):
    """Files of lines."""

    edits = (
        made("dpmine/io/sources/NAME.py", "form.py"),
        Edit(
            "dpmine/options/names.py",
            {')\n"""Of files. ': '    Form("toy", f"{_SOURCES}.toy:open_toy", "Toy", (".avro", ".toy"), (b"#toy",)),'},
        ),
        Edit("docs/how-to/inputs.md", {"| Arrow IPC": "| lines | `sales.toy` | the path |"}, ("a row of the page",)),
        Edit("tests/io/test_NAME.py", {"": 'FILE = "rows.toy"'}, ("tests",)),
    )

    def works(self) -> None:
        """By its ending, by its name, by its first bytes, in the help and in the schema of job files."""
        from dpmine.io.input import Input
        from dpmine.reporting.jobs.schema import job_file_schema_text

        file = self.root / "rows.avro"  # an ending that is rejected without the toy
        file.write_text("#toy\na b\nb a c\na b\n", encoding="utf-8")
        run = ["top-itemset", "--epsilon", "900", "--quiet", "--catalogue-from-data", "--not-private"]
        assert "a, b" in printed(*run, str(file))
        with file.open(encoding="utf-8") as piped, self.monkeypatch.context() as patch:
            patch.setattr("sys.stdin", piped)
            assert "a, b" in printed(*run, "-")
        assert getattr(Input("rows", input_format="toy").form, "name", None) == "toy"
        assert '"toy"' in job_file_schema_text()
        assert "SPMF or Toy files" in " ".join(printed("top-itemset", "--help").split())
        assert printed(*run, str(file), "--delimiter", ";", status=2) == ""

    def lacking(self, registered: Any) -> Any:
        """Of a form."""
        return registered.lacking_of_form(registered.FORMS[-1])


class OfEngine(Kind):
    """Counting by the definition."""

    edits = (
        made("dpmine/itemsets/NAME.py", "engine.py"),
        Edit(
            "dpmine/options/names.py",
            {')\n"""What counts supports;': '    Registered("toy", "dpmine.itemsets.toy:read_toy"),'},
        ),
        Edit("pyproject.toml", {'    "ingest | counting",': '    "toy",'}, ("dpmine.itemsets.toy",)),
    )

    def works(self) -> None:
        """It answers the suite of all engines, and stands where engines are named."""
        from support.conformance.sources import COLUMNS, check, table_of

        import dpmine
        from dpmine.itemsets.read import read_transactions

        rows: Any = [(unit, 2 * unit + basket, item) for unit in range(5) for basket in (0, 1) for item in range(unit)]
        read = read_transactions(table_of(rows), COLUMNS, engine="toy").transactions
        check(read.miner(), read.labels.to_pylist(), rows)
        assert [*dpmine.top_itemset(BASKETS, epsilon=900, engine="toy")] == [{"a", "b"}]
        assert "local|spark|toy" in printed("supports", "--help")

    def lacking(self, registered: Any) -> Any:
        """Its place."""
        return self.unplaced()


class OfKernel(Kind):
    """How often two arrays agree."""

    edits = (
        made("dpmine/kernels/NAME.c", "kernel.c"),
        Edit("fuzz/kernels.py", {'    "unpacked":': '    "toy": "n n",'}, ("toy",)),
    )

    def works(self) -> None:
        """It is compiled with the others, and called by its declaration."""
        import numpy as np

        import hatch_build

        library = self.root / str(len([*self.root.iterdir()])) / hatch_build.LIBRARY.name  # one path is loaded once
        hatch_build.compile_kernels(library)
        self.monkeypatch.setenv("DPMINE_KERNELS", str(library))
        from dpmine.kernels import kernel

        assert kernel("toy")(np.arange(5, dtype=np.int32), np.array([0, 1, 3, 3, 5], np.int32)) == 3

    def lacking(self, registered: Any) -> Any:
        """Its lengths."""
        return [*registered.kernels_not_fuzzed()]


class OfEstimator(Kind):
    """A mean."""

    edits = (
        made("dpmine/models/NAME.py", "estimator.py"),
        Edit(
            "dpmine/__init__.py",
            {
                "    from dpmine.planning.planner": "    from dpmine.models.toy import PrivateToy",
                '    "Selection",': '    "PrivateToy",',
                '    "planning.planner":': '    "models.toy": "PrivateToy",',
            },
        ),
        Edit("docs/proofs/models/NAME.md", {"": "# Toy\n"}, ("a proof note",)),
        Edit(
            "docs/reference/estimators.md",
            {".. autoclass:: dpmine.Declared": ".. autoclass:: dpmine.PrivateToy\n   :members: fit, predict\n"},
            ("its place in the reference",),
        ),
        Edit(
            "tests/models/test_neighbouring_inputs.py",
            {'    "fixed ridge": lambda': '    "toy": lambda **more: dpmine.PrivateToy(**more),'},
            ("tests of neighbours",),
        ),
        Edit("tests/support/gallery/learning.py", {"GAUSSIAN: ": "TOY = dpmine.PrivateToy"}, ("an audit",)),
        Edit("pyproject.toml", {'    "supervised : model_file': '    "toy",'}, ("dpmine.models.toy",)),
    )

    def works(self) -> None:
        """It predicts, keeps to its guarantee, and shows no row or unit."""
        import numpy as np

        import dpmine

        rows, targets = np.arange(200.0)[:, None], np.full(200, 0.5)
        model = dpmine.PrivateToy(epsilon=9).fit(rows, targets)
        assert abs(model.predict(rows)[0] - 0.5) < 0.1
        assert model.guarantee_.epsilon == 9
        suite = importlib.import_module("models.test_neighbouring_inputs")
        suite.test_no_row_shows_in_a_fit.check(name="toy")
        suite.test_no_unit_shows_in_a_fit.check(name="toy", rows=3)

    def lacking(self, registered: Any) -> Any:
        """Of an estimator."""
        kind = registered.estimators()["PrivateToy"]
        return [*registered.lacking_of_estimator("PrivateToy", kind), *self.unplaced()]


class OfCommand(Kind):
    """`dpmine toy`."""

    edits = (
        Edit(
            "cli/dpmine_cli/options.py",
            {"_LEDGER = {": '_TOY = {"epsilon": _TOP["epsilon"]}', '    "grant": {': '    "toy": {**_TOY, **_RESULT},'},
        ),
        made("cli/dpmine_cli/NAME.py", "command.py"),
        Edit(
            "cli/dpmine_cli/program.py",
            {
                "from dpmine_cli.line import": "from dpmine_cli import toy",
                "}\n_LEDGER": '    "toy": (toy.toy, "Say what ε comes to."),',
            },
        ),
        Edit("docs/how-to/NAME.md", {"": "    dpmine toy --epsilon 1\n"}, ("an example on a page",)),
        Edit("tests/cli/test_help.py", {'    "doctor": "doctor",': '    "toy": "toy --epsilon 1",'}, ("a run",)),
        Edit("pyproject.toml", {'    "line",': '    "toy",'}, ("dpmine_cli.toy",)),
    )

    def works(self) -> None:
        """It is listed, and does what its one line of help says."""
        assert "Say what ε comes to." in printed("--help")
        assert printed("toy", "--epsilon", "1") == "ρ = 1/2\n"

    def lacking(self, registered: Any) -> Any:
        """Of a command."""
        return [*registered.lacking_of_command("toy"), *self.unplaced()]


class OfJob(Kind):
    """A noisy number of rows."""

    edits = (
        made("dpmine/reporting/jobs/NAME.py", "job.py"),
        Edit(
            "dpmine/reporting/jobs/kinds.py",
            {
                "from dpmine.reporting.jobs.tables import": "from dpmine.reporting.jobs.toy import ToyJob",
                "        HypothesisJob,": "        ToyJob,",
            },
        ),
        Edit(
            "dpmine/reporting/page/bodies.py",
            {'    "hypothesis": _hypothesis,': '    "toy": lambda result, _: Body(f"{result.whole(\'rows\')} rows."),'},
        ),
        Edit(
            "docs/reference/job_file.md",
            {"### classify": "### toy\n\n| keys | |\n|---|---|\n| budget | `epsilon` |\n"},
            ("its section of the page",),
        ),
        Edit("tests/reporting/test_NAME.py", {"": 'JOB = {"kind": "toy", "epsilon": 1}'}, ("tests of its jobs",)),
    )

    def works(self) -> None:
        """In a job file, on the page, in the schema, and in evidence."""
        import dpmine
        from dpmine.reporting.jobs.schema import job_file_schema_text

        folder = self.root / str(len([*self.root.iterdir()]))  # a ledger of its own
        folder.mkdir()
        file, page, evidence = folder / "jobs.toml", folder / "page.html", folder / "evidence"
        (folder / "rows.csv").write_text("x\n1\n2\n3\n", encoding="utf-8")
        budget = f'ledger = "sqlite:///{folder}/budget.db"\ndataset = "toys"\nepsilon = 900\nneighbors = "add-remove"'
        job = f'kind = "toy"\ninput = "{folder}/rows.csv"\nepsilon = 900'
        file.write_text(f"[budget]\n{budget}\n[[job]]\n{job}\n", encoding="utf-8")
        found = dpmine.report(file, page, evidence=evidence)
        assert [outcome.result and outcome.result.document for outcome in found.outcomes] == [{"rows": 3}]
        assert "3 rows." in page.read_text(encoding="utf-8")
        assert "a noisy number" in (evidence / "registry.json").read_text(encoding="utf-8")
        assert '"toy"' in job_file_schema_text()

    def lacking(self, registered: Any) -> Any:
        """Of a kind of job."""
        return registered.lacking_of_job("toy")


KINDS: dict[str, type[Kind]] = {
    "mechanism": OfMechanism,
    "way to choose lists": OfWay,
    "source": OfForm,
    "engine": OfEngine,
    "kernel": OfKernel,
    "estimator": OfEstimator,
    "command": OfCommand,
    "kind of report job": OfJob,
}
"""By the headings of the page."""


def printed(*arguments: str, status: int = 0) -> str:
    """What a command line of the copy prints, which ends with that status."""
    from dpmine_cli.main import run

    out = io.BytesIO()
    with io.TextIOWrapper(out, encoding="utf-8") as text, redirect_stdout(text):
        assert run([*arguments]) == status
        text.flush()
        return out.getvalue().decode()


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("project"))


def test_the_steps_of_every_list_are_those_of_its_toy() -> None:
    assert re.findall(r"^## I want to add an? (.*)$", PAGE, re.MULTILINE) == [*KINDS]
    for kind, toy in KINDS.items():
        assert (kind, steps(kind)) == (kind, {edit.path for edit in toy.edits})


@pytest.mark.parametrize("kind", [pytest.param(each, marks=[pytest.mark.slow] * (each == "kernel")) for each in KINDS])
def test_the_steps_suffice_and_each_is_needed(kind: str, copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    toy = KINDS[kind](copy.root, monkeypatch)
    used = [edit for edit in toy.edits if not edit.gives]
    with copy.edited(toy.edits):
        toy.works()
        assert toy.lacking(importlib.import_module("project.test_registered")) == []
    with copy.edited(used):
        missing = toy.lacking(importlib.import_module("project.test_registered"))
        assert missing == [what for edit in toy.edits for what in edit.gives]
    for left_out in used:
        rest = [edit for edit in toy.edits if edit is not left_out]
        with copy.edited(rest), pytest.raises((Exception, SystemExit)):
            toy.works()
