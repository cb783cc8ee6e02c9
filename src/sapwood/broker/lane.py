"""A lane: visitors that are ready at the same time go on one after the other.

asyncio does all that is ready before it looks for input again. Where one publication is for three
hundred event streams, these would write it for a third of a second before the broker reads
anything. So a few go on each time the loop comes by: twice as many as the last time where that was
short, half of them where it was long, and one at least.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from sapwood.limits import TURN_S
from sapwood.limits.gateway import LANE_WIDTH_MAX


class Lane:
    """Lets those on who wait for their turn, first come, first served.

    #: _is_open iff nobody has gone on since the loop came by, and then nobody waits
    """

    def __init__(self) -> None:
        self._loop: Final = asyncio.get_running_loop()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_open = True
        self._width = 1
        self._at = 0.0

    async def turn(self) -> None:
        """Return when the caller may go on; at once where nobody else is about to."""
        if self._is_open:
            self._is_open = False
            self._at = self._loop.time()
            self._loop.call_soon(self._next)
            return
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append(waiter)
        await waiter

    def _next(self) -> None:
        """Let the next ones on."""
        now = self._loop.time()
        is_short = now - self._at < TURN_S / 2
        self._width = min(LANE_WIDTH_MAX, 2 * self._width) if is_short else self._width // 2 or 1
        self._at, left = now, self._width
        while self._waiting and left:
            waiter = self._waiting.popleft()
            if not waiter.done():  # who was cancelled meanwhile
                waiter.set_result(None)
                left -= 1
        self._is_open = left == self._width
        if not self._is_open:
            self._loop.call_soon(self._next)
