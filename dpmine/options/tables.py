"""The options of the kinds of jobs, each described once.

The options of the commands of the same names, with their help, are made of this table. So are the keys of job files,
with their checks. A default is what the library's call has by itself. It stands here for `--help`, which loads no
library.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpmine.options.names import AUTO, ENCODINGS, ENGINES, FORMS, LOCAL, MECHANISMS, QUOTES, WAYS, typed_names


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command, and a key of a job.

    Attributes:
        help: what it is, as `--help` says it.
        metavar: how `--help` calls its value.
        default: where it is not given; None for none.
        kind: of the value on the command line: str, int, bool, list (may repeat), or another type that Typer knows.
        choices: the names that it may have, if there are few.
        flags: how the command line spells it, where that is more than its name.
        parameter: what the library calls it, where that is another name.
        needed: whether a job must have it.
        only_with: an option, and the value that it must have for this one to be given, and why.
        in_jobs: whether job files have it.
        shown: what `--help` shows as the default, where `default` is None.
    """

    help: str
    metavar: str | None = None
    default: Any = None
    kind: Any = str
    choices: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    parameter: str = ""
    needed: bool = False
    only_with: tuple[str, Any, str] | None = None
    in_jobs: bool = True
    shown: str | None = None


REFERENCE = re.compile(r"`(\w+)(?:=([^`]*))?`")
"""How a message names an option: `memory` alone, `memory=4GB` with a value, `memory=…` with whatever value it has."""


def as_keys(text: str) -> str:
    """A message on a job, with options as its file writes them; those of the command alone stay as they are."""
    return REFERENCE.sub(_as_key, text)


def _as_key(found: re.Match[str]) -> str:
    name, value = found.groups()
    key = _KEYS.get(name)
    if key is None or value is None or value == "…":
        return key or found[0]
    if value.startswith("(") and value.endswith(")"):
        value = f"[{value[1:-1]}]"  # TOML has no tuples
    return f"{key} = {value.lower() if value in {'True', 'False'} else value}"


_EPSILON = Option("Privacy loss, read exactly: 0.5, 1/3.", "E", "1")
_DELTA = Option("Failure probability, read exactly: 1e-6.", "D", "1e-6")
_RELATION = Option(
    "replace-one (public number of units) or add-remove.",
    "RELATION",
    "replace-one",
    flags=("--neighbors", "--neighbours"),
)
_TITLES = " or ".join([", ".join(form.title for form in FORMS[:-1]), FORMS[-1].title])
_FILES = Option(
    f"{_TITLES} files, a directory, a glob, a URL, or - for standard input.",
    "[FILE...]",
    kind=list,
    in_jobs=False,
)
OF_SOURCE = {
    "input_format": Option(
        "What the files are. Default: what their names end in, else Parquet; of standard input, its first bytes.",
        choices=tuple(form.name for form in FORMS),
        shown="by the name",
    ),
    "types": Option(
        "Types of columns of text files and queries: int64, float64, text or date. Default: text, and numbers where "
        "numbers are needed.",
        "COL=TYPE,…",
    ),
    "delimiter": Option("What separates the fields of CSV files, such as ';' or '\\t'.", "CHAR", shown="a comma"),
    "quotes": Option(
        "Quotation marks in CSV files: double (they may enclose a field), multiline (with line breaks in it), or none.",
        "|".join(QUOTES),
        shown=QUOTES[0],
    ),
    "decimal": Option("Decimal point of numbers in CSV files.", ".|,", shown="a point"),
    "encoding": Option(
        "Encoding of CSV files; bytes that are none of its characters become U+FFFD.",
        choices=ENCODINGS,
        shown=ENCODINGS[0],
    ),
    "query": Option("An SQL statement in place of FILE; it may choose, rename and filter rows one by one.", "SQL"),
    "database": Option(
        "Where the query runs: duckdb:///FILE, duckdb:///:memory: for files that it names, sqlite:///FILE or "
        "postgresql://….",
        "URL",
    ),
}
"""Options that say what is read, where the names of files do not."""
_SOURCE: dict[str, Option] = {"files": _FILES, **OF_SOURCE}
_TRAINING = {**_SOURCE, "files": replace(_FILES, help=f"Training data: {_FILES.help}")}
_UNIT = Option(
    "Column of the privacy unit, the person to protect; may repeat. Of dates and timestamps also day(COL), week(COL), "
    "month(COL).",
    "COL",
    kind=list,
)
_NOT_PRIVATE = Option("Confirm that the result will not be private.", kind=bool, default=False, in_jobs=False)
_LEDGER = {
    "ledger": Option("Charge the budget in this ledger first: sqlite:///b.db or postgresql://…", "URL", in_jobs=False),
    "dataset": Option("The data set's name in the ledger.", "NAME", in_jobs=False),
}
OF_UNIT = {
    "unit": Option("Column of the privacy unit, such as CustomerID; may repeat. Default: each row.", "COL", kind=list),
    "rows_per_unit": Option(
        "Most rows that each --unit keeps, drawn at random; noise grows with M.", "M", default=1, kind=int
    ),
    "one_row_per": Option(
        "For data without a column of the unit: assert that each NAME has at most one row. Nothing checks this.", "NAME"
    ),
}
"""Options of jobs on tables that state the privacy unit."""
_OF_TABLES = {
    "neighbors": replace(_RELATION, help="replace-one only: the number of units is public."),
    **OF_UNIT,
    **_LEDGER,
}
_FEATURES = Option("Columns of numbers, separated by commas.", "COL,COL", needed=True)
_LABEL = Option("Column of the classes.", "COL", needed=True)
_CLASSES = Option(
    "The two labels, public, spelled as in the data: predictions are about B, and any other label counts as A. "
    "Default: those found.",
    "A,B",
)
_MODEL = {
    "model": Option("Model file: training writes it, --predict reads it.", "FILE.json", kind=Path, in_jobs=False),
    "predict": Option("Score this file, of any input format, with the model.", "FILE", in_jobs=False),
}
_INTERCEPT = Option(
    "Train an intercept, regularised too.",
    default=True,
    kind=bool,
    flags=("--intercept/--no-intercept",),
    parameter="fit_intercept",
)
_LOWER = Option("Public lower bound of the features, one for all or one each.", "A[,A]")
_UPPER = Option("Public upper bound of the features, one for all or one each.", "B[,B]")
_CHOOSERS = typed_names(AUTO, *(named.name for named in MECHANISMS if not named.not_for_scores))
_SELECTION_SHARE = Option("Share of ε for the choice; the rest trains.", "F", "0.1")

TOP_ITEMSET = {
    **_SOURCE,
    "item": Option("Column of the items (a list column: one row per basket).", "COL", flags=("--item", "--items")),
    "unit": _UNIT,
    "basket": Option(
        "Column that distinguishes the baskets of one unit, or day(COL), week(COL), month(COL) of one; may repeat.",
        "COL",
        kind=list,
    ),
    "one_hot": Option("One item per column: booleans, or integers, present above 0.", default=False, kind=bool),
    "size": Option("Number of items in an itemset.", "R|R1-R2", "2"),
    "top": Option("How many itemsets; the budget is that of all together.", "K", 1, int, parameter="k"),
    "epsilon": _EPSILON,
    "delta": _DELTA,
    "mechanism": Option(f"{typed_names(AUTO, *(named.name for named in (*MECHANISMS, *WAYS)))}.", "NAME", AUTO),
    "neighbors": _RELATION,
    "catalogue": Option("Public list of all items: text, one per line, or Parquet.", "FILE", kind=Path),
    "catalogue_from_data": Option(
        "Use the items in the data as the catalogue. NOT private.", default=False, kind=bool, in_jobs=False
    ),
    "release_support": Option(
        "Release noisy supports, too: ε that adds to the budget, or auto to split --epsilon.", "E|auto"
    ),
    "rules": Option("Association rules of the released supports; needs --release-support.", default=False, kind=bool),
    "lift_of": Option(
        "Lift of rules where a unit has several baskets: of all items that it has in any. More counts share the noise. "
        "Needs --units.",
        choices=("units",),
        only_with=("rules", True, "only rules have a lift."),
    ),
    "min_support": Option(
        "Least noisy support that is listed: a count of units, or a share of --units (0.02, 2%); 0: all that was "
        "chosen. Default: what is clearly above 0.",
        "N|F",
    ),
    "min_confidence": Option(
        "Of the rules that are shown; 0 by default.", "F", only_with=("rules", True, "only rules have a confidence.")
    ),
    "units": Option(
        "A public number of units: turns supports into shares, gives rules lift (without --basket, or with --lift-of), "
        "and warns where a list will mostly be noise (default: 5,000 assumed).",
        "N",
        kind=int,
    ),
    "kbar": Option("limited-domain (both): candidates that are kept; items-first: items (public).", "N", kind=int),
    "max_items_per_unit": Option(
        "bounded-growth: cut every unit to N items before counting; discover: how many of its items a unit may "
        "name (default 50).",
        "N",
        kind=int,
    ),
    "not_private": _NOT_PRIVATE,
    **_LEDGER,
    "memory": Option(
        "Memory for the data (4GB, 500MB, at least 64MB; default: half of the machine); larger data are streamed.",
        "SIZE",
    ),
    "engine": Option(
        "What counts: this machine, or Spark (FILE is then what Spark opens).",
        "|".join(engine.name for engine in ENGINES),
        LOCAL,
        in_jobs=False,
    ),
}
HISTOGRAM = {
    **_SOURCE,
    "column": Option("Column of the numbers.", "C", needed=True),
    "lower": Option("Public lower bound; smaller values count as A.", "A", needed=True),
    "upper": Option("Public upper bound; larger values count as B.", "B", needed=True),
    "bins": Option("Numbers of bins to choose from, each 2 or more.", "N,N,…", "4,8,16"),
    "epsilon": _EPSILON,
    "delta": _DELTA,
    **_OF_TABLES,
    "mechanism": Option(
        f"What chooses the bins: {_CHOOSERS}.",
        "NAME",
        "max-of-exponentials",
    ),
    "train_share": Option("Share of the rows that trains; the rest validates.", "S", "0.5"),
    "selection_share": replace(_SELECTION_SHARE, default="0.5"),
    "plot": Option("Draw the density (.svg or .png).", "FILE", kind=Path, in_jobs=False),
}
CLASSIFY = {
    **_TRAINING,
    "label": _LABEL,
    "classes": Option(
        "The labels, public, spelled as in the data; needed for more than two. Any other label counts as A; of two, "
        "predictions are about B. Default: the two found.",
        "A,B[,C]",
    ),
    "features": _FEATURES,
    "lower": replace(_LOWER, help=f"{_LOWER.help[:-1]}; A becomes -1."),
    "upper": replace(_UPPER, help=f"{_UPPER.help[:-1]}; B becomes 1."),
    "norm_bound": Option(
        "Public bound on a row's Euclidean norm; longer rows are clipped. With --lower and --upper: 1.", "B"
    ),
    "lambdas": Option(
        "Regularisation strengths; of several, one is chosen privately. auto: a rule of public numbers.",
        "L,L|auto",
        "auto",
    ),
    "loss": Option(
        "capped (auto, for two classes): most right predictions. logistic: better probabilities of rare classes. "
        "huber: a support vector classifier.",
        default="auto",
        choices=("auto", "capped", "logistic", "huber"),
    ),
    "method": Option("Noise in the objective, or on the output.", default="objective", choices=("objective", "output")),
    "noise": Option(
        "gamma spends no δ; gaussian spends --delta and is shorter from about 20 features on; auto takes the shorter.",
        default="auto",
        choices=("auto", "gamma", "gaussian"),
    ),
    "huber": Option(
        "Half-width of the Huber loss's rounded corner.",
        "H",
        shown="0.5",
        only_with=("loss", "huber", "logistic regression has no rounded corner."),
    ),
    "intercept": _INTERCEPT,
    "validation_share": Option("Share of the rows that choose the regulariser.", "F", "0.1"),
    "selection_share": _SELECTION_SHARE,
    "mechanism": Option(f"What chooses the regulariser: {_CHOOSERS}.", "NAME", "max-of-exponentials"),
    "epsilon": _EPSILON,
    "delta": _DELTA,
    **_OF_TABLES,
    **_MODEL,
}
REGRESS = {
    **_TRAINING,
    "target": Option("Column of numbers to predict.", "COL", needed=True),
    "target_bounds": Option("Public bounds of the target; values beyond them are clipped.", "A,B", needed=True),
    "features": _FEATURES,
    **{name: CLASSIFY[name] for name in ("lower", "upper", "norm_bound")},
    "regularization": Option("Regularisation strength. auto: a rule of public numbers.", "L|auto", "auto"),
    "noise": replace(
        CLASSIFY["noise"],
        help="gamma spends no δ; gaussian spends --delta and is shorter from about 4 features on; auto: the shorter.",
    ),
    "intercept": _INTERCEPT,
    "epsilon": _EPSILON,
    "delta": _DELTA,
    **_OF_TABLES,
    **_MODEL,
}
_BROWNIAN = ("method", "brownian", "other methods spend none.")
ACCURACY_FIRST = {
    **_TRAINING,
    "model_kind": Option(
        "Ridge regression of a number, or logistic regression of two classes.",
        default="ridge",
        choices=("ridge", "logistic"),
    ),
    "target": Option("Column to predict.", "COL", needed=True),
    "classes": replace(_CLASSES, only_with=("model_kind", "logistic", "ridge regression predicts a number.")),
    "features": _FEATURES,
    "excess_risk": Option(
        "Excess risk to reach; only below y_bound²/2 (logistic: 0.69) it asks much.", "R", needed=True
    ),
    "regularization": Option("Weight of the penalty L/2·|w|², in the units of the risk.", "L", needed=True),
    "epsilon_max": Option("The most ε that the run may charge, its tests included.", "E", "10"),
    "x_bound": Option("Public bound on the sum of a row's absolute values; longer: clipped.", "B", needed=True),
    "y_bound": Option(
        "Ridge: public bound on the target's absolute value; more is clipped.",
        "B",
        needed=True,
        only_with=("model_kind", "ridge", "classes have no bound."),
    ),
    "failure_probability": Option("Chance of accepting a model above the target risk.", "P", "0.1"),
    "method": Option(
        "Noise on sufficient statistics (ridge only), on the minimiser, or Brownian.",
        choices=("covariance", "output", "brownian"),
    ),
    "delta": replace(_DELTA, only_with=_BROWNIAN),
    "steps": Option("Number of privacy levels to try.", "T", 100, int),
    "slack": Option("Share of the target spent on cheap tests instead of the model.", "S", "1"),
    "intercept": replace(_INTERCEPT, default=False),
    "keep_last": Option(
        "Keep the last model where none reaches the target; the charge is the same.", default=False, kind=bool
    ),
    **_OF_TABLES,
    **_MODEL,
}
HYPOTHESIS = {
    **_TRAINING,
    "label": replace(_LABEL, help="Column of the two classes."),
    "classes": _CLASSES,
    "class": Option(
        "The rules to choose from.",
        default="stumps",
        choices=("thresholds", "intervals", "stumps", "conjunctions", "separators"),
        parameter="hypotheses",
    ),
    "features": _FEATURES,
    "lower": _LOWER,
    "upper": _UPPER,
    "grid": Option("Points of the grid between the bounds, up to 2^64 (default 1001).", "N[,N]"),
    "width": Option("The most features of a conjunction (default 3).", "W", kind=int),
    "resolution": Option("The largest weight of a separator (default 8)", "K", kind=int),
    "mechanism": Option(f"{_CHOOSERS}, exact. auto is max-of-exponentials.", "NAME", AUTO),
    "epsilon": _EPSILON,
    "delta": _DELTA,
    **_OF_TABLES,
    "neighbors": _RELATION,
    "not_private": _NOT_PRIVATE,
    **_MODEL,
}
OPTIONS = {
    "top-itemset": TOP_ITEMSET,
    "histogram": HISTOGRAM,
    "classify": CLASSIFY,
    "regress": REGRESS,
    "accuracy-first": ACCURACY_FIRST,
    "hypothesis": HYPOTHESIS,
}
"""By the name of the command, which is the kind of a job; in the order in which `--help` lists them."""
_KEYS = {
    option.parameter or name: name
    for table in OPTIONS.values()
    for name, option in table.items()
    if option.in_jobs or name in _LEDGER
}
"""By the names that the library's calls have for them; a job file names its ledger once, in [budget]."""
