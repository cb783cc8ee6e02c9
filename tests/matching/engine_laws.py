"""The laws of every engine of records, as a state machine against `Filter.accepts`."""

from __future__ import annotations

from itertools import count

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sapwood.matching.protocol import Bulk, Engine
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests import strategies as some

RELATED = st.one_of(
    some.filters(),
    some.conjunction_filters(),
    st.tuples(some.conjunction_filters(), some.conjunction_filters()).map(
        lambda pair: pair[0].merge(pair[1]).filter
    ),
)
"""Filters of which some cover others."""


class EngineMachine(RuleBasedStateMachine):
    """Any sequence of additions, removals and matches; `engine` says which is tried."""

    def engine(self) -> Engine:
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.tried = self.engine()
        self.filters: dict[int, Filter] = {}

    @rule(wanted=RELATED)
    def add(self, wanted: Filter) -> None:
        slot = next(slot for slot in range(len(self.filters) + 1) if slot not in self.filters)
        self.tried.add(slot, wanted)
        self.filters[slot] = wanted

    @rule(wanted=st.lists(RELATED, max_size=6))
    def add_many(self, wanted: list[Filter]) -> None:
        free = (slot for slot in count() if slot not in self.filters)
        added = dict(zip(free, wanted, strict=False))
        if isinstance(self.tried, Bulk):
            self.tried.add_many([*added.items()])
        else:
            for slot, one in added.items():
                self.tried.add(slot, one)
        self.filters.update(added)

    @rule(data=st.data())
    def add_again(self, data: st.DataObject) -> None:
        if self.filters:
            self.add(self.filters[data.draw(st.sampled_from(sorted(self.filters)))])

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        if self.filters:
            slot = data.draw(st.sampled_from(sorted(self.filters)))
            self.tried.remove(slot)
            del self.filters[slot]

    @rule(record=some.records())
    def match(self, record: Record) -> None:
        accepting = sorted(slot for slot, f in self.filters.items() if f.accepts(record))
        assert self.tried.match(record) == accepting
        assert self.tried.match_any(record) == bool(accepting)
        batch = self.tried.match_slots([record, {}])
        assert batch.slots[: batch.offsets[1]].tolist() == accepting

    @invariant()
    def valid(self) -> None:
        self.tried.validate()
        assert len(self.tried) == len(self.filters)
