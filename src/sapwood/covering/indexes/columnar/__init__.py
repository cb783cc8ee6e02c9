"""The default covering index: numeric hulls in columns, searched block by block.

1. `hulls.py`    what is stored of a filter: for each attribute the kinds of values it accepts and
                 the ends of its numbers and texts. A filter's hull holds the hull of whatever it
                 covers; for numeric boxes that is also enough.
2. `table.py`    hulls as columns, in blocks of rows that lie near each other, with the extremes of
                 every block.
3. `kernels/`    the search and the arrangement of rows, compiled, each with a plain twin.
4. `index.py`    the index: hulls find candidates, `Filter.covers` decides where hulls do not.
"""

from sapwood.covering.indexes.columnar.index import ColumnarCovering

__all__ = ["ColumnarCovering"]
