"""Publishers, as a store knows them: their ids, numbers and sessions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.store.publishers import Published, Publishers


def test_an_id_is_taken_once_and_the_oldest_are_forgotten() -> None:
    known = Publishers(ids_max=3)
    assert not known.take_new("c", [b"a", b"a"])
    assert not known.knows("c", b"a")
    assert known.take_new("c", [])
    assert len(known) == 0
    known.take("c", [b"a", b"b"])
    assert not known.take_new("c", [b"c", b"a"])
    assert not known.take_new("c", [b"c", b"c"])
    assert not known.knows("c", b"c")
    known.take("c", [b"c"])
    assert all(known.knows("c", id_) for id_ in (b"a", b"b", b"c"))
    known.take("c", [b"d", b"e"])  # those that were taken together are forgotten together
    taken = [known.knows("c", id_) for id_ in (b"a", b"b", b"c", b"d", b"e")]
    assert taken == [False, False, True, True, True]
    assert len(known) == 3


@given(
    st.lists(
        st.tuples(st.sampled_from("xyz"), st.lists(st.sampled_from("abcdef"), max_size=4)),
        max_size=30,
    ),
    st.integers(1, 6),
)
def test_at_least_the_last_ids_are_known_and_each_to_its_publisher_alone(
    takes: list[tuple[str, list[str]]], ids_max: int
) -> None:
    known = Publishers(ids_max)
    taken: list[tuple[str, str]] = []
    for client, some in takes:
        new = [one for one in dict.fromkeys(some) if not known.knows(client, one.encode())]
        encoded, size = [one.encode() for one in some], len(known)
        assert known.take_new(client, encoded) == (len(new) == len(some))
        if len(new) < len(some):
            assert len(known) == size
            known.take(client, [one.encode() for one in new])
        taken += [(client, one) for one in new]
        last = set(taken[-ids_max:])
        for whose in "xyz":
            for one in "abcdef":
                if known.knows(whose, one.encode()):
                    assert (whose, one) in taken
                else:
                    assert (whose, one) not in last
        assert len(known) <= ids_max + max((len(some) for _, some in takes), default=0)


def test_tasks_of_one_job_are_one_publisher() -> None:
    known = Publishers()
    known.take("job/0", [b"a"])
    assert known.knows("job/7", b"a")
    assert known.knows("job", b"a")
    assert not known.knows("job2", b"a")
    assert not known.knows("/job", b"a")


def test_what_was_refused_may_be_published_again() -> None:
    known = Publishers()
    known.take("c", [b"a"])
    known.published("c", "s", 1, 1)
    known.give_back("c", b"a")
    assert len(known) == 0
    assert known.received("c", "s", 0) == 0
    known.take("d", [b"a"])
    with pytest.raises(InvariantError):
        known.give_back("c", b"a")


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 5)), max_size=12), st.integers(0, 40))
def test_only_numbers_without_a_gap_are_claimed(
    runs: list[tuple[int, int]], acknowledged: int
) -> None:
    """All numbers that are claimed beyond those that the client has heard of were published."""
    known = Publishers()
    published: set[int] = set()
    for first, count in sorted(runs):
        known.published("c", "s", first, count)
        published |= set(range(first, first + count))
    claimed = known.received("c", "s", acknowledged)
    assert claimed >= acknowledged
    assert set(range(acknowledged + 1, claimed + 1)) <= published
    if published and acknowledged == max(published) - 1:
        assert claimed == max(published)


def test_another_session_begins_afresh_and_clients_are_bounded() -> None:
    known = Publishers(clients_max=2)
    known.recall([Published("c", "s", 1, [b"a", b"b"]), Published("old", "", 0, [b"z"])])
    assert known.received("c", "s", 0) == 2
    assert known.received("c", "t", 0) == 0
    known.published("c", "t", 1, 1)
    assert (known.received("c", "s", 0), known.received("c", "t", 0)) == (0, 1)
    for name in ("d", "e"):
        known.published(name, "s", 1, 1)
    assert known.received("c", "t", 0) == 0
    assert known.knows("old", b"z")
