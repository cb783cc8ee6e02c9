"""The laws of every exact covering index (Shen T-9), as a state machine and as examples."""

from __future__ import annotations

from functools import cache, lru_cache

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sapwood import parse_filter
from sapwood.covering.protocol import CoveringIndex
from sapwood.model.filter import Filter
from tests.matching.published.posets.nesting import EQUIVALENT, any_filters

MIXED = tuple(
    map(
        parse_filter,
        (
            "airline = 'UA' and price < 300",
            "price < 300",
            "price <= 300",
            "airline = 'UA'",
            "airline like 'U%'",
            "airline like '%A'",
            "exists airline",
            "airline = 'UA' and price < 200 and seats > 1",
            "airline in ('UA', 'LH')",
            "airline = 'UA' or price < 300",
            "price < 150 or price > 100 and price < 300",
            "price < 100 or seats > 5",
            "seats is null",
            "seats is null or seats > 3",
            "halted",
            "not halted",
            "price = 250",
            f"price > {2**53}",
            f"price >= {2**53 + 1}",
            f"price >= {2**53 + 2}",
            "price > 1 and price < 2 or price > 3 and price < 4",
            "true",
            "false",
        ),
    )
)
"""Filters of all shapes around one another."""

DISTINCT = tuple(dict.fromkeys((*MIXED, *EQUIVALENT)))
"""The same with some that accept the same."""


@lru_cache(maxsize=1 << 17)
def is_cover(wide: Filter, narrow: Filter) -> bool:
    """True if a filter covers another; each pair is worked out once for all indexes."""
    return wide.covers(narrow)


def covers_of(filters: dict[int, Filter], wanted: Filter) -> set[int]:
    """C(s): whoever covers a filter, but not itself."""
    return {key for key, f in filters.items() if is_cover(f, wanted) and f != wanted}


def covered_by(filters: dict[int, Filter], wide: Filter) -> set[int]:
    """Whoever a filter covers, but not itself."""
    return {key for key, f in filters.items() if is_cover(wide, f) and f != wide}


def check_all_pairs(index: CoveringIndex[Filter]) -> None:
    """Every question about the mixed filters, with all of them held, then with half of them."""
    for key, held in enumerate(DISTINCT):
        index.add(key, held)
    check_answers(index, 1)
    for key in range(1, len(DISTINCT), 2):
        index.remove(key)
    check_answers(index, 2)


def check_answers(index: CoveringIndex[Filter], step: int) -> None:
    """Every question, where the index holds each `step`-th of the filters."""
    index.validate()
    for asked, above, below in answers(step):
        found = index.cov(asked, len(DISTINCT[::step]))
        assert (set(found), len(found)) == (above, len(above)), str(asked)
        covered = index.covered(asked)
        assert (set(covered), len(covered)) == (below, len(below)), str(asked)


@cache
def answers(step: int) -> tuple[tuple[Filter, set[int], set[int]], ...]:
    """Each filter, and the keys of every `step`-th that cover it, and that it covers.

    All indexes are asked the same, so that it is worked out once for all of them.
    """
    held = {key: DISTINCT[key] for key in range(0, len(DISTINCT), step)}
    return tuple((asked, covers_of(held, asked), covered_by(held, asked)) for asked in DISTINCT)


class IndexMachine(RuleBasedStateMachine):
    """Any sequence of additions, removals and questions."""

    def index(self) -> CoveringIndex[Filter]:
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.tried = self.index()
        self.filters: dict[int, Filter] = {}

    @rule(many=st.lists(st.one_of(any_filters(), st.sampled_from(MIXED)), min_size=1, max_size=4))
    def add(self, many: list[Filter]) -> None:
        for wanted in many:
            if wanted not in self.filters.values():
                key = next(k for k in range(len(self.filters) + 1) if k not in self.filters)
                self.tried.add(key, wanted)
                self.filters[key] = wanted

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        assume(self.filters)
        key = data.draw(st.sampled_from(sorted(self.filters)))
        self.tried.remove(key)
        del self.filters[key]

    @rule(data=st.data(), limit=st.integers(1, 4))
    def ask(self, data: st.DataObject, limit: int) -> None:
        held = sorted(self.filters.items())
        stored = st.sampled_from([f for _, f in held]) if held else st.nothing()
        wanted = data.draw(st.one_of(stored, any_filters(), st.sampled_from(MIXED)))
        expected = covers_of(self.filters, wanted)
        found = self.tried.cov(wanted, limit)
        assert len(found) == len(set(found)) == min(limit, len(expected))
        assert set(found) <= expected
        assert set(self.tried.covered(wanted)) == covered_by(self.filters, wanted)

    @invariant()
    def valid(self) -> None:
        self.tried.validate()
        assert len(self.tried) == len(self.filters)
