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
4. `grids.py`     where two constraints together leave far fewer, they are looked up at once.
5. `rowing.py`    large clusters have bit rows, which rule out most entries 64 at a time.
6. `columns.py`   the arrays of a segment, in cluster order, in one block of memory; `segment.py`
                  keeps them with the marks of what was removed.
7. `batch.py`     records as bytes, in which kernels find the attributes that `naming.py` names;
                  `searching.py` calls them.
8. `snapshot.py`  what a match reads, as it was at one moment, and matching with
                  `sapwood.matching.columnar.kernels`.
9. `folding.py`   when the tail becomes a segment, and which segments are joined; `saving.py` what
                  is written beside one.
10. `engine.py`   all of it together: changes, and which snapshot a match gets.

Source: our own. That a subscription is found by its rarest predicate is as old as Le Subscribe
(Fabret and others 2001); what is particular are lines, bit rows within a cluster, and grids.

Cost: a record pays for the entries that its lookups lead to, a bit for each of some twenty
attributes where there are bit rows, and a cache line for each candidate that is left; then for what
it matches. An addition is a few rebuilds of its conjunctions, some microseconds each. It wins from
a thousand filters on, whatever they say; below, and where every other operation is a change,
`counting` does without preparation.
"""

from sapwood.matching.columnar.engine import ColumnarEngine

__all__ = ["ColumnarEngine"]
