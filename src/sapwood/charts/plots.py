"""Plots that stand in a page as they are: bars, columns, and lines over a common axis.

Colors are the page's: elements have classes (`drawing.STYLE`).
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

from sapwood.charts.drawing import number, shortened, soft_text, text, ticks

WIDTH: Final = 640
HEIGHT: Final = 270
_LEFT: Final = 64
_BOTTOM: Final = 46
_TOP: Final = 34
_RIGHT: Final = 14
_BAR: Final = 22
_NAME_ROOM: Final = 190
_VALUE_ROOM: Final = 130
_NAME_CHARS_MAX: Final = 26
_MARKED_POINTS_MAX: Final = 40
"""Points of a line that get a mark each; more would hide the line."""


class Bar(NamedTuple):
    """One bar: its name, its length, how much of it is of the second kind, and a longer title.

    `beside` stands after the value at the bar's end.
    """

    name: str
    value: float
    part: float = 0.0
    title: str = ""
    beside: str = ""


class Line(NamedTuple):
    """One line of a plot: points (x, y) by x, and the class that colors it."""

    name: str
    points: Sequence[tuple[float, float]]
    style: str = "first"


class Axes(NamedTuple):
    """The labels of a plot: of the axis upwards, and of that from left to right.

    `ends` are the names of the ends of the lower axis, `unit` follows each number of the left one.
    """

    up: str = ""
    along: str = ""
    ends: tuple[str, str] = ("", "")
    unit: str = ""


def bars(rows: Sequence[Bar]) -> str:
    """Bars from left to right, one below the other, with their names and values."""
    most = max((row.value for row in rows), default=0.0) or 1.0
    left, room = _NAME_ROOM, WIDTH - _NAME_ROOM - _VALUE_ROOM
    drawn: list[str] = []
    for place, row in enumerate(rows):
        y, length = place * _BAR, room * row.value / most
        part = room * row.part / most
        name = shortened(row.name, _NAME_CHARS_MAX)
        beside = f'<tspan class="soft"> {escape(row.beside)}</tspan>' if row.beside else ""
        drawn.append(
            f"<g><title>{escape(_title(row))}</title>{text(left - 8, y + 15, name, 'end')}"
            f'<rect class="first" x="{left}" y="{y + 3}" width="{length:.1f}" height="{_BAR - 6}" '
            f'rx="2"/>'
            f'<rect class="second" x="{left}" y="{y + 3}" width="{part:.1f}" '
            f'height="{_BAR - 6}" rx="2"/>'
            f'<text x="{left + length + 6:.1f}" y="{y + 15}">{number(row.value)}{beside}</text></g>'
        )
    return _svg("".join(drawn), max(len(rows), 1) * _BAR)


def columns(rows: Sequence[Bar], axes: Axes = Axes()) -> str:  # noqa: B008 - immutable
    """Bars from below to above, side by side, with their values above and their names below."""
    steps = ticks(max((row.value for row in rows), default=0.0))
    room, high = WIDTH - _LEFT - _RIGHT, HEIGHT - _BOTTOM - _TOP
    wide = room / max(len(rows), 1)
    drawn = [_scale(steps, axes)]
    for place, row in enumerate(rows):
        x, length = _LEFT + place * wide, high * row.value / steps[-1]
        gap = min(wide / 8, 12)
        top = _TOP + high - length
        middle = x + wide / 2
        drawn.append(
            f"<g><title>{escape(_title(row))}</title>"
            f'<rect class="first" x="{x + gap:.1f}" y="{top:.1f}" '
            f'width="{wide - 2 * gap:.1f}" height="{length:.1f}" rx="2"/>'
            f"{soft_text(middle, top - 4, row.beside or number(row.value), 'middle')}"
            f"{text(middle, HEIGHT - _BOTTOM + 16, row.name, 'middle')}</g>"
        )
    return _svg("".join(drawn), HEIGHT)


def lines(plotted: Sequence[Line], axes: Axes = Axes()) -> str:  # noqa: B008 - immutable
    """Lines over a common x axis; the area below one of the first or second class is tinted."""
    xs = [x for line in plotted for x, _ in line.points]
    low = min(xs, default=0.0)
    wide = (max(xs, default=0.0) - low) or 1.0
    steps = ticks(max((y for line in plotted for _, y in line.points), default=0.0))
    room, high = WIDTH - _LEFT - _RIGHT, HEIGHT - _BOTTOM - _TOP
    drawn = [_scale(steps, axes)]
    for line in plotted:
        places = [
            (_LEFT + room * (x - low) / wide, _TOP + high * (1 - y / steps[-1]))
            for x, y in line.points
        ]
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        name = escape(line.name)
        if places and line.style != "even":
            ground = _TOP + high
            around = f"{places[0][0]:.1f},{ground} {way} {places[-1][0]:.1f},{ground}"
            drawn.append(f'<polygon class="{line.style}" points="{around}"/>')
        drawn.append(
            f'<polyline class="{line.style}" points="{way}"><title>{name}</title></polyline>'
        )
        radius = 3 if len(places) <= _MARKED_POINTS_MAX else 0
        drawn += [
            f'<circle class="{line.style}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}">'
            f"<title>{name}: {number(value)}{axes.unit}</title></circle>"
            for (x, y), (_, value) in zip(places, line.points, strict=True)
            if radius
        ]
    first, last = axes.ends
    below = HEIGHT - _BOTTOM + 16
    drawn += [text(_LEFT, below, first), text(WIDTH - _RIGHT, below, last, "end")]
    return _svg("".join(drawn), HEIGHT)


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """The legend of colors: (class, name) of each, as HTML."""
    return "".join(
        f'<span class="key"><svg class="swatch" viewBox="0 0 12 12"><rect class="{style}" '
        f'width="12" height="12" rx="2"/></svg>{escape(name)}</span>'
        for style, name in entries
    )


def _scale(steps: Sequence[float], axes: Axes) -> str:
    """Lines across with their values, and the labels of the axes."""
    high = HEIGHT - _BOTTOM - _TOP
    parts = []
    for value in steps:
        y = _TOP + high * (1 - value / steps[-1])
        parts.append(
            f'<line class="scale" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f"{soft_text(_LEFT - 6, y + 4, number(value) + axes.unit, 'end')}"
        )
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    parts.append(soft_text(_LEFT, 12, axes.up))
    parts.append(soft_text(middle, HEIGHT - 8, axes.along, "middle"))
    return "".join(parts)


def _title(row: Bar) -> str:
    """The text shown for a bar when the pointer is on it."""
    return row.title or f"{row.name}: {number(row.value)}"


def _svg(content: str, height: int) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img">{content}</svg>'
