"""Do all forms of input give the same supports, within a limit of memory, and what does reading text cost?

Usage: python benchmarks/bench_inputs.py [--rows 10000000] [--memory 200MB] [--keep FOLDER]

Online Retail, and synthetic baskets (datasets/generate.py) in long layout, as Parquet, CSV, CSV through a pipe, an
Arrow file, SQLite, DuckDB, a Delta table and a polars LazyFrame: the supports of all pairs above a threshold are
counted from each, in a process of its own; so they are under a condition that holds in every row, from a statement on
a CSV file, and from Parquet whose texts are bytes. The same baskets with one a line are counted from a file of baskets
and from lists in Parquet. Printed: elapsed time, peak resident memory, processor time beside Parquet's. For CSV and
files of baskets also the ratio to the time of Parquet plus what pyarrow.csv itself takes to read the text. Target: at
most 1.3; equal supports.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from bench_growth import generate
from deltalake import write_deltalake

ROOT = Path(__file__).resolve().parents[1]
LINE = ["supports", "--not-private", "--quiet", "--size", "2", "--format", "csv", "--unit", "unit", "--item", "item"]
MEASURED = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, *sys.argv[2:]], stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
os.write(int(sys.argv[1]), b"%d %f %d" % (status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss))
"""
"""A small process in between: a peak begins with that of the process that started it."""
LISTS = """
import sys, time, pyarrow as pa, pyarrow.compute as pc, pyarrow.csv as c
start = time.monotonic()
lines = c.open_csv(sys.argv[1], read_options=c.ReadOptions(column_names=["line"]), convert_options=c.ConvertOptions(
    column_types={"line": pa.string()}), parse_options=c.ParseOptions(delimiter="\\x01"))
items = sum(len(pc.ascii_split_whitespace(batch.column(0)).flatten()) for batch in lines)
print(time.monotonic() - start)
"""
LAZY = """
import sys, polars
import dpmine
rows, threshold, memory = polars.scan_parquet(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
found = dpmine.itemset_supports(rows, size=2, min_support=threshold, unit="unit", item="item", memory=memory)
print(len(found))
"""
READ = """
import sys, time, pyarrow as pa, pyarrow.csv as c
start = time.monotonic()
options = c.ConvertOptions(column_types={"unit": pa.string(), "item": pa.string()}, include_columns=["unit", "item"])
rows = sum(batch.num_rows for batch in c.open_csv(sys.argv[1], convert_options=options,
    parse_options=c.ParseOptions(newlines_in_values=True)))
print(time.monotonic() - start)
"""


@dataclass(frozen=True)
class Run:
    """What one process printed, its seconds and those of processors, and its peak in bytes."""

    printed: bytes
    elapsed: float
    processor: float
    peak: int


def write_forms(path: Path, names: list[str], folder: Path) -> None:
    """Two columns of a file in every form, as text where the form would keep types."""
    folder.mkdir()
    table = pq.read_table(path, columns=names).select(names).rename_columns(["unit", "item"])
    texts = table.cast(pa.schema([("unit", pa.string()), ("item", pa.string())]))
    pq.write_table(texts, folder / "rows.parquet")
    pacsv.write_csv(texts, folder / "rows.csv")
    as_bytes = texts.cast(pa.schema([("unit", pa.binary()), ("item", pa.binary())]))
    pq.write_table(as_bytes, folder / "bytes.parquet", store_schema=False)
    write_baskets(texts, folder)
    with pa.ipc.new_file(folder / "rows.arrow", texts.schema) as sink:
        sink.write_table(texts, max_chunksize=2**16)
    write_deltalake(folder / "delta", texts)
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.execute(f"CREATE TABLE rows AS SELECT * FROM '{folder}/rows.parquet'")
    with sqlite3.connect(folder / "rows.sqlite") as connection:
        connection.execute("CREATE TABLE rows (unit TEXT, item TEXT)")
        for batch in texts.to_batches(max_chunksize=2**16):
            connection.executemany("INSERT INTO rows VALUES (?, ?)", zip(*batch.to_pydict().values(), strict=True))


def write_baskets(texts: pa.Table, folder: Path) -> None:
    """The items of each unit on a line, without their blanks, and as a list in Parquet."""
    without = texts.set_column(1, "item", pc.replace_substring(texts.column("item"), " ", "_"))
    lists = without.group_by("unit", use_threads=False).aggregate([("item", "list")]).column("item_list")
    pq.write_table(pa.table({"items": lists}), folder / "lists.parquet")
    with (folder / "lists.dat").open("w", encoding="utf-8") as sink:
        for chunk in lists.chunks:
            sink.writelines(f"{line}\n" for line in pc.binary_join(chunk, " ").to_pylist())


def counted(arguments: list[str], *, piped: Path | None = None) -> Run:
    """A process of this Python; raises where it fails."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "cli")])}
    start = time.monotonic()
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as usage,
        (piped or Path(os.devnull)).open("rb") as given,
    ):
        number = usage.fileno()
        command = [sys.executable, "-I", "-S", "-c", MEASURED, str(number), *arguments]
        subprocess.run(command, stdin=given, stdout=out, env=environment, pass_fds=[number], check=True)
        elapsed = time.monotonic() - start
        out.seek(0)
        usage.seek(0)
        status, processor, peak = usage.read().split()
        if int(status):
            raise SystemExit(f"{arguments} ended with status {int(status)}")
        return Run(out.read(), elapsed, float(processor), int(peak) * 1024)


def compare(name: str, folder: Path, threshold: int, memory: str) -> None:
    """One line a form, and the ratio of CSV."""
    command = ["-m", "dpmine_cli.main", *LINE, "--min-support", str(threshold), "--memory", memory]
    query = ["--query", "SELECT unit, item FROM rows", "--database"]
    forms = {
        "Parquet": [*command, str(folder / "rows.parquet")],
        "CSV": [*command, str(folder / "rows.csv")],
        "CSV, piped": [*command, "-"],
        "Parquet, piped": [*command, "-"],
        "Arrow": [*command, str(folder / "rows.arrow")],
        "Delta": [*command, str(folder / "delta")],
        "DuckDB": [*command, *query, f"duckdb:///{folder}/rows.duckdb"],
        "SQLite": [*command, *query, f"sqlite:///{folder}/rows.sqlite"],
        "Condition": [*command, str(folder / "rows.csv"), "--where", "item <> ''"],
        "Statement": [*command, "--query", f"SELECT item, unit FROM '{folder}/rows.csv' WHERE item <> ''"],
        "Query, file": [
            *command,
            *query[:1],
            f"SELECT unit, item FROM '{folder}/rows.parquet'",
            "--database",
            "duckdb:///:memory:",
        ],
        "Bytes": [*command, str(folder / "bytes.parquet"), "--types", "unit=text,item=text"],
    }
    print(f"{name}, --memory {memory}, pairs of at least {threshold} units")
    runs = {}
    for form, arguments in forms.items():
        piped = folder / f"rows.{form.split(',')[0].lower()}" if form.endswith("piped") else None
        runs[form] = run = counted(arguments, piped=piped)
        beside = run.processor / runs["Parquet"].processor
        print(f"  {form:<14} {run.elapsed:7.2f} s {run.peak / 2**20:7.0f} MiB {beside:6.2f} times", flush=True)
    lazy = counted(["-c", LAZY, str(folder / "rows.parquet"), str(threshold), memory])
    print(f"  {'LazyFrame':<14} {lazy.elapsed:7.2f} s {lazy.peak / 2**20:7.0f} MiB")
    lines = {form: sorted(run.printed.splitlines()) for form, run in runs.items()}
    if any(found != lines["Parquet"] for found in lines.values()) or int(lazy.printed) != len(lines["Parquet"]) - 1:
        raise SystemExit("The forms differ.")
    alone = float(counted(["-c", READ, str(folder / "rows.csv")]).printed)
    ratio = runs["CSV"].elapsed / (runs["Parquet"].elapsed + alone)
    print(f"  equal supports of {len(lines['Parquet']) - 1} pairs; pyarrow.csv alone {alone:.2f} s; CSV is {ratio:.2f}")
    compare_baskets(folder, command)


def compare_baskets(folder: Path, command: list[str]) -> None:
    """The same for one basket a line."""
    whole = [word for word in command if word not in {"--unit", "unit", "--item", "item"}]
    lists, text = (counted([*whole, str(folder / f"lists.{ending}")]) for ending in ("parquet", "dat"))
    if sorted(lists.printed.splitlines()) != sorted(text.printed.splitlines()):
        raise SystemExit("The baskets differ.")
    alone = float(counted(["-c", LISTS, str(folder / "lists.dat")]).printed)
    ratio = text.elapsed / (lists.elapsed + alone)
    print(f"  Lists {lists.elapsed:.2f} s {lists.peak / 2**20:.0f} MiB; basket file {text.elapsed:.2f} s", end=" ")
    print(f"{text.peak / 2**20:.0f} MiB; reading alone {alone:.2f} s; the basket file is {ratio:.2f}")


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=10**7, help="of the synthetic data")
    parser.add_argument("--memory", default="200MB", help="limit that is given to dpmine")
    parser.add_argument("--keep", type=Path, help="folder for the data, which are kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        base = options.keep or Path(temporary)
        base.mkdir(exist_ok=True)
        synthetic = generate(base, max(1, options.rows // 10**6))
        for name, path, names, threshold in (
            ("Online Retail", ROOT / "datasets" / "online_retail.parquet", ["InvoiceNo", "Item"], 300),
            ("Synthetic", synthetic, ["transaction_id", "item"], 2000),
        ):
            folder = base / name.replace(" ", "-").lower()
            if not folder.exists():  # by a process of its own: a peak counts what the parent held, too
                writer = get_context("spawn").Process(target=write_forms, args=(path, names, folder))
                writer.start()
                writer.join()
            compare(name, folder, threshold, options.memory)


if __name__ == "__main__":
    main()
