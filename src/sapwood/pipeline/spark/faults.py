"""Spark's errors in our own words, where they are about the user's input."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Final

from sapwood.errors import EnvironmentMissingError, FileFormatError, InputError, SapwoodError
from sapwood.pipeline.spark.places import shown

_OURS: Final = re.compile(r"^sapwood\.errors\.(?!InvariantError)\w+: (.*)", re.MULTILINE)
"""The last line of a traceback of ours, as it comes back from a worker."""

_CONDITION: Final = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")

_MISSING: Final = re.compile(r"No module named 'sapwood\b")

_NEWER_LOG: Final = re.compile(r"log version is v\d+, but encountered v\d+")
"""The message about a checkpoint's logs; there is no condition for it."""

_UNKNOWN_SCHEME: Final = re.compile(
    r"No FileSystem for scheme|Class org\.apache\.hadoop\.fs\.\S+ not found"
    r"|ClassNotFoundException: \S*FileSystem"
)

_UNREADABLE: Final = (
    "UNABLE_TO_INFER_SCHEMA",
    "FAILED_READ_FILE",
    "CANNOT_READ_FILE_FOOTER",
)


@contextmanager
def spark_faults(path: str | None = None) -> Iterator[None]:
    """Raise an error of Spark about `path`, or of a worker of ours, as a `SapwoodError`.

    Anything else passes as it is.
    """
    try:
        yield
    except spark_errors() as error:
        ours = _translated(condition_of(error), str(error), path)
        if ours is None:
            raise
        raise ours from error


def spark_errors() -> tuple[type[Exception], ...]:
    """The errors that PySpark raises: its own, and Java's where it has no class for them."""
    from pyspark.errors import PySparkException

    return PySparkException, import_module("py4j.protocol").Py4JJavaError


def condition_of(error: Exception) -> str:
    """The name that Spark gives to what went wrong, such as PATH_NOT_FOUND; empty without one."""
    named = getattr(error, "getCondition", lambda: None)()
    if named:
        return str(named)
    found = _CONDITION.search(str(error))
    return found[1] if found else ""


def is_worker_defect(error: Exception) -> bool:
    """True if our own code has failed in a worker, and its traceback is worth keeping."""
    from pyspark.errors import PythonException

    return isinstance(error, PythonException) or "Traceback (most recent call last)" in str(error)


def is_unknown_scheme(error: Exception) -> bool:
    """True if Spark has no file system for the scheme of a path."""
    return _UNKNOWN_SCHEME.search(str(error)) is not None


def first_line(error: Exception) -> str:
    """The message of an error of Spark, without the stack; of one of Java's the innermost cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return causes[-1] if causes else lines[0] if lines else type(error).__name__


def _translated(condition: str, message: str, path: str | None) -> SapwoodError | None:
    path = None if path is None else shown(path)
    if path is not None and condition == "PATH_NOT_FOUND":
        return FileFormatError(path, "there is no such file or folder")
    if path is not None and condition.startswith(_UNREADABLE):
        return FileFormatError(path, "holds no Parquet files, or damaged ones")
    if path is not None and condition.startswith("CANNOT_MERGE_SCHEMAS"):
        return FileFormatError(
            path,
            "holds files with columns of one name and different types; read them one at a time, "
            "or cast the columns to one type",
        )
    if path is not None and _UNKNOWN_SCHEME.search(message):
        return FileFormatError(
            path,
            "Spark has no file system for this scheme: add the jars of one (spark.jars.packages), "
            "or copy what is there; Parquet files are matched and results are written without one",
        )
    if _NEWER_LOG.search(message):
        return InputError(
            "the checkpoint was made by another version of Spark, which this one cannot read; go "
            "on with that version, or begin with another checkpoint and another output"
        )
    found = _OURS.search(message)
    if found is not None:
        return InputError(found[1])
    if _MISSING.search(message):
        return EnvironmentMissingError(
            "the Python of the executors has no package sapwood: install it there, or set "
            "PYSPARK_PYTHON to an interpreter that has it"
        )
    return None
