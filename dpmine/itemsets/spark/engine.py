"""Which engine counts: this process, or a Spark cluster. Nothing here needs pyspark."""

from __future__ import annotations

import sys
from enum import StrEnum
from os import PathLike
from typing import Any

from dpmine.errors import BadParameter
from dpmine.parameters import named


class Engine(StrEnum):
    """What counts supports."""

    LOCAL = "local"
    """This process, out of core where the data do not fit into memory."""
    SPARK = "spark"
    """A Spark cluster; this process selects."""


def engine_of(engine: str | Engine, data: Any) -> Engine:
    """The engine for these data: a Spark frame is counted by Spark whatever is asked for. Raises BadParameter."""
    asked = named(Engine, "engine", engine)
    if is_spark_frame(data):
        return Engine.SPARK
    if asked is Engine.SPARK and not _are_paths(data):
        raise BadParameter(
            "engine 'spark' (--engine spark) reads paths or a Spark DataFrame: give one of these, or leave engine out."
        )
    return asked


def is_spark_frame(data: Any) -> bool:
    """Whether data are a frame of Spark, classic or of Spark Connect. Looks at the kind alone."""
    spark = sys.modules.get("pyspark.sql")  # a frame can only come from a program that imported it
    return spark is not None and isinstance(data, spark.DataFrame)


def paths_of(data: Any) -> list[str]:
    """The paths as texts."""
    return [str(path) for path in ([data] if isinstance(data, str | PathLike) else data)]


def _are_paths(data: Any) -> bool:
    if isinstance(data, str | PathLike):
        return True
    return isinstance(data, list | tuple) and bool(data) and all(isinstance(path, str | PathLike) for path in data)
