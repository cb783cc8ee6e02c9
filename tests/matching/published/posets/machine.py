"""Any sequence of additions and removals on an ordered structure."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sapwood.matching.published.posets.engine import Poset
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests import strategies as some
from tests.matching.published.posets.nesting import any_filters

SMALL_RECORDS = st.dictionaries(st.sampled_from("abc"), st.integers(-1, 5))


class PosetMachine(RuleBasedStateMachine):
    """Filters of every shape; `poset` says which structure is tried."""

    drawn: st.SearchStrategy[Filter] = any_filters()

    def poset(self) -> Poset:
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.tried = self.poset()
        self.filters: dict[int, Filter] = {}

    @rule(data=st.data())
    def add(self, data: st.DataObject) -> None:
        wanted = data.draw(self.drawn)
        assume(wanted not in self.filters.values())
        node = next(node for node in range(len(self.filters) + 1) if node not in self.filters)
        self.tried.add(node, wanted)
        self.filters[node] = wanted

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        assume(self.filters)
        node = data.draw(st.sampled_from(sorted(self.filters)))
        before = set(self.tried.roots)
        uncovered = self.tried.remove(node)
        del self.filters[node]
        assert set(uncovered) >= set(self.tried.roots) - before

    @rule(record=st.one_of(SMALL_RECORDS, some.records()))
    def match(self, record: Record) -> None:
        found = list(self.tried.accepting(record))
        assert len(found) == len(set(found))
        assert set(found) == {n for n, f in self.filters.items() if f.accepts(record)}

    @invariant()
    def valid(self) -> None:
        self.tried.validate()
        assert len(self.tried) == len(self.filters)
        for node, wanted in self.filters.items():
            assert self.tried.filter(node) == wanted
            assert (node in self.tried.roots) == (not self.tried.parents(node))
