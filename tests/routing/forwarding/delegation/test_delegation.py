"""Forwarding by delegation: the ways of publications, and the digests beside them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.delegation.delegation import Delegation
from sapwood.routing.forwarding.delegation.digest import MARK, Delegated, decode, encode
from sapwood.routing.router import DEFAULT_ENGINES
from sapwood.routing.tables import CLIENTS

ONE, TWO = Publication("p1", {"x": 1}), Publication("p2", {"x": 2})


def known(*wanted: tuple[str, str]) -> Delegation:
    """Ranges, and what they want; the router's own clients want everything."""
    forwarding = Delegation(DEFAULT_ENGINES)
    for range_, text in wanted:
        forwarding.add_side(range_)
        forwarding.learned(range_, f"key of {range_}", parse_filter(text))
    forwarding.learned(CLIENTS, "own", parse_filter("x >= 0"))
    return forwarding


def within(range_: str) -> bytes:
    return encode(Delegated(0, 1, range_, is_redirected=False, is_again=False))


def test_the_example_of_the_digest_holds() -> None:
    said = Delegated(0, 7, "02", is_redirected=False, is_again=False)
    assert encode(said).hex(" ") == "d3 95 00 07 a2 30 32 c2 c2"


@given(
    st.builds(Delegated, st.integers(0, 9), st.integers(0, 2**63), st.just("013"), st.booleans())
)
def test_a_digest_says_what_was_written(said: Delegated) -> None:
    assert decode(encode(said)) == said


@given(st.binary(max_size=12))
def test_what_is_no_digest_says_nothing(some: bytes) -> None:
    assert decode(some) is None or some[0] == MARK
    decode(bytes((MARK,)) + some)


def test_publications_go_to_longer_ranges_in_the_one_to_look_after() -> None:
    forwarding = known(("02", "x = 1"), ("1", "x = 1"), ("010", "x = 1"), ("013", "x = 2"))
    routed = forwarding.route((ONE,), None, (within(""),), 0.0)
    assert [one.neighbor for one in routed.onward] == ["1", "02", "010"]
    assert list(routed.keys[0]) == ["own"]
    routed = forwarding.route((ONE,), "whoever", (within("01"),), 0.0)
    assert [one.neighbor for one in routed.onward] == ["010"]
    routed = forwarding.route((ONE,), "whoever", (within("010"),), 0.0)
    assert not routed.onward


def test_of_a_batch_each_goes_where_its_own_digest_says() -> None:
    forwarding = known(("1", "x >= 1"), ("02", "x >= 1"))
    routed = forwarding.route((ONE, TWO, ONE), None, (within(""), within("0"), b""), 0.0)
    places = {one.neighbor: list(one.places) for one in routed.onward}
    assert places == {"1": [0, 2], "02": [0, 1, 2]}
    assert len(routed.keys) == 3
