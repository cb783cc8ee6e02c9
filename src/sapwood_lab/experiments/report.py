"""The report of an experiment: rows of figures, published ones, findings, and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

Cell: TypeAlias = str | int | float | None
"""A figure; `None` where there is none, or none was published."""

Lines: TypeAlias = Mapping[str, Sequence[tuple[float, float]]]
"""Points by the name of their line."""

Row: TypeAlias = Mapping[str, Cell]
"""Cells by the names of their columns."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A line chart: points by the name of their line.

    `published` are the lines that the work printed, as far as there are any. Axes are logarithmic,
    where points at 0 have no place and are left out, or linear from 0.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    lines: Lines
    linear_x: bool = False
    linear_y: bool = False
    published: Lines = field(default_factory=dict)

    @property
    def drawn(self) -> Lines:
        """The points that have a place, by the names of lines that have any; ours first."""
        theirs = {f"{name} (published)": points for name, points in self.published.items()}
        return self.placed({**self.lines, **theirs})

    def placed(self, lines: Lines) -> Lines:
        """The points of lines that have a place, by the names of lines that have any."""
        placed = {
            name: [
                (x, y) for x, y in points if (x > 0 or self.linear_x) and (y > 0 or self.linear_y)
            ]
            for name, points in lines.items()
        }
        return {name: points for name, points in placed.items() if points}


@dataclass(frozen=True, slots=True)
class Finding:
    """A published claim, and whether it holds in these figures, which are in `shown`.

    `why` is a sentence for where it does not hold: a reading of the figures, not a measurement.
    `needs` is the published scale, if it is more than the measured one and may be the reason.
    """

    claim: str
    holds: bool
    shown: str
    why: str = ""
    needs: str = ""

    @property
    def is_open(self) -> bool:
        """True if it does not hold, and might with what it needs."""
        return bool(self.needs) and not self.holds

    def __str__(self) -> str:
        if self.holds:
            return f"holds: {self.claim} ({self.shown})"
        reason = f": {self.why}" if self.why else ""
        verdict = f"does not hold short of {self.needs}" if self.needs else "does not hold"
        return f"{verdict}: {self.claim} ({self.shown}){reason}"


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an experiment.

    `rows` have one cell a column; columns that begin with `published` hold what the work printed,
    and those in `timed` what differs from run to run. `compare` states what of the two can be
    compared. `settings` are the parameters that were used.
    """

    title: str
    settings: Mapping[str, Cell]
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    compare: str
    charts: tuple[Chart, ...] = ()
    findings: tuple[Finding, ...] = ()
    timed: frozenset[str] = frozenset()

    def column(self, name: str) -> list[Cell]:
        """The cells of one column, from top to bottom."""
        at = self.columns.index(name)
        return [row[at] for row in self.rows]


def table(columns: Sequence[str], rows: Sequence[Row]) -> tuple[tuple[Cell, ...], ...]:
    """The cells of rows in the order of the columns; `None` where a row has none."""
    return tuple(tuple(row.get(column) for column in columns) for row in rows)


def number(cell: object) -> float:
    """A cell that holds a number."""
    assert isinstance(cell, int | float)
    return float(cell)


def line(rows: Sequence[Row], x: str, y: str) -> list[tuple[float, float]]:
    """The points of a line: two columns of the rows, without those where one is no number."""
    return [
        (float(at), float(value))
        for at, value in ((row.get(x), row.get(y)) for row in rows)
        if isinstance(at, int | float) and isinstance(value, int | float)
    ]


def figure(value: float) -> str:
    """A number for a reader: four digits of a small one, all whole ones of a large one."""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"


def falls(claim: str, values: Mapping[str, float], why: str = "", needs: str = "") -> Finding:
    """The finding whether each of the values is below the one before it."""
    found = list(values.values())
    shown = ", ".join(f"{name}: {figure(value)}" for name, value in values.items())
    holds = all(less < more for more, less in pairwise(found))
    return Finding(claim, holds, shown, why, needs)


def is_within(claim: str, value: float, most: float, why: str = "", needs: str = "") -> Finding:
    """The finding whether a value is at most `most`."""
    shown = f"{figure(value)} of at most {figure(most)}"
    return Finding(claim, value <= most, shown, why, needs)
