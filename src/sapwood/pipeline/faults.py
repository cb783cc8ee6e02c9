"""Spark's errors in our own words, where they are about what the user handed in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sapwood.errors import EnvironmentMissingError, FileFormatError, InputError, SapwoodError

_OURS: Final = re.compile(r"^sapwood\.errors\.(?!InvariantError)\w+: (.*)", re.MULTILINE)
"""The last line of a traceback of ours, as it comes back from a worker."""

_MISSING: Final = re.compile(r"No module named 'sapwood\b")

_UNREADABLE: Final = (
    "UNABLE_TO_INFER_SCHEMA",
    "FAILED_READ_FILE",
    "CANNOT_READ_FILE_FOOTER",
)


@contextmanager
def spark_faults(path: str | None = None) -> Iterator[None]:
    """Raise what Spark says about `path`, or what a worker of ours says, as a `SapwoodError`.

    Anything else passes as it is.
    """
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        ours = _translated(error.getCondition() or "", str(error), path)
        if ours is None:
            raise
        raise ours from error


def _translated(condition: str, message: str, path: str | None) -> SapwoodError | None:
    if path is not None and condition == "PATH_NOT_FOUND":
        return FileFormatError(path, "there is no such file or folder")
    if path is not None and condition.startswith(_UNREADABLE):
        return FileFormatError(path, "holds no Parquet files, or damaged ones")
    found = _OURS.search(message)
    if found is not None:
        return InputError(found[1])
    if _MISSING.search(message):
        return EnvironmentMissingError(
            "the Python of the executors has no package sapwood: install it there, or set "
            "PYSPARK_PYTHON to an interpreter that has it"
        )
    return None
