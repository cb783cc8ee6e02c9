"""A folder that is made beside the place where it is to be, and put there when it is whole.

::

    .deliveries.writing/_3f...e1.parquet    what tasks write
    deliveries/part-00000.parquet           what it becomes, by a rename

The earlier content stays until then, and is moved aside by another rename just before. A job that
is cut short leaves hidden folders, which the next one with the same result removes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sapwood.errors import FileFormatError
from sapwood.matching.storage import put_in_place, remove
from sapwood.pipeline.results.committing import StoreStaging, begin_staging
from sapwood.pipeline.results.output import exists, local_path
from sapwood.pipeline.results.storing import Stored
from sapwood.pipeline.spark.checks import agree
from sapwood.pipeline.spark.places import HERE, Place, Store
from sapwood.pipeline.spark.reaching import log_reason, spark_reaches, store_for_workers

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Staging:
    """The `folder` in which tasks write, and the `target` that it is to become."""

    folder: Path
    target: Path

    @property
    def place(self) -> Place:
        """The folder in which tasks write."""
        return Place(HERE, str(self.folder))

    def put_in_place(self, files: Sequence[Stored], schema: pa.Schema) -> int:
        """Put the folder with these files in place; returns how many rows they have.

        A result without rows has a file with the columns of the `schema`. Other files in the
        folder, of tasks that do not count, are removed. Raises `FileFormatError` where a file is
        missing or nothing can be put there, and `InvariantError` if the files do not have the
        rows that tasks counted.
        """
        import pyarrow.parquet as pq

        try:
            chosen = sorted(files)
            for number, stored in enumerate(chosen):
                os.rename(self.folder / stored.file, self.folder / _name(number))
            if not chosen:
                pq.write_table(schema.empty_table(), self.folder / _name(0), store_schema=False)
            for path in self.folder.glob("_*"):
                path.unlink()
            (self.folder / "_SUCCESS").touch()
            found = [pq.read_metadata(path).num_rows for path in self.folder.glob("*.parquet")]
            agree("rows", sum(stored.rows for stored in chosen), sum(found))
            put_in_place(self.folder, self.target, _beside(self.target, "earlier"))
        except OSError as error:
            said = error.strerror or str(error)
            raise FileFormatError(str(self.target), f"cannot be written: {said}") from None
        return sum(found)

    def remove(self) -> None:
        """Remove the rest of the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


def staging_for(spark: SparkSession, path: str) -> Staging | StoreStaging | None:
    """A new folder beside `path`, if Spark sees the same there as this process; else `None`.

    In a store it is within `path` (`committing`), and Spark need not see it, but workers must.
    `None`, too, where a folder cannot be put in place of another. Raises `FileFormatError` for a
    store that cannot be written to.
    """
    store = store_for_workers(spark, path)
    if store is not None:
        return _begin_in_store(spark, store)
    local = local_path(path)
    if local is None:
        return None
    target = local.resolve()
    if target.is_mount():
        return None
    folder = _beside(target, "writing")
    made = [folder, *(parent for parent in folder.parents if not parent.exists())]
    try:
        remove(folder)
        folder.mkdir(parents=True)
    except OSError:
        return None
    if exists(spark, str(folder)):
        return Staging(folder, target)
    for each in made:
        each.rmdir()
    return None


def _begin_in_store(spark: SparkSession, store: Store) -> StoreStaging | None:
    try:
        return begin_staging(store)
    except FileFormatError as error:
        if not spark_reaches(spark, store.uri):
            raise
        log_reason(store.uri, error.reason)
        return None


def _beside(target: Path, suffix: str) -> Path:
    return target.with_name(f".{target.name}.{suffix}")


def _name(number: int) -> str:
    return f"part-{number:05}.parquet"
