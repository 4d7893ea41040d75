"""Whether the executors have this library; where they lack it, SQL counts, which takes longer."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dpmine.errors import DpmineError, SpeedWarning, warn
from dpmine.itemsets.spark.blocks import VERSION, versions
from dpmine.itemsets.spark.session import replacing
from dpmine.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_known: WeakKeyDictionary[SparkSession, bool] = WeakKeyDictionary()
_SAMPLE = 64  # rows, in as many tasks as the cluster has cores
_SLOW = (
    "The executors of Spark cannot import this version of dpmine, so Spark's SQL counts, which is slower: install "
    "dpmine and pyarrow there, or send them with spark.archives (see 'Count on Spark' in the manual)."
)


def count_themselves(session: SparkSession) -> bool:
    """Whether executors can import this version of dpmine with its kernels. The first time, a job without data."""
    found = _known.get(session)
    if found is None:
        found = _known[session] = _found(session)
        if not found:
            warn(_SLOW, SpeedWarning)
    return found


def _found(session: SparkSession) -> bool:
    try:
        with replacing():
            rows = session.range(_SAMPLE).mapInArrow(versions, VERSION).distinct().collect()
    except DpmineError:
        return False
    return [row[0] for row in rows] == [__version__]
