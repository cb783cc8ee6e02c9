"""The outgoing queue of one connection."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker.outbox import Outbox
from sapwood.limits import TRANSPORT_BYTES_MAX


class Transport:
    """Takes bytes, and says that it has enough above `high`."""

    def __init__(self, high: int = 10) -> None:
        self.high = high
        self.taken = b""
        self.writes: list[int] = []
        self.buffered = 0
        self.ended = False
        self.aborted = False
        self.broken = False
        self.outbox: Outbox | None = None

    def set_write_buffer_limits(self, high: int) -> None:
        assert high > 0

    def get_write_buffer_size(self) -> int:
        return self.buffered

    def can_write_eof(self) -> bool:
        return True

    def is_closing(self) -> bool:
        return self.aborted

    def write(self, data: bytes) -> None:
        assert not self.ended
        self.taken += data
        self.writes.append(len(data))
        self.buffered += len(data)
        if self.buffered > self.high and self.outbox is not None:
            self.outbox.pause()

    def writelines(self, parts: Sequence[bytes]) -> None:
        self.write(b"".join(parts))

    def write_eof(self) -> None:
        if self.broken:
            raise OSError(107, "not connected")
        self.ended = True

    def abort(self) -> None:
        self.aborted = True

    def drain(self) -> None:
        self.buffered = 0
        assert self.outbox is not None
        self.outbox.resume()


def wired(high: int = 10) -> tuple[Outbox, Transport]:
    transport = Transport(high)
    transport.outbox = outbox = Outbox(cast("asyncio.Transport", transport))
    return outbox, transport


def test_outbox_keeps_what_the_transport_has_no_room_for() -> None:
    outbox, transport = wired()
    for batch in (b"a" * 11, b"b" * 20, b"c" * 5):
        outbox.write((batch,))
    assert transport.taken == b"a" * 11
    assert outbox.queued_bytes == 36
    transport.drain()
    assert transport.taken == b"a" * 11 + b"b" * 20
    assert outbox.queued_bytes == 25
    transport.drain()
    assert outbox.queued_bytes == 5
    transport.drain()
    assert (outbox.queued_bytes, len(transport.taken)) == (0, 36)


def test_outbox_discards_whole_batches_only() -> None:
    outbox, transport = wired()
    outbox.write((b"a" * 11,))
    outbox.write((b"b" * 11,))
    outbox.discard()
    outbox.write((b"goodbye",))
    transport.drain()
    assert transport.taken == b"a" * 11 + b"goodbye"


def test_outbox_ends_the_stream_after_what_is_queued() -> None:
    outbox, transport = wired()
    outbox.write((b"a" * 11,))
    outbox.write((b"b",))
    outbox.finish()
    outbox.finish()
    assert not transport.ended
    transport.drain()
    assert transport.ended
    assert transport.taken.endswith(b"b")


def test_outbox_ends_an_empty_stream_at_once() -> None:
    outbox, transport = wired()
    outbox.finish()
    assert transport.ended


def test_outbox_drops_a_connection_that_can_no_longer_end() -> None:
    outbox, transport = wired()
    transport.broken = True
    outbox.finish()
    assert transport.aborted


def test_outbox_leaves_a_closing_transport_alone() -> None:
    outbox, transport = wired()
    transport.aborted = True
    outbox.finish()
    assert not transport.ended


@given(st.lists(st.one_of(st.binary(min_size=1, max_size=30), st.none()), max_size=30))
def test_outbox_sends_everything_in_order_whatever_the_pauses(steps: list[bytes | None]) -> None:
    outbox, transport = wired()
    for step in steps:
        if step is None:
            transport.drain()
        else:
            outbox.write((step,))
    while outbox.queued_bytes:
        transport.drain()
    assert transport.taken == b"".join(step for step in steps if step is not None)


def test_what_is_held_leaves_with_its_ticket_and_the_end_waits_for_it() -> None:
    transport = Transport(high=1000)
    outbox = Outbox(cast("asyncio.Transport", transport))
    outbox.hold((b"one ",), 1)
    outbox.hold((b"two ",), 2)
    outbox.hold((b"two, too",), 2)
    assert (outbox.held_bytes, outbox.queued_bytes) == (16, 0)
    outbox.release(0)
    assert transport.taken == b""
    outbox.finish()
    assert not transport.ended
    outbox.release(1)
    assert (transport.taken, transport.ended) == (b"one ", False)
    outbox.release(5)
    assert (transport.taken, transport.ended) == (b"one two two, too", True)
    assert outbox.held_bytes == 0


def test_what_is_held_leaves_together_as_long_as_it_is_short() -> None:
    transport = Transport(high=10**9)
    outbox = Outbox(cast("asyncio.Transport", transport))
    long, short = TRANSPORT_BYTES_MAX - 1, [b"c" * 100, b"d", b"e"]
    for piece in (b"a" * long, b"b", *short):
        outbox.hold((piece,), 1)
    outbox.release(1)
    assert transport.taken == b"a" * long + b"b" + b"".join(short)
    assert transport.writes == [long + 1, 102]


def test_what_is_held_can_be_discarded() -> None:
    transport = Transport(high=1000)
    outbox = Outbox(cast("asyncio.Transport", transport))
    outbox.hold((b"one ",), 1)
    outbox.discard()
    outbox.release(1)
    assert (transport.taken, outbox.held_bytes) == (b"", 0)


def frames_of(*sizes: int) -> bytes:
    """Frames that take so many bytes, length and all."""
    return b"".join((size - 4).to_bytes(4, "big") + bytes(size - 4) for size in sizes)


def test_what_is_long_is_cut_between_frames() -> None:
    most = TRANSPORT_BYTES_MAX
    outbox, transport = wired()
    whole = frames_of(most // 2, most // 2, 10, 3 * most, *[1000] * 600)
    outbox.write((memoryview(whole),))
    given = [len(transport.taken)]
    while len(transport.taken) < len(whole):
        transport.drain()
        given.append(len(transport.taken) - sum(given))
    assert transport.taken == whole
    assert given == [most, 10 + 3 * most, *[most // 1000 * 1000] * 2, given[-1]]
    transport.drain()
    outbox.write((memoryview(whole),))
    outbox.discard()
    transport.drain()
    assert transport.taken == whole + whole[:most]


def test_a_frame_in_several_places_is_written_as_one() -> None:
    outbox, transport = wired()
    outbox.write((b"head ", b"publication", b"!"))
    outbox.write((b"more ", b"publication", b"?"))
    assert transport.taken == b"head publication!"
    assert outbox.waiting_bytes == 17
    outbox.hold((b"a", b"b"), 1)
    assert outbox.held_bytes == 2
    transport.drain()
    assert transport.taken == b"head publication!more publication?"
