"""One small Spark for all tests that need it; skipped, with the reason, where it cannot run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.oracles.spark import require_spark

from dpmine.itemsets.spark.session import spark_session

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    # Most of these jobs end before a second compiler helps; and a job that waits for memory would wait for ever.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session as dpmine makes one, configured as a cluster's user would: by files of settings."""
    require_spark()
    settings = tmp_path_factory.mktemp("conf")
    Path(settings, "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in SMALL.items()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(settings))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = spark_session(1 << 30)
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def nothing_cached(request: pytest.FixtureRequest) -> None:
    """What earlier tests left in the session's cache is none of the next one's business."""
    if "spark" in request.fixturenames:
        request.getfixturevalue("spark").catalog.clearCache()
