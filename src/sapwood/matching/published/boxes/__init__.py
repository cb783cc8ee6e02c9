"""Numeric boxes in arrays, searched by compiled code (Shen 2007, sections 2.2 and 3.4, table 3.1).

The work measured compiled matchers: what a lookup spares, and when, depends on what a match costs.
These are its two matchers as compiled code; `counting` and `kdtree`, which have the same
algorithms in plain Python, take any filter and every change at once.

1. `rows.py`      boxes as rows of columns, and a record as the two points of its values.
2. `intervals.py` counting: an interval tree for each attribute.
3. `trees.py`     k-d trees, one for each set of attributes.
4. `engine.py`    the engines on these, with what is no box beside them.
5. `kernels/`     the searches; `layout.py` has the layout of the arrays.
"""

from sapwood.matching.published.boxes.engine import CountingBoxes, KdTreeBoxes

__all__ = ["CountingBoxes", "KdTreeBoxes"]
