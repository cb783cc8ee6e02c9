"""Rows of figures as tables, in the words of a reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sapwood.cli.output import print_table


class Column(NamedTuple):
    """A heading, the figure below it, and how that is written (as `format` takes it)."""

    heading: str
    field: str
    form: str = ""

    def text(self, row: Mapping[str, Any]) -> str:
        """The figure of a row; what was not measured is a dash."""
        value = row[self.field]
        return "-" if value is None else format(value, self.form)


def print_figures(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], title: str | None = None
) -> None:
    """Print rows under their headings, and nothing at all where there are none."""
    if not rows:
        return
    if title is not None:
        print_table((title,), [])
    cells = [tuple(column.text(row) for column in columns) for row in rows]
    print_table(tuple(column.heading for column in columns), cells)
