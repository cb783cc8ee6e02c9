"""The k-d tree as a matching engine (Shen 2007, section 3.4, L589-593).

Conjunctions of numeric intervals live in k-d trees, one tree for each set of attributes, so that a
point has no coordinates for attributes that its conjunction does not constrain, and a record that
lacks an attribute skips all trees that need it. A record is looked up in every tree whose
attributes it has as numbers. All other shapes (texts, booleans, several intervals, "absent") live
beside the trees in a `CountingEngine`; a filter may have conjunctions in both.

Cost: one search (`tree.py`) for each set of attributes in use, plus the counting engine's price for
the filters that it holds. Adding is a descent, removing a tombstone. It wins where filters are
boxes over few, always present attributes, and most of all in `match_any`, which stops at the first
point; it degrades to a scan where nearly every filter has a set of attributes of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from sapwood.errors import InvariantError
from sapwood.matching.counting import CountingEngine
from sapwood.matching.published.kdtree.boxes import box_of, point_of
from sapwood.matching.published.kdtree.tree import DominanceTree
from sapwood.matching.unbatched import UnbatchedEngine
from sapwood.model.conjunction import Conjunction
from sapwood.model.filter import Filter
from sapwood.model.publication import Record

_Key: TypeAlias = tuple[int, int]
"""A slot, and the place of one of its conjunctions in the filter."""


class KdTreeEngine(UnbatchedEngine[Filter, Record]):
    """K-d trees for boxes, counting for the rest (see the module)."""

    def __init__(self) -> None:
        #: slot -> its filter; exactly the taken slots
        self._filters: dict[int, Filter] = {}
        #: attributes -> the boxes over exactly these; none is empty
        self._trees: dict[tuple[str, ...], DominanceTree[_Key]] = {}
        #: the boxes with an open end, which a search may report wrongly
        self._open: dict[_Key, Conjunction] = {}
        #: the slots with a conjunction that is no box, with these conjunctions
        self._beside = CountingEngine()
        self._with_beside: set[int] = set()

    def __len__(self) -> int:
        """The number of taken slots."""
        return len(self._filters)

    def add(self, slot: int, filter: Filter) -> None:
        """Put `filter` into `slot`."""
        assert slot not in self._filters, f"slot {slot} is taken"
        self._filters[slot] = filter
        others: list[Conjunction] = []
        for place, conjunction in enumerate(filter.conjunctions):
            box = box_of(conjunction)
            if box is None:
                others.append(conjunction)
                continue
            self._trees.setdefault(box.attributes, DominanceTree()).add((slot, place), box.point)
            if not box.closed:
                self._open[slot, place] = conjunction
        if others:
            self._beside.add(slot, Filter(tuple(others)))
            self._with_beside.add(slot)

    def remove(self, slot: int) -> None:
        """Free `slot`."""
        for place, conjunction in enumerate(self._filters.pop(slot).conjunctions):
            if box_of(conjunction) is None:
                continue
            self._open.pop((slot, place), None)
            tree = self._trees[conjunction.attributes]
            tree.remove((slot, place))
            if not tree:
                del self._trees[conjunction.attributes]
        if slot in self._with_beside:
            self._with_beside.remove(slot)
            self._beside.remove(slot)

    def match(self, record: Record) -> list[int]:
        """The slots whose filters accept `record`, ascending, each once."""
        found = set(self._in_trees(record))
        found.update(self._beside.match(record))
        return sorted(found)

    def reads(self, attribute: str) -> bool:
        """True if a filter reads an attribute."""
        return self._beside.reads(attribute) or any(
            attribute in attributes for attributes in self._trees
        )

    def match_any(self, record: Record) -> bool:
        """True if any filter accepts `record`; stops at the first."""
        return next(self._in_trees(record), None) is not None or self._beside.match_any(record)

    def validate(self) -> None:
        """Check that the trees hold exactly the boxes, and counting all other conjunctions."""
        expected = KdTreeEngine()
        for slot, stored in self._filters.items():
            expected.add(slot, stored)
        sizes = {attributes: len(tree) for attributes, tree in self._trees.items()}
        if sizes != {attributes: len(tree) for attributes, tree in expected._trees.items()}:
            raise InvariantError("the trees do not hold the boxes of the filters")
        if self._open != expected._open or self._with_beside != expected._with_beside:
            raise InvariantError("open boxes or shapes beside the trees are not the filters'")
        if len(self._beside) != len(self._with_beside):
            raise InvariantError("the counting engine does not hold the slots it should")
        self._beside.validate()
        for tree in self._trees.values():
            tree.validate()

    def _in_trees(self, record: Record) -> Iterator[int]:
        """The slots of all boxes that accept the record, some of them more than once."""
        for attributes, tree in self._trees.items():
            query = point_of(attributes, record)
            if query is None:
                continue
            for key in tree.dominating(query):
                unsure = self._open.get(key)
                if unsure is None or unsure.accepts(record):
                    yield key[0]
