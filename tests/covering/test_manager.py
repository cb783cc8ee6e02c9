"""The two layers together: what is told to the neighbor, and when (Shen T-12 to T-17)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sapwood import parse_filter
from sapwood.covering.catalogue import COVERINGS, covering_manager
from sapwood.covering.columnar import ColumnarCovering
from sapwood.covering.flat import FlatGraph
from sapwood.covering.manager import NO_CHANGE, Change, CoveringManager
from sapwood.covering.published.poset import SienaPoset
from sapwood.covering.reference import ReferenceCovering
from sapwood.errors import InputError, InvariantError
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.publication import Record
from sapwood_lab.experiments.covering_time import operations
from tests import strategies as some
from tests.covering.histories import Neighbor
from tests.covering.laws import MIXED
from tests.examples import examples
from tests.matching.published.posets.nesting import (
    EQUIVALENT,
    all_edges,
    any_filters,
    plain_filters,
)

EXACT = sorted(name for name, info in COVERINGS.items() if info.exact)
GRAPHS = ("dense,reference", "flat-1,reference", "flat-8,reference", "forest", "poset")
every_covering = pytest.mark.parametrize("name", EXACT)


def change(propagate: str = "", withdraw: str = "") -> Change[Interest]:
    """A change from texts that are divided by semicolons."""

    def filters(texts: str) -> tuple[Filter, ...]:
        return tuple(parse_filter(text) for text in texts.split(";") if text)

    return Change(filters(propagate), filters(withdraw))


@every_covering
def test_manager_propagates_what_is_not_covered(name: str) -> None:
    manager = covering_manager(name)
    wide, narrow, other = map(parse_filter, ("a < 9", "a < 5", "b < 5"))
    assert manager.subscribe(wide) == change("a < 9")
    assert manager.subscribe(narrow) == NO_CHANGE
    assert manager.subscribe(other) == change("b < 5")
    assert manager.representative(narrow) == wide
    assert manager.representative(other) == other
    assert set(manager.covers(narrow)) == {wide}
    assert set(manager.dependents(wide)) == {narrow}
    manager.validate()


@every_covering
def test_manager_propagates_what_loses_its_cover_before_the_withdrawal(name: str) -> None:
    manager = covering_manager(name)
    for text in ("a < 9", "a < 5", "a > 3 and a < 8", "a < 2"):
        manager.subscribe(parse_filter(text))
    said = manager.unsubscribe(parse_filter("a < 9"))
    assert set(said.propagate) == set(map(parse_filter, ("a < 5", "a > 3 and a < 8")))
    assert said.withdraw == (parse_filter("a < 9"),)
    assert set(manager.propagated) == set(said.propagate)
    manager.validate()


@every_covering
def test_manager_does_not_withdraw_a_narrow_filter_when_a_wider_one_comes(name: str) -> None:
    manager = covering_manager(name)
    assert manager.subscribe(parse_filter("a < 5")) == change("a < 5")
    assert manager.subscribe(parse_filter("a < 9")) == change("a < 9")
    assert manager.unsubscribe(parse_filter("a < 9")) == change(withdraw="a < 9")
    assert manager.unsubscribe(parse_filter("a < 5")) == change(withdraw="a < 5")
    assert len(manager) == 0
    manager.validate()


@every_covering
def test_a_repeated_filter_is_counted_and_nothing_else(name: str) -> None:
    manager = covering_manager(name)
    wide, narrow = parse_filter("a < 9"), parse_filter("a < 5")
    manager.subscribe(wide)
    manager.subscribe(narrow)
    asked, state = manager.work.queries, manager.propagated
    for wanted in (wide, narrow, parse_filter("not a >= 9")):
        assert manager.subscribe(wanted) == NO_CHANGE
    assert (manager.count(wide), manager.count(narrow), len(manager)) == (3, 2, 2)
    for wanted in (wide, narrow, wide):
        assert manager.unsubscribe(wanted) == NO_CHANGE
    assert (manager.count(wide), manager.count(narrow)) == (1, 1)
    assert (manager.work.queries, manager.propagated) == (asked, state)
    manager.validate()


@every_covering
def test_an_unknown_removal_is_ignored(name: str) -> None:
    manager = covering_manager(name)
    assert manager.unsubscribe(parse_filter("a < 9")) == NO_CHANGE
    assert manager.count(parse_filter("a < 9")) == 0
    assert parse_filter("a < 9") not in manager
    manager.subscribe(parse_filter("a < 9"))
    assert parse_filter("a < 9") in manager
    assert list(manager.filters) == [parse_filter("a < 9")]


@every_covering
@pytest.mark.one_in(3)
def test_unequal_filters_that_accept_the_same_are_never_both_forgotten(name: str) -> None:
    """The trap of algorithm 4.2: each would be given the other as its only cover."""
    filters = (parse_filter("a >= 0"), *EQUIVALENT)
    manager, neighbor = covering_manager(name), Neighbor()
    subscribed: set[Filter] = set()
    for wanted in filters:
        subscribed.add(wanted)
        neighbor.hear(manager.subscribe(wanted), subscribed)
        manager.validate()
    for wanted in filters:
        subscribed.discard(wanted)
        neighbor.hear(manager.unsubscribe(wanted), subscribed)
        manager.validate()


def test_a_graph_that_needs_an_index_is_refused_without_one() -> None:
    with pytest.raises(InputError, match="FlatGraph needs an index"):
        CoveringManager(FlatGraph(1))


def test_a_graph_that_searches_itself_is_refused_with_an_index() -> None:
    with pytest.raises(InputError, match="leave the index out"):
        CoveringManager(SienaPoset(), ReferenceCovering())


def test_an_index_that_is_not_empty_is_refused() -> None:
    index = ReferenceCovering()
    index.add(0, parse_filter("a < 9"))
    with pytest.raises(InputError, match="empty"):
        CoveringManager(FlatGraph(1), index)


def test_validate_finds_a_filter_without_cover() -> None:
    manager = covering_manager("flat-1,reference")
    manager.subscribe(parse_filter("a < 9"))
    manager._propagated.clear()
    with pytest.raises(InvariantError, match="neither propagated nor covered"):
        manager.validate()


def test_validate_finds_an_index_that_lost_a_filter() -> None:
    manager = covering_manager("flat-1,reference")
    manager.subscribe(parse_filter("a < 9"))
    manager._index.remove(0)
    with pytest.raises(InvariantError, match="hold different filters"):
        manager.validate()


def test_validate_finds_a_filter_that_nobody_has() -> None:
    manager = covering_manager("flat-1,reference")
    manager.subscribe(parse_filter("a < 9"))
    manager._repeats[0] = 0
    with pytest.raises(InvariantError, match="said to be repeated"):
        manager.validate()


def test_validate_finds_a_key_that_was_lost() -> None:
    manager = covering_manager("flat-1,reference")
    manager.subscribe(parse_filter("a < 9"))
    manager._free.append(7)
    with pytest.raises(InvariantError, match="do not make up all keys"):
        manager.validate()


class History(RuleBasedStateMachine):
    """Any sequence on all graphs at once, with every index below the flat ones."""

    names: tuple[str, ...] = (*GRAPHS, "flat-1,counting", "flat-1,kdtree", "flat-1,columnar")
    drawn: st.SearchStrategy[Filter] = st.one_of(any_filters(), st.sampled_from(MIXED))

    def __init__(self) -> None:
        super().__init__()
        self.managers = {name: covering_manager(name) for name in self.names}
        self.neighbors = {name: Neighbor() for name in self.names}
        self.live: Counter[Filter] = Counter()

    def each(self, act: Callable[[str, CoveringManager[Interest]], Change[Interest]]) -> None:
        subscribed = {wanted for wanted, count in self.live.items() if count}
        for name, manager in self.managers.items():
            self.neighbors[name].hear(act(name, manager), subscribed)

    @rule(data=st.data())
    def subscribe(self, data: st.DataObject) -> None:
        wanted = data.draw(self.drawn)
        self.live[wanted] += 1
        self.each(lambda _, manager: manager.subscribe(wanted))

    @rule(data=st.data())
    def unsubscribe(self, data: st.DataObject) -> None:
        assume(self.live)
        wanted = data.draw(st.sampled_from(sorted(self.live, key=str)))
        self.live[wanted] -= 1
        if not self.live[wanted]:
            del self.live[wanted]
        self.each(lambda _, manager: manager.unsubscribe(wanted))

    @rule(
        record=st.one_of(some.records(), st.dictionaries(st.sampled_from("abc"), st.integers(0, 4)))
    )
    def publish(self, record: Record) -> None:
        """The publications that come back over the link are those that are wanted (T-17)."""
        wanted = any(f.accepts(record) for f in self.live)
        for neighbor in self.neighbors.values():
            assert (
                any(isinstance(f, Filter) and f.accepts(record) for f in neighbor.known) == wanted
            )

    @invariant()
    def holds(self) -> None:
        for name, manager in self.managers.items():
            manager.validate()
            assert set(manager.propagated) == set(self.neighbors[name].known)
            assert set(manager.filters) == set(self.live)
            for wanted in self.live:
                assert manager.count(wanted) == self.live[wanted]
                is_told = wanted in self.neighbors[name].known
                if name.startswith("flat"):  # I1
                    assert is_told == (not manager.covers(wanted))
                else:
                    assert is_told or manager.covers(wanted)


class PlainHistory(History):
    """Histories of which more can be said: detection is complete and covering a partial order."""

    drawn = plain_filters()

    @rule(data=st.data())
    def unsubscribe(self, data: st.DataObject) -> None:
        assume(self.live)
        wanted = data.draw(st.sampled_from(sorted(self.live, key=str)))
        self.live[wanted] -= 1
        is_last = not self.live[wanted]
        if is_last:
            del self.live[wanted]

        def act(name: str, manager: CoveringManager[Interest]) -> Change[Interest]:
            asked, degree = manager.work.unsubscribe_queries, len(manager.dependents(wanted))
            said = manager.unsubscribe(wanted)
            if name.startswith("flat-1"):  # lemma 1: one question for each child
                expected = degree if is_last else 0
                assert manager.work.unsubscribe_queries - asked == expected
            return said

        self.each(act)

    @invariant()
    def edges_are_those_of_brute_force(self) -> None:
        filters = dict(enumerate(self.live))
        keys: dict[Interest, int] = {wanted: key for key, wanted in filters.items()}
        edges = all_edges(filters)
        for name, manager in self.managers.items():
            found = {(keys[c], keys[f]) for f in self.live for c in manager.covers(f)}
            assert found == edges if name.startswith("dense") else found <= edges
            assert found == {(keys[f], keys[d]) for f in self.live for d in manager.dependents(f)}


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=examples(25), stateful_step_count=20)
TestPlainHistory = PlainHistory.TestCase
TestPlainHistory.settings = settings(max_examples=examples(15), stateful_step_count=25)


@given(filters=st.lists(plain_filters(), unique=True, max_size=14), data=st.data())
@settings(max_examples=examples(60))
def test_property_1_holds_where_no_wide_filter_comes_after_a_narrow_one(
    filters: list[Filter], data: st.DataObject
) -> None:
    """T-13, and the second half of T-17: all graphs then propagate the same."""
    wide_first = sorted(filters, key=lambda f: -sum(f.covers(other) for other in filters))
    removed = data.draw(st.sets(st.sampled_from(wide_first))) if wide_first else set()
    managers = {name: covering_manager(name) for name in GRAPHS}
    live: list[Filter] = []
    for wanted in wide_first:
        live.append(wanted)
        for manager in managers.values():
            manager.subscribe(wanted)
    for gone in [None, *sorted(removed, key=str)]:
        if gone is not None:
            live.remove(gone)
            for manager in managers.values():
                manager.unsubscribe(gone)
        uncovered = {f for f in live if not any(o.covers(f) and o != f for o in live)}
        for manager in managers.values():
            assert {f for f in live if not manager.covers(f)} == uncovered
            assert set(manager.propagated) == uncovered


@pytest.mark.parametrize("removal_share", [0.2, 0.4])
def test_questions_of_removals_are_bounded_by_those_of_subscriptions(removal_share: float) -> None:
    """Lemma 1 and theorem 1 on Shen's workload (T-14, T-15), with one seed."""
    costs: dict[int, int] = {}
    sequence = tuple(operations(1500, 3, removal_share, seed=5))
    for k in (1, 2, 8):
        manager = CoveringManager(FlatGraph(k), ColumnarCovering())
        for is_new, wanted in sequence:
            (manager.subscribe if is_new else manager.unsubscribe)(wanted)
        manager.validate()
        work = manager.work
        assert work.subscribe_queries == work.subscriptions
        assert work.queries >= work.subscriptions
        costs[k] = work.queries
        if k == 1:
            assert work.removals > 200
            assert work.unsubscribe_queries / work.removals <= 1.1
            assert work.queries <= 2 * work.subscriptions
    assert costs[1] <= 2 * min(costs.values())
