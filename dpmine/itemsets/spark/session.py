"""A Spark session, Spark's functions, and its errors replaced by ones that quote no data.

Spark's messages hold values of rows and of plans, so none of them is passed on. A session made here logs nothing.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from socket import gethostname
from threading import RLock, Thread, current_thread, main_thread
from time import time_ns
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from dpmine.errors import BadData, BadParameter, DpmineError
from dpmine.io.arrow import LONGEST_TEXT, is_text
from dpmine.silence import Shared, no_warnings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession


_PATIENCE = 10.0  # seconds until an address counts as one at which no server responds
_CONNECT_PORT = 15002
_MASTER = re.compile(r"--master[ =]+(\S+)")
_CONFIGURED = ("SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "MASTER")
_QUIET = {"spark.ui.showConsoleProgress": "false"}
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_STARTING = RLock()
_PER_CORE = 4  # partitions of a shuffle
_NO_PYSPARK = (
    "pyspark is not installed: pip install \"dpmine[spark]\" (and Java 17 or newer), or count with engine 'local'."
)
_NO_CONNECT = 'SPARK_REMOTE needs more packages than pyspark alone: pip install "pyspark[connect]".'
_NOT_STARTED = (
    "Spark could not be started: see that Java 17 or newer runs (JAVA_HOME), and that SPARK_REMOTE, "
    "PYSPARK_SUBMIT_ARGS and spark-defaults.conf name a cluster that can be reached."
)
UNREADABLE = (
    "Spark failed while it read the data: see that the files are whole and of one schema, that the columns can be read "
    "by themselves, and that the executors have memory and disk left (see their logs)."
)
_FAILED = (
    "Spark failed: see that the data can be read by themselves, and that the executors have memory and disk left "
    "(see their logs)."
)


class _Functions:
    """`pyspark.sql.functions`, imported with the first one that is called: pyspark need not be installed."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python's own questions, such as those of doctest, do not need pyspark
            raise AttributeError(name)
        from pyspark.sql import functions as found

        return getattr(found, name)


functions: Any = _Functions()


def short(column: Column, kind: pa.DataType) -> Column:
    """With null for texts that are too long, as `without_long_texts` does here; other kinds as they are."""
    return functions.when(functions.octet_length(column) <= LONGEST_TEXT, column) if is_text(kind) else column


def spark_session(memory: int) -> SparkSession:
    """The active session; else one as the environment configures it; else a quiet local one of `memory` bytes.

    Raises BadParameter, with what to do, where pyspark or Java is missing or the cluster does not answer.
    """
    sql = _pyspark()
    active = sql.SparkSession.getActiveSession()
    if active is not None:
        return active
    _require_answers()
    try:
        with _silent, _STARTING:
            return _started(sql, memory)
    except DpmineError:
        raise
    except ImportError:
        raise BadParameter(_NO_CONNECT) from None
    except Exception:  # noqa: BLE001 - whatever Java, the gateway and the network raise quotes their surroundings
        raise BadParameter(_NOT_STARTED) from None


@contextmanager
def replacing(message: str = _FAILED, kind: type[DpmineError] = BadData) -> Iterator[None]:
    """Errors of Spark inside become `kind`, with this message and nothing of theirs."""
    try:
        with _silent:
            yield
    except DpmineError:
        raise
    except Exception as error:
        if _was_interrupted(error):
            raise KeyboardInterrupt from None
        if not _is_foreign(error):
            raise
        raise kind(message) from None


def condition_of(error: Exception) -> str:
    """The name of the error's kind in Spark's list of errors; empty where it has none."""
    thrown = getattr(error, "java_exception", error)  # where pyspark has no class for it
    known = getattr(thrown, "getCondition", None) or getattr(thrown, "getErrorClass", None)
    with suppress(Exception):  # what Java threw need not be of Spark, and then has no such method
        return str(known() or "") if known is not None else ""
    return ""


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether an error came of an interrupt: pyspark's handler cancels jobs, which then fail."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _is_foreign(error: Exception) -> bool:
    """Whether an error is one of Spark, of its gateway or of the way to it, or of values on that way."""
    module = type(error).__module__.partition(".")[0]
    kinds = (OSError, ValueError, TypeError, RuntimeError, LookupError, AttributeError)  # the last: a stopped session
    return module in {"pyspark", "py4j", "grpc", "google", "pyarrow", "pandas"} or isinstance(error, kinds)


def _pyspark() -> Any:
    try:
        with _silent:
            from pyspark import sql
    except ImportError:
        raise BadParameter(_NO_PYSPARK) from None
    return sql


def _started(sql: Any, memory: int) -> Any:
    if os.environ.get("SPARK_REMOTE") or os.environ.get("PYSPARK_GATEWAY_PORT"):  # another's process
        return sql.SparkSession.builder.getOrCreate()
    from pyspark import SparkConf, SparkContext

    if SparkContext._active_spark_context is None:  # noqa: SLF001 - there is no other way to ask
        configuration = SparkConf()
        for name, value in _settings(memory).items():
            configuration.set(name, value)
        # A Java that an earlier session left behind is used again.
        gateway = None if SparkContext._gateway else _quiet_gateway(configuration)  # noqa: SLF001 - as above
        with _listening_as_before():
            SparkContext(conf=configuration, gateway=gateway).setLogLevel("OFF")
    return sql.SparkSession.builder.getOrCreate()


def _quiet_gateway(configuration: Any) -> Any:
    """A Java of our own, whose logs go nowhere: they hold paths, plans and rows."""
    from pyspark.java_gateway import launch_gateway

    with Path(os.devnull).open("wb") as nowhere:
        return launch_gateway(configuration, {"stdout": nowhere, "stderr": nowhere})


@contextmanager
def _listening_as_before() -> Iterator[None]:
    """Pyspark listens to interrupts instead of Python itself, but not instead of a program that does so already."""
    before = signal.getsignal(signal.SIGINT)
    yield
    # None: a handler that Python does not know and cannot put back.
    if before not in {None, signal.default_int_handler} and current_thread() is main_thread():
        signal.signal(signal.SIGINT, before)


def _settings(memory: int) -> dict[str, str]:
    """Of a session made here: those of the environment where there are any, else of a small cluster in one process."""
    if _is_configured():
        return _QUIET
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # or the first python3 on the path, without this library
    return {
        **_QUIET,
        "spark.master": "local[*]",
        "spark.ui.enabled": "false",  # it shows plans and rows
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError",  # else jobs may wait for ever
        "spark.driver.memory": f"{max(memory >> 20, 512)}m",
        "spark.driver.maxResultSize": "0",  # what is listed is limited before
        "spark.sql.shuffle.partitions": str(_PER_CORE * (os.cpu_count() or 1)),
    }


def _is_configured() -> bool:
    installed = os.environ.get("SPARK_HOME")  # pyspark sets it for itself, to a folder without settings
    files = Path(installed, "conf", "spark-defaults.conf") if installed else None
    return any(os.environ.get(name) for name in _CONFIGURED) or (files is not None and files.exists())


def _require_answers() -> None:
    """No caller waits minutes for a cluster whose address does not answer."""
    remote = os.environ.get("SPARK_REMOTE", "")
    if remote and not remote.startswith("sc://"):
        raise BadParameter(
            "SPARK_REMOTE must be an address such as sc://host: leave it out for a session of this machine."
        )
    named = _MASTER.search(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    master = remote or os.environ.get("MASTER", "") or (named[1] if named else "")
    if master.startswith(("sc://", "spark://")) and not any(map(_answers, _addresses(master))):
        shown = "SPARK_REMOTE" if remote else "the Spark master"
        raise BadParameter(f"No server responds at the address in {shown}: check it, and that the cluster is running.")


def _addresses(master: str) -> list[tuple[str, int]]:
    """Host and port of every server that an address names."""
    servers = master.partition("://")[2].partition("/")[0].split(",")
    found = []
    for server in servers:
        host, _, port = server.rpartition(":") if server.rpartition(":")[2].isdigit() else (server, "", "")
        found.append((host.strip("[]"), int(port or _CONNECT_PORT)))
    return found


def _answers(address: tuple[str, int]) -> bool:
    with suppress(OSError, OverflowError), socket.create_connection(address, timeout=_PATIENCE):
        return True
    return False


@contextmanager
def _quiet() -> Iterator[None]:
    """Pyspark warns of pandas versions, which nothing here uses, and logs the values of rows that fail."""
    with no_warnings:
        from pyspark.logger import PySparkLogger

        loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
        before = [logger.disabled for logger in loggers]
        for logger in loggers:
            logger.disabled = True
        yield
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


_silent = Shared(_quiet)
_PROCESS = f"{gethostname()} {os.getpid()} {time_ns()}"
_NUMBERS = count()
_LIVE: WeakSet[KeptFrames] = WeakSet()


@dataclass(frozen=True, eq=False)
class KeptFrames:
    """Frames that the cluster keeps for us, until they are released."""

    session: SparkSession
    frames: list[DataFrame] = field(default_factory=list)

    def __post_init__(self) -> None:
        _LIVE.add(self)

    def keep(self, frame: DataFrame) -> DataFrame:
        """The frame, stored by the cluster once it is computed: in memory, else on the executors' disks."""
        from pyspark import StorageLevel

        # Frames of one plan share what is kept, and lose it together: a condition that always holds distinguishes them.
        own = frame.where(functions.lit(f"{_PROCESS} {next(_NUMBERS)}") != "")
        self.frames.append(own)
        with replacing():
            return own.persist(StorageLevel.MEMORY_AND_DISK)

    def release(self, frame: DataFrame) -> None:
        """The cluster need not keep this frame any more."""
        self.frames[:] = [kept for kept in self.frames if kept is not frame]
        # A session that is gone has released everything.
        with suppress(Exception):
            frame.unpersist()

    def release_all(self) -> None:
        """Nothing is kept any more."""
        for frame in list(self.frames):
            self.release(frame)


def abandon(seconds: float) -> None:
    """For a process that is about to end: servers of Spark Connect cancel what they do for it, and keep nothing.

    Waits at most this long. A Spark inside this process ends with the process.
    """
    remote = [kept for kept in list(_LIVE) if type(kept.session).__module__.startswith("pyspark.sql.connect")]
    if remote:
        letting_go = Thread(target=_let_go, args=(remote,), daemon=True)
        letting_go.start()
        letting_go.join(seconds)


def _let_go(all_kept: Sequence[KeptFrames]) -> None:
    for kept in all_kept:
        with suppress(Exception):
            kept.session.interruptAll()
        kept.release_all()
