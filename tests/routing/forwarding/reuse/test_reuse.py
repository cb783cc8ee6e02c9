"""Lookup reuse at one router: what it sends where, and when it looks at content (Shen, T-1 to T-8).

Three sides have drawn subscriptions; a brute-force oracle says what each publication matches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.errors import InputError, InvariantError
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.matching.engine_names import Engines
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.reuse import reuse as module
from sapwood.routing.forwarding.reuse.digest import ALL, HEAD_BYTES, KEY_BYTES, SOME, hash_of
from sapwood.routing.forwarding.reuse.reuse import Reuse
from sapwood.routing.protocols import protocol
from sapwood.routing.tables import CLIENTS
from tests.routing.forwarding.deciding import SIDES, Known, accepted, sent, tell

FILTERS: Final = [parse_filter(f"a > {bound}") for bound in range(4)] + [parse_xpath("//b")]
PUBLICATIONS: Final = [Publication(f"p{a}", {"a": a}) for a in range(6)] + [
    Publication("both", {"a": 3}, document=b"<a><b/></a>"),
    Publication("document", document=b"<a><c/></a>"),
]

tables = st.lists(st.tuples(st.sampled_from(SIDES), st.sampled_from(FILTERS)), max_size=12)
batches = st.lists(st.sampled_from(PUBLICATIONS), min_size=1, max_size=5)


def made(
    known: Sequence[tuple[str, Interest]], keys_max: int, *, tells_all: bool = True
) -> tuple[Reuse, Known]:
    """A router with these subscriptions, under the keys k0, k1, ..., and the same as tables."""
    forwarding = Reuse(Engines("counting"), keys_max, tells_all=tells_all)
    table = tell(forwarding, known)
    forwarding.validate(table)
    return forwarding, table


def keys_in(digest: bytes) -> set[int]:
    letters = digest[HEAD_BYTES:]
    return {
        int.from_bytes(letters[at : at + KEY_BYTES], "little")
        for at in range(0, len(letters), KEY_BYTES)
    }


def count_of(digest: bytes) -> int:
    return (len(digest) - HEAD_BYTES) // KEY_BYTES


def digest_of(keys: Sequence[str], head: bytes = ALL) -> bytes:
    return head + b"".join(hash_of(key).to_bytes(KEY_BYTES, "little") for key in keys)


@given(tables, batches, st.sampled_from([0, 1, 2, 20]), st.booleans())
def test_where_a_publication_enters_all_get_it_that_want_it_and_complete_keys_are_all(
    known: list[tuple[str, Interest]], batch: list[Publication], keys_max: int, tells_all: bool
) -> None:
    forwarding, table = made(known, keys_max, tells_all=tells_all)
    routed = forwarding.route(batch, None, [b""] * len(batch), 0.0)
    assert [{*keys} for keys in routed.keys] == [accepted(table, CLIENTS, one) for one in batch]
    for side in SIDES[1:]:
        going = sent(routed, side)
        assert [*going] == [at for at, one in enumerate(batch) if accepted(table, side, one)]
        for place, digest in going.items():
            every = {hash_of(key) for key in accepted(table, side, batch[place])}
            if keys_max == 0:
                assert digest == b""
                continue
            found = keys_in(digest)
            assert found <= every
            assert 0 < len(found) <= keys_max
            if digest.startswith(ALL):  # T-5
                assert tells_all
                assert found == every
            else:
                assert digest.startswith(SOME)
                assert not tells_all or len(every) > keys_max


@given(tables, batches, st.sampled_from([1, 2, 20]), st.data())
def test_a_router_further_on_decides_the_same_with_less_matching(
    known: list[tuple[str, Interest]], batch: list[Publication], keys_max: int, data: Any
) -> None:
    forwarding, table = made(known, keys_max)
    before = [accepted(table, CLIENTS, one) | accepted(table, "r3", one) for one in batch]
    digests = []
    for every in before:
        named = data.draw(st.lists(st.sampled_from(sorted(every)), unique=True)) if every else []
        whole = {*named} == every
        head = data.draw(st.sampled_from([ALL, SOME])) if whole else SOME
        digests.append(digest_of(named, head))
    routed = forwarding.route(batch, "r2", digests, 0.0)
    assert [{*keys} for keys in routed.keys] == [accepted(table, CLIENTS, one) for one in batch]
    assert not sent(routed, "r2")
    going = sent(routed, "r3")
    assert [*going] == [at for at, one in enumerate(batch) if accepted(table, "r3", one)]
    for place, digest in going.items():
        wanted = {hash_of(key) for key in accepted(table, "r3", batch[place])}
        if digests[place].startswith(ALL):
            assert digest.startswith(ALL)
            assert keys_in(digest) == wanted
        assert keys_in(digest) <= wanted
    incomplete = sum(not digest.startswith(ALL) for digest in digests)
    assert forwarding.counters()["content_matches"] <= 2 * incomplete  # T-6
    assert forwarding.counters()["lookups"] == sum(len(keys_in(one)) for one in digests)


def test_complete_keys_are_never_followed_by_a_match() -> None:
    forwarding, _ = made([("r3", FILTERS[0]), (CLIENTS, FILTERS[0])], 20)
    opaque = Publication("p", {"a": -5})  # the content says no: nobody looks
    routed = forwarding.route((opaque,), "r2", [digest_of(["k0", "k1"])], 0.0)
    assert sent(routed, "r3") == {0: digest_of(["k0"])}
    assert [list(keys) for keys in routed.keys] == [["k1"]]
    assert forwarding.counters() == {"content_matches": 0, "lookups": 2}


def test_a_key_that_is_known_no_longer_is_dropped() -> None:  # T-8
    forwarding, table = made([("r3", FILTERS[0]), (CLIENTS, FILTERS[0])], 20)
    forwarding.forgot("r3", "k0")
    forwarding.forgot(CLIENTS, "k1")
    forwarding.learned(CLIENTS, "other", FILTERS[0])  # takes the number of k1
    forwarding.validate({**table, CLIENTS: {"other": FILTERS[0]}, "r3": {}})
    routed = forwarding.route((PUBLICATIONS[3],), "r2", [digest_of(["k0", "k1"])], 0.0)
    assert not sent(routed, "r3")
    assert [list(keys) for keys in routed.keys] == [[]]


def test_keys_of_a_link_that_went_lead_nowhere_even_before_they_are_cleared() -> None:
    forwarding, table = made([("r3", FILTERS[0])] * 3, 20)
    forwarding.remove_side("r3")
    forwarding.add_side("r3")
    assert forwarding.has_left
    routed = forwarding.route((PUBLICATIONS[3],), "r2", [digest_of(["k0", "k1", "k2"])], 0.0)
    assert not sent(routed, "r3")
    forwarding.learned("r3", "k1", FILTERS[0])  # the same subscription, told again
    routed = forwarding.route((PUBLICATIONS[3],), "r2", [digest_of(["k1"], SOME)], 0.0)
    assert [*sent(routed, "r3")] == [0]
    forwarding.clear(2)
    assert forwarding.has_left
    forwarding.clear(2)
    assert not forwarding.has_left
    forwarding.validate({**table, "r3": {"k1": FILTERS[0]}})
    routed = forwarding.route((PUBLICATIONS[3],), "r2", [digest_of(["k1"])], 0.0)
    assert sent(routed, "r3") == {0: digest_of(["k1"])}


@given(tables, batches, st.sampled_from([0, 1, 3, 7]))
@example([("r3", FILTERS[0])] * 6, PUBLICATIONS[3:4], 7)
def test_where_keys_have_one_hash_content_decides(
    known: list[tuple[str, Interest]], batch: list[Publication], hashes: int
) -> None:
    def few(key: str) -> int:
        return hash_of(key) & hashes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "hash_of", few)
        forwarding, table = made(known, 20)
        first = sent(forwarding.route(batch, None, [b""] * len(batch), 0.0), "r3")
        for place, digest in first.items():
            every = accepted(table, "r3", batch[place])
            assert not digest.startswith(ALL) or count_of(digest) == len(every)
            assert keys_in(digest) <= {few(key) for key in every}
        honest = [
            ALL
            + b"".join(
                few(key).to_bytes(KEY_BYTES, "little")
                for key in sorted(accepted(table, CLIENTS, one) | accepted(table, "r3", one))
            )
            for one in batch
        ]
        routed = forwarding.route(batch, "r2", honest, 0.0)
        assert [{*keys} for keys in routed.keys] == [accepted(table, CLIENTS, one) for one in batch]
        wanted = [at for at, one in enumerate(batch) if accepted(table, "r3", one)]
        going = sent(routed, "r3")
        assert [*going] == wanted
        for place, digest in going.items():
            every = accepted(table, "r3", batch[place])
            assert not digest.startswith(ALL) or count_of(digest) >= len(every)


@pytest.mark.parametrize("digest", [b"?x", b"r", SOME + b"abc", b"r\x02" + bytes(8)])
def test_what_is_no_digest_of_this_strategy_goes_on_unread(digest: bytes) -> None:
    forwarding, _ = made([("r3", FILTERS[0]), (CLIENTS, FILTERS[1])], 20)
    routed = forwarding.route(PUBLICATIONS[1:3], "r2", [digest, b""], 0.0)
    assert sent(routed, "r3") == {0: digest, 1: digest_of(["k0"])}
    assert [list(keys) for keys in routed.keys] == [[], ["k1"]]
    assert forwarding.digests_unread == 1


def test_under_covering_a_key_speaks_for_its_side_alone() -> None:  # T-7
    # A line A - B - C: C wants much, a client of B little, of which A was never told.
    _, table = made([("r3", FILTERS[0]), (CLIENTS, FILTERS[2])], 20)
    at_a = Reuse(Engines("counting"), 20, tells_all=False)
    at_a.add_side("B")
    at_a.learned("B", "k0", FILTERS[0])
    (digest,) = sent(at_a.route((PUBLICATIONS[3],), None, [b""], 0.0), "B").values()
    assert digest == digest_of(["k0"], SOME)
    for head, delivered in ((SOME, ["k1"]), (ALL, [])):  # as if keys could be complete here
        at_b, _ = made([("r3", FILTERS[0]), (CLIENTS, FILTERS[2])], 20, tells_all=False)
        routed = at_b.route((PUBLICATIONS[3],), "r2", [head + digest[HEAD_BYTES:]], 0.0)
        assert [list(keys) for keys in routed.keys] == [delivered]
        assert [*sent(routed, "r3")] == [0]
    assert accepted(table, CLIENTS, PUBLICATIONS[3]) == {"k1"}


@pytest.mark.parametrize("word", ["covering+reuse:always", "identity+reuse:always"])
def test_all_keys_are_refused_where_routers_are_not_told_of_all(word: str) -> None:
    with pytest.raises(InputError, match="take reuse:partial"):
        protocol(word)


@pytest.mark.parametrize("word", ["", "some", "partial", "partial:0", "partial:8192", "partial:x"])
def test_what_says_no_number_of_keys_is_refused_with_an_example(word: str) -> None:
    with pytest.raises(InputError, match="as in reuse:partial:20"):
        protocol(f"simple+reuse:{word}")


def test_the_names_say_what_they_are() -> None:
    for word in ("reuse", "reuse:never", "reuse:partial:3", "reuse:always"):
        assert protocol(f"simple+{word}").name == f"simple+{word}"


@pytest.mark.parametrize(
    "damage",
    [
        lambda forwarding: forwarding._table.add_many((1,), (5,)),
        lambda forwarding: forwarding._table.remove(hash_of("k0"), 1 << 32),
        lambda forwarding: forwarding._sides["r2"].remove("k0"),
        lambda forwarding: forwarding._sides["r2"].hashes.__setitem__(0, 1),
        lambda forwarding: forwarding._sides.pop("r3"),
    ],
)
def test_what_disagrees_with_the_tables_is_told(damage: Callable[[Any], None]) -> None:
    forwarding, table = made([("r2", FILTERS[0])], 20)
    damage(forwarding)
    with pytest.raises(InvariantError):
        forwarding.validate(table)
