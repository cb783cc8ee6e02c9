"""Links over UDP: how they begin, what loss does to them, and what strangers get."""

from __future__ import annotations

import asyncio
import socket
from random import Random

import pytest

from sapwood.client import connect
from sapwood.errors import InputError
from sapwood.wire.address import Address
from sapwood.wire.datagrams import Datagram, Kind, decode_datagram, encode_datagram
from sapwood_lab.timing.clocks import NotingClock, truth
from sapwood_lab.timing.proxies import DatagramProxy, Fate
from tests.broker.helpers import running, settings, soon

pytestmark = pytest.mark.network

UDP_PORT = Address("127.0.0.1", 0, is_datagram=True)


async def test_brokers_link_by_datagrams_and_publications_cross() -> None:
    udp = {"protocol": "flooding"}
    async with running(settings("a", listen_datagrams=UDP_PORT, **udp)) as a:
        assert a.datagrams is not None
        async with running(settings("b", a.datagrams, **udp)) as b:
            await soon(a.until_linked("b"))
            await soon(b.until_linked("a"))
            async with connect(str(a.address)) as one, connect(str(b.address)) as other:
                wanted = await other.subscribe("x >= 0")
                for number in range(20):
                    await one.publish({"x": number})
                    delivery = await soon(anext(wanted))
                    assert delivery.attributes == {"x": number}
                    assert delivery.timely
                back = await one.subscribe("true")
                await other.publish({"y": "z" * 30_000})
                assert (await soon(anext(back))).attributes == {"y": "z" * 30_000}
        # b said that it goes, so a does not wait for pings to fail.
        await soon(a.connections.until(lambda: not a.connections.links))


async def test_over_a_rough_link_what_arrives_is_right_and_no_age_is_too_small() -> None:
    udp = {"protocol": "flooding"}
    fate, clock = Fate(0.2, 0.2, 0.02, Random(3)), NotingClock(500, 0, 3)
    async with running(settings("a", listen_datagrams=UDP_PORT, **udp)) as a:
        assert a.datagrams is not None
        async with (
            DatagramProxy(a.datagrams, fate.times) as proxy,
            running(settings("b", proxy.address, **udp)) as b,
        ):
            await soon(a.until_linked("b"))
            await soon(b.until_linked("a"))
            async with (
                connect(str(b.address), settings=clock.settings()) as one,
                connect(str(a.address)) as other,
            ):
                wanted = await other.subscribe("true")
                found: list[int] = []
                number = 0
                while len(found) < 50:
                    clock.expect(number)
                    await one.publish({"n": number})
                    number += 1
                    while len(wanted):
                        delivery = await anext(wanted)
                        age = truth() - clock.made[delivery.attributes["n"]]
                        bound = delivery.age_bound
                        assert bound is None or bound * 1e9 >= age
                        found.append(delivery.attributes["n"])
                assert len(set(found)) == len(found), "what was repeated is seen once"
                assert proxy.lost
                assert found != sorted(found), "they overtake each other"


async def test_a_stranger_gets_less_than_it_sends_and_is_not_remembered() -> None:
    async with running(settings("a", listen_datagrams=UDP_PORT, protocol="flooding")) as a:
        assert a.datagrams is not None
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.setblocking(False)
            stranger.connect((a.datagrams.host, a.datagrams.port))
            short = encode_datagram(Datagram(Kind.DATA, bytes(8), b"x"))
            for nothing in (b"", b"\xff" * 2000, short, bytes(30)):
                await loop.sock_sendall(stranger, nothing)
            hello = encode_datagram(Datagram(Kind.HELLO, b"12345678", b"\0\0\0\x01\0"))
            await loop.sock_sendall(stranger, hello)
            answer = await soon(loop.sock_recv(stranger, 65_536))
            assert len(answer) < len(hello) / 10
            retry = decode_datagram(answer)
            assert retry is not None
            assert (retry.kind, retry.connection) == (Kind.RETRY, b"12345678")
            assert not a.connections.all, "nobody is here yet"
            # A cookie that was not given to it is worth nothing.
            wrong = retry._replace(kind=Kind.HELLO, payload=b"\0\0\0\0", cookie=b"?" * 16)
            await loop.sock_sendall(stranger, encode_datagram(wrong))
            again = decode_datagram(await soon(loop.sock_recv(stranger, 65_536)))
            assert again is not None
            assert again.kind is Kind.RETRY
            # With its own it is heard: what it says is no greeting.
            right = retry._replace(kind=Kind.HELLO, payload=b"\0\0\0\x01\xc0")
            await loop.sock_sendall(stranger, encode_datagram(right))
            refused = decode_datagram(await soon(loop.sock_recv(stranger, 65_536)))
            assert refused is not None
            assert refused.kind is Kind.WELCOME


async def test_a_peer_that_is_not_there_is_tried_again() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as placeholder:
        placeholder.bind(("127.0.0.1", 0))
        port = placeholder.getsockname()[1]
    address = Address("127.0.0.1", port, is_datagram=True)
    async with (
        running(settings("b", address, protocol="flooding")) as b,
        running(settings("a", listen_datagrams=address, protocol="flooding")),
    ):
        await soon(b.until_linked("a"))


def test_protocols_that_rest_on_order_are_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match="rests on links that do not"):
        settings("a", listen_datagrams=UDP_PORT)
    with pytest.raises(InputError, match="lose, repeat and reorder"):
        settings("a", Address("x", 1, is_datagram=True), protocol="covering")


async def test_under_leases_subscriptions_cross_a_rough_link() -> None:
    leases = {"protocol": "covering+leases:1"}
    async with running(settings("a", listen_datagrams=UDP_PORT, **leases)) as a:
        assert a.datagrams is not None
        async with (
            DatagramProxy(a.datagrams, Fate(0.2, 0.1, 0.01, Random(5)).times) as proxy,
            running(settings("b", proxy.address, **leases)) as b,
        ):
            await soon(a.until_linked("b"))
            await soon(b.until_linked("a"))
            async with connect(str(b.address)) as one, connect(str(a.address)) as other:
                wanted = await soon(other.subscribe("x > 0"))
                number = 0
                while not len(wanted):
                    number += 1
                    await one.publish({"x": number})
                    await asyncio.sleep(0.01)
                assert (await anext(wanted)).attributes["x"] <= number
                assert not a.counters.faulty_peers
