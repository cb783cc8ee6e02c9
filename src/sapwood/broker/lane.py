"""A lane: coroutines that become ready at the same time continue a few at a time.

asyncio runs all that is ready before it polls for input again. Where one publication goes to three
hundred event streams, these would write it for a third of a second before the broker reads
anything. So a few continue in each iteration of the loop: twice as many as in the last one if that
was short, half as many if it was long, and at least one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from sapwood.limits import TURN_S
from sapwood.limits.gateway import LANE_WIDTH_MAX


class Lane:
    """Lets waiting coroutines continue in the order in which they came.

    #: _is_open iff no coroutine has continued in this iteration; then none is in _waiting
    """

    def __init__(self) -> None:
        self._loop: Final = asyncio.get_running_loop()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_open = True
        self._width = 1
        self._at = 0.0

    async def turn(self) -> None:
        """Return when the caller may continue; at once if it is the first in this iteration."""
        if self._is_open:
            self._is_open = False
            self._at = self._loop.time()
            self._loop.call_soon(self._next)
            return
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append(waiter)
        await waiter

    def _next(self) -> None:
        """Let the next `_width` coroutines continue."""
        now = self._loop.time()
        is_short = now - self._at < TURN_S / 2
        self._width = min(LANE_WIDTH_MAX, 2 * self._width) if is_short else self._width // 2 or 1
        self._at, left = now, self._width
        while self._waiting and left:
            waiter = self._waiting.popleft()
            if not waiter.done():  # else it was cancelled meanwhile
                waiter.set_result(None)
                left -= 1
        self._is_open = left == self._width
        if not self._is_open:
            self._loop.call_soon(self._next)
