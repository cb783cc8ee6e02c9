"""Whatever a test starts must be gone when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from tests.broker.helpers import open_sockets


@pytest_asyncio.fixture(autouse=True)
async def nothing_is_left() -> AsyncIterator[None]:
    """No task and no socket outlives a test."""
    before = open_sockets()
    tasks = asyncio.all_tasks()
    yield
    left = {task.get_name() for task in asyncio.all_tasks() - tasks if not task.done()}
    left -= {task.get_name() for task in (asyncio.current_task(),) if task is not None}
    assert left == set()
    # A transport closes its socket in a later turn of the event loop.
    for _ in range(100):
        if open_sockets() <= before:
            return
        await asyncio.sleep(0.001)
    assert open_sockets() <= before
