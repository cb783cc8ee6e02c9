"""A connection in memory: bytes in order, held back where nobody takes them, ended by either."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker.http.callers import Caller
from sapwood.broker.http.inside import InnerTransport, NotAdmittedError, Visit
from sapwood.limits.gateway import VISIT_BYTES_MAX
from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import running, settings, soon

__all__ = ("nothing_is_left",)


class Kept(asyncio.Protocol):
    """The broker's end, which keeps what it is told."""

    def __init__(self) -> None:
        self.read = b""
        self.told: list[str] = []

    def data_received(self, data: bytes) -> None:
        self.read += data

    def eof_received(self) -> bool:
        self.told.append("eof")
        return False

    def pause_writing(self) -> None:
        self.told.append("pause")

    def resume_writing(self) -> None:
        self.told.append("resume")

    def connection_lost(self, error: Exception | None) -> None:
        self.told.append("lost")


async def turn() -> None:
    """Let what was put off to the next turn of the loop happen."""
    for _ in range(3):
        await asyncio.sleep(0)


@given(st.lists(st.binary(max_size=20)), st.integers(1, 9))
def test_bytes_come_in_order_in_pieces_of_any_size(pieces: list[bytes], size: int) -> None:
    async def carry() -> None:
        kept = Kept()
        transport = InnerTransport(kept, ("m", 0))
        for piece in pieces:
            transport.write(memoryview(piece))
            transport.say(piece)
        transport.write_eof()
        taken = []
        await transport.ready()
        while some := transport.some(size):
            assert len(some) <= size
            taken.append(some)
            await transport.ready()
        transport.leave()
        await turn()
        assert b"".join(taken) == kept.read == b"".join(pieces)
        assert kept.told == ["eof", "lost"]

    asyncio.run(carry())


async def test_writing_pauses_where_nobody_takes_and_goes_on_at_a_quarter() -> None:
    kept = Kept()
    transport = InnerTransport(kept, ("m", 0))
    transport.set_write_buffer_limits(high=100)
    transport.write(b"x" * 100)
    assert kept.told == []
    transport.write(b"x")
    assert (kept.told, transport.get_write_buffer_size()) == (["pause"], 101)
    transport.some(75)
    await turn()
    assert kept.told == ["pause"]
    transport.some(1)
    await turn()
    assert kept.told == ["pause", "resume"]
    transport.abort()
    assert transport.some(9) == b""
    transport.write(b"x")
    assert transport.get_write_buffer_size() == 0
    await turn()
    assert kept.told == ["pause", "resume", "lost"]


async def test_what_is_written_for_many_is_there_once_and_has_a_bound() -> None:
    """Planted: asyncio's own `writelines` joins what it is given, for each of them."""
    head, long = b"head", b"x" * 1_000_000
    transports = [InnerTransport(Kept(), ("m", number)) for number in range(50)]
    tracemalloc.start()
    for one in transports:
        one.set_write_buffer_limits(high=10 * VISIT_BYTES_MAX)
        one.writelines((head, memoryview(long)))
    assert tracemalloc.get_traced_memory()[0] < len(long)
    tracemalloc.stop()
    for one in transports:
        assert one.get_write_buffer_size() == len(head) + len(long)
        assert one.some(4) + one.some(3) == b"headxxx"
        one.abort()
    kept = Kept()
    transport = InnerTransport(kept, ("m", 0))
    transport.set_write_buffer_limits(high=10 * VISIT_BYTES_MAX)
    transport.write(bytearray(VISIT_BYTES_MAX))
    assert kept.told == []
    transport.write(b"x")
    assert kept.told == ["pause"]
    transport.abort()
    await turn()


async def test_what_is_said_waits_while_the_broker_does_not_read() -> None:
    kept = Kept()
    transport = InnerTransport(kept, ("m", 0))
    transport.pause_reading()
    transport.say(b"a")
    await turn()
    transport.say(b"b")
    assert kept.read == b""
    transport.resume_reading()
    await turn()
    assert kept.read == b"ab"
    transport.pause_reading()
    transport.leave()
    await turn()
    assert kept.told == ["eof", "lost"]


async def test_a_visit_is_a_client_as_long_as_it_lasts() -> None:
    async with running(settings("hub", connections_max=1)) as broker:
        visit = await soon(Visit.begin(broker.accept, broker.connecting, Caller(None, ("m", 7))))
        assert next(iter(broker.connections.all)).address == "m:7"
        with pytest.raises(NotAdmittedError, match="limit of 1 connections"):
            await soon(Visit.begin(broker.accept, broker.connecting, Caller(None, ("m", 8))))
        visit.close()
        visit.close()
        assert await soon(visit.events()) == []
        assert visit.ending is not None
        await soon(broker.connections.until(lambda: not broker.connections.all))
