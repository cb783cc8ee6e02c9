"""Outgoing bytes: they come out as they were put in, and long pieces are not copied."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.session.outgoing import LONG_BYTES, Outgoing

parts = st.integers(1, 60) | st.sampled_from((LONG_BYTES - 1, LONG_BYTES))


def taken(outgoing: Outgoing) -> bytes:
    return b"".join(part for piece in outgoing.take() for part in piece)


@given(st.lists(st.tuples(st.sampled_from("amp"), parts), max_size=8))
def test_bytes_leave_in_the_order_in_which_they_came(steps: list[tuple[str, int]]) -> None:
    outgoing, expected = Outgoing(), b""
    for number, (kind, size) in enumerate(steps):
        data = bytes([number]) * size
        if kind == "a":
            outgoing.frames += data
        elif kind == "m":
            outgoing.add(memoryview(data))
        else:
            outgoing.add_piece((b"head", data))
        expected += b"head" * (kind == "p") + data
        assert len(outgoing) == len(expected)
    assert taken(outgoing) == expected
    assert (len(outgoing), outgoing.take()) == (0, [])
    outgoing.take().append((b"a stamp",))  # what is taken is the caller's
    assert outgoing.take() == []


def test_what_is_long_is_not_copied_unless_it_is_a_small_part_of_what_it_keeps() -> None:
    whole = bytes(4 * LONG_BYTES)
    outgoing = Outgoing()
    outgoing.add(memoryview(whole))
    outgoing.add(memoryview(whole)[:LONG_BYTES])
    outgoing.add(memoryview(whole[:10]))
    kept, copied = outgoing.take()
    assert isinstance(kept[0], memoryview)
    assert kept[0].obj is whole
    assert [type(part) for part in copied] == [bytes]
