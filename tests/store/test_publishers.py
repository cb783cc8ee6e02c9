"""What a store knows of those who published."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.store.publishers import Published, Publishers


def test_an_id_is_taken_once_and_the_oldest_are_forgotten() -> None:
    known = Publishers(ids_max=3)
    assert known.knows_none([b"a", b"b"])
    assert not known.knows_none([b"a", b"a"])
    known.take([b"a", b"b"])
    assert not known.knows_none([b"c", b"a"])
    known.take([b"c", b"d"])
    assert [known.knows(id_) for id_ in (b"a", b"b", b"c", b"d")] == [False, True, True, True]
    assert len(known) == 3


def test_what_was_refused_may_be_published_again() -> None:
    known = Publishers()
    known.take([b"a"])
    known.published("c", "s", 1, 1)
    known.give_back(b"a", "c")
    assert known.knows_none([b"a"])
    assert known.received("c", "s", 0) == 0


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 5)), max_size=12), st.integers(0, 40))
def test_only_numbers_without_a_gap_are_claimed(
    runs: list[tuple[int, int]], acknowledged: int
) -> None:
    """What is claimed beyond what the client has heard of was published, all of it."""
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
    assert known.knows(b"z")
