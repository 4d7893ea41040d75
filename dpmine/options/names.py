"""The mechanisms, ways to choose a list, engines and forms of files that users may name, and where each is.

A line here registers one. The command line, job files, messages, the audit and the tests take their lists from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

ALL = "*"
"""What stands for all columns where a text is needed."""
AUTO = "auto"
"""The name of the choice by public parameters."""


@dataclass(frozen=True, slots=True)
class Registered:
    """Something that users name.

    Attributes:
        name: in lower case, with underscores; users may write dashes.
        home: its module and class or function, "package.module:Class", loaded when it is needed.
    """

    name: str
    home: str

    def load(self) -> Any:
        """The class or function. An error names the entry."""
        module, _, name = self.home.partition(":")
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            error.add_note(f"It is registered as {self.name!r}, with the home {self.home!r}.")
            raise


@dataclass(frozen=True, slots=True)
class Named(Registered):
    """Something that chooses.

    Attributes:
        not_for_scores: why it cannot choose among scores that are no counts, such as validation scores; "" if it can.
        other_names: what the field calls it, for messages.
        about: of a way to choose lists, what it does, for `help`.
    """

    not_for_scores: str = ""
    other_names: tuple[str, ...] = ()
    about: str = ""


@dataclass(frozen=True, slots=True)
class Form(Registered):
    """How columns are written in a file; its home is a function of an `Input` and its files: see `io.open.Opener`.

    Attributes:
        title: its name in sentences.
        endings: of the names of its files, in lower case.
        magic: the bytes with which its files begin, or each of several.
        options: the options on how text is written that it takes, by the names of `Input`.
    """

    title: str
    endings: tuple[str, ...]
    magic: tuple[bytes, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def has_header(self) -> bool:
        """Whether its first line may name the columns."""
        return "quotes" in self.options

    @property
    def is_typed(self) -> bool:
        """Whether its files say of which types their columns are."""
        return "types" not in self.options


_MECHANISMS = "dpmine.selection.mechanisms"
MECHANISMS = (
    Named("large_margin", f"{_MECHANISMS}.large_margin:LargeMargin"),
    Named("large_margin_tight", f"{_MECHANISMS}.large_margin:LargeMarginTight"),
    Named(
        "limited_domain",
        f"{_MECHANISMS}.limited_domain:LimitedDomain",
        "limited_domain pads the candidates with dummies of score 0, which beat every negative score",
    ),
    Named(
        "limited_domain_permute_and_flip",
        f"{_MECHANISMS}.limited_domain:LimitedDomainPermuteAndFlip",
        "limited domains pad the candidates with dummies, which beat negative scores",
    ),
    Named("stable_maximiser", f"{_MECHANISMS}.large_margin:StableMaximiser"),
    Named(
        "bounded_growth",
        f"{_MECHANISMS}.bounded_growth:BoundedGrowth",
        "bounded_growth needs counts that start at 0, and validation scores are real numbers",
        ("choosing", "choosing_mechanism"),
    ),
    Named("exponential", f"{_MECHANISMS}.report_noisy_max:Exponential"),
    Named(
        "max_of_exponentials",
        f"{_MECHANISMS}.report_noisy_max:MaxOfExponentials",
        other_names=("permute_and_flip",),
    ),
    Named(
        "max_of_laplaces",
        f"{_MECHANISMS}.report_noisy_max:MaxOfLaplaces",
        other_names=("laplace", "report_noisy_max"),
    ),
    Named("exact", f"{_MECHANISMS}.report_noisy_max:Exact", "exact is not private"),
)
"""What chooses one candidate, in the order in which messages list them."""
_WAYS = "dpmine.itemsets.ways"
WAYS = (
    Named(
        "best_first",
        f"{_WAYS}.best_first:BestFirst",
        about="itemsets of all sizes are counted with noise, each chosen by the counts before; supports come with it",
    ),
    Named("items_first", f"{_WAYS}.items_first:ItemsFirst", about="items are chosen first, then itemsets of these"),
    Named(
        "discover",
        f"{_WAYS}.discovery:Discover",
        about="as items_first, without a catalogue: items that many units have are found first",
    ),
    Named(
        "joint",
        f"{_WAYS}.at_once:Joint",
        about="all of a list at once out of a public catalogue, without a δ; for at most about 20 that lead",
    ),
    Named(
        "lipschitz",
        f"{_WAYS}.at_once:Lipschitz",
        about="the same as a set of at most 200, which is listed sorted by its items",
    ),
)
"""What chooses a list of itemsets, beside the mechanisms."""
SPARK = Registered("spark", "dpmine.itemsets.spark.loading:read_spark")
ENGINES = (
    Registered("local", "dpmine.itemsets.read:read_local"),
    SPARK,
)
"""What counts supports; their homes read data: see `itemsets.read.Reader`. The first is the default."""
LOCAL = ENGINES[0].name
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""How compressed text files end, and what compressed them."""
QUOTES = ("double", "multiline", "none")
"""How text files use quotation marks; the first is the default."""
ENCODINGS = ("utf-8", "latin-1", "windows-1252", "iso-8859-15", "windows-1250", "windows-1251")
"""Of text files; the first is the default. Others have one byte a character: a byte spoils no other character."""
TEXT_OPTIONS = ("types", "quotes", "decimal", "encoding", "columns", "no_header")


def _packed(ending: str) -> tuple[str, ...]:
    return tuple(f"{ending}{packed}" for packed in ("", *COMPRESSED))


_SOURCES = "dpmine.io.sources"
PARQUET = Form("parquet", f"{_SOURCES}.parquet:open_parquet", "Parquet", (".parquet", ".parq", ".pq"), (b"PAR1",))
CSV = Form("csv", f"{_SOURCES}.delimited:open_csv", "CSV", _packed(".csv"), options=("delimiter", *TEXT_OPTIONS))
FORMS = (
    PARQUET,
    CSV,
    Form("tsv", f"{_SOURCES}.delimited:open_tsv", "TSV", _packed(".tsv"), options=TEXT_OPTIONS),
    Form(
        "arrow",
        f"{_SOURCES}.ipc:open_arrow",
        "Arrow",
        (".arrow", ".feather", ".ipc"),
        (b"ARRO", b"\xff\xff\xff\xff"),
    ),
    Form(
        "baskets",
        f"{_SOURCES}.baskets:open_baskets",
        "basket",
        (*_packed(".dat"), *_packed(".basket"), *_packed(".baskets")),
        options=("delimiter", "types", "encoding"),
    ),
    Form("spmf", f"{_SOURCES}.baskets:open_spmf", "SPMF", (".spmf",), options=("delimiter", "types", "encoding")),
)
"""Of files. Those of no known ending are Parquet, or CSV where a delimiter or columns are given, or piped in."""
TITLES = " or ".join([", ".join(form.title for form in FORMS[:-1]), FORMS[-1].title])
"""Of the forms, in sentences."""


def plain_name(name: object) -> str:
    """A name as it is spelled here: with underscores."""
    return str(name).replace("-", "_")


def typed_names(*names: str) -> str:
    """Names as the command line spells them, in a row."""
    return ", ".join(name.replace("_", "-") for name in names)
