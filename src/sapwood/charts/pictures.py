"""Line charts as pictures of their own, with colors of their own: files that a document shows.

A chart has lines, ticks and a label at the end of each line; more than that needs a library. Axes
are logarithmic with ticks at powers of ten, or linear from 0 with ticks at round numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, Protocol

from sapwood.charts.drawing import number, text, ticks
from sapwood.errors import InvalidValueError

Point = tuple[float, float]

WIDTH: Final = 720
HEIGHT: Final = 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 140, 40, 50
_COLORS: Final = (
    "#1b6ca8",
    "#c8553d",
    "#3a7d44",
    "#7b4b94",
    "#b8860b",
    "#5c6b73",
    "#d81b60",
    "#00838f",
)
_LABEL_GAP: Final = 13.0


class _Axis(Protocol):
    """Values to pixels, between the pixels `first` and `last`."""

    @property
    def first(self) -> float: ...

    @property
    def last(self) -> float: ...

    @property
    def ticks(self) -> Iterator[tuple[float, str]]:
        """The pixels of the ticks, with their text."""
        ...

    def at(self, value: float) -> float:
        """The pixel of a value."""
        ...


@dataclass(frozen=True, slots=True)
class _Logarithmic:
    """A logarithmic axis from a power of ten to another, over the pixels `first` to `last`."""

    low: int
    high: int
    first: float
    last: float

    def at(self, value: float) -> float:
        """The pixel of a value."""
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.first + share * (self.last - self.first)

    @property
    def ticks(self) -> Iterator[tuple[float, str]]:
        """The pixels of the powers of ten, with their text."""
        for power in range(self.low, self.high + 1):
            yield self.at(10.0**power), number(10.0**power)


@dataclass(frozen=True, slots=True)
class _Linear:
    """A linear axis from 0 to the last of its round `values`, over the pixels `first` to `last`."""

    values: Sequence[float]
    first: float
    last: float

    def at(self, value: float) -> float:
        """The pixel of a value."""
        return self.first + value / self.values[-1] * (self.last - self.first)

    @property
    def ticks(self) -> Iterator[tuple[float, str]]:
        """The pixels of the round values, with their text."""
        return ((self.at(value), number(value)) for value in self.values)


def line_chart(
    title: str,
    x_label: str,
    y_label: str,
    lines: Mapping[str, Sequence[Point]],
    *,
    linear_x: bool = False,
    linear_y: bool = False,
    beside: Sequence[Point] = (),
) -> str:
    """The chart as SVG, always the same for the same lines.

    Its axes have room for the points `beside`, too, which are those of a chart that stands beside
    it. Elements that a page may color in its own way have a class: `ground`, `scale`, and `line-1`
    to `line-8`. Lines without points are left out. Raises `InvalidValueError` if there is no point
    at all, or one that its axes cannot have: a logarithmic one begins above 0, a linear one with 0.
    """
    drawn = {name: sorted(points) for name, points in lines.items() if points}
    points = [point for line in drawn.values() for point in line]
    if not points:
        raise InvalidValueError("lines", "a chart needs points")
    placed = [*points, *beside]
    x = _axis([x for x, _ in placed], _LEFT, WIDTH - _RIGHT, is_linear=linear_x)
    y = _axis([y for _, y in placed], HEIGHT - _BOTTOM, _TOP, is_linear=linear_y)
    frame = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {frame}>',
        f"<title>{escape(title)}</title>",
        f'<rect class="ground" width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        text(_LEFT, _TOP - 18, title, attributes='font-weight="bold"'),
        *_grid(x, y),
        text((x.first + x.last) / 2, HEIGHT - 12, x_label, anchor="middle"),
        text(-(y.first + y.last) / 2, 16, y_label, "middle", 'transform="rotate(-90)"'),
        *_lines(drawn, x, y),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _axis(values: Sequence[float], first: float, last: float, *, is_linear: bool) -> _Axis:
    if is_linear:
        if min(values) < 0:
            raise InvalidValueError("lines", "a linear axis begins with 0")
        return _Linear(ticks(max(values)), first, last)
    if min(values) <= 0:
        raise InvalidValueError("lines", "a logarithmic axis needs values above 0")
    low = math.floor(math.log10(min(values)))
    high = math.ceil(math.log10(max(values)))
    return _Logarithmic(low, max(high, low + 1), first, last)


def _grid(x: _Axis, y: _Axis) -> Iterator[str]:
    for at, label in x.ticks:
        yield _stroke(at, y.first, at, y.last)
        yield text(at, y.first + 18, label, "middle")
    for at, label in y.ticks:
        yield _stroke(x.first, at, x.last, at)
        yield text(x.first - 8, at + 4, label, "end")


def _lines(lines: Mapping[str, Sequence[Point]], x: _Axis, y: _Axis) -> Iterator[str]:
    labels = _label_heights({name: y.at(points[-1][1]) for name, points in lines.items()})
    for place, (name, points) in enumerate(lines.items()):
        color = _COLORS[place % len(_COLORS)]
        style = f"line-{place % len(_COLORS) + 1}"
        places = [(x.at(px), y.at(py)) for px, py in points]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in places)
        stroke = f'fill="none" stroke="{color}" stroke-width="2"'
        yield f'<polyline class="{style}" points="{path}" {stroke}/>'
        fill = f'class="{style}" fill="{color}"'
        yield from (f'<circle {fill} cx="{px:.1f}" cy="{py:.1f}" r="3"/>' for px, py in places)
        yield text(places[-1][0] + 8, labels[name] + 4, name, attributes=fill)


def _label_heights(line_ends: Mapping[str, float]) -> dict[str, float]:
    """The heights of the labels so that none lies on another: each below the one above it."""
    heights: dict[str, float] = {}
    above = -math.inf
    for name in sorted(line_ends, key=lambda name: (line_ends[name], name)):
        above = heights[name] = max(line_ends[name], above + _LABEL_GAP)
    return heights


def _stroke(x1: float, y1: float, x2: float, y2: float) -> str:
    places = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line class="scale" {places} stroke="#dddddd"/>'
