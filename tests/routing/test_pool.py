"""A pool holds each filter once, whoever holds it."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.matching.engine_names import Engines
from sapwood.model.kept import kept
from sapwood.model.publication import Publication
from sapwood.routing.pool import Pool
from tests.examples import examples

LINK, OTHER = 0b01, 0b10
WANTED = parse_filter("a > 1")


def test_filter_of_several_holders_is_held_once() -> None:
    pool = Pool(Engines("counting"))
    slots = {pool.add_for_link(LINK, WANTED), pool.add_for_link(OTHER, WANTED)}
    slots |= {pool.add_for_client(key, WANTED) for key in ("k1", "k2")}
    assert len(pool) == 1
    (slot,) = slots
    assert pool.links(slot) == LINK | OTHER
    links, keys = pool.match(Publication("p", {"a": 2}))
    assert (links, sorted(keys)) == (LINK | OTHER, ["k1", "k2"])


def test_pool_of_one_link_asks_only_whether_there_is_a_match() -> None:
    pool = Pool(Engines("counting"))
    for number in range(3):
        pool.add_for_link(LINK, parse_filter(f"a > {number}"))
    pool._index.found = None  # type: ignore[assignment,method-assign]
    assert pool.match_links(Publication("p", {"a": 2}), LINK) == LINK
    assert pool.match_links(Publication("p", {"a": 0}), LINK) == 0
    assert pool.match_links(Publication("p", {"a": 2}), OTHER) == 0


def test_slot_is_free_when_its_last_holder_has_left() -> None:
    pool = Pool(Engines("counting"))
    slot = pool.add_for_client("k", WANTED)
    assert pool.add_for_link(LINK, WANTED) == slot
    pool.remove_for_client("k", slot)
    assert pool.match_links(Publication("p", {"a": 2}), LINK) == LINK
    pool.remove_for_link(LINK, slot, is_last=True)
    assert len(pool) == 0
    assert pool.add_for_link(OTHER, parse_filter("a > 2")) == slot


def test_crowds_are_the_links_that_made_the_last_search_long() -> None:
    pool = Pool(Engines("columnar"))
    for number in range(600):
        pool.add_for_link(LINK, parse_filter(f"a > {number}"))
    pool.add_for_link(OTHER, parse_filter("b = 1"))
    assert pool.match_links(Publication("p", {"a": 700}), LINK | OTHER) == LINK
    assert pool.crowds == {LINK: 600}
    assert pool.match_links(Publication("p", {"b": 1}), LINK | OTHER) == OTHER
    assert not pool.crowds
    for number in range(600):
        pool.add_for_link(OTHER, parse_filter(f"a > {number}"))
    third = 0b100
    pool.add_for_link(third, parse_filter("b = 1"))
    assert pool.match_links(Publication("p", {"a": 700}), LINK | OTHER | third) == LINK | OTHER
    assert not pool.crowds, "shared filters make 300 matches for each"
    assert pool.match_links(Publication("p", {"a": 700}), 0) == 0


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 30), max_size=12)), max_size=12))
def test_many_at_once_come_to_what_one_after_the_other_does(
    changes: list[tuple[bool, list[int]]],
) -> None:
    one, many = Pool(Engines("counting")), Pool(Engines("counting"))
    held: dict[str, tuple[int, int]] = {}
    made = 0
    for is_added, values in changes:
        if is_added:
            keys = [f"k{made + at}" for at in range(len(values))]
            wanted = [parse_filter(f"a > {value}") for value in values]
            slots = many.add_many_for_client(keys, [*map(kept, wanted)])
            again = [one.add_for_client(key, each) for key, each in zip(keys, wanted, strict=True)]
            held.update(zip(keys, zip(slots, again, strict=True), strict=True))
            made += len(values)
        else:
            for value in values:
                if held:
                    key = sorted(held)[value % len(held)]
                    slot, other = held.pop(key)
                    many.remove_for_client(key, slot)
                    one.remove_for_client(key, other)
        for pool, side in ((many, 0), (one, 1)):
            found = Counter(slots[side] for slots in held.values())
            pool.validate({slot: Counter({0: count}) for slot, count in found.items()})
            pool.holders.validate()
        assert many._heads[: len(one._heads)] == one._heads
        assert many.holders.nexts == one.holders.nexts
        assert many.holders.places == one.holders.places
    assert len(many.holders.names) == len(one.holders.names)  # what is free is taken again
    for value in range(32):
        publication = Publication("p", {"a": value})
        assert sorted(many.match_keys(publication)) == sorted(one.match_keys(publication))


@settings(max_examples=examples(40))
@given(
    st.lists(
        st.tuples(
            st.booleans(), st.sampled_from((LINK, OTHER)), st.lists(st.integers(0, 9), max_size=8)
        ),
        max_size=12,
    )
)
def test_many_of_a_link_at_once_come_to_what_one_after_the_other_does(
    changes: list[tuple[bool, int, list[int]]],
) -> None:
    one, many = Pool(Engines("counting")), Pool(Engines("counting"))
    held: dict[int, list[tuple[int, int]]] = {LINK: [], OTHER: []}
    for is_added, bit, values in changes:
        own = held[bit]
        if is_added:
            wanted = [parse_filter(f"a > {value}") for value in values]
            again = [one.add_for_link(bit, each) for each in wanted]
            own += zip(many.add_many_for_link(bit, [*map(kept, wanted)]), again, strict=True)
        else:
            gone = [own.pop(value % len(own)) for value in values[: len(own)]]
            many.remove_many_for_link(bit, [slot for slot, _ in gone], is_last=not own)
            for left, (_, slot) in enumerate(reversed(gone)):
                one.remove_for_link(bit, slot, is_last=not own and left + 1 == len(gone))
        for place, pool in enumerate((many, one)):
            holders: dict[int, Counter[int]] = {}
            for link, slots_of in held.items():
                for slots in slots_of:
                    holders.setdefault(slots[place], Counter())[link] += 1
            pool.validate(holders)
    for value in range(11):
        publication = Publication("p", {"a": value})
        wanted_by = LINK | OTHER
        assert many.match_links(publication, wanted_by) == one.match_links(publication, wanted_by)
