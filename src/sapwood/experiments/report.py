"""What an experiment comes to: rows of figures, those published, and what can be drawn of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Cell: TypeAlias = str | int | float | None
"""A figure; `None` where there is none, or none was published."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A line chart on logarithmic axes: points by the name of their line, all above 0."""

    name: str
    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, Sequence[tuple[float, float]]]


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an experiment.

    `rows` have one cell a column; columns that begin with `published` hold what the work printed.
    `compare` says what of the two can be compared. `settings` are the parameters that were used.
    """

    title: str
    settings: Mapping[str, Cell]
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    compare: str
    charts: tuple[Chart, ...] = ()

    def column(self, name: str) -> list[Cell]:
        """The cells of one column, from top to bottom."""
        at = self.columns.index(name)
        return [row[at] for row in self.rows]
