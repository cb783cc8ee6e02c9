"""Tables by type at one router: what stands in which, and where documents are looked up.

What is delivered is compared with every filter asked one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.language.advertisements import parse_advertisement
from sapwood.language.xpath import parse_xpath
from sapwood.matching.engine_names import Engines
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.types.digest import decode, encode, name_of
from sapwood.routing.forwarding.types.tables import TypedTables
from sapwood.routing.tables import CLIENTS
from tests.batches import batch_of
from tests.routing.forwarding.deciding import SIDES, Known, accepted, sent, tell

TYPES: Final = [parse_advertisement(text) for text in ("/a/b|/a/c", "/a/b", "/d/b|/d", "/*/c")]
FILTERS: Final = [
    *map(parse_xpath, ("/a/b", "//b", "//c", "/a[b][c]", "/d", "/*/b", "//z")),
    *map(parse_filter, ("x > 1", "x > 2")),
]
DOCUMENTS: Final = (b"<a><b/></a>", b"<a><c/><b/></a>", b"<d/>", b"<d><b/></d>", b"<z><c/></z>")
PUBLICATIONS: Final = [
    *(Publication(f"d{at}", document=text) for at, text in enumerate(DOCUMENTS)),
    *(Publication(f"b{at}", {"x": 2}, document=text) for at, text in enumerate(DOCUMENTS)),
    Publication("r", {"x": 2}),
]

subscribed = st.lists(st.tuples(st.sampled_from(SIDES), st.sampled_from(FILTERS)), max_size=10)
promised = st.lists(st.tuples(st.sampled_from(SIDES), st.sampled_from(TYPES)), max_size=4)
batches = st.lists(st.sampled_from(PUBLICATIONS), min_size=1, max_size=4)


def made(known: Sequence[tuple[str, Interest]]) -> tuple[TypedTables, Known]:
    """A router of these sides with subscriptions k0, k1, ..., and the same as tables."""
    forwarding = TypedTables(Engines("counting"))
    for side in SIDES[1:]:
        forwarding.types.add_side(side)
    return forwarding, tell(forwarding, known)


def advertise(forwarding: TypedTables, some: Sequence[tuple[str, AdvertisedContent]]) -> None:
    for at, (side, content) in enumerate(some):
        forwarding.types.learned(side, f"a{at}", content)


def check(forwarding: TypedTables, known: Known, batch: Sequence[Publication]) -> None:
    """Each publication goes to those that want it, from wherever it comes."""
    forwarding.validate(known)
    for arrival in (None, "r2"):
        routed = forwarding.route(batch, arrival, [b""] * len(batch), 0.0)
        assert [{*keys} for keys in routed.keys] == [accepted(known, CLIENTS, p) for p in batch]
        assert all(len(keys) == len({*keys}) for keys in routed.keys)
        for side in SIDES[1:]:
            wanted = [at for at, one in enumerate(batch) if accepted(known, side, one)]
            assert [*sent(routed, side)] == (wanted if side != arrival else [])
    for one in batch:
        assert {*forwarding.matched(one)} == accepted(known, CLIENTS, one)


@given(subscribed, subscribed, promised, st.data(), batches)
def test_whatever_is_advertised_publications_go_where_they_are_wanted(
    before: list[tuple[str, Interest]],
    after: list[tuple[str, Interest]],
    some: list[tuple[str, AdvertisedContent]],
    data: st.DataObject,
    batch: list[Publication],
) -> None:
    forwarding, known = made(before)
    advertise(forwarding, some)
    for side in SIDES:
        here = [(f"n{at}", one) for at, (where, one) in enumerate(after) if where == side]
        forwarding.learned_many(side, here)
        known[side].update(here)
    check(forwarding, known, batch)
    gone = data.draw(st.sets(st.sampled_from(range(len(some))))) if some else set()
    for at in sorted(gone):
        forwarding.types.forgot(some[at][0], f"a{at}")
    for side in SIDES:
        for key in tuple(known[side])[::2]:
            forwarding.forgot(side, key)
            del known[side][key]
    check(forwarding, known, batch)


@given(subscribed, promised, st.sampled_from(PUBLICATIONS))
def test_what_the_first_router_writes_leads_the_next_to_all_that_want_it(
    known: list[tuple[str, Interest]], some: list[tuple[str, AdvertisedContent]], one: Publication
) -> None:
    first, _ = made([("r3", parse_xpath("//*")), ("r3", parse_filter("true"))])
    advertise(first, [("r2", content) for content in TYPES])
    digest = sent(first.route((one,), None, (b"",), 0.0), "r3")[0]
    allowing = [name_of(content) for content in TYPES if content.matches(one)]
    assert list(decode(digest) or ()) == allowing
    following, table = made(known)
    advertise(following, some)  # of the types that were named, some or none
    routed = following.route((one,), "r2", (digest,), 0.0)
    assert {*routed.keys[0]} == accepted(table, CLIENTS, one)
    assert sent(routed, "r3") == ({0: digest} if accepted(table, "r3", one) else {})
    assert following.digests_unread == 0


def test_a_document_is_looked_up_in_the_table_of_its_type_and_a_record_with_the_others() -> None:
    forwarding, _ = made([("r2", FILTERS[0]), ("r3", FILTERS[4]), ("r3", FILTERS[-1])])
    advertise(forwarding, [("r2", TYPES[0]), ("r3", TYPES[2])])
    document = PUBLICATIONS[0]
    counted = []
    for one, digest in (
        (document, b""),  # its type is found: clients and r2 have a table
        (document, encode([name_of(TYPES[2])])),  # as a neighbor says: clients and r3
        (PUBLICATIONS[-1], b""),  # a record: clients, and r3 with the others
        (PUBLICATIONS[4], b""),  # of no type: all three tables
        (PUBLICATIONS[5], b""),  # both: the table, and the others
    ):
        before = forwarding.counters()["content_matches"]
        forwarding.route((one,), None, (digest,), 0.0)
        counted.append(forwarding.counters()["content_matches"] - before)
    assert counted == [2, 2, 2, 6, 4]
    forwarding.types.forgot("r2", "a0")
    assert forwarding.counters()["content_matches"] == sum(counted)  # what tables did that ended


def test_a_batch_of_records_is_matched_with_the_others_at_once() -> None:
    forwarding, known = made([(CLIENTS, FILTERS[-2]), ("r3", FILTERS[-1]), ("r2", FILTERS[0])])
    advertise(forwarding, [("r2", TYPES[0])])
    batch = batch_of([Publication(f"p{x}", {"x": x}) for x in (3, 1, 2)])
    keys, onward = forwarding.route(batch, None, (b"",) * 3, 0.0)
    assert list(map(set, keys)) == [accepted(known, CLIENTS, one) for one in batch]
    assert [(one.neighbor, [*one.places]) for one in onward] == [("r3", [0])]
    mixed = batch_of([PUBLICATIONS[0], *batch])
    keys, onward = forwarding.route(mixed, None, (b"",) * 4, 0.0)
    assert list(map(set, keys)) == [accepted(known, CLIENTS, one) for one in mixed]
    assert [(one.neighbor, [*one.places]) for one in onward] == [("r2", [0]), ("r3", [1])]
    assert [*onward[0].digests] == [encode([name_of(TYPES[0])])]


def test_digests_of_other_strategies_go_on_unread() -> None:
    forwarding, _ = made([("r3", FILTERS[0]), ("r3", FILTERS[-2])])
    advertise(forwarding, [("r2", TYPES[0])])
    for one in (PUBLICATIONS[0], PUBLICATIONS[-1]):
        routed = forwarding.route((one,), "r2", (b"?other",), 0.0)
        assert sent(routed, "r3") == {0: b"?other"}
    assert forwarding.digests_unread == 2


def test_what_came_over_a_link_that_is_gone_is_left_bit_by_bit() -> None:
    forwarding, known = made([("r2", FILTERS[0]), ("r2", FILTERS[-1]), ("r3", FILTERS[0])])
    advertise(forwarding, [("r3", TYPES[0])])
    forwarding.remove_side("r2")
    assert forwarding.has_left
    assert not sent(forwarding.route(PUBLICATIONS[:1], None, (b"",), 0.0), "r2")
    for _ in range(2):
        forwarding.clear(1)
    assert not forwarding.has_left
    forwarding.validate({side: known[side] for side in (CLIENTS, "r3")})


def test_validate_finds_what_stands_in_the_wrong_table() -> None:
    known = [("r2", FILTERS[0]), ("r3", FILTERS[1]), (CLIENTS, FILTERS[-1])]

    def spoiled() -> tuple[TypedTables, Known]:
        forwarding, table = made(known)
        advertise(forwarding, [("r2", TYPES[1])])
        forwarding.validate(table)
        return forwarding, table

    forwarding, table = spoiled()
    forwarding._placed["r2"]["k0"].tables.clear()
    with pytest.raises(InvariantError, match="does not know of"):
        forwarding.validate(table)
    forwarding, table = spoiled()
    (only,) = forwarding._tables.values()
    only.index.forgot("r2", "k0")
    with pytest.raises(InvariantError, match="link r2"):
        forwarding.validate(table)
    forwarding, table = spoiled()
    forwarding._placed["r2"]["k0"].tables *= 2
    with pytest.raises(InvariantError, match="is not in"):
        forwarding.validate(table)
    forwarding, table = spoiled()
    del table["r3"]["k1"]
    with pytest.raises(InvariantError, match="other tree patterns"):
        forwarding.validate(table)
    forwarding, table = spoiled()
    del table["r3"]
    with pytest.raises(InvariantError, match="other links"):
        forwarding.validate(table)
