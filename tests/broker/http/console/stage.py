"""Brokers on an event loop of their own, for tests that wait for a browser."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from tests.broker.http.console.helpers import Shown, shown
from tests.patience import PATIENCE_S

T = TypeVar("T")


class Stage:
    """A hub with a console, brokers behind it, and what is done there meanwhile."""

    hub: Shown

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    @property
    def url(self) -> str:
        return f"{self.hub.url}/console/"

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the loop of the brokers, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)


@contextmanager
def stage(*others: str, **more: Any) -> Iterator[Stage]:
    """A hub, and other brokers in a line, as `shown` makes them."""
    ready = threading.Event()
    made: list[Stage] = []
    end: list[Callable[[], object]] = []

    async def play() -> None:
        over = asyncio.Event()
        loop = asyncio.get_running_loop()
        found = Stage(loop)
        async with shown(*others, **more) as hub:
            found.hub = hub
            made.append(found)
            end.append(lambda: loop.call_soon_threadsafe(over.set))
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(play()))
    thread.start()
    assert ready.wait(PATIENCE_S)
    try:
        yield made[0]
    finally:
        end[0]()
        thread.join()


async def forever(act: Callable[[], Awaitable[object]], each_s: float) -> None:
    """Do something again and again."""
    while True:
        await act()
        await asyncio.sleep(each_s)
