"""The default engine: access predicates over columns.

A set of filters becomes a few immutable *segments* of plain arrays and a small mutable tail.

1. `rows.py`      conjunctions as columns of values: the form in which segments are taken apart
                  and put together.
2. `ranking.py`   every attribute of a segment gets a *line*: absence, booleans, numbers and texts
                  one after the other, cut at each constant that a filter mentions. A value is one
                  cell of the line, a constraint is a few runs of cells. Whatever the types, one
                  comparison of small integers decides, and it decides exactly.
3. `access.py`    each conjunction lies in one cluster, chosen by its most selective constraint.
4. `segment.py`   the arrays of a segment, in cluster order.
5. `batch.py`     records as arrays.
6. `engine.py`    the tail, folding, removal, and matching with `sapwood.matching.kernels`.
"""

from sapwood.matching.columnar.engine import ColumnarEngine

__all__ = ["ColumnarEngine"]
