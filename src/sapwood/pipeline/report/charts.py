"""Plots as SVG that stands in a page as it is: no script, no font, nothing to fetch.

All functions are pure, from numbers to text. Colors are the page's (`currentColor` and classes).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

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
_TICKS: Final = 5
_MARKED_POINTS_MAX: Final = 40
"""Points of a line that get a mark each; more would hide the line."""


class Bar(NamedTuple):
    """One bar: its name, its length, how much of it is of the second kind, and a longer story.

    `beside` stands after the value at the bar's end.
    """

    name: str
    value: float
    part: float = 0.0
    tooltip: str = ""
    beside: str = ""


class Line(NamedTuple):
    """One line of a plot: points (x, y) by x, and the class that colors it."""

    name: str
    points: Sequence[tuple[float, float]]
    style: str = "first"


class Axes(NamedTuple):
    """The labels of a plot: what is counted upwards, and what from left to right.

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
        name = row.name
        if len(name) > _NAME_CHARS_MAX:
            name = name[: _NAME_CHARS_MAX - 1] + "…"
        tooltip = escape(row.tooltip or f"{row.name}: {number(row.value)}")
        beside = f'<tspan class="soft"> {escape(row.beside)}</tspan>' if row.beside else ""
        drawn.append(
            f"<g><title>{tooltip}</title>"
            f'<text x="{left - 8}" y="{y + 15}" text-anchor="end">{escape(name)}</text>'
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
        tooltip = escape(row.tooltip or f"{row.name}: {number(row.value)}")
        drawn.append(
            f"<g><title>{tooltip}</title>"
            f'<rect class="first" x="{x + gap:.1f}" y="{top:.1f}" '
            f'width="{wide - 2 * gap:.1f}" height="{length:.1f}" rx="2"/>'
            f'<text class="soft" x="{x + wide / 2:.1f}" y="{top - 4:.1f}" text-anchor="middle">'
            f"{escape(row.beside or number(row.value))}</text>"
            f'<text x="{x + wide / 2:.1f}" y="{HEIGHT - _BOTTOM + 16}" text-anchor="middle">'
            f"{escape(row.name)}</text></g>"
        )
    return _svg("".join(drawn), HEIGHT)


def lines(plotted: Sequence[Line], axes: Axes = Axes()) -> str:  # noqa: B008 - immutable
    """Lines over a common x axis; what is below one of the first or second class is tinted."""
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
    drawn.append(
        f'<text x="{_LEFT}" y="{below}">{escape(first)}</text>'
        f'<text x="{WIDTH - _RIGHT}" y="{below}" text-anchor="end">{escape(last)}</text>'
    )
    return _svg("".join(drawn), HEIGHT)


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """The legend of colors: (class, name) of each, as HTML."""
    return "".join(
        f'<span class="key"><svg class="swatch" viewBox="0 0 12 12"><rect class="{style}" '
        f'width="12" height="12" rx="2"/></svg>{escape(name)}</span>'
        for style, name in entries
    )


def ticks(most: float) -> list[float]:
    """Round numbers from 0 to `most` or a little more, at most one more than `_TICKS`."""
    if most <= 0:
        return [0.0, 1.0]
    rough = most / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(times for times in (1, 2, 5, 10) if times * power >= rough * (1 - 1e-9))
    count = max(math.ceil(most / step * (1 - 1e-9)), 1)
    return [place * step for place in range(count + 1)]


def number(value: float) -> str:
    """A number as people read it: whole ones with commas, others with three digits."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.3g}"


def _scale(steps: Sequence[float], axes: Axes) -> str:
    """Lines across with their values, and what the axes are."""
    high = HEIGHT - _BOTTOM - _TOP
    parts = []
    for value in steps:
        y = _TOP + high * (1 - value / steps[-1])
        parts.append(
            f'<line class="scale" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="soft" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{number(value)}{axes.unit}</text>"
        )
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    parts.append(
        f'<text class="soft" x="{_LEFT}" y="12">{escape(axes.up)}</text>'
        f'<text class="soft" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">'
        f"{escape(axes.along)}</text>"
    )
    return "".join(parts)


def _svg(content: str, height: int) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img">{content}</svg>'
