"""The checks of jobs: sums that agree, and nothing rejected where that is required."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sapwood.errors import FileFormatError, InvariantError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def refuse_first(rejected: DataFrame, count: int) -> None:
    """Raise `FileFormatError` for the first of `count` rejected rows, if there is one."""
    if not count:
        return
    first = rejected.orderBy("file", "line", "reason").first()
    assert first is not None, "a rejected row was counted"
    raise FileFormatError(first["file"] or "a table", first["reason"], first["line"])


def agree(what: str, expected: int, actual: int) -> None:
    """Raise `InvariantError` unless two counts of the same thing agree."""
    if expected != actual:
        raise InvariantError(
            f"{expected:,} {what} were counted first and {actual:,} later; if files were written "
            "during the job, run it again"
        )
