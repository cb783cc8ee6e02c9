"""Who hears what of the broker's answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sapwood.client.publishing import Answers, Batch, PublishBatch, Published, RefusedPublication
from sapwood.errors import ConnectionLostError, InputError


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


async def test_a_batch_is_what_it_put_and_what_was_refused() -> None:
    put: list[Any] = []

    async def keep(given: Any, id_: str | None, sink: Any) -> str:
        put.append(given)
        sink.sent += 1
        if given["n"] == 2:
            sink.refused.append(RefusedPublication("p2", "no"))
        return "id"

    async def flush() -> None:
        put.append("flush")

    batch = PublishBatch(keep, flush)
    await batch.publish([{"n": 1}])
    await batch.publish([{"n": 2}, {"n": 3}])
    assert await batch.finish() == Published(2, (RefusedPublication("p2", "no"),))
    assert put == [{"n": 1}, {"n": 2}, {"n": 3}, "flush"]
