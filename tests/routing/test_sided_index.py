"""One index with sides tells what a filter by itself tells, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter, parse_xpath
from sapwood.errors import (
    DuplicateIdError,
    InputError,
    InvariantError,
    UnknownIdError,
    UnknownNameError,
)
from sapwood.matching.engine_names import Engines
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing import pool as pool_module
from sapwood.routing import sided_index as sided_module
from sapwood.routing.pool import Pool
from sapwood.routing.shares import Share
from sapwood.routing.sided_index import BatchMatches, Matches, SidedIndex
from sapwood.routing.tables import CLIENTS
from tests.batches import batch_of
from tests.examples import examples

COLUMNAR, COUNTING = Engines("columnar"), Engines("counting")
NEIGHBORS = ("r1", "r2", "r3")
KEYS = ("k1", "k2", "k3", "k4")
FILTERS: tuple[Interest, ...] = (
    *map(
        parse_filter, ("a > 1", "a > 2 and b = 'x'", "a = 1 or b is null", "b like '%y%'", "true")
    ),
    *map(parse_xpath, ("/a/b", "//b[@c = 1]", "/a")),
)
PUBLICATIONS = (
    Publication("p1", {"a": 1}),
    Publication("p2", {"a": 3, "b": "x"}),
    Publication("p3", {"b": "xyz"}),
    Publication("p4", document=b"<a><b c='1'/></a>"),
    Publication("p5", {"a": 2}, b"<d><b/></d>"),
)

Step = tuple[Any, ...]


@pytest.fixture(params=(COLUMNAR, COUNTING), ids=lambda engines: engines.records)
def engines(request: pytest.FixtureRequest) -> Engines:
    found: Engines = request.param
    return found


@cache
def steps() -> st.SearchStrategy[list[Step]]:
    sides = st.sampled_from((CLIENTS, *NEIGHBORS))
    neighbors, keys = st.sampled_from(NEIGHBORS), st.sampled_from(KEYS)
    entered = st.tuples(st.just("add"), sides, keys, st.sampled_from(FILTERS))
    return st.lists(
        st.one_of(
            st.tuples(st.just("add_side"), neighbors),
            entered,
            entered,
            st.tuples(
                st.just("add_many"),
                sides,
                st.lists(st.tuples(keys, st.sampled_from(FILTERS)), max_size=4).map(tuple),
            ),
            st.tuples(st.just("remove"), sides, keys),
            st.tuples(st.just("remove_side"), neighbors),
        ),
        min_size=1,
        max_size=40,
    )


def spelled(found: BatchMatches, neighbors: tuple[str, ...]) -> list[Matches]:
    """The matches of a batch, publication by publication."""
    assert list(found.places) == [name for name in neighbors if name in found.places]
    return [
        Matches(sorted(keys), [name for name, places in found.places.items() if place in places])
        for place, keys in enumerate(found.keys)
    ]


class Plain:
    """The same as a dictionary of dictionaries."""

    def __init__(self) -> None:
        self.sides: dict[str, dict[str, Interest]] = {CLIENTS: {}}

    def takes(self, step: Step) -> bool:
        """Do a step if it can be done, and tell whether it was."""
        match step:
            case ("add_side", side) if side not in self.sides:
                self.sides[side] = {}
            case ("remove_side", side) if side in self.sides:
                del self.sides[side]
            case ("add", side, key, wanted) if side in self.sides and key not in self.sides[side]:
                self.sides[side][key] = wanted
            case ("add_many", side, items) if side in self.sides:
                added = dict(items)
                if len(added) < len(items) or not added.keys().isdisjoint(self.sides[side]):
                    return False
                self.sides[side].update(added)
            case ("remove", side, key) if key in self.sides.get(side, ()):
                del self.sides[side][key]
            case _:
                return False
        return True

    def match(self, publication: Publication, arrival: str | None) -> Matches:
        found = {
            side: sorted(key for key, wanted in held.items() if wanted.matches(publication))
            for side, held in self.sides.items()
        }
        keys = found.pop(CLIENTS)
        return Matches(keys, [side for side, held in found.items() if held and side != arrival])


@settings(max_examples=examples(60))
@given(engines=st.sampled_from((COLUMNAR, COUNTING)), taken=steps())
def test_sided_index_is_a_filter_asked_for_each_key_of_each_side(
    engines: Engines, taken: list[Step]
) -> None:
    index, plain = SidedIndex(engines), Plain()
    for step in taken:
        if plain.takes(step):
            getattr(index, step[0])(*step[1:])
        else:
            with pytest.raises((DuplicateIdError, UnknownIdError, UnknownNameError)):
                getattr(index, step[0])(*step[1:])
    index.validate()
    assert len(index) == sum(map(len, plain.sides.values()))
    assert (CLIENTS, *index.neighbors) == tuple(plain.sides)
    for side, held in plain.sides.items():
        assert index.size(side) == len(held)
        assert {key: index.filter(side, key) for key in index.keys(side)} == held
    for arrival in (None, *index.neighbors):
        wanted = [plain.match(publication, arrival) for publication in PUBLICATIONS]
        assert [index.match(publication, arrival) for publication in PUBLICATIONS] == wanted
        assert spelled(index.match_batch(PUBLICATIONS, arrival), index.neighbors) == wanted
        some = [one for one in PUBLICATIONS if one.document is None]
        found = spelled(index.match_batch(batch_of(some), arrival), index.neighbors)
        assert found == [plain.match(publication, arrival) for publication in some]
        assert list(map(index.match_clients, PUBLICATIONS)) == [found.keys for found in wanted]


@settings(max_examples=examples(40))
@given(
    wide=st.lists(st.sampled_from(NEIGHBORS), min_size=8, max_size=24),
    asked=st.lists(st.integers(0, 60), max_size=30),
)
def test_links_that_move_apart_and_back_are_answered_as_before(
    wide: list[str], asked: list[int]
) -> None:
    index, plain = SidedIndex(COLUMNAR), Plain()
    taken: list[Step] = [("add_side", side) for side in NEIGHBORS]
    for number, side in enumerate(wide):
        taken.append(("add", side, f"k{number}", parse_filter(f"a > {number} or b = 'x'")))
    with small_searches():
        for step in taken:
            assert plain.takes(step)
            getattr(index, step[0])(*step[1:])
        for number in asked:
            publication = Publication("p", {"a": number})
            assert index.match(publication, None) == plain.match(publication, None)
            index.validate()


@contextmanager
def small_searches() -> Iterator[None]:
    """Searches count as long from the third match on, and pay for moving up to 12 filters."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool_module, "_FIRST", 2)
        patch.setattr(pool_module, "_FIRST_EACH", 0)
        patch.setattr(pool_module, "_NEXT", 2)
        patch.setattr(pool_module, "_CROWD", 2)
        patch.setattr(sided_module, "_MOVED_MAX", 12)
        patch.setattr(sided_module, "_MATCHES_A_MOVE", 1)
        patch.setattr(sided_module, "_REFUSALS_A_MOVE", 1)
        yield


def filled(engines: Engines, sides: dict[str, dict[str, str]]) -> SidedIndex:
    index = SidedIndex(engines)
    for side, held in sides.items():
        if side != CLIENTS:
            index.add_side(side)
        for key, text in held.items():
            index.add(side, key, parse_filter(text))
    return index


def test_a_side_that_was_removed_is_found_no_more_and_goes_bit_by_bit() -> None:
    index = SidedIndex(COLUMNAR)
    for side in ("r2", "r3"):
        index.add_side(side)
        index.add_many(side, [(f"{side}.{n}", parse_filter(f"x = {n}")) for n in range(10)])
    index.add_many("r3", [("d", parse_xpath("/a"))])
    index.remove_side("r3")
    index.validate()
    publication = Publication("p", {"x": 3})
    assert index.match(publication, None).neighbors == ["r2"]
    index.add_side("r3")
    index.add("r3", "r3.3", parse_filter("x = 3"))
    assert index.match(publication, None).neighbors == ["r2", "r3"]
    rounds = 0
    while index.has_left:
        index.clear(4)
        index.validate()
        rounds += 1
    assert rounds == 3
    assert len(index) == 11
    assert index.match(publication, "r3").neighbors == ["r2"]


def test_of_filters_added_together_all_are_there_or_none(engines: Engines) -> None:
    index = filled(engines, {CLIENTS: {"k": "a > 1"}, "r1": {"k": "a > 1"}})
    for side in (CLIENTS, "r1"):
        wrong: Any = object()
        with pytest.raises(InputError):
            index.add_many(side, [("l", FILTERS[0]), ("m", FILTERS[1]), ("n", wrong)])
        assert list(index.keys(side)) == ["k"]
    index.validate()


def test_neighbors_come_in_the_order_in_which_their_sides_were_added(engines: Engines) -> None:
    index = filled(engines, {name: {"k": "a > 1"} for name in ("r9", "r1", "r5")})
    index.remove_side("r9")
    index.add_side("r9")
    index.add("r9", "k", parse_filter("a > 1"))
    assert index.match(Publication("p", {"a": 2}), None).neighbors == ["r1", "r5", "r9"]


def test_many_matches_give_what_few_do(engines: Engines) -> None:
    many = {f"k{number:03}": f"a > {number}" for number in range(200)}
    index = filled(engines, {CLIENTS: many, "r1": many, "r2": {"k": "a > 500"}})
    assert index.match(Publication("p", {"a": 150}), None) == Matches(sorted(many)[:150], ["r1"])
    index.fold()
    assert index.match(Publication("p", {"a": 600}), "r1") == Matches(sorted(many), ["r2"])
    index.validate()


def test_removed_side_leaves_nothing_behind(engines: Engines) -> None:
    sides = {CLIENTS: {"k": "a > 1"}, "r1": {"k": "a > 1", "l": "a > 1", "m": "a > 2"}, "r2": {}}
    index = filled(engines, sides)
    index.add("r1", "n", parse_xpath("/a"))
    index.remove_side("r1")
    index.validate()
    assert "r1" not in index
    assert len(index) == 1
    assert index.match(Publication("p", {"a": 3}, b"<a/>"), None) == Matches(["k"], [])
    index.remove(CLIENTS, "k")
    index.validate()


def test_filter_is_held_until_its_last_key_is_gone(engines: Engines) -> None:
    index = filled(engines, {"r1": {"k": "a > 1", "l": "not a <= 1", "m": "a > 1"}})
    for key, neighbors in (("l", ["r1"]), ("k", ["r1"]), ("m", [])):
        index.remove("r1", key)
        index.validate()
        assert index.match(Publication("p", {"a": 2}), None).neighbors == neighbors


def test_clients_have_a_side_for_good(engines: Engines) -> None:
    index = SidedIndex(engines)
    assert CLIENTS in index
    with pytest.raises(InvariantError, match="always"):
        index.remove_side(CLIENTS)
    with pytest.raises(DuplicateIdError):
        index.add_side(CLIENTS)


def test_link_that_crowds_others_out_gets_a_pool_of_its_own_until_that_is_idle() -> None:
    wide = {f"k{number}": f"a > {number}" for number in range(20)}
    index = filled(COLUMNAR, {"r1": wide, "r2": {"k": "b = 1"}})
    with small_searches():
        for _ in range(20):
            assert index.match(Publication("p", {"a": 50}), None).neighbors == ["r1"]
            index.validate()
        (own,) = index._apart.values()
        assert len(own) == 20
        index.add("r1", "more", parse_filter("a > 30"))
        assert len(own) == 21
        for _ in range(50):
            assert index.match(Publication("p", {"b": 1}), None).neighbors == ["r2"]
            index.validate()
        assert not index._apart
        assert index.size("r1") == 21


def test_side_that_is_in_two_pools_is_removed_from_both() -> None:
    wide = {f"k{number}": f"a > {number}" for number in range(20)}
    index = filled(COLUMNAR, {"r1": wide, "r2": {"k": "b = 1"}})
    with small_searches():
        index.match(Publication("p", {"a": 50}), None)
    (own,) = index._apart.values()
    assert 0 < len(own) < 20
    with pytest.raises(DuplicateIdError):
        index.add("r1", "k1", parse_filter("a > 1"))
    index.remove_side("r1")
    index.validate()
    assert not index._apart
    assert len(index) == 1


def _records(index: SidedIndex, side: str) -> Share:
    return next(share for share in index._sides[side].shares() if share.slots)


def _forget_links(index: SidedIndex) -> None:
    share = _records(index, "r1")
    share.pool._ways[share.slots["k"]] &= 1


def _forget_key(index: SidedIndex) -> None:
    index.holders.numbers.pop("k")


def _rename_key(index: SidedIndex) -> None:
    numbers = index.holders.numbers
    numbers["x"] = numbers.pop("k")


def _misplace_key(index: SidedIndex) -> None:
    index.holders.places[index.holders.numbers["k"]] = ~0


def _forget_bit(index: SidedIndex) -> None:
    index._bits = 0


def _forget_repeat(index: SidedIndex) -> None:
    _records(index, "r1").pool._repeats.clear()


def _forget_filter(index: SidedIndex) -> None:
    share = _records(index, CLIENTS)
    share.pool._index.release(share.slots["k"])


def _forget_pool(index: SidedIndex) -> None:
    index._apart[1] = Pool(COUNTING)


def _swap_links(index: SidedIndex) -> None:
    index._by_bit[1] = index._sides[CLIENTS]


@pytest.mark.parametrize(
    "damage",
    [
        _forget_links,
        _forget_key,
        _rename_key,
        _misplace_key,
        _forget_bit,
        _forget_repeat,
        _forget_filter,
        _forget_pool,
        _swap_links,
    ],
)
def test_validate_notices_damage(engines: Engines, damage: Callable[[SidedIndex], None]) -> None:
    index = filled(engines, {CLIENTS: {"k": "a > 1"}, "r1": {"k": "a > 1", "l": "a > 1"}})
    index.validate()
    damage(index)
    with pytest.raises(InvariantError):
        index.validate()
