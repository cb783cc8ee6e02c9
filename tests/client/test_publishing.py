"""The broker's answers to publications, and those who wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from sapwood.client import connect
from sapwood.client.publishing import (
    Answers,
    Batch,
    Names,
    PublishBatch,
    Published,
    Publisher,
    RefusedPublication,
)
from sapwood.errors import (
    ConnectionLostError,
    InputError,
    InvalidValueError,
    LimitError,
)
from sapwood.limits import FRAME_BYTES_FLOOR, UNACKNOWLEDGED_MAX
from sapwood.model.publication import Publication
from sapwood.session.client_session import ClientSession
from sapwood.session.settings import ConnectionSettings
from tests.broker.helpers import line, running, settings, soon


async def _nothing() -> None:
    """Waits for nothing."""


def future() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


async def test_one_who_waits_for_one_publication_hears_of_it() -> None:
    answers = Answers()
    first, second = future(), future()
    answers.sent("p1", first)
    answers.sent("p2", second)
    answers.refused(1, "no")
    answers.through(1)
    assert not second.done()
    answers.through(2)
    with pytest.raises(InputError, match="publication 'p1' was refused: no"):
        first.result()
    second.result()
    assert (answers.answered, answers.last) == (2, 2)


async def test_a_batch_counts_and_keeps_refusals() -> None:
    answers, batch = Answers(), Batch()
    for number in (1, 2, 3):
        answers.sent(f"p{number}", batch)
    answers.refused(2, "no")
    answers.through(3)
    assert (batch.sent, batch.refused) == (3, [RefusedPublication("p2", "no")])


async def test_an_answer_that_is_repeated_says_nothing() -> None:
    answers, batch = Answers(), Batch()
    answers.sent("p1", batch)
    answers.through(1)
    answers.refused(1, "again")
    answers.through(1)
    assert batch.refused == []
    answers.sent("p2", batch)
    for _ in range(2):  # once before, and once after a new connection
        answers.refused(2, "no")
    answers.through(2)
    assert batch.refused == [RefusedPublication("p2", "no")]


async def test_a_barrier_waits_for_all_before_it_and_nothing_after() -> None:
    answers = Answers()
    await answers.all_answered()
    answers.sent("p1", Batch())
    answers.sent("p2", Batch())
    waiting = asyncio.create_task(answers.all_answered())
    await asyncio.sleep(0)
    answers.sent("p3", Batch())
    answers.through(1)
    await asyncio.sleep(0)
    assert not waiting.done()
    answers.through(2)
    await waiting


async def test_progress_is_any_answer() -> None:
    answers = Answers()
    answers.sent("p1", Batch())
    waiting = asyncio.create_task(answers.progress())
    await asyncio.sleep(0)
    answers.through(1)
    await waiting


async def test_who_stopped_waiting_is_passed_over() -> None:
    answers = Answers()
    gone = [future() for _ in range(3)]
    for number, one in enumerate(gone, start=1):
        answers.sent(f"p{number}", one)
        one.cancel()
    barrier = asyncio.create_task(answers.all_answered())
    await asyncio.sleep(0)
    barrier.cancel()
    await asyncio.wait((barrier,))
    answers.refused(1, "no")
    answers.through(3)
    assert all(one.cancelled() for one in gone)


async def test_a_failure_reaches_all_who_wait() -> None:
    answers = Answers()
    alone = future()
    answers.sent("p1", alone)
    answers.sent("p2", Batch())
    waiting = [asyncio.create_task(work) for work in (answers.all_answered(), answers.progress())]
    await asyncio.sleep(0)
    answers.fail(ConnectionLostError("gone"))
    for one in (alone, *waiting):
        with pytest.raises(ConnectionLostError, match="gone"):
            await one


async def test_a_batch_is_what_it_published_and_what_was_refused() -> None:
    session = ClientSession("c", "1", ConnectionSettings())
    publisher = Publisher(session, Names(), lambda: None)

    async def flush() -> None:
        publisher.answers.refused(2, "no")
        publisher.answers.through(4)

    batch = PublishBatch(publisher, lambda: None, flush)
    await batch.publish([{"n": 1}])
    await batch.publish([{"n": 2}, Publication("mine", {"n": 3}), b"<a/>"])
    assert session.window.last == 4
    refused = (RefusedPublication("c.1.2", "no"),)
    assert await batch.finish() == Published(3, refused)
    assert batch.refused == list(refused)


async def test_a_batch_stops_where_the_client_cannot_be_used_any_more() -> None:
    session = ClientSession("c", "1", ConnectionSettings())

    def check() -> None:
        if session.window.last:
            raise ConnectionLostError("gone")

    batch = PublishBatch(Publisher(session, Names(), lambda: None), check, _nothing)
    await batch.publish([{"n": 1}])
    with pytest.raises(ConnectionLostError, match="gone"):
        await batch.publish([{"n": 2}])
    assert session.window.last == 1


def test_names_are_counted_whatever_they_are_for() -> None:
    names = Names()
    assert [names.new("s", ()), names.new("a", ()), names.next("c.x.")] == ["s1", "a2", "c.x.3"]


def test_names_that_are_taken_are_passed_over() -> None:
    assert Names().new("s", {"s1", "s2", "s4"}) == "s3"


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
    from sapwood.client import publishing as module

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
