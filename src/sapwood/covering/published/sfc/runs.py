"""Runs: the stretches of a curve that a set of cubes makes (Shen 4.6.3, definition 5).

Departure from the source: in its example of 257 by 257 cells, a run of one cell is 0.0015 % of the
rectangle, not 0.015 % (text line 1125).
"""

from __future__ import annotations

from collections.abc import Iterable

from sapwood.covering.published.sfc.cubes import Run, StandardCube
from sapwood.covering.published.sfc.curves import Curve
from sapwood.covering.published.sfc.decomposition import count, cubes
from sapwood.covering.published.sfc.rectangles import ExtremalRectangle
from sapwood.errors import LimitError
from sapwood.limits import CURVE_CUBES_MAX


def joined(of: Iterable[StandardCube], curve: Curve, bits: int) -> list[Run]:
    """The fewest runs that hold all keys of disjoint cubes, ascending."""
    runs: list[Run] = []
    for run in sorted(cube.run(curve, bits) for cube in of):
        if runs and runs[-1].last + 1 == run.first:
            runs[-1] = Run(runs[-1].first, run.last)
        else:
            runs.append(run)
    return runs


def runs_of(rectangle: ExtremalRectangle, curve: Curve) -> list[Run]:
    """The runs of all cells of a rectangle, ascending; never more than it has cubes (lemma 3).

    Unlike cubes, runs have no closed form: the cubes are listed and their keys sorted. Raises
    `LimitError` where they are more than `limits.CURVE_CUBES_MAX`.
    """
    total = count(rectangle)
    if total > CURVE_CUBES_MAX:
        raise LimitError(
            "CURVE_CUBES_MAX", CURVE_CUBES_MAX, total, "the number of cubes to be listed"
        )
    return joined(cubes(rectangle), curve, rectangle.bits)
