"""How the columnar engine finds a filter: what each of its conjunctions is looked up by.

Segments are built from rows by ranking constants, guessing how selective each constraint is, and
choosing the one to look up (`access.py`, `grids.py`). The same is done here with one filter beside
others, and told instead of built.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sapwood.matching.columnar import access, grids
from sapwood.matching.columnar.access import Choice, Kind, Shape
from sapwood.matching.columnar.like_checks import LikePredicates
from sapwood.matching.columnar.ranking import rank
from sapwood.matching.columnar.rows import RowWriter
from sapwood.matching.lookups import Lookup, Way
from sapwood.model.conjunction import Conjunction
from sapwood.model.filter import Filter
from sapwood.model.printing import print_constraint


def lookups(filter: Filter, beside: Iterable[Filter] = ()) -> tuple[Lookup, ...]:
    """How each conjunction of a filter is found, in an index with others beside it.

    Takes some microseconds for each conjunction of all of them.
    """
    attributes: dict[str, int] = {}
    writer = RowWriter(attributes, LikePredicates())
    writer.add(0, filter)
    count = len(writer)
    assert count == len(filter.conjunctions), "a normal form has no conjunction that is empty"
    for slot, other in enumerate(beside, 1):
        writer.add(slot, other)
    rows = writer.rows()
    if not count:
        return ()
    ranked = rank(rows, len(attributes))
    shapes = access.shape(rows.outline, ranked, len(attributes))
    choice = access.choose(rows.outline, shapes)
    pairs = grids.paired(shapes, choice, ranked.domains)
    choice = grids.with_pairs(choice, pairs)
    names = list(attributes)
    return tuple(
        _lookup(one, at, names, shapes, choice) for at, one in enumerate(filter.conjunctions)
    )


def _lookup(
    conjunction: Conjunction, at: int, names: list[str], shapes: Shape, choice: Choice
) -> Lookup:
    chosen = [int(c) for c in (choice.constraint[at], choice.second[at]) if c >= 0]
    by = [names[int(shapes.attribute[c])] for c in chosen]
    way = _way(Kind(int(choice.kind[at])), chosen, shapes)
    # What a lookup implies need not be compared again: that of a lone constraint may be.
    implied = by if choice.is_exact[at] else []
    texts = {name: print_constraint(name, one) for name, one in conjunction.constraints}
    patterns = tuple(
        texts[name] for name, one in conjunction.constraints if not one.strings.is_plain
    )
    compared = tuple(texts[name] for name in texts if name not in implied)
    share = float(np.prod([shapes.chance[c] for c in chosen])) if chosen else 1.0
    looked_up = tuple(n if way is Way.PRESENCE else texts[n] for n in by)
    return Lookup(str(conjunction), way, looked_up, compared, patterns, share)


def _way(kind: Kind, chosen: list[int], shapes: Shape) -> Way:
    if kind is Kind.SCAN:
        return Way.SCAN
    if kind is Kind.GRID:
        return Way.PAIR
    if kind is Kind.POINTS:
        return Way.HASH
    (at,) = chosen
    is_any = shapes.low[at] <= shapes.zone_low[at] and shapes.high[at] >= shapes.zone_high[at]
    return Way.PRESENCE if is_any and shapes.ranges[at] == 1 else Way.INTERVAL
