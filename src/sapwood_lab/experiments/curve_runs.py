"""Cubes and runs of a dominance search, by hand and counted (Shen 2007, figures 4.6 and 4.7).

A search for covers looks at the rectangle above a cell. It is made of standard cubes, which make
up runs on a curve. Figure 4.7 sets a square of 256 cells a side, which is one cube, beside one of
257, which takes hundreds of runs although nearly all of it is in the first. Figure 4.6 shows one
rectangle with two runs on Hilbert's curve and three on the Z curve; which one it is cannot be read,
so all rectangles of a small grid are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from types import MappingProxyType
from typing import Final

from sapwood.covering.published.sfc.curves import Curve, curve_named
from sapwood.covering.published.sfc.decomposition import count, cubes_needed
from sapwood.covering.published.sfc.rectangles import ExtremalRectangle
from sapwood.covering.published.sfc.runs import runs_of
from sapwood.errors import InputError
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Finding, Report, Row, number, table

SIDES: Final = (255, 256, 257, 320, 511, 512)
CURVES: Final = ("z", "hilbert")
GRID_BITS: Final = 3
"""Of the grid in which all rectangles are counted: 8 cells a side, 1,296 rectangles."""

PUBLISHED_RUNS: Final[Mapping[int, int]] = MappingProxyType({256: 1, 257: 385})
PUBLISHED_SHARE: Final[Mapping[int, float]] = MappingProxyType({256: 1.0, 257: 0.9922})
"""Of the largest run."""

EPSILON: Final = Fraction(1, 100)
COLUMNS: Final = (
    *("side", "curve", "cubes", "runs", "published_runs", "largest_share", "published_share"),
    *("cubes_needed", "grid_rectangles", "two_and_three", "mean_runs"),
)


def configurations(choices: Choices) -> list[Configuration]:
    """One for each curve and side, and one for each curve with all rectangles of a small grid.

    Sizes are sides of squares, in cells. Raises `InputError` for a workload.
    """
    if choices.source is not None:
        raise InputError("this experiment counts cells: leave the workload out")
    squares = [
        {"side": side, "curve": curve} for side in choices.sizes or SIDES for curve in CURVES
    ]
    return [*squares, *({"side": 0, "curve": curve} for curve in CURVES)]


def measure(configuration: Configuration) -> list[Row]:
    """The cubes and runs of a square, or (side 0) of all rectangles of the grid."""
    side, curve = configuration["side"], curve_named(configuration["curve"])
    if not side:
        return [_of_grid(curve)]
    square = ExtremalRectangle(side.bit_length(), (side, side))
    runs = runs_of(square, curve)
    largest = max(run.last - run.first + 1 for run in runs)
    return [
        {
            "cubes": count(square),
            "runs": len(runs),
            "published_runs": PUBLISHED_RUNS.get(side),
            "largest_share": round(largest / square.volume, 4),
            "published_share": PUBLISHED_SHARE.get(side),
            "cubes_needed": cubes_needed(square, EPSILON),
        }
    ]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Both figures in one table."""
    return Report(
        title="Cubes and runs of squares on two curves (Shen 2007, figures 4.6 and 4.7)",
        settings={"seed": choices.seed, "epsilon": float(EPSILON)},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare="counts, which are exact.",
        findings=tuple(_findings(rows)),
    )


DESIGN: Final = Design(configurations, measure, report)


def _of_grid(curve: Curve) -> Row:
    found = [_runs(curve, rectangle) for rectangle in _rectangles()]
    z, hilbert = (curve_named(name) for name in CURVES)
    cells = [r for r in _rectangles() if (_runs(hilbert, r), _runs(z, r)) == (2, 3)]
    return {
        "grid_rectangles": len(found),
        "two_and_three": len(cells),
        "mean_runs": round(sum(found) / len(found), 3),
    }


_Sides = tuple[range, range]


def _rectangles() -> Iterator[_Sides]:
    """All rectangles of the grid, by their columns and rows."""
    spans = [range(a, b) for a, b in combinations(range((1 << GRID_BITS) + 1), 2)]
    return product(spans, spans)


def _runs(curve: Curve, rectangle: _Sides) -> int:
    """The number of stretches of the curve in the cells of a rectangle."""
    keys = {curve.key(cell, GRID_BITS) for cell in product(*rectangle)}
    return sum(key - 1 not in keys for key in keys)


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    squares = {(row["side"], str(row["curve"])): row for row in rows if row["side"]}
    for side, published in PUBLISHED_RUNS.items():
        here = {c: row for (s, c), row in squares.items() if s == side}
        if here:
            shown = ", ".join(f"{curve} {row['runs']}" for curve, row in here.items())
            right = any(row["runs"] == published for row in here.values())
            yield Finding(f"a square of {side} cells a side has {published} runs", right, shown)
    for curve in CURVES:
        row = squares.get((257, curve))
        if row is not None:
            share = number(row["largest_share"])
            claim = f"257 cells a side: the largest run has more than 99 % ({curve})"
            yield Finding(claim, share > 0.99, f"{share:.2%}")
            needed = number(row["cubes_needed"])
            claim = f"so a search with epsilon 0.01 looks up one cube ({curve})"
            yield Finding(claim, needed == 1, f"{needed:g}")
    grids = {str(row["curve"]): row for row in rows if not row["side"]}
    if grids:
        two = number(grids[CURVES[0]]["two_and_three"])
        claim = "a rectangle has 2 runs on Hilbert's curve and 3 on the Z curve (figure 4.6)"
        yield Finding(claim, two > 0, f"{two:g} of {grids[CURVES[0]]['grid_rectangles']}")
        means = {curve: number(row["mean_runs"]) for curve, row in grids.items()}
        claim = "rectangles have fewer runs on Hilbert's curve"
        shown = ", ".join(f"{curve} {mean:.2f}" for curve, mean in means.items())
        yield Finding(claim, means["hilbert"] < means["z"], shown)
