"""Frames out of bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FrameError
from sapwood.wire.frames import HEADER_BYTES, FrameSplitter, frame
from tests.wire.strategies import cuts

BOUND = 64

bodies = st.lists(st.binary(max_size=BOUND), max_size=6)
points = st.lists(st.integers(0, 1000), max_size=8)


@given(bodies, points)
def test_splitter_gives_the_bodies_whatever_the_chunks(some: list[bytes], where: list[int]) -> None:
    splitter = FrameSplitter(BOUND)
    stream = b"".join(map(frame, some))
    assert [body for chunk in cuts(stream, where) for body in splitter.split(chunk)] == some
    assert splitter.held_bytes == 0


def test_splitter_gives_the_bodies_byte_by_byte() -> None:
    splitter = FrameSplitter(BOUND)
    stream = frame(b"one") + frame(b"") + frame(b"three")
    found = [body for byte in stream for body in splitter.split(bytes([byte]))]
    assert found == [b"one", b"", b"three"]


def test_splitter_takes_a_body_at_its_bound() -> None:
    assert list(FrameSplitter(BOUND).split(frame(bytes(BOUND)))) == [bytes(BOUND)]


@given(bodies, points, st.integers(BOUND + 1, 2**32 - 1))
def test_splitter_refuses_a_larger_frame_after_those_before_it(
    some: list[bytes], where: list[int], size: int
) -> None:
    splitter = FrameSplitter(BOUND)
    header = size.to_bytes(HEADER_BYTES, "big")
    found: list[bytes] = []

    def feed() -> None:
        for chunk in cuts(b"".join(map(frame, some)) + header + b"rest", where):
            found.extend(splitter.split(chunk))

    with pytest.raises(FrameError, match=f"a frame of {size} bytes is announced"):
        feed()
    # A generator that raises has handed out all before; `extend` loses what came with the error.
    assert found == some[: len(found)]
    assert splitter.header == header
    assert list(splitter.split(frame(b"more"))) == []


def test_splitter_keeps_no_byte_of_a_frame_that_is_too_large() -> None:
    splitter = FrameSplitter(BOUND)
    with pytest.raises(FrameError):
        list(splitter.split((2**31).to_bytes(HEADER_BYTES, "big") + bytes(1000)))
    assert splitter.held_bytes == 0


def test_splitter_takes_a_new_bound_between_two_frames() -> None:
    splitter = FrameSplitter(4)
    found = []
    for body in splitter.split(frame(b"tiny") + frame(bytes(BOUND))):
        found.append(body)
        splitter.body_bytes_max = BOUND
    assert found == [b"tiny", bytes(BOUND)]
