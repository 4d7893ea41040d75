"""The options of the kinds of jobs, each described once.

The options of the commands of the same names, with their help, are made of this table. So are the keys of job files,
with their checks. A default is what the library's call has by itself. It stands here for `--help`, which loads no
library.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from dpmine.options.names import ALL, AUTO, ENGINES, LOCAL, MECHANISMS, WAYS, typed_names
from dpmine.options.option import (
    DELTA,
    EPSILON,
    LEDGER,
    NOT_PRIVATE,
    OF_TABLES,
    RELATION,
    SOURCE,
    TRAINING,
    UNIT,
    Option,
)

REFERENCE = re.compile(r"`(\w+)(?:=([^`]*))?`")
"""How a message names an option: `memory` alone, `memory=4GB` with a value, `memory=…` with whatever value it has."""


def as_keys(text: str) -> str:
    """A message on a job, with options as its file writes them; those of the command alone stay as they are."""
    return REFERENCE.sub(_as_key, text)


def _as_key(found: re.Match[str]) -> str:
    name, value = found.groups()
    key = KEY_OF.get(name)
    if key is None or value is None or value == "…":
        return key or found[0]
    if value.startswith("(") and value.endswith(")"):
        value = f"[{value[1:-1]}]"  # TOML has no tuples
    return f"{key} = {value.lower() if value in {'True', 'False'} else value}"


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

OF_ATTRIBUTES = {
    "attributes": Option(
        "Columns of a table whose items are COL=VALUE; without names, all but the unit's.", "COL,COL", bare=ALL
    ),
    "missing": Option("With --attributes: a value that is no item, such as '?'; may repeat.", "TEXT", kind=list),
    "cut": Option(
        "With --attributes: public points that cut a column of numbers, age=18,30; may repeat.", "COL=X,X", kind=list
    ),
}
"""Options of itemsets in tables of attributes."""
TOP_ITEMSET = {
    **SOURCE,
    "item": Option("Column of the items (a list column: one row per basket).", "COL", flags=("--item", "--items")),
    "unit": UNIT,
    "basket": Option(
        "Column that distinguishes the baskets of one unit, or day(COL), week(COL), month(COL) of one; may repeat.",
        "COL",
        kind=list,
    ),
    "one_hot": Option("One item per column: booleans, or integers, present above 0.", default=False, kind=bool),
    **OF_ATTRIBUTES,
    "size": Option("Number of items in an itemset.", "R|R1-R2", "2"),
    "top": Option("How many itemsets; the budget is that of all together.", "K", 1, int, parameter="k"),
    "epsilon": EPSILON,
    "delta": DELTA,
    "mechanism": Option(f"{typed_names(AUTO, *(named.name for named in (*MECHANISMS, *WAYS)))}.", "MECHANISM", AUTO),
    "neighbors": RELATION,
    "catalogue": Option("Public list of all items: text, one per line, or Parquet.", "FILE", kind=Path),
    "catalogue_from_data": Option(
        "Use the items in the data as the catalogue. NOT private.", default=False, kind=bool, in_jobs=False
    ),
    "release_support": Option(
        "Release noisy supports, too: ε that adds to the budget, or auto to split --epsilon.", "E|auto"
    ),
    "rules": Option(
        "Association rules of the released supports; needs --release-support. CSV and Parquet then hold the rules.",
        default=False,
        kind=bool,
    ),
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
        "bounded-growth: cut every unit to N items before counting; discover, best-first: how many of its items a unit "
        "may name (default 50).",
        "N",
        kind=int,
    ),
    "not_private": NOT_PRIVATE,
    **LEDGER,
    "memory": Option(
        "Memory for the data (4GB, 500MB, at least 64MB; default: half of the machine); larger data are streamed.",
        "SIZE",
        asks=False,
    ),
    "engine": Option(
        "What counts: this machine, or Spark (FILE is then what Spark opens).",
        "|".join(engine.name for engine in ENGINES),
        LOCAL,
        in_jobs=False,
    ),
}
FREQUENT_ITEMSETS = {
    **{name: TOP_ITEMSET[name] for name in (*SOURCE, "item", "unit", "basket", "one_hot", *OF_ATTRIBUTES)},
    "min_support": Option(
        "List all itemsets of this noisy support or more: a count of units (600), or a share of them (0.02, 2%).",
        "N|F",
    ),
    "top": Option("List the best K in place of all of --min-support.", "K", kind=int, parameter="k"),
    "max_size": Option("The most items of an itemset, up to 12.", "R", kind=int, shown="12"),
    "epsilon": EPSILON,
    "delta": DELTA,
    "neighbors": RELATION,
    "catalogue": TOP_ITEMSET["catalogue"],
    "units": Option(
        "A public number of units, to which shares refer. Default: counted with noise, within the budget.",
        "N",
        kind=int,
    ),
    "max_items_per_unit": Option(
        "How many of its items a unit may weigh while items are found (default 50); all count in supports.",
        "N",
        kind=int,
    ),
    "rules": Option(
        "Association rules of the itemsets, too; the budget stays as it is. CSV and Parquet then hold the rules.",
        default=False,
        kind=bool,
    ),
    "min_confidence": replace(TOP_ITEMSET["min_confidence"], help="Of the rules that are shown; 0.5 by default."),
    "maximal": Option("List only what no other listed itemset contains.", default=False, kind=bool),
    **{name: TOP_ITEMSET[name] for name in (*LEDGER, "memory", "engine")},
}
HISTOGRAM = {
    **SOURCE,
    "column": Option("Column of the numbers.", "C", needed=True),
    "lower": Option("Public lower bound; smaller values count as A.", "A", needed=True),
    "upper": Option("Public upper bound; larger values count as B.", "B", needed=True),
    "bins": Option("Numbers of bins to choose from, each 2 or more.", "N,N,…", "4,8,16"),
    "epsilon": EPSILON,
    "delta": DELTA,
    **OF_TABLES,
    "mechanism": Option(
        f"What chooses the bins: {_CHOOSERS}.",
        "MECHANISM",
        "max-of-exponentials",
    ),
    "train_share": Option("Share of the rows that trains; the rest validates.", "S", "0.5"),
    "selection_share": replace(_SELECTION_SHARE, default="0.5"),
    "plot": Option("Draw the density (.svg or .png).", "FILE", kind=Path, in_jobs=False),
}
CLASSIFY = {
    **TRAINING,
    "label": _LABEL,
    "classes": Option(
        "The labels, public, spelled as in the data; needed for more than two. Any other label counts as A; of two, "
        "predictions are about B. Default: the two found, which are then public.",
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
    "mechanism": Option(f"What chooses the regulariser: {_CHOOSERS}.", "MECHANISM", "max-of-exponentials"),
    "epsilon": EPSILON,
    "delta": DELTA,
    **OF_TABLES,
    **_MODEL,
}
REGRESS = {
    **TRAINING,
    "target": Option("Column of numbers to predict.", "COL", needed=True),
    "target_bounds": Option("Public bounds of the target; values beyond them are clipped.", "MIN,MAX", needed=True),
    "features": _FEATURES,
    **{name: CLASSIFY[name] for name in ("lower", "upper", "norm_bound")},
    "regularization": Option("Regularisation strength. auto: a rule of public numbers.", "L|auto", "auto"),
    "noise": replace(
        CLASSIFY["noise"],
        help="gamma spends no δ; gaussian spends --delta and is shorter from about 4 features on; auto: the shorter.",
    ),
    "intercept": _INTERCEPT,
    "epsilon": EPSILON,
    "delta": DELTA,
    **OF_TABLES,
    **_MODEL,
}
_BROWNIAN = ("method", "brownian", "other methods spend none.")
ACCURACY_FIRST = {
    **TRAINING,
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
    "delta": replace(DELTA, only_with=_BROWNIAN),
    "steps": Option("Number of privacy levels to try.", "T", 100, int),
    "slack": Option("Share of the target spent on cheap tests instead of the model.", "S", "1"),
    "intercept": replace(_INTERCEPT, default=False),
    "keep_last": Option(
        "Keep the last model where none reaches the target; the charge is the same.", default=False, kind=bool
    ),
    **OF_TABLES,
    **_MODEL,
}
HYPOTHESIS = {
    **TRAINING,
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
    "mechanism": Option(f"{_CHOOSERS}, exact. auto is max-of-exponentials.", "MECHANISM", AUTO),
    "epsilon": EPSILON,
    "delta": DELTA,
    **OF_TABLES,
    "neighbors": RELATION,
    "not_private": NOT_PRIVATE,
    **_MODEL,
}
OPTIONS = {
    "top-itemset": TOP_ITEMSET,
    "frequent-itemsets": FREQUENT_ITEMSETS,
    "histogram": HISTOGRAM,
    "classify": CLASSIFY,
    "regress": REGRESS,
    "accuracy-first": ACCURACY_FIRST,
    "hypothesis": HYPOTHESIS,
}
"""By the name of the command, which is the kind of a job; in the order in which `--help` lists them."""
KEY_OF = {
    option.parameter or name: name
    for table in OPTIONS.values()
    for name, option in table.items()
    if option.in_jobs or name in LEDGER
}
"""By the names that the library's calls have for them; a job file names its ledger once, in [budget]."""
