"""Job files: what is read, what is refused before anything else is looked at, and the defaults of their options."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from inspect import signature
from typing import TYPE_CHECKING, Any

import pytest
from dpmine_cli.program import group
from reporting.jobs import AGES, ALL, PAIRS, RULE, job
from support.cases import every

import dpmine
from dpmine.errors import BadParameter, UnreadableFile
from dpmine.io.files import identity_of
from dpmine.ledger.budget import Amount
from dpmine.models.linear.estimators import CLASSIFIERS
from dpmine.options.tables import OPTIONS
from dpmine.privacy import Neighbors
from dpmine.reporting.jobs.file import read_job_file
from dpmine.reporting.jobs.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from reporting.jobs import Folder

    from dpmine.reporting.jobs.job import Job

OF_RUNS = {"dry_run", "files", "ledger", "dataset", "output", "output_format", "quiet", "debug", "version", "help"}
NOT_IN_REPORTS = {"catalogue_from_data", "not_private", "model", "predict", "plot", "engine"}
RENAMED = {"hypotheses": "class", "items": "item"}


@every("kind", [kind for name, kind in KINDS.items() if name in OPTIONS])
def test_jobs_have_the_options_of_their_command(kind: Any) -> None:
    command = group().commands[kind.kind]
    spelled = {option.opts[0].lstrip("-").replace("-", "_") for option in command.params if option.opts[0][:2] == "--"}
    spelled = {name for name in spelled if name not in OF_RUNS | NOT_IN_REPORTS and name != "format"}
    own = set() if "units" in kind.table else {"units"}  # a key that no command has
    assert {RENAMED.get(name, name) for name in kind.known} - own == spelled


def test_what_is_read(folder: Folder) -> None:
    read = folder.read(job(**PAIRS), job(**AGES), head='title = "Shop"', epsilon="0.3", delta='"1/3"', unit=None)
    assert (read.title, read.terms.dataset, read.terms.unit) == ("Shop", "shop", None)
    assert read.terms.total == Amount(Fraction(3, 10), Fraction(1, 3))
    assert read.terms.neighbors is Neighbors.REPLACE_ONE
    pairs, ages = read.jobs
    assert (pairs.kind, pairs.name, pairs.source) == ("top-itemset", "Pairs", "sales")
    assert pairs.paths == (f"{folder.path}/sales.parquet",)
    assert pairs.options["delta"] == Decimal("0.001")
    assert ages.options["bins"] == [2, 4]
    assert ages.options["neighbors"] == "replace_one"


def test_defaults(folder: Folder) -> None:
    anonymous = {name: value for name, value in AGES.items() if name != "name"}
    read = folder.read(job(**anonymous), delta=None, neighbors='"add-remove"')
    assert read.title == "Private results of shop"
    assert read.terms.total.delta == 0
    (only,) = read.jobs
    assert (only.name, only.options["neighbors"]) == ("histogram 1", "add_remove")


def test_an_input_may_be_a_path_or_several(folder: Folder) -> None:
    path = folder.write(job(**AGES | {"input": "elsewhere/*.parquet"}), job(**PAIRS | {"input": "both"}))
    path.write_text(path.read_text().replace("[inputs]", '[inputs]\nboth = ["a.parquet", "b.parquet"]'))
    ages, pairs = read_job_file(path).jobs
    assert ages.paths == ("elsewhere/*.parquet",)
    assert pairs.paths == ("a.parquet", "b.parquet")


SPELLINGS: dict[str, tuple[Any, ...]] = {
    "COL,COL": ("a, b", ["a", "b"]),
    "COL,COL|N": ("a,b", ["a", "b"]),
    "COL=X,X": ("age=18,30", ["age=18,30"]),
    "COL=TYPE,…": ("a=text,b=date", ["a=text", "b=date"]),
    "A,B": ("1.0,2", ["1.0", "2"]),
    "A,B[,C]": ("no, yes", ["no", "yes"]),
    "A[,A]": (0, "0", "0.0", [0]),
    "B[,B]": ([1, 2], "1,2"),
    "MIN,MAX": ("0.5,1", [Decimal("0.5"), 1]),
    "N,N,…": ("4,8", [4, 8]),
    "N[,N]": (16, "16", [16], "2^4"),
    "L,L|auto": ("0.1,1", [Decimal("0.10"), "1"]),
    "L|auto": ("0.1", Decimal("0.10"), "1/10"),
    "E|auto": ("1e-1", Decimal("0.1")),
    "N|F": ("2%", Decimal("0.02"), "1/50"),
    "R|R1-R2": (3, "3", "3-3"),
    "NAME": ("a-b",),
    "RELATION": ("add-remove", "add_remove"),
    "MECHANISM": ("limited-domain", "limited_domain"),
}
"""By the metavar of options: ways to write one value."""
DIFFERENT: list[tuple[str, object, object]] = [
    ("COL,COL", "a,b", "b,a"),
    ("A,B", "1,2", "1.0,2"),
    ("A[,A]", 0, [0, 0]),
    ("N|F", 1, "1.0"),
    ("E|auto", "auto", 1),
    ("FILE", "007", "7"),
    ("FILE", ["007"], ["7"]),
    ("COL,COL|N", 3, ["3"]),
    ("COL,COL", "007", "7"),
    ("A,B[,C]", ["1", "0"], [1, 0]),
    ("LISTS", [[1, 2]], [["1", "2"]]),
    ("CHAR", ",", ";"),
    ("NAME", "a-b", "a_b"),
]


def _contents(kind: type[Job], name: str, values: Iterable[object]) -> list[str]:
    jobs = [kind("", "a", ("a",), {name: value}, {"ledger": "", "dataset": ""}) for value in values]
    assert all(json.loads(json.dumps(job.content)) == job.content for job in jobs)  # as a stored one is compared
    return [str(job.content) for job in jobs]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_spelling_of_an_option_asks_for_the_same(kind: type[Job]) -> None:
    for name, option in kind.known.items():
        default = option.shown if option.default is None else option.default
        if default is not None:
            assert "'options': {}" in _contents(kind, name, [default])[0], name
        if option.metavar in SPELLINGS:
            assert len(set(_contents(kind, name, SPELLINGS[option.metavar]))) == 1, name
        elif option.kind is list:
            assert len(set(_contents(kind, name, ["a", ["a"]]))) == 1, name
        elif option.has_numbers and option.kind is not int:
            assert len(set(_contents(kind, name, ["0.5", Decimal("0.50"), "1/2"]))) == 1, name
        for metavar, one, other in DIFFERENT:
            if metavar == option.metavar:
                assert len(set(_contents(kind, name, [one, other]))) == 2, name


@every(
    ("one", "other", "same"),
    [
        ("hdfs://n:8020/x/a@v1.parquet", "hdfs://n:8020/y/b@v1.parquet", False),
        ("abfs://c1@acct/x.parquet", "abfs://c2@acct/x.parquet", False),
        ("postgresql://[::1]:5/d?application_name=a@b", "postgresql://[::2]:5/d?application_name=a@b", False),
        ("s3://b/a.parquet?endpoint_override=x", "s3://b/a.parquet?endpoint_override=y", False),
        ("s3://KEY:SECRET/1@b/x", "s3://KEY:other@b/x", True),
        ("s3://b/x?region=r&secret_key=1", "s3://b/x?secret_key=2&region=r", True),
    ],
)
def test_a_file_is_what_its_url_says_but_for_secrets(one: str, other: str, same: bool) -> None:
    assert (identity_of(one) == identity_of(other)) is same
    assert (len(set(_contents(KINDS["top-itemset"], "catalogue", [one, other]))) == 1) is same
    assert "SECRET" not in identity_of(one)
    with pytest.raises(BadParameter, match="several @"):
        identity_of("https://u:p@h/a@v1.parquet")


def test_what_changes_no_result_asks_for_nothing(folder: Folder) -> None:
    one, other = (folder.read(job(**PAIRS | changes)).jobs[0] for changes in ({}, {"memory": "1GB"}))
    assert one.content == other.content


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("unknown option", {"epsilom": 1}, r"no key 'epsilom' in job 'Ages': did you mean 'epsilon'\?"),
    ("unknown kind", {"kind": "histogramm"}, r"kind of job 1 must be 'top-itemset' or"),
    ("no kind", {"kind": None}, r"kind of job .* must be"),
    ("misspelled input", {"input": "peopel"}, r"no input 'peopel' for job 'Ages': did you mean 'people'\?"),
    ("no input", {"input": None}, r"input of job 'Ages' must be a path"),
    ("a window", {"input": "sales/{year}/*"}, r"\{year\} in the input of job 'Ages' is for files with a \[schedule\]"),
    ("option of another kind", {"top": 3}, r"no key 'top' in job 'Ages'"),
    ("table", {"bins": {"a": 1}}, r"bins of job 'Ages' must be a text, a number"),
    ("name", {"name": ""}, r"name of job 1 must be a printable name"),
    ("name with a line", {"name": "a\\nb"}, r"name of job 1 must be a printable name"),
]


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (PAIRS | {"k": 3}, r"no key 'k' in job 'Pairs': did you mean 'top'\?"),
        (RULE | {"hypotheses": "stumps"}, r"did you mean 'class'\?"),
        (AGES | {"k": 3}, r"the keys are"),
    ],
)
def test_names_of_the_library_are_answered_by_the_key(folder: Folder, options: dict[str, Any], hint: str) -> None:
    with pytest.raises(BadParameter, match=hint):
        folder.read(job(**options))


@pytest.mark.parametrize(("changes", "hint"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_jobs(folder: Folder, changes: dict[str, Any], hint: str) -> None:
    given = {name: value for name, value in {**AGES, **changes}.items() if value is not None}
    text = job(**given).replace("{'a': 1}", "{a = 1}")
    with pytest.raises(BadParameter, match=hint) as caught:
        folder.read(text)
    assert "\n" not in str(caught.value)


BAD_TERMS: list[tuple[dict[str, str | None], str]] = [
    ({"ledger": None}, r"ledger is missing in \[budget\]"),
    ({"dataset": None}, r"dataset is missing in \[budget\]"),
    ({"epsilon": None}, r"epsilon is missing in \[budget\]"),
    ({"epsilon": "0"}, "epsilon must be greater than 0"),
    ({"epsilon": "inf"}, "epsilon must be a finite number"),
    ({"delta": "1"}, "delta must be at least 0 and less than 1"),
    ({"dataset": '"a/"'}, "the part after /"),
    ({"ledger": "3"}, "ledger must be a printable name"),
    ({"neighbors": '"any"'}, "neighbors must be"),
    ({"unit": '""'}, "unit must be a printable name"),
    ({"epsilons": "3"}, r"no key 'epsilons' in \[budget\]: did you mean 'epsilon'"),
]


@pytest.mark.parametrize(("terms", "hint"), BAD_TERMS)
def test_bad_terms(folder: Folder, terms: dict[str, Any], hint: str) -> None:
    with pytest.raises(BadParameter, match=hint):
        folder.read(job(**AGES), **terms)


BAD_TEXTS = [
    ("", "between 1 and 1000 jobs|is missing"),
    ("[budget", "is not a TOML file"),
    ("\x00", "is not a TOML file"),
    ("job = 3\n[budget]\nledger='l'\ndataset='d'\nepsilon=1", "between 1 and 1000 jobs"),
    ("budget = 3", "budget must be a table"),
    ("jobs = []", r"no key 'jobs' in the job file: did you mean 'job'\?"),
    ("[inputs]\na = 3\n[budget]\nledger='l'\ndataset='d'\nepsilon=1", "inputs.a must be a path"),
    ("title = 3\n[budget]\nledger='l'\ndataset='d'\nepsilon=1\n[[job]]\nkind='histogram'\ninput='x'", "title must be"),
]


@every(("text", "hint"), BAD_TEXTS)
def test_bad_files(tmp_path: Path, text: str, hint: str) -> None:
    path = tmp_path / "jobs.toml"
    path.write_text(text)
    with pytest.raises(BadParameter, match=hint):
        read_job_file(path)


@pytest.mark.parametrize("name", ["none", "{draft}", "none.parquet"])
def test_an_input_that_is_not_there(folder: Folder, name: str) -> None:
    (pairs,) = folder.read(job(**PAIRS | {"input": name})).jobs
    with pytest.raises(UnreadableFile, match=f"^{name} does not exist; check its name"):
        _ = pairs.guarantee


def test_no_file(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(UnreadableFile, match="Cannot read"):
            read_job_file(path)
    (tmp_path / "latin.toml").write_bytes(b"title = '\xe9'")
    with pytest.raises(BadParameter, match="not a TOML file"):
        read_job_file(tmp_path / "latin.toml")


def test_two_jobs_of_one_name(folder: Folder) -> None:
    with pytest.raises(BadParameter, match="Several jobs are called 'Ages'"):
        folder.read(job(**AGES), job(**AGES | {"column": "hours"}))


def test_all_kinds_are_tried_here() -> None:
    """But for those that need parts of the data set: test_comparison.py has them."""
    assert {options["kind"] for options in ALL.values()} == set(OPTIONS)
    assert RULE["class"] == "thresholds"


CALLS: list[tuple[str, Callable[..., Any]]] = [
    ("top-itemset", dpmine.top_itemsets),
    ("frequent-itemsets", dpmine.frequent_itemsets),
    ("histogram", dpmine.PrivateHistogram),
    ("regress", dpmine.PrivateRidge),
    ("accuracy-first", dpmine.AccuracyFirstRidge),
    ("accuracy-first", dpmine.AccuracyFirstLogistic),
    ("hypothesis", dpmine.HypothesisSelector),
    *[("classify", classifier) for classifier in CLASSIFIERS.values()],
]
OF_THE_FILE = {"unit", "one_row_per"}
"""Columns of a table, where the estimator has the name of the unit."""
COMMAND_ONLY = {"top": 10}
"""Defaults of the library that the command does not share."""


def plain(value: object) -> object:
    """A value however it is written: 0.5 and "1/2"."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return Fraction(str(value))
        except ValueError:
            return str(value).replace("-", "_")
    return value


@pytest.mark.parametrize(("kind", "call"), CALLS)
def test_defaults_are_those_of_the_library(kind: str, call: Callable[..., Any]) -> None:
    has = signature(call).parameters
    for name, option in OPTIONS[kind].items():
        library = has.get(option.parameter or name)
        if library is None or name in OF_THE_FILE or option.default is None or library.default is library.empty:
            continue
        assert plain(library.default) == plain(COMMAND_ONLY.get(name, option.default)), name
