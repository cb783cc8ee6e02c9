"""The default engine of records: access predicates over columns.

A set of filters becomes a few immutable *segments* of plain arrays and a small mutable *memtable*:
it is a log-structured merge tree. docs/matching.md has the glossary, and carries eight filters
through every array by hand.

1. `rows.py`      conjunctions as columns of values: the form in which segments are taken apart
                  and put together. `restoring.py` takes out a single filter again.
2. `ranking.py`   every attribute of a segment gets a *domain* (`domains.py`): absence, booleans,
                  numbers and texts, cut at each constant that a filter mentions. A value has one
                  *rank* in the domain, a constraint is a few rank ranges. Whatever the types, one
                  comparison of small integers decides, and it decides exactly.
   `derived.py`   the end of a text and its readings are constraints on attributes beside it.
3. `access.py`    each conjunction lies in one cluster, chosen by its most selective constraint
                  (its access predicate); `sampling.py` finds selectivity from matched records.
4. `grids.py`     where two constraints together leave far fewer, they are looked up at once.
   `literals.py`  texts that patterns require are found by an automaton, all in one pass.
5. `bitmaps.py`   large clusters have bitmaps, which rule out most entries 64 at a time.
6. `columns.py`   the arrays of a segment, in cluster order, in one buffer; `segment.py` holds it
                  with the marks of removed conjunctions. `build.py` makes a segment of rows.
7. `batch.py`     records as bytes, and a kernel's matches; `searching.py` calls kernels.
8. `snapshot.py`  all that a match reads, as it was at one moment, and matching with `kernels`;
                  `like_checks.py` verifies predicates that neither ranks nor literals decide.
9. `compaction.py` when the memtable becomes a segment, and the choice of segments to join;
                  `saving.py` writes an engine's files.
10. `engine.py`   the engine: changes, and the snapshot that a match gets.

Source: our own. That a subscription is found by its rarest predicate is as old as Le Subscribe
(Fabret and others 2001); what is particular are domains, bitmaps within a cluster, and grids.

Cost: a record pays for the entries that its lookups lead to, a bit for each of some twenty
attributes where there are bitmaps, and a cache line for each candidate that is left; then for its
matches. An addition is a few rebuilds of its conjunctions, some microseconds each. The engine wins
from a thousand filters on, of whatever form; below, and where every other operation is a change,
`counting` does without preparation.
"""

from sapwood.matching.columnar.engine import ColumnarEngine

__all__ = ["ColumnarEngine"]
