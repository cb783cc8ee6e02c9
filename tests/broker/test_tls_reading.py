"""Reading by TLS into one buffer: what each connection was sent arrives, whole and in order."""

from __future__ import annotations

import asyncio
import ssl
from asyncio import sslproto
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest
import trustme

from sapwood.broker.listening import bound
from sapwood.broker.tls_reading import SharedReading, share_buffer
from sapwood.limits.tls import TLS_PART_BYTES, TLS_READ_BYTES
from sapwood.wire.address import Address

HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The contexts of a server and of its clients."""
    authority = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert(HOST).configure_cert(server)
    authority.configure_trust(client)
    return server, client


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sslproto, "SSLProtocol", sslproto.SSLProtocol)


class Echo(asyncio.Protocol):
    """Sends back what comes, and keeps the protocol of TLS below it and the sizes of reads."""

    below: list[SharedReading]
    sizes: list[int]

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.below.append(transport._ssl_protocol)

    def data_received(self, data: bytes) -> None:
        self.sizes.append(len(data))
        self.transport.write(data)


async def echoed(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext], sent: list[bytes]
) -> tuple[list[bytes], list[SharedReading]]:
    """The echoes of what as many clients send at once, and the protocols of the server's side."""
    kind: Any = type("Kept", (Echo,), {"below": [], "sizes": []})
    server = await bound(Address(HOST, 0), kind, contexts[0])
    await server.start_serving()
    port = server.sockets[0].getsockname()[1]

    async def exchange(data: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(HOST, port, ssl=contexts[1])
        writer.write(data)
        echo = await reader.readexactly(len(data))
        writer.close()
        await writer.wait_closed()
        return echo

    echoes = await asyncio.gather(*map(exchange, sent))
    server.close()
    await server.wait_closed()
    assert max(kind.sizes) <= TLS_READ_BYTES
    assert sum(kind.sizes) == sum(map(len, sent))
    return echoes, kind.below


def drawn(seed: int) -> list[bytes]:
    """The data of some clients: much, little, and about as much as a part."""
    random = Random(seed)
    sizes = (1, 3 * TLS_READ_BYTES, TLS_PART_BYTES, TLS_PART_BYTES + 1, TLS_READ_BYTES - 1)
    return [random.randbytes(size) for size in sizes]


def test_what_clients_send_at_once_arrives_whole(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    sent = drawn(1)
    echoes, below = asyncio.run(echoed(contexts, sent))
    assert echoes == sent
    assert len(below) == len(sent)
    assert all(type(one) is SharedReading and not one._ssl_buffer for one in below)


def test_loops_of_several_threads_have_a_buffer_each(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    drafts = [drawn(seed) for seed in (2, 3)]
    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(asyncio.run, echoed(contexts, sent)) for sent in drafts]
        assert [one.result()[0] for one in running] == drafts


def test_connections_of_one_thread_read_into_the_same_memory() -> None:
    share_buffer()
    loop = asyncio.new_event_loop()
    context = ssl.create_default_context()
    made: list[Any] = [
        sslproto.SSLProtocol(
            loop, asyncio.Protocol(), context, loop.create_future(), server_hostname=HOST
        )
        for _ in range(2)
    ]
    loop.close()
    one, other = (each.get_buffer(-1) for each in made)
    assert one is other
    assert len(one) == TLS_READ_BYTES


class Ends(asyncio.Protocol):
    """Remembers what comes in order: lengths of data, and the end."""

    def __init__(self) -> None:
        self.said: list[int | str] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""

    def data_received(self, data: bytes) -> None:
        self.said.append(len(data))

    def eof_received(self) -> None:
        self.said.append("end")


def test_parts_that_were_read_together_are_handed_on_together_and_before_the_end(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    """A client in memory, whose bytes are read in one piece."""
    share_buffer()
    loop, protocol = asyncio.new_event_loop(), Ends()
    server: Any = sslproto.SSLProtocol(
        loop, protocol, contexts[0], loop.create_future(), server_side=True
    )
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = contexts[1].wrap_bio(incoming, outgoing, server_hostname=HOST)
    server.connection_made(Answering(incoming))

    def read() -> None:
        data = outgoing.read()
        server.get_buffer(-1)[: len(data)] = data
        server.buffer_updated(len(data))

    for _ in range(3):
        try:
            client.do_handshake()
        except ssl.SSLWantReadError:
            read()
    count = 5 * TLS_PART_BYTES + 7
    client.write(bytes(count))
    with pytest.raises(ssl.SSLWantReadError):
        client.unwrap()
    read()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert protocol.said == [count, "end"]


class Answering(asyncio.Transport):
    """Carries what the server's side writes to the client."""

    def __init__(self, incoming: ssl.MemoryBIO) -> None:
        super().__init__()
        self._incoming = incoming

    def write(self, data: Any) -> None:
        self._incoming.write(data)

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        """Nothing is there to be closed."""
