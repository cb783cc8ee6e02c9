"""The default engine: access predicates over columns.

A set of filters becomes a few immutable *segments* of plain arrays and a small mutable tail.

1. `rows.py`      conjunctions as columns of values: the form in which segments are taken apart
                  and put together. `restoring.py` takes out a single filter again.
2. `ranking.py`   every attribute of a segment gets a *line*: absence, booleans, numbers and texts
                  one after the other, cut at each constant that a filter mentions. A value is one
                  cell of the line, a constraint is a few runs of cells. Whatever the types, one
                  comparison of small integers decides, and it decides exactly.
3. `access.py`    each conjunction lies in one cluster, chosen by its most selective constraint;
                  `sampling.py` asks records that were matched which these are.
4. `rowing.py`    large clusters have bit rows, which rule out most entries 64 at a time.
5. `columns.py`   the arrays of a segment, in cluster order, in one block of memory; `segment.py`
                  keeps them with the marks of what was removed.
6. `batch.py`     records as arrays.
7. `folding.py`   when the tail becomes a segment, and which segments are joined.
8. `engine.py`    all of it together, and matching with `sapwood.matching.kernels`.
"""

from sapwood.matching.columnar.engine import ColumnarEngine

__all__ = ["ColumnarEngine"]
