"""The most likely mistakes on a command line, and the one line that answers each, word for word.

Every answer says what happened and what to type next, and shows no value of the data.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from shlex import split

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from support.command_line import CANARY, Outcome, assert_one_error, outcome_of

import dpmine
from dpmine.options import names
from dpmine.reporting.jobs.file import read_job_file

pytestmark = pytest.mark.usefixtures("folder")

SALES = "top-itemset visits.parquet --unit customer --item product"
AGES = "histogram people.parquet --column age"
PEOPLE = "classify people.parquet --label rich --features age"
BUDGET = "--ledger sqlite:///budget.db --dataset shop"
WAYS = sorted(named.name for named in names.WAYS)
MECHANISMS = [named.name for named in names.MECHANISMS]
FOR_SCORES = [named.name for named in names.MECHANISMS if not named.not_for_scores]
PRIVATE = [named.name for named in names.MECHANISMS if named.load().private]

BEFORE = [f"ledger grant {BUDGET} --epsilon 1 --delta 1e-6 --unit customer"]
"""What works, and is run before the mistakes."""

MISTAKES = {
    "top-itemset": "FILE is missing: give a path or several, - for standard input, or --query.",
    "top-itemsets visits.parquet": (
        "No such command 'top-itemsets'. Did you mean 'top-itemset', 'frequent-itemsets'? Try: dpmine --help."
    ),
    "top-itemset visits.parquet --where year=2026": (
        "where (--where) or query (--query) names 'year', no column of the data. Texts stand in single quotes."
    ),
    "top-itemset visit.parquet": "visit.parquet does not exist; check its name.",
    "top-itemset notes.txt": (
        "notes.txt cannot be read: it is damaged, incomplete or of another form than its name says "
        "(Parquet, if none); write it again, or say what it is: names of CSV files end in .csv, or take input_format "
        "(--input-format csv); a database takes query and database (--query, --database)."
    ),
    "top-itemset 'empty folder'": (
        "empty folder holds no file that ends in .parquet: give a folder with such files, or say what they "
        "are (--input-format csv)."
    ),
    "top-itemset headless.csv": (
        "The privacy unit is not clear in the header (split at commas unless --delimiter says otherwise; "
        "to see it: head -n 1 headless.csv): name it, with "
        "--unit COL --item COL."
    ),
    "top-itemset visits.parquet --item product": (
        "The privacy unit is not clear among the columns 'customer', 'day', 'product': name its column with --unit COL."
    ),
    "top-itemset visits.parquet --unit costumer --item product": (
        "There is no column 'costumer' among the columns 'customer', 'day', 'product'. Did you mean 'customer'?"
    ),
    "top-itemset visits.parquet --unit patient --item product": (
        "There is no column 'patient' among the columns 'customer', 'day', 'product'. Give one of these."
    ),
    "top-itemset people.parquet --unit town --item age": (
        "Column 'age' has items of the type double: items are integers, texts or a dictionary of those. Cast "
        "the column first (floats that are whole numbers to int64)."
    ),
    "top-itemset visits.csv --unit customer --item product --types day=datetime": (
        "types (--types) must be text, int64, float64, date, timestamp, not 'datetime': such as age=int64."
    ),
    "top-itemset visits.csv --unit customer --basket 'day(day)' --item product": (
        "'day(day)' needs a column of dates or timestamps, and 'day' has the type string: declare it with "
        "types (--types day=date, or --types day=date:%d.%m.%Y)."
    ),
    "top-itemset visits.parquet --unit customer --basket 'dya(day)' --item product": (
        "There is no column 'dya(day)' among the columns 'customer', 'day', 'product'. Did you mean 'day(day)'?"
    ),
    "top-itemset visits.parquet --unit customer --basket 'year(day)' --item product": (
        "There is no column 'year(day)' among the columns 'customer', 'day', 'product'. Did you mean 'day(day)'?"
    ),
    "top-itemset visits.parquet --unit customer --basket 'DAY(DAY)' --item product": (
        "There is no column 'DAY(DAY)' among the columns 'customer', 'day', 'product'. Did you mean 'day(day)'?"
    ),
    "top-itemset visits.parquet --unit customer --basket Week --item product": (
        "There is no column 'Week' among the columns 'customer', 'day', 'product'. A calendar period is of a column: "
        "week(COL), with one of these as COL."
    ),
    "top-itemset visits.parquet --unit customer --basket 'day(product)' --item product": (
        "'day(product)' needs a column of dates or timestamps, and 'product' has the type string: cast it first."
    ),
    f"{SALES} --input-format cvs": "--input-format must be one of: parquet, csv, tsv, arrow, baskets, spmf.",
    "top-itemset visits.parquet --units customer": (
        "--units must be a whole number, such as 10. Did you mean '--unit'?"
    ),
    "plan --units customer": "--units must be a whole number, such as 10.",
    "top-itemset visits.parquet --unit customer,day --item product": (
        "There is no column 'customer,day' among the columns 'customer', 'day', 'product'. For several columns "
        "repeat the option, as in --unit customer --unit day."
    ),
    "top-itemset visits.parquet --user customer": (
        "No such option: --user. Did you mean '--unit'? Try: dpmine top-itemset --help."
    ),
    "classify people.parquet --target rich": (
        "No such option: --target. Did you mean '--label'? Try: dpmine classify --help."
    ),
    f"{SALES} --sep ;": "No such option: --sep. Did you mean '--delimiter'? Try: dpmine top-itemset --help.",
    f"{SALES} --supports": (
        "No such option: --supports. Did you mean '--release-support'? Try: dpmine top-itemset --help."
    ),
    "plan --user customer": "No such option: --user. Try: dpmine plan --help.",
    f"{SALES} --items day": "--item is given more than once: give one --item COL.",
    "classify people.parquet --features age --features town": (
        "--features is given more than once: give one --features COL,COL."
    ),
    f"{SALES} --epsilom 1": "No such option: --epsilom. Did you mean '--epsilon'? Try: dpmine top-itemset --help.",
    f"{SALES} --epsilon": "--epsilon needs a value: give --epsilon 1. Try: dpmine top-itemset --help.",
    f"{SALES} --epsilon 10%": "--epsilon must be a finite number such as 0.1, 1e-6 or 1/3. For 1 % give 0.01.",
    f"{SALES} --epsilon 1,5": (
        "--epsilon must be a finite number such as 0.1, 1e-6 or 1/3. Decimals have a point: 1.5, not 1,5."
    ),
    f"{PEOPLE} --lower 0 --upper 99 --model m.json --lambdas auto,0.1": (
        "--lambdas must be auto alone, or numbers such as 0.001,0.01: leave out auto."
    ),
    f"{SALES} --ledger budget.db --dataset shop": "--ledger must be a URL such as sqlite:///budget.db.",
    f"{SALES} --ledger sqlite://old/budget.db --dataset shop": (
        "--ledger must name a file after three slashes and no options, such as sqlite:///old/budget.db."
    ),
    f"{SALES} --epsilon -1": "--epsilon must be greater than 0, such as 0.5.",
    f"{SALES} --delta 1": "--delta must be at least 0 and less than 1, such as 1e-6.",
    f"{SALES} --delta 0": (
        "delta = 0 leaves no mechanism without a public list of candidates: give delta, such as 1e-6, or the "
        "list (--catalogue FILE)."
    ),
    f"{SALES} --neighbours both": "--neighbors must be 'replace_one' or 'add_remove'.",
    f"{SALES} --neighbours add-remov": (
        "--neighbors must be 'replace_one' or 'add_remove'. Did you mean 'add_remove'?"
    ),
    f"{SALES} --mechanism large-margn": (
        f"--mechanism must be one of: auto, {', '.join([*WAYS, *MECHANISMS])}. Did you mean 'large_margin'?"
    ),
    f"{SALES} --mechanism exponential": (
        "exponential chooses among all itemsets of a public catalogue, because the items seen in the data are "
        "private: give catalogue (--catalogue FILE), or give up privacy with "
        "--catalogue-from-data, or use a mechanism that needs no catalogue, such as large_margin."
    ),
    f"{SALES} --mechanism bounded-growth": (
        "bounded_growth has a guarantee only where a unit supports few candidates: give max_items_per_unit, "
        "such as 20 (--max-items-per-unit 20)."
    ),
    f"{SALES} --size two": "--size must be a whole number of at least 1 (2) or a range of them (2-3).",
    f"{SALES} --size 3 --catalogue two.txt": (
        "--size must not exceed the 2 items of the catalogue: give at most that (--size 2), or a longer catalogue."
    ),
    f"{SALES} --top ten": "--top must be a whole number, such as 10.",
    f"{SALES} --top 2 --catalogue two.txt": (
        "k (--top) must not exceed the 1 itemsets of the catalogue: give at most --top 1."
    ),
    f"{SALES} --catalogue missing.txt": (
        "The catalogue missing.txt cannot be read: it does not exist; check its name."
    ),
    f"{SALES} --units many": "--units must be a whole number, such as 10. Did you mean '--unit'?",
    f"{SALES} --units 0": "--units must be a whole number of at least 1.",
    f"{SALES} --rules": (
        "rules are made of released supports: give release_support (--release-support EPS, or auto), too."
    ),
    f"{SALES} --min-support 3": (
        "min_support is about released supports: give release_support (--release-support EPS, or auto), too."
    ),
    f"{SALES} --release-support auto --min-support 2%": (
        "min_support is a share of the units: give their number, units (--units N), or a count, such as 100."
    ),
    f"{SALES} --min-confidence 0.5": "--min-confidence is for rules: give --rules, too.",
    f"{SALES} --format excel": "--format must be one of: text, json, csv, parquet.",
    f"{SALES} -o out.xlsx": (
        "-o needs the suffix .txt, .json, .csv or .parquet, or a --format beside it, such as -o out.json."
    ),
    f"{SALES} --ledger sqlite:///budget.db": (
        "ledger and dataset belong together: give both (--ledger URL --dataset NAME) or none."
    ),
    f"{SALES} --ledger sqlite:///other.db --dataset shop": (
        "There is no ledger at sqlite:///other.db: restore it if it was lost, or make one with dpmine ledger grant "
        "--ledger URL --dataset NAME --epsilon E --delta D."
    ),
    f"{SALES} --ledger sqlite:///budget.db --dataset shp": (
        "The ledger knows no data set 'shp': name one that it knows (dpmine ledger show lists them), or grant "
        "this one a budget (dpmine ledger grant --epsilon E --delta D)."
    ),
    f"{SALES} {BUDGET} --epsilon 2": (
        "The budget of 'shop' does not allow this: requested ε = 2, δ = 1/1000000; remaining ε = 1, δ = "
        "1/1000000; short by ε = 1, δ = 0. Ask for less (--epsilon, --delta), or have a larger total granted "
        "(dpmine ledger grant)."
    ),
    f"{SALES} {BUDGET} --neighbours add-remove": (
        "'shop' was granted for the relation replace_one, and this run is for add_remove: name the same relation "
        "(--neighbors), or grant another data set."
    ),
    f"top-itemset visits.parquet --unit day --item product {BUDGET}": (
        "'shop' is a budget for each 'customer', not for each 'day': name the same unit (--unit COL; none "
        "where rows are the units), or grant another data set."
    ),
    "supports visits.parquet": (
        "--min-support N|F is missing: a count of units (100), or a share of them (0.01, 1.0, 2%)."
    ),
    "supports visits.parquet --min-support 10": (
        "Exact supports are not private: add --not-private to confirm, or use dpmine top-itemset."
    ),
    "supports visits.parquet --min-support 110% --not-private": (
        "--min-support must be a count of at least 1 (100), or a share above 0 up to 1 (0.01, 1.0, 2%)."
    ),
    "histogram people.parquet --column agee --lower 0 --upper 99": (
        "There is no column 'agee'. The columns are: 'age', 'town', 'rich'. Did you mean 'age'?"
    ),
    "histogram people.parquet --column town --lower 0 --upper 99": (
        "Column 'town' holds string, not numbers: encode categories as 0/1 columns, dates as numbers of days."
    ),
    f"{AGES} --lower 0": "--upper B is missing: public upper bound; larger values count as B.",
    f"{AGES} --lower 99 --upper 0": (
        "--lower must be less than upper: these are the public bounds of the data, such as 0 and 100."
    ),
    f"{AGES} --lower 0 --upper 99 --bins 1": (
        "Every number of bins (--bins 4,8,16) must be a whole number of at least 2."
    ),
    f"{AGES} --lower 0 --upper 99 --mechanism max-of-exponential": (
        f"--mechanism must be one of: auto, {', '.join(FOR_SCORES)}. Did you mean 'max_of_exponentials'?"
    ),
    f"{AGES} --lower 0 --upper 99 --neighbours add-remove": (
        "Validation needs neighbors='replace_one': its bounds divide by the numbers of training and "
        "validation records, so these are public, and add_remove would have to hide them. Give --neighbors "
        "replace-one, or leave it out."
    ),
    f"{AGES} --lower 0 --upper 99 --delta 0": (
        "--delta must be greater than 0, such as 1e-6, because a choice among several bins spends it; or give one "
        "number of bins."
    ),
    f"{AGES} --lower 0 --upper 99 --plot age.jpg": (
        "The plot's file must end in .svg or .png, such as --plot plot.svg."
    ),
    f"{AGES} --lower 0 --upper 99 --rows-per-unit 3": (
        "--rows-per-unit needs --unit COL, the column of the privacy unit."
    ),
    f"{AGES} --lower 0 --upper 99 --one-row-per town": (
        "The data have a column 'town': name it as the privacy unit (--unit town). one_row_per "
        "(--one-row-per) is for data without that column."
    ),
    "classify people.parquet --label rich --model m.json": "Training needs --features COL,COL as well.",
    "classify people.parquet --label rich --features age,rich --lower 0 --upper 99 --model m.json": (
        "The label 'rich' is among the features, and cannot predict itself: leave it out of --features."
    ),
    "classify people.parquet --label rich --features town --lower 0 --upper 99 --model m.json": (
        "Column 'town' holds string, not numbers: encode categories as 0/1 columns, dates as numbers of days."
    ),
    f"{PEOPLE} --model m.json": (
        "--lower and --upper are missing, the public bounds of the features (or --norm-bound)."
    ),
    f"{PEOPLE} --lower 0 --upper 99": "Give --model FILE.json (or -o FILE.json): where the model is written.",
    f"{PEOPLE} --lower 0 --upper 99 --model m.json --loss hinge": (
        "--loss must be one of: auto, capped, logistic, huber."
    ),
    f"{PEOPLE} --lower 0 --upper 99 --model m.json --classes yes": (
        "--classes must be the labels, two or more different ones of one type, such as --classes no,maybe,yes."
    ),
    "classify --predict people.parquet": "Give --model FILE.json: the model to score with.",
    "hypothesis people.parquet --label rich --features age --class stump --lower 0 --upper 99": (
        "--class must be one of: thresholds, intervals, stumps, conjunctions, separators. Did you mean 'stumps'?"
    ),
    "plan --format csv": "--format must be one of: text, json.",
    "plan --learn threshold --accuracy 0.1": (
        "--learn must be 'thresholds' or 'intervals' or 'stumps' or 'separators'. Did you mean 'thresholds'?"
    ),
    "plan --runs 52 --size 2": "--size does not belong to --runs: leave it out.",
    "audit --mechanism large_margn": (
        f"--mechanism must be one of: {', '.join(PRIVATE)}. Did you mean 'large_margin'?"
    ),
    "ledger": "Missing command. Try: dpmine ledger --help.",
    "ledger show": "--ledger is missing: this command needs it, such as --ledger sqlite:///budget.db.",
    "ledger grant --ledger sqlite:///budget.db --dataset shop": (
        "--epsilon is missing: this command needs it, such as --epsilon 1."
    ),
    "report": "JOBS.toml is missing: the job file: a budget, inputs and jobs.",
    "report missing.toml": "Cannot read 'missing.toml': name a job file (TOML) that exists and is readable.",
    "report visits.parquet -o page.html": (
        "'visits.parquet' is not a TOML file: name the file of jobs, a text in UTF-8."
    ),
    "report jobs.toml --check": "No such option: --check. Did you mean '--dry-run'? Try: dpmine report --help.",
    "report jobs.toml -o page.html": "epsilon is missing in [budget]: write there, for example, epsilon = 1.",
    "top-itemset csvs --unit customer --item product": (
        "csvs holds no file that ends in .parquet: give a folder with such files, or say what they are "
        "(--input-format csv)."
    ),
    "top-itemset visits.csv --input-format tsv --unit customer --item product": (
        "There is no column 'customer' in the header (to see it: head -n 1 visits.csv). Check the option that "
        "names it, and what the file is (--input-format). If a text file has no header, name its columns (--columns)."
    ),
    "top-itemset visits.csv --unit Customer --item product": (
        "There is no column 'Customer' in the header (split at commas unless --delimiter says otherwise; to see it: "
        "head -n 1 visits.csv). A column has this name in other letters: check upper and lower case."
    ),
    "supports visits.csv --min-support 2 --not-private --attributes Day": (
        "There is no column 'Day' in the header (split at commas unless --delimiter says otherwise; to see it: "
        "head -n 1 visits.csv). A column has this name in other letters: check upper and lower case."
    ),
    "supports --min-support 2 --not-private --attributes visits.csv": (
        "FILE is missing: --attributes took 'visits.csv' as its columns. Put it last, or give --attributes '*'."
    ),
    "supports --min-support 2 --not-private --attributes": (
        "FILE is missing: give a path or several, - for standard input, or --query."
    ),
    f"{AGES} --lower 0 --upper 99 --train-share 50": "--train-share must lie strictly between 0 and 1, such as 0.1.",
    f"{SALES} --top 0": "k (--top) must be a whole number of at least 1.",
    "hypothesis people.parquet --label rich --features age --class separators --lower 0 --upper 99": (
        "separators weigh 2 features or more: give more (--features A,B), or stumps (--class stumps)."
    ),
}


def write_files() -> None:
    days = [date(2026, 11, 23), date(2026, 11, 24), date(2026, 11, 25)]
    rows = [(customer, day, f"{CANARY} {day.day % 2}") for customer in range(50) for day in days]
    table = pa.table(dict(zip(("customer", "day", "product"), map(list, zip(*rows, strict=True)), strict=True)))
    pq.write_table(table, "visits.parquet")
    pacsv.write_csv(table, "visits.csv")
    people = {"age": [float(age) for age in range(50)], "town": [CANARY, "b"] * 25, "rich": ["yes", "no"] * 25}
    pq.write_table(pa.table(people), "people.parquet")
    Path("headless.csv").write_text(f"1,{CANARY}\n2,milk\n", encoding="utf-8")
    Path("csvs").mkdir()
    Path("csvs/visits.csv").write_bytes(Path("visits.csv").read_bytes())
    Path("notes.txt").write_text(f"{CANARY}\n", encoding="utf-8")
    Path("two.txt").write_text(f"{CANARY} 0\n{CANARY} 1\n", encoding="utf-8")
    Path("jobs.toml").write_text('[budget]\nledger = "sqlite:///budget.db"\ndataset = "shop"\n', encoding="utf-8")


def answer(outcome: Outcome) -> str:
    """The error, without the words that every error begins with."""
    if outcome.status == 3:  # the budget
        outcome = Outcome(2, outcome.out, outcome.err)
    return assert_one_error(outcome).removeprefix("dpmine: error: ")


def test_likely_mistakes_are_answered_with_what_to_type_next(run: outcome_of) -> None:
    write_files()
    for line in BEFORE:
        assert run(*split(line)).status == 0
    assert {line: answer(run(*split(line))) for line in MISTAKES} == MISTAKES


def test_parquet_is_not_for_a_terminal(run: outcome_of, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    expected = "Parquet is not for a terminal: give -o FILE.parquet, or redirect the output."
    assert answer(run(*split(f"{SALES} --format parquet"))) == expected


@pytest.mark.parametrize(
    "command",
    ["top-itemset", "catalogue", "histogram", "classify", "hypothesis", "accuracy-first", "plan", "ledger grant"],
)
def test_both_spellings_of_neighbours(run: outcome_of, command: str) -> None:
    assert "--neighbours" in run(*command.split(), "--help").out


def test_job_files_take_both_spellings() -> None:
    write_files()
    text = Path("jobs.toml").read_text(encoding="utf-8") + 'epsilon = 1\nneighbours = "add_remove"\n\n[[job]]\n'
    job = 'kind = "top-itemset"\ninput = "visits.parquet"\nunit = "customer"\nitem = "product"\n'
    for more, relation in (("", "add_remove"), ('neighbours = "replace-one"\n', "replace-one")):
        Path("jobs.toml").write_text(text + job + more, encoding="utf-8")
        assert read_job_file(Path("jobs.toml")).jobs[0].options["neighbors"] == relation
    Path("jobs.toml").write_text(text + job + 'neighbours = "x"\nneighbors = "x"\n', encoding="utf-8")
    with pytest.raises(dpmine.BadParameter, match="There is no key 'neighbours' in job 'top-itemset 1'"):
        read_job_file(Path("jobs.toml"))
