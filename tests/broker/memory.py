"""Brokers on connections in memory: bytes move when a test says so, in the pieces that it says."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sapwood.broker.broker import Broker
from sapwood.broker.tcp_connection import TcpConnection
from sapwood.wire.codec import append_message, greeting_frame
from sapwood.wire.greetings import Hello, Role
from sapwood.wire.messages import Message
from sapwood.wire.runs import RunFinder
from tests.broker.helpers import Story, running, settings


class Pipe(asyncio.Transport):
    """A transport that keeps what is written, in the pieces in which it was written."""

    def __init__(self) -> None:
        super().__init__({"peername": ("memory", 0)})
        self.written: deque[bytes] = deque()
        self.ended = False
        self.reading = True

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing is ever held back."""

    def write_eof(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.ended = True

    abort = close

    def is_closing(self) -> bool:
        return self.ended

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


class End:
    """One end of a connection: a broker's, and all that it has sent."""

    def __init__(self, broker: Broker, role: Role | None, runs: RunFinder | None) -> None:
        self.tcp = TcpConnection(broker, role, broker.settings.connection, broker.name, runs)
        self.pipe = Pipe()
        self.sent = b""
        self.tcp.connection_made(self.pipe)

    def take(self) -> list[bytes]:
        """Return the pieces that were written since the last call."""
        pieces = list(self.pipe.written)
        self.pipe.written.clear()
        self.sent += b"".join(pieces)
        return pieces

    def feed(self, data: bytes) -> None:
        """The peer has sent something; nothing is read behind the end."""
        if not self.pipe.ended:
            self.tcp.data_received(data)


class Overlay:
    """Brokers linked in memory, and peers that are written by hand.

    With `runs`, brokers find publications that come together.
    """

    def __init__(self, brokers: dict[str, Broker], runs: RunFinder | None) -> None:
        self.brokers = brokers
        self._runs = runs
        self.peers: dict[str, End] = {}
        self._links: list[tuple[End, End]] = []

    def link(self, a: str, b: str) -> None:
        """Link two brokers."""
        dialing = End(self.brokers[a], Role.BROKER, self._runs)
        self._links.append((dialing, End(self.brokers[b], None, self._runs)))
        self.settle()
        assert b in self.brokers[a].connections.links
        assert a in self.brokers[b].connections.links

    def connect(self, name: str, broker: str, hello: Hello) -> None:
        """A peer connects and greets."""
        self.peers[name] = End(self.brokers[broker], None, self._runs)
        self.peers[name].feed(greeting_frame(hello))
        self.settle()

    def say(self, name: str, data: bytes) -> None:
        """A peer sends a piece of its stream, and everybody comes to rest."""
        self.peers[name].feed(data)
        self.settle()

    def settle(self) -> None:
        """Carry all that brokers have written over the links, write by write."""
        moved = True
        while moved:
            moved = False
            for ends in self._links:
                for sender, receiver in (ends, ends[::-1]):
                    for piece in sender.take():
                        moved = True
                        receiver.feed(piece)
        for end in self.peers.values():
            end.take()

    async def rest(self) -> None:
        """Let everybody come to rest, disks among them."""
        self.settle()
        for broker in self.brokers.values():
            while broker.store is not None and broker.store.commits.ticket() is not None:
                await broker.store.commits.drained()
                self.settle()

    def said(self) -> dict[str, bytes]:
        """All bytes that each peer, and each end of a link, was sent."""
        links = [end for ends in self._links for end in ends]
        heard = {str(at): end.sent for at, end in enumerate(links)}
        return heard | {name: end.sent for name, end in self.peers.items()}


@asynccontextmanager
async def overlay(
    names: Sequence[str], runs: RunFinder | None, story: Story, **more: Any
) -> AsyncIterator[Overlay]:
    """Brokers in memory, linked in a line."""
    async with AsyncExitStack() as stack:
        brokers = {}
        for name in names:
            own = {
                key: value[name] if isinstance(value, dict) else value
                for key, value in more.items()
            }
            broker = await stack.enter_async_context(running(settings(name, **own), story))
            # Where it listens differs from run to run, and nobody comes there.
            broker.handshake.me = replace(broker.handshake.me, listens="")
            brokers[name] = broker
        made = Overlay(brokers, runs)
        for a, b in pairwise(names):
            made.link(a, b)
        try:
            yield made
        finally:
            for broker in brokers.values():
                for tcp in list(broker.connections.all):
                    tcp.connection_lost(None)


def frames(*messages: Message) -> bytes:
    """Messages as they travel."""
    buffer = bytearray()
    for message in messages:
        append_message(buffer, message)
    return bytes(buffer)
