"""Covering as point dominance, searched approximately along a space filling curve (Shen 4.6-4.8).

A filter is projected to a point with two coordinates for each indexed attribute, such that wider
filters lie higher in every coordinate. The covers of a filter lie in the *extremal rectangle* above
its point. The rectangle is cut into as few standard cubes as possible; each cube is one stretch of
a space filling curve, so that finding the points inside takes two binary searches. The largest
cubes hold nearly all of the volume, so an approximate search leaves out the small ones. It can
miss a covering filter; it never claims one, because every hit is verified with the filters.

1. `cells.py`, `axes.py`, `scales.py`, `universe.py`
                       filters as cells: covering becomes dominance on a grid.
2. `fitting.py`        choosing a grid for a set of filters.
3. `curves.py`         the Z curve and Hilbert's: cells to keys and back.
4. `cubes.py`, `rectangles.py`, `decomposition.py`
                       standard cubes, extremal rectangles, and the cubes a rectangle consists of.
5. `runs.py`, `bounds.py`
                       the cost of a search: counted, and bounded in advance.
6. `array.py`, `kernels/`
                       the cells of all filters in the order of the curve.
7. `search.py`         the search itself: cube by cube, or point by point.
8. `index.py`          `SpaceFillingIndex`, a covering index for record filters.
"""

from sapwood.covering.published.sfc.index import SpaceFillingIndex

__all__ = ["SpaceFillingIndex"]
