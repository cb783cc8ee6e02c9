"""The default covering index: hulls in columns, found by intersecting bitmaps.

1. `hulls.py`    what is stored of a filter: for each attribute the kinds of values it accepts and
                 the ends of its numbers and texts. A filter's hull holds the hull of whatever it
                 covers; for numeric boxes that is also enough.
2. `table.py`    hulls as columns, with a bitmap for each of some levels of a column.
3. `kernels/`    the search and the writing of rows, compiled, each with a plain twin.
4. `index.py`    the index: hulls find candidates, `Filter.covers` decides where hulls do not.

Ours; of the works it has the idea that covering is dominance among points (Shen 2007, L1054).
"""

from sapwood.covering.columnar.index import ColumnarCovering

__all__ = ["ColumnarCovering"]
