"""Publications on their way to a broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from sapwood.client import Published, RefusedPublication, connect
from sapwood.errors import (
    InputError,
    InvalidValueError,
    LimitError,
)
from sapwood.limits import FRAME_BYTES_FLOOR, UNACKNOWLEDGED_MAX
from sapwood.model.publication import Publication
from tests.broker.helpers import line, running, settings, soon


async def test_the_broker_s_bound_is_the_client_s() -> None:
    small = settings(frame_bytes_max=FRAME_BYTES_FLOOR)
    async with running(small) as broker, connect(str(broker.address)) as client:
        with pytest.raises(LimitError, match="FRAME_BYTES_MAX"):
            await client.publish({"a": "x" * FRAME_BYTES_FLOOR})


async def test_a_publication_keeps_or_gets_its_id() -> None:
    async with running() as broker, connect(str(broker.address), "c") as client:
        assert await client.publish(Publication("p1", {"a": 1})) == "p1"
        assert await client.publish(Publication("p1", {"a": 1}), "p2") == "p2"
        made = [await client.publish({"a": 1}) for _ in range(2)]
        assert made[0] != made[1]
        assert all(id_.startswith("c.") for id_ in made)


async def test_many_publications_pass_a_window_smaller_than_them() -> None:
    count = UNACKNOWLEDGED_MAX * 2 + 5
    async with running() as broker, connect(str(broker.address)) as client:
        wanted = await client.subscribe("exists a")
        publishing = asyncio.create_task(client.publish_many({"a": n} for n in range(count)))
        received = [(await soon(anext(wanted))).attributes["a"] for _ in range(count)]
        assert received == list(range(count))
        assert await soon(publishing) == Published(count, ())


async def test_publications_may_come_asynchronously() -> None:
    async def source() -> AsyncIterator[dict[str, int]]:
        for n in range(3):
            await asyncio.sleep(0)
            yield {"a": n}

    async with running() as broker, connect(str(broker.address)) as client:
        assert (await soon(client.publish_many(source()))).accepted == 3


async def test_a_slow_source_is_published_as_it_comes() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        wanted = await client.subscribe("exists a")

        async def source() -> AsyncIterator[dict[str, int]]:
            for n in range(3):
                yield {"a": n}
                # The next comes only when this one has been delivered.
                assert (await soon(anext(wanted))).attributes == {"a": n}

        assert (await soon(client.publish_many(source()))).accepted == 3


async def test_publications_before_a_bad_one_are_published() -> None:
    def source() -> Iterator[dict[str, Any]]:
        yield {"a": 1}
        yield {"a": float("nan")}

    async with running() as broker, connect(str(broker.address)) as client:
        with pytest.raises(InvalidValueError):
            await client.publish_many(source())
        await client.flush()
        assert broker.counters.publications == 1


async def test_what_the_broker_refuses_is_told_by_id(monkeypatch: pytest.MonkeyPatch) -> None:
    # A client of another release, which does not check what it sends.
    from sapwood.client import outgoing as module

    def unchecked(publication: Publication, _bound: int) -> bytes:
        return b"\xc0" if publication.id == "bad" else b"\x92\xa1p\x80"

    monkeypatch.setattr(module, "encode_publication", unchecked)
    async with running() as broker, connect(str(broker.address)) as client:
        published = await client.publish_many([Publication(name, {}) for name in ("p", "bad", "q")])
        assert published.accepted == 2
        (refused,) = published.refused
        assert isinstance(refused, RefusedPublication)
        assert refused.id == "bad"
        with pytest.raises(InputError, match="publication 'bad' was refused: "):
            await client.publish(Publication("bad", {}))


async def test_connections_that_break_lose_and_repeat_no_publication() -> None:
    count = 3000
    async with line("r1", "r2") as brokers:
        home, far = brokers["r1"], brokers["r2"]
        async with (
            connect(str(home.address), "pub") as publisher,
            connect(str(far.address), "sub") as subscriber,
        ):
            wanted = await subscriber.subscribe("exists a")
            publishing = asyncio.create_task(publisher.publish_many({"a": n} for n in range(count)))
            received = []
            for n in range(count):
                received.append((await soon(anext(wanted))).attributes["a"])
                if n % 500 == 100:
                    peer = home.connections.clients.get("pub")
                    if peer is not None:
                        peer.abort()
            assert received == list(range(count))
            assert (await soon(publishing)).accepted == count
            await publisher.publish({"a": "last"})
            assert (await soon(anext(wanted))).attributes == {"a": "last"}
            assert publisher.reconnections > 0
