"""Updates of counts, in parts and whole again."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sapwood.wire.updates import Parts, to_parts

from sapwood import parse_filter, parse_xpath
from sapwood.errors import FrameError
from sapwood.limits import FRAME_BYTES_FLOOR, UPDATE_TRIPLES_MAX
from sapwood.routing.messages import Update
from sapwood.routing.propagation.xroute.triples import Triple
from sapwood.wire.messages import LinkUpdate

A = parse_filter("a = 1")
INTERESTS = st.sampled_from((A, parse_filter("b > 'x'"), parse_xpath("//a[b='x']")))
triples = st.builds(Triple, INTERESTS, st.integers(-9, 9), st.integers(-9, 9))
updates = st.builds(
    Update,
    st.just("r1.0"),
    st.integers(0, 9),
    st.integers(0, 9),
    st.lists(st.lists(triples, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3).map(
        tuple
    ),
)


@given(st.lists(updates, max_size=3))
def test_updates_cross_a_link_unchanged(sent: list[Update]) -> None:
    parts = Parts()
    taken = [parts.take(part) for update in sent for part in to_parts(update)]
    assert [update for update in taken if update is not None] == sent


def test_a_long_update_travels_in_parts_that_fit_into_any_frame() -> None:
    long = [Triple(parse_filter(f"name = '{'x' * 40_000}{i}'"), 1, 0) for i in range(5)]
    short = [Triple(parse_filter(f"name = 'x{i}'"), 1, 0) for i in range(5_000)]
    update = Update("r1.0", 1, 1, ((*long, *short), tuple(short)))
    sent = list(to_parts(update))
    assert len(sent) > 5
    assert all(len(msgspec.msgpack.encode(part)) < FRAME_BYTES_FLOOR for part in sent)
    parts = Parts()
    assert [parts.take(part) for part in sent] == [None] * (len(sent) - 1) + [update]


def test_a_part_without_its_beginning_is_a_fault() -> None:
    with pytest.raises(FrameError, match="in the middle of an operation"):
        Parts().take(LinkUpdate("r1.0", 1, 1, (("a = 1", 1, 0, False),)))


def test_an_update_among_the_parts_of_another_is_a_fault() -> None:
    parts = Parts()
    parts.take(LinkUpdate("r1.0", 1, 1, (("a = 1", 1, 0, True),), more=True))
    with pytest.raises(FrameError, match="before the last one has ended"):
        parts.take(LinkUpdate("r1.0", 2, 2, (("a = 1", 1, 0, True),)))


def test_an_update_without_end_is_a_fault() -> None:
    parts = Parts()
    many = (("true", 1, 0, True),) * (UPDATE_TRIPLES_MAX + 1)
    with pytest.raises(FrameError, match="more than 1000000 triples"):
        parts.take(LinkUpdate("r1.0", 1, 1, many, more=True))


def test_a_filter_that_cannot_be_read_is_the_neighbors_fault() -> None:
    with pytest.raises(FrameError, match="passed on what it should have refused"):
        Parts().take(LinkUpdate("r1.0", 1, 1, (("a >", 1, 0, True),)))
