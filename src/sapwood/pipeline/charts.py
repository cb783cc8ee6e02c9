"""Plots as SVG that stands in a page as it is: no script, no font, nothing to fetch.

All functions are pure, from numbers to text. Colors are the page's (`currentColor` and classes).
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

WIDTH: Final = 640
HEIGHT: Final = 240
_LEFT: Final = 56
_BOTTOM: Final = 28
_TOP: Final = 8
_BAR: Final = 22
_NAME_CHARS_MAX: Final = 24


class Bar(NamedTuple):
    """One bar: its name, its length, how much of it is of the second kind, and a longer story."""

    name: str
    value: float
    part: float = 0.0
    told: str = ""


class Line(NamedTuple):
    """One line of a plot: points (x, y) by x, and the class that colors it."""

    name: str
    points: Sequence[tuple[float, float]]
    style: str = "first"


def bars(rows: Sequence[Bar]) -> str:
    """Bars from left to right, one below the other, with their names and values."""
    most = max((row.value for row in rows), default=0.0) or 1.0
    left, room = 190, WIDTH - 190 - 90
    drawn: list[str] = []
    for place, row in enumerate(rows):
        y, length = place * _BAR, room * row.value / most
        part = room * row.part / most
        name = row.name
        if len(name) > _NAME_CHARS_MAX:
            name = name[: _NAME_CHARS_MAX - 1] + "…"
        told = escape(row.told or f"{row.name}: {number(row.value)}")
        drawn.append(
            f"<g><title>{told}</title>"
            f'<text x="{left - 8}" y="{y + 15}" text-anchor="end">{escape(name)}</text>'
            f'<rect class="first" x="{left}" y="{y + 3}" width="{length:.1f}" height="{_BAR - 6}"/>'
            f'<rect class="second" x="{left}" y="{y + 3}" width="{part:.1f}" height="{_BAR - 6}"/>'
            f'<text x="{left + length + 6:.1f}" y="{y + 15}">{number(row.value)}</text></g>'
        )
    return _svg("".join(drawn), max(len(rows), 1) * _BAR)


def columns(rows: Sequence[Bar]) -> str:
    """Bars from below to above, side by side, with their names below."""
    most = max((row.value for row in rows), default=0.0) or 1.0
    room, high = WIDTH - _LEFT, HEIGHT - _BOTTOM - _TOP
    wide = room / max(len(rows), 1)
    drawn = [_scale(most)]
    for place, row in enumerate(rows):
        x, length = _LEFT + place * wide, high * row.value / most
        told = escape(row.told or f"{row.name}: {number(row.value)}")
        drawn.append(
            f"<g><title>{told}</title>"
            f'<rect class="first" x="{x + 2:.1f}" y="{_TOP + high - length:.1f}" '
            f'width="{max(wide - 4, 1):.1f}" height="{length:.1f}"/>'
            f'<text x="{x + wide / 2:.1f}" y="{HEIGHT - 8}" text-anchor="middle">'
            f"{escape(row.name)}</text></g>"
        )
    return _svg("".join(drawn), HEIGHT)


def lines(plotted: Sequence[Line], first: str, last: str) -> str:
    """Lines over a common x axis, whose ends are named `first` and `last`."""
    xs = [x for line in plotted for x, _ in line.points]
    ys = [y for line in plotted for _, y in line.points]
    low, wide, most = (
        min(xs, default=0.0),
        (max(xs, default=0.0) - min(xs, default=0.0)) or 1.0,
        0.0,
    )
    most = max(ys, default=0.0) or 1.0
    room, high = WIDTH - _LEFT - 8, HEIGHT - _BOTTOM - _TOP
    drawn = [_scale(most)]
    for line in plotted:
        places = [
            (_LEFT + room * (x - low) / wide, _TOP + high * (1 - y / most)) for x, y in line.points
        ]
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        name = escape(line.name)
        drawn.append(
            f'<polyline class="{line.style}" points="{way}"><title>{name}</title></polyline>'
        )
        drawn += [
            f'<circle class="{line.style}" cx="{x:.1f}" cy="{y:.1f}" r="3">'
            f"<title>{name}: {number(value)}</title></circle>"
            for (x, y), (_, value) in zip(places, line.points, strict=True)
        ]
    drawn.append(
        f'<text x="{_LEFT}" y="{HEIGHT - 8}">{escape(first)}</text>'
        f'<text x="{WIDTH - 8}" y="{HEIGHT - 8}" text-anchor="end">{escape(last)}</text>'
    )
    return _svg("".join(drawn), HEIGHT)


def number(value: float) -> str:
    """A number as people read it: whole ones with commas, others with three digits."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.3g}"


def _scale(most: float) -> str:
    """Two lines across, at half and at full height, with their values."""
    high = HEIGHT - _BOTTOM - _TOP
    parts = []
    for share in (0.0, 0.5, 1.0):
        y = _TOP + high * (1 - share)
        parts.append(
            f'<line class="scale" x1="{_LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(most * share)}</text>'
        )
    return "".join(parts)


def _svg(content: str, height: int) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img">{content}</svg>'
