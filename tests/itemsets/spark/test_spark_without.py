"""The engine "spark" where something is missing: one line that says what to do, and nothing was charged."""

from __future__ import annotations

import json
import socket
import warnings
from fractions import Fraction
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dpmine_cli import messages
from support.command_line import assert_one_error, python, spawn
from support.oracles.spark import require_spark

import dpmine
from dpmine.itemsets.spark.session import KeptFrames, replacing

if TYPE_CHECKING:
    from pathlib import Path

NO_PYSPARK = "import sys; sys.modules['pyspark'] = None; import dpmine_cli.main as m; m.main()"


@pytest.fixture
def sales(tmp_path: Path) -> str:
    path = str(tmp_path / "sales.parquet")
    pq.write_table(pa.table({"u": [1, 1, 2, 2], "i": ["a", "b", "a", "b"]}), path)
    return path


def test_no_pyspark(sales: str, tmp_path: Path) -> None:
    ledger = f"sqlite:///{tmp_path}/b.db"
    dpmine.Ledger(ledger).grant("shop", epsilon=3, delta=1e-6)
    outcome = python(
        NO_PYSPARK,
        *("top-itemset", sales, "--engine", "spark", "--ledger", ledger, "--dataset", "shop"),
    )
    assert "dpmine[spark]" in assert_one_error(outcome)
    shown = spawn("ledger", "show", "--ledger", ledger, "--format", "json")
    assert json.loads(shown.out)["datasets"][0]["spent"]["epsilon"] == 0


def test_baskets_are_no_paths() -> None:
    with pytest.raises(dpmine.BadParameter, match="Spark DataFrame"):
        dpmine.top_itemset([["a", "b"]], engine="spark")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["top-itemset", "supports"])
def test_an_engine_that_is_none(sales: str, command: str) -> None:
    rest = ["--min-support", "1", "--not-private"] if command == "supports" else []
    assert "'local' or 'spark'" in assert_one_error(spawn(command, sales, "--engine", "storm", *rest))


@pytest.mark.spark
def test_no_java(sales: str, tmp_path: Path) -> None:
    require_spark()
    nothing = {"PATH": str(tmp_path), "JAVA_HOME": str(tmp_path / "none")}
    assert "JAVA_HOME" in assert_one_error(spawn("top-itemset", sales, "--engine", "spark", variables=nothing))


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["sc", "spark"])
def test_nobody_answers(sales: str, kind: str) -> None:
    require_spark()
    with socket.socket() as free:  # bound and not listening: whoever connects is refused
        free.bind(("127.0.0.1", 0))
        address = f"{kind}://127.0.0.1:{free.getsockname()[1]}"
        named = {"SPARK_REMOTE": address} if kind == "sc" else {"MASTER": address}
        outcome = spawn("top-itemset", sales, "--engine", "spark", variables=named)
    assert "No server responds" in assert_one_error(outcome)
    assert "127.0.0.1" not in outcome.err


@pytest.mark.spark
def test_a_remote_that_is_no_address(sales: str) -> None:
    require_spark()
    outcome = spawn("top-itemset", sales, "--engine", "spark", variables={"SPARK_REMOTE": "local[2]"})
    assert "sc://" in assert_one_error(outcome)


LISTENING = """
import signal
from dpmine.itemsets.spark.session import spark_session
signal.signal(signal.SIGINT, print)
spark_session(1 << 29)
assert signal.getsignal(signal.SIGINT) is print
"""


@pytest.mark.spark
def test_a_program_that_listens_to_interrupts_goes_on_doing_it() -> None:
    require_spark()
    outcome = python(LISTENING)
    assert outcome.status == 0, outcome.err


STOPPED = """
import os
from pathlib import Path
from dpmine.itemsets.spark.session import spark_session
first = spark_session(1 << 29)
first.stop()
assert spark_session(1 << 29).range(3).count() == 3
print(len(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()))
"""


@pytest.mark.spark
def test_a_session_after_another_one_starts_no_second_java() -> None:
    require_spark()
    outcome = python(STOPPED)
    assert (outcome.status, outcome.out) == (0, "1\n"), outcome.err


@pytest.mark.spark
def test_warnings_come_back_whoever_leaves_first() -> None:
    require_spark()
    before = list(warnings.filters)
    first, second = replacing(), replacing()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert warnings.filters[0][0] == "ignore"
    second.__exit__(None, None, None)
    assert warnings.filters == before


class _Session:
    """A session of Spark Connect, as far as an end goes."""

    __module__ = "pyspark.sql.connect.session"
    interrupted = 0

    def interruptAll(self) -> None:  # noqa: N802 - Spark's name
        self.interrupted += 1


class _Frame:
    kept = True

    def unpersist(self) -> None:
        self.kept = False


def test_servers_are_told_of_an_end() -> None:
    session, frame = _Session(), _Frame()
    kept = KeptFrames(session, [frame])
    messages._abandon_cluster()
    assert session.interrupted == 1
    assert not frame.kept
    assert not kept.frames


@pytest.mark.spark
def test_what_fails_because_of_an_interrupt_is_one() -> None:
    require_spark()
    with pytest.raises(KeyboardInterrupt), replacing():
        interrupted()


def interrupted() -> None:
    try:
        raise KeyboardInterrupt
    finally:
        try:
            int("a job")
        except ValueError:
            Fraction("cancelled")


@pytest.mark.spark
def test_settings_that_spark_refuses(sales: str) -> None:
    require_spark()
    wrong = {"PYSPARK_SUBMIT_ARGS": "--master nonsense pyspark-shell", "SPARK_LOCAL_IP": "127.0.0.1"}
    assert "Spark could not be started" in assert_one_error(
        spawn("top-itemset", sales, "--engine", "spark", variables=wrong)
    )
