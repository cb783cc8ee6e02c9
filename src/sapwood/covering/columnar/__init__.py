"""The default covering index: hulls in columns, found by intersecting bitmaps.

1. `points.py`   the stored form of a filter: its hull (`sapwood.covering.hull`) as a point of
                 floats. The point of a filter is at least as large as the points of all filters
                 that it covers; for boxes of numbers that is also sufficient.
2. `columns.py`  points as columns, with a bitmap for each of some levels of a column; eight
                 filters worked through by hand.
3. `table.py`    the points of a large group by row, and the fields and columns of attributes.
4. `groups.py`   the points of all filters by key, in groups of one shape; `plans.py` compares two.
5. `kernels/`    the searches and the writing of rows, compiled, each with a plain twin.
6. `index.py`    the index: points find candidates, `Filter.covers` decides where points do not.

Ours; from the works it has the idea that covering is dominance among points (Shen 2007, L1054).
"""

from sapwood.covering.columnar.index import ColumnarCovering

__all__ = ["ColumnarCovering"]
