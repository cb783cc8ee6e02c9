"""Many small plots beside each other, with one scale: quantities that hold until they change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, NamedTuple

from sapwood.charts.drawing import number, shortened, soft_text, text, ticks

WIDTH: Final = 1080
_LEFT: Final = 66
_TOP: Final = 22
_BOTTOM: Final = 38
_GAP: Final = 20
_HEAD: Final = 22
_TICK_GAP: Final = 26
"""Pixels between two numbers of a scale, at least."""

_BEYOND: Final = 4
"""Pixels that the last values are drawn beyond the end of time, so that they are seen even where
they came last of all."""

_CHAR: Final = 7.2
"""Pixels of a character of a name, about."""

_SHAPES: Final = ((1, 1, 240), (2, 2, 200), (3, 3, 170), (4, 2, 150), (6, 3, 140), (12, 4, 110))
"""The largest number of panels, with the number beside each other and their height."""

_MANY: Final = (5, 74)
"""Columns and height where there are more."""


class Layer(NamedTuple):
    """One quantity of a panel: its values in order, one for each time, and the class of color."""

    values: Sequence[float]
    style: str = "first"


@dataclass(frozen=True, slots=True)
class Panel:
    """One small plot: layers upon each other over `times`; `beside` stands beside its name.

    Each value holds from its time until the next, the last one until the end of the plot.
    """

    name: str
    times: Sequence[float]
    layers: Sequence[Layer]
    beside: str = ""


@dataclass(frozen=True, slots=True)
class _Grid:
    """The layout of panels: pixels, and the scale that all share."""

    columns: int
    rows: int
    wide: float
    high: float
    first: float
    last: float
    steps: Sequence[float]

    def corner(self, place: int) -> tuple[float, float]:
        """The left and upper corner of a panel's plot."""
        row, column = divmod(place, self.columns)
        return (
            _LEFT + column * (self.wide + _GAP),
            _TOP + _HEAD + row * (self.high + _HEAD + _GAP),
        )

    @property
    def height(self) -> float:
        """The height of the whole picture."""
        return self.corner(self.columns * (self.rows - 1))[1] + self.high + _BOTTOM

    def x(self, time: float) -> float:
        """The distance from the left end of a panel."""
        return self.wide * (time - self.first) / ((self.last - self.first) or 1.0)

    def y(self, value: float) -> float:
        """The distance from the upper end of a panel."""
        return self.high * (1 - value / self.steps[-1])


def panels(shown: Sequence[Panel], up: str, along: str, ends: tuple[str, str]) -> str:
    """A grid of panels. `up` and `along` name the axes, `ends` are the ends of time."""
    grid = _grid(shown)
    drawn = [
        soft_text(_LEFT, 12, up),
        soft_text(WIDTH / 2, grid.height - 4, along, "middle"),
    ]
    for place, panel in enumerate(shown):
        x, y = grid.corner(place)
        title = escape(f"{panel.name}: {panel.beside}" if panel.beside else panel.name)
        drawn.append(
            f'<g transform="translate({x:.1f} {y:.1f})"><title>{title}</title>'
            f"{_scale(grid, numbered=place % grid.columns == 0)}{''.join(_layers(grid, panel))}"
            f"{_head(grid, panel)}"
            f"{_ends(grid, ends) if place + grid.columns >= len(shown) else ''}</g>"
        )
    return (
        f'<svg class="panels" viewBox="0 0 {WIDTH} {grid.height:.0f}" role="img">'
        f"{''.join(drawn)}</svg>"
    )


def _grid(shown: Sequence[Panel]) -> _Grid:
    count = max(len(shown), 1)
    columns, high = next((shape[1:] for shape in _SHAPES if count <= shape[0]), _MANY)
    times = [time for panel in shown for time in panel.times]
    tops = [sum(values) for p in shown for values in zip(*_values(p), strict=True)]
    return _Grid(
        columns=columns,
        rows=-(-count // columns),
        wide=(WIDTH - _LEFT - _BEYOND - _GAP * (columns - 1)) / columns,
        high=high,
        first=min(times, default=0.0),
        last=max(times, default=0.0),
        steps=ticks(max(tops, default=0.0)),
    )


def _values(panel: Panel) -> list[Sequence[float]]:
    return [layer.values for layer in panel.layers]


def _head(grid: _Grid, panel: Panel) -> str:
    """A panel's name, cut where what stands beside it begins."""
    room = max(int(grid.wide / _CHAR) - len(panel.beside) - 1, 4)
    name = text(0, -7, shortened(panel.name, room), attributes='font-weight="600"')
    return name + soft_text(grid.wide, -7, panel.beside, "end")


def _ends(grid: _Grid, ends: tuple[str, str]) -> str:
    first, last = ends
    below = grid.high + 14
    return soft_text(0, below, first) + soft_text(grid.wide, below, last, "end")


def _scale(grid: _Grid, *, numbered: bool) -> str:
    """Lines across, as many as have room; with their values where panels stand at the left."""
    steps = grid.steps
    while (len(steps) - 1) * _TICK_GAP > grid.high and len(steps) > 2:
        steps = steps[::2] if len(steps) % 2 else (steps[0], steps[-1])
    drawn = []
    for value in steps:
        y = grid.y(value)
        drawn.append(f'<line class="scale" x1="0" x2="{grid.wide:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        if numbered:
            drawn.append(soft_text(-6, y + 4, number(value), "end"))
    return "".join(drawn)


def _layers(grid: _Grid, panel: Panel) -> Iterator[str]:
    """The layers from the lowest to the uppermost, each between the one below and its own top."""
    below = [0.0] * len(panel.times)
    for layer in panel.layers:
        top = [low + value for low, value in zip(below, layer.values, strict=True)]
        if any(layer.values):
            yield f'<path class="{layer.style}" d="{_between(grid, panel.times, below, top)}"/>'
        below = top


def _between(
    grid: _Grid, times: Sequence[float], below: Sequence[float], top: Sequence[float]
) -> str:
    """The way around what lies between two quantities: along the one, and back along the other."""
    ends = [*map(grid.x, times[1:]), grid.wide + _BEYOND]
    there = "".join(f"V{grid.y(value):.1f}H{end:.1f}" for value, end in zip(top, ends, strict=True))
    back = "".join(
        f"V{grid.y(value):.1f}H{grid.x(time):.1f}"
        for value, time in zip(reversed(below), reversed(times), strict=True)
    )
    return f"M{grid.x(times[0]):.1f} {grid.y(below[0]):.1f}{there}{back}Z"
