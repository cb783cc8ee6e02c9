"""Values from a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from sapwood.client.feeding import from_thread
from tests.broker.helpers import soon


async def test_values_come_in_order_and_completely() -> None:
    found = [value async for some in from_thread(range(10_000), ahead_max=7) for value in some]
    assert found == list(range(10_000))


async def test_nothing_comes_from_nothing() -> None:
    nothing: list[int] = []
    assert [some async for some in from_thread(nothing)] == []


async def test_a_value_does_not_wait_for_the_next() -> None:
    more = threading.Event()

    def slow() -> Iterator[int]:
        yield 1
        more.wait()
        yield 2

    feed = from_thread(slow())
    assert await soon(anext(feed)) == [1]
    more.set()
    assert await soon(anext(feed)) == [2]
    with pytest.raises(StopAsyncIteration):
        await soon(anext(feed))


async def test_an_error_comes_after_the_values_before_it() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    feed = from_thread(broken())
    assert await soon(anext(feed)) == [1]
    with pytest.raises(ValueError, match="broken"):
        await soon(anext(feed))


async def test_a_reader_is_never_further_ahead_than_it_may_be() -> None:
    taken = threading.Semaphore(0)
    read = 0

    def counting() -> Iterator[int]:
        nonlocal read
        for value in range(100):
            read += 1
            taken.release()
            yield value

    feed = from_thread(counting(), ahead_max=5)
    first = await soon(anext(feed))
    # At most: what was taken, what may wait, and the one in the reader's hand.
    assert read <= len(first) + 6
    rest = [value async for some in feed for value in some]
    assert first + rest == list(range(100))


async def test_who_stops_taking_stops_the_reader() -> None:
    stopped = threading.Event()

    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            stopped.set()

    feed = from_thread(endless(), ahead_max=3)
    await soon(anext(feed))
    await feed.aclose()  # type: ignore[attr-defined]  # an asynchronous generator has it
    assert await asyncio.get_running_loop().run_in_executor(None, stopped.wait, 30)
