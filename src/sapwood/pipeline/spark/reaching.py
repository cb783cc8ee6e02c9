"""The reach of a place: Spark's by Java's file systems, this process's and workers' by pyarrow.

Lacks of a store are not always known from outside: jars on a cluster, credentials of executors, a
library of Hadoop's beside pyarrow. So each of them has to look.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sapwood.errors import FileFormatError, SapwoodError
from sapwood.pipeline.spark.faults import is_unknown_scheme, spark_errors, spark_faults
from sapwood.pipeline.spark.places import (
    Place,
    Store,
    has_options,
    is_remote,
    opened,
    shown,
    store_faults,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_LOG: Final = logging.getLogger("sapwood.pipeline")


@dataclass(frozen=True, slots=True)
class Look:
    """The function for `mapInArrow` that looks for a place: rows in, why not out, if so."""

    place: Place

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Look once, whatever comes in."""
        import pyarrow as pa

        for _ in batches:
            continue
        try:
            looked_at(self.place.store)
        except FileFormatError as error:
            yield pa.RecordBatch.from_arrays([pa.array([error.reason])], names=["reason"])


def looked_at(uri: str) -> Store:
    """The store of a URI that has answered. Raises `FileFormatError` where it does not."""
    store = opened(uri)
    with store_faults(uri):
        store.files.get_file_info([store.path])
    return store


def store_here(spark: SparkSession, path: str) -> Store | None:
    """The store at a path that this process reaches.

    `None` for places on this machine, and for those that only Spark reaches, with the reason in the
    log. Raises `FileFormatError` for those that Spark does not reach either.
    """
    return _store_or_spark(spark, path, looked_at) if is_remote(path) else None


def store_for_workers(spark: SparkSession, path: str) -> Store | None:
    """As `store_here`, of a store that workers reach as well."""

    def reached(uri: str) -> Store:
        store = looked_at(uri)
        _check_workers(spark, store)
        return store

    return _store_or_spark(spark, path, reached) if is_remote(path) else None


def log_reason(path: str, reason: str) -> None:
    """Log the reason why Spark reads, or writes, at a path."""
    _LOG.info("%s goes through Spark: %s", shown(path), reason)


def spark_reaches(spark: SparkSession, path: str) -> bool:
    """True if Spark has a file system for a path; it may be one that does not answer.

    None of Spark's understands options in a URI.
    """
    if has_options(path):
        return False
    try:
        with spark_faults():
            spark.read.text(path).schema  # noqa: B018 - reading the schema looks for the path
    except SapwoodError:
        return True
    except spark_errors() as error:
        return not is_unknown_scheme(error)
    return True


def _store_or_spark(
    spark: SparkSession, path: str, reached: Callable[[str], Store]
) -> Store | None:
    try:
        return reached(path)
    except FileFormatError as error:
        if not spark_reaches(spark, path):
            raise
        log_reason(path, error.reason)
        return None


def _check_workers(spark: SparkSession, store: Store) -> None:
    """Raise `FileFormatError` where a worker does not reach a store."""
    look = Look(store.place)
    reasons = spark.range(0, 1, 1, 1).mapInArrow(look, "reason STRING").collect()
    if reasons:
        raise FileFormatError(shown(store.uri), f"executors: {reasons[0]['reason']}")
