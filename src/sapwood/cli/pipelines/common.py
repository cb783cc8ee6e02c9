"""Shared parts of the commands below `sapwood pipeline`: options, session, words for counts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sapwood.cli.output import (
    say,
)
from sapwood.errors import FileFormatError, InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from sapwood.pipeline.spark.usage import Usage
    from sapwood.pipeline.tables.declared_schema import DeclaredSchema
    from sapwood.pipeline.tables.summaries import Counts

DEFAULT_ENGINE: Final = "columnar"

_NOT_PLAIN: Final = frozenset(":*?[{\\")
"""Characters of addresses, of stores and of patterns; a path with one is for Spark to read."""

_CONFIGURATIONS: Final = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR")
"""Variables of the environment by which plain paths may be in another file system."""

master_option = click.option(
    "--master",
    help="Where Spark runs: local[N], spark://host:port, yarn, sc://host (Spark Connect). Not "
    "under spark-submit, which has its own option.  [default: local[2]]",
)
rejected_option = click.option(
    "--rejected", help="Folder for rejected rows.  [default: that of --out with .rejected added]"
)
schema_option = click.option(
    "--schema",
    help='Types of the attributes: Spark DDL, such as "price DOUBLE, symbol STRING", or a file '
    ".toml or .json.",
)
engine_option = click.option(
    "--engine", default=DEFAULT_ENGINE, show_default=True, help="See `sapwood engines`."
)

explain_option = click.option(
    "--explain", is_flag=True, help="Print the physical plan and do nothing else."
)


def check_inputs(master: str | None, *paths: str | None) -> None:
    """Raise `FileFormatError` for a file that is not there, before a session is started for it.

    Starting one takes seconds. A path that is not surely of this machine is left to the session.
    """
    from sapwood.pipeline.spark.session import is_local, under_spark_submit

    if under_spark_submit() or not (master is None or is_local(master)):
        return
    if any(name in os.environ for name in _CONFIGURATIONS):
        return
    for path in paths:
        if path is not None and _NOT_PLAIN.isdisjoint(path) and not Path(path).exists():
            raise FileFormatError(path, "there is no such file or folder")


@contextmanager
def session(master: str | None, description: str) -> Iterator[SparkSession]:
    """The session to work with; on a terminal its facts and progress are shown.

    Its failures become one line.
    """
    from sapwood.pipeline.spark.faults import first_line, is_worker_defect, spark_errors
    from sapwood.pipeline.spark.progress import task_progress
    from sapwood.pipeline.spark.session import describe, running_session

    with running_session("sapwood pipeline", master=master) as spark:
        try:
            if sys.stderr.isatty():
                say(str(describe(spark)))
            with task_progress(spark, description):
                yield spark
        except spark_errors() as error:
            if is_worker_defect(error):
                raise
            raise click.ClickException(f"Spark: {first_line(error)}") from error


def await_end(query: StreamingQuery, *, endless: bool) -> None:
    """Return when a query has ended; being interrupted is how one without an end ends."""
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        if not endless:
            raise
    finally:
        query.stop()


def declared_by(
    text_or_path: str | None,
    id_columns: tuple[str, ...] = (),
    null_value: str | None = None,
) -> DeclaredSchema | None:
    """The declared schema; options go before the schema file."""
    from dataclasses import replace

    from sapwood.pipeline.tables.declared_schema import declared_schema

    if text_or_path is None:
        if id_columns or null_value is not None:
            raise InputError("--id and --null-value describe CSV, which needs a --schema as well")
        return None
    declared = declared_schema(text_or_path)
    if id_columns:
        declared = replace(declared, id_columns=id_columns)
    if null_value is not None:
        declared = replace(declared, null_value=null_value)
    return declared


def count_members(counts: Counts) -> dict[str, int]:
    """The counts of the rows of one input, as JSON."""
    return {"read": counts.read, "good": counts.good, "rejected": counts.rejected}


def usage_line(usage: Usage) -> str:
    """The resources that a job took of this machine, in words."""
    peaks = (usage.peak_bytes, usage.jvm_peak_bytes, usage.python_peak_bytes)
    most, jvm, python = (peak / 2**30 for peak in peaks)
    return (
        f"it took {usage.cpu_s:,.0f} s of processor time and at most {most:.2f} GiB of memory "
        f"({jvm:.2f} the JVM, {python:.2f} Python)"
    )
