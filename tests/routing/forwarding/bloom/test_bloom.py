"""Bloom forwarding at one router: what it sends where, and when it looks at content (XSiena 5.2).

Three sides have drawn subscriptions; a brute-force oracle says what each publication matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import DuplicateIdError, InputError, InvariantError
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.limits import DIGEST_BYTES_MAX
from sapwood.matching.engine_names import Engines
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.counting import Counting
from sapwood.routing.forwarding.bloom.bloom import Bloom
from sapwood.routing.forwarding.bloom.digest import shape_of
from sapwood.routing.forwarding.bloom.structures import number_of
from sapwood.routing.protocols import protocol
from sapwood.routing.tables import CLIENTS
from tests.examples import examples
from tests.routing.forwarding.deciding import SIDES, Known, accepted, sent, tell

FILTERS: Final = [parse_filter(f"a > {bound}") for bound in range(4)] + [
    parse_filter("a = 1 or b = 2"),
    parse_xpath("//b"),
    parse_xpath("/a[c]"),
]
PUBLICATIONS: Final = [Publication(f"p{a}", {"a": a}) for a in range(6)] + [
    Publication("both", {"a": 3}, document=b"<a><b/></a>"),
    Publication("document", document=b"<a><c/></a>"),
]
EXACT: Final = ("identity+bloom",)
WORDS: Final = (
    *(*EXACT, "identity+bloom:64:1", "simple+bloom:128:2"),
    *(f"identity+bloom:{tree}" for tree in ("sbstree", "counting-sbstree", "skiptree")),
)
"""In the first, none of these filters has the bits of others."""

tables = st.lists(st.tuples(st.sampled_from(SIDES), st.sampled_from(FILTERS)), max_size=12)
batches = st.lists(st.sampled_from(PUBLICATIONS), min_size=1, max_size=5)


def made(known: Sequence[tuple[str, Interest]], word: str) -> tuple[Bloom, Known]:
    """A router with these subscriptions, under the keys k0, k1, ..., and the same as tables."""
    forwarding = protocol(word).make_forwarding("r1", Engines("counting"))
    assert isinstance(forwarding, Bloom)
    table = tell(forwarding, known)
    forwarding.validate(table)
    return forwarding, table


def digest_of(filters: Sequence[Interest], word: str, publication: Publication) -> bytes:
    """The digest of another router, which knows these filters of one link."""
    forwarding, _ = made([("r2", one) for one in filters], word)
    return sent(forwarding.route((publication,), None, (b"",), 0.0), "r2").get(0, b"")


@pytest.mark.parametrize("word", WORDS)
@settings(max_examples=examples(20))
@given(known=tables, batch=batches)
def test_where_a_publication_enters_exactly_those_get_it_that_want_it(
    word: str, known: list[tuple[str, Interest]], batch: list[Publication]
) -> None:
    forwarding, table = made(known, word)
    routed = forwarding.route(batch, None, [b""] * len(batch), 0.0)
    assert [{*keys} for keys in routed.keys] == [accepted(table, CLIENTS, one) for one in batch]
    assert [{*forwarding.matched(one)} for one in batch] == [{*keys} for keys in routed.keys]
    written: dict[int, bytes] = {}
    for side in SIDES[1:]:
        going = sent(routed, side)
        assert [*going] == [at for at, one in enumerate(batch) if accepted(table, side, one)]
        assert all(8 < len(digest) <= DIGEST_BYTES_MAX for digest in going.values())
        written |= going
    # At once or one by one, it is the same.
    for at, one in enumerate(batch):
        again = forwarding.route((one,), None, (b"",), 0.0)
        assert {side: sent(again, side).get(0) for side in SIDES[1:]} == {
            side: written[at] if at in sent(routed, side) else None for side in SIDES[1:]
        }


@pytest.mark.parametrize("word", WORDS)
@settings(max_examples=examples(20))
@given(known=tables, batch=batches)
def test_further_on_no_bits_are_missed_and_clients_get_exactly_what_they_want(
    word: str, known: list[tuple[str, Interest]], batch: list[Publication]
) -> None:
    forwarding, table = made(known, word)
    ahead = [wanted for side, wanted in known if side != "r2"]
    digests = [digest_of(ahead, word, one) for one in batch]
    routed = forwarding.route(batch, "r2", digests, 0.0)
    count = len(routed.keys)
    assert count
    assert [{*k} for k in routed.keys] == [accepted(table, CLIENTS, o) for o in batch[:count]]
    assert not sent(routed, "r2")
    going, wanted = sent(routed, "r3"), [bool(accepted(table, "r3", one)) for one in batch[:count]]
    assert {at for at, is_wanted in enumerate(wanted) if is_wanted} <= going.keys()  # P29
    assert all(digest == digests[at] for at, digest in going.items())
    if word in EXACT:
        assert len(going) == sum(wanted)


@pytest.mark.parametrize("word", WORDS)
@settings(max_examples=examples(12))
@given(known=tables, data=st.data())
@pytest.mark.one_in(2)
def test_what_went_leaves_no_bits(word: str, known: list[tuple[str, Interest]], data: Any) -> None:
    forwarding, table = made(known, word)
    keys = [(side, key) for side, filters in table.items() for key in filters]
    for side, key in data.draw(st.lists(st.sampled_from(keys), unique=True)) if keys else []:
        forwarding.forgot(side, key)
        del table[side][key]
    forwarding.validate(table)
    forwarding.remove_side("r3")
    assert forwarding.has_left == bool(table["r3"])
    del table["r3"]
    forwarding.add_side("r4")
    table["r4"] = {}
    forwarding.validate(table)
    every = [digest_of(FILTERS, word, one) for one in PUBLICATIONS]
    for one, digest in zip(PUBLICATIONS, every, strict=True):
        assert not sent(forwarding.route((one,), "r2", (digest,), 0.0), "r4")
    while forwarding.has_left:
        forwarding.clear(1)
    forwarding.validate(table)


def test_further_on_content_is_matched_for_clients_whose_bits_are_there_alone() -> None:
    forwarding, _ = made([("r3", FILTERS[0]), (CLIENTS, FILTERS[2])], EXACT[0])
    one, other = PUBLICATIONS[1], PUBLICATIONS[3]
    digests = [digest_of(FILTERS[:3], EXACT[0], publication) for publication in (one, other)]
    routed = forwarding.route((one, other), "r2", digests, 0.0)
    assert [[*keys] for keys in routed.keys] == [[], ["k1"]]
    assert [*sent(routed, "r3")] == [0, 1]
    assert isinstance(forwarding, Counting)
    counted = {"content_matches": 1, "digests_read": 2, "false_positives": 0}
    assert forwarding.counters() == counted
    nothing = digest_of([FILTERS[4]], EXACT[0], one)
    assert not forwarding.route((one,), "r2", (nothing,), 0.0).onward
    assert forwarding.counters() == counted | {"digests_read": 3, "false_positives": 1}


def test_of_two_filters_with_the_same_bits_one_may_go() -> None:  # P31
    shape = shape_of(64, 1)
    places: dict[int, Interest] = {}
    for bound in range(100):
        wanted = parse_filter(f"a > {bound}")
        [[place]] = shape.places([number_of(wanted)])
        first = places.setdefault(place, wanted)
        if first is not wanted:
            break
    forwarding, table = made([("r3", first), ("r3", wanted)], "identity+bloom:64:1")
    forwarding.forgot("r3", "k0")
    del table["r3"]["k0"]
    forwarding.validate(table)
    high = Publication("p", {"a": 1000})
    digest = digest_of([wanted], "identity+bloom:64:1", high)
    assert [*sent(forwarding.route((high,), "r2", (digest,), 0.0), "r3")] == [0]


@pytest.mark.parametrize("digest", [b"kother", b"b\x00", b"b\x00\x03\x00" + b"\x00" * 6])
def test_a_digest_that_says_nothing_is_passed_on_and_content_decides(digest: bytes) -> None:
    forwarding, _ = made([("r3", FILTERS[0]), (CLIENTS, FILTERS[1])], EXACT[0])
    own = digest_of(FILTERS[:1], EXACT[0], PUBLICATIONS[2])
    batch, digests = (PUBLICATIONS[2], PUBLICATIONS[2]), (digest, own)
    routed = forwarding.route(batch, "r2", digests, 0.0)
    assert [[*keys] for keys in routed.keys] == [["k1"]]  # the other one comes by itself
    assert sent(routed, "r3") == {0: digest}
    assert forwarding.digests_unread == 1
    routed = forwarding.route(batch[::-1], "r2", digests[::-1], 0.0)
    assert sent(routed, "r3") == {0: own}
    assert forwarding.digests_unread == 1


def test_more_than_64_links_have_bits_of_their_own() -> None:
    forwarding, table = made([], EXACT[0])
    names = [f"n{number}" for number in range(130)]
    for number, name in enumerate(names):
        forwarding.add_side(name)
        forwarding.learned(name, f"own{number}", parse_filter(f"a = {number % 5}"))
        table[name] = {f"own{number}": parse_filter(f"a = {number % 5}")}
    forwarding.validate(table)
    one = Publication("p", {"a": 3})
    first = forwarding.route((one,), None, (b"",), 0.0)
    digest = first.onward[0].digests[0]
    wanted = [name for number, name in enumerate(names) if number % 5 == 3]
    assert [each.neighbor for each in first.onward] == wanted
    further = forwarding.route((one,), "n3", (digest,), 0.0)
    assert [each.neighbor for each in further.onward] == wanted[1:]


def test_a_key_comes_once() -> None:
    forwarding, _ = made([("r3", FILTERS[0])], EXACT[0])
    with pytest.raises(DuplicateIdError):
        forwarding.learned("r3", "k0", FILTERS[1])


def test_what_is_kept_wrong_is_noticed() -> None:
    forwarding, table = made([("r3", FILTERS[0]), ("r2", FILTERS[0])], EXACT[0])
    wrong: list[Known] = [
        {**table, "r4": {}},
        {**table, "r3": {}},
        {**table, "r3": {"k0": FILTERS[1]}},
    ]
    for tables_ in wrong:
        with pytest.raises(InvariantError):
            forwarding.validate(tables_)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("covering+bloom", "put bloom behind identity"),
        ("xroute+bloom", "put bloom behind identity"),
        ("covering+merging+bloom", "put bloom behind identity"),
        ("flooding+bloom", "put bloom behind identity|leave out the word for forwarding"),
        ("identity+bloom:trie", "one of sbstree"),
        ("identity+bloom:100", "some times 64"),
        ("identity+bloom:64:17", "1 to 16"),
        ("identity+bloom:many", "some times 64"),
        ("identity+bloom:640000", "some times 64"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(word: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        protocol(word)
