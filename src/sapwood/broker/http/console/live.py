"""The state of the broker and of its overlay, while viewers are connected.

One read of the broker's state each second serves all viewers. Other brokers are asked for each
viewer, since they answer each by its own grant.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from sapwood.broker.hits import Hits
from sapwood.broker.http.console.looked import Looked
from sapwood.broker.http.console.overlay import Neighborhood, shown_to_others
from sapwood.broker.http.refusals import Refusal
from sapwood.broker.status import addresses, status
from sapwood.limits.console import CONSOLE_OVERLAY_S, CONSOLE_STATUS_S, CONSOLE_STREAMS_MAX
from sapwood.wire.greetings import Credentials
from sapwood.wire.status import status_members

WhyNot = Callable[[], Awaitable[str | None]]
"""Returns the reason why a viewer may no longer read the state, or `None`."""


class Live:
    """The state that all viewers share.

    #: hits of subscriptions are counted as long as _count is not 0
    """

    def __init__(self, broker: Looked) -> None:
        self._broker = broker
        #: asks other brokers, for one viewer after the other
        self._thread = ThreadPoolExecutor(1, "console looks")
        self._count = 0
        self._last: dict[str, Any] = {}
        self._at = -CONSOLE_STATUS_S

    def state(self) -> dict[str, Any]:
        """The broker's state, a second old at most, as in `sapwood status --json`; and its time."""
        now = asyncio.get_running_loop().time()
        if now - self._at >= CONSOLE_STATUS_S / 2:
            self._at = now
            spent = time.process_time()
            members = status_members(status(self._broker))
            self._last = {"at": time.time(), "processor_s": spent, "status": members}
        return self._last

    async def stop(self) -> None:
        """Stop all requests to other brokers."""
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)

    async def events(
        self, shown: Credentials | None, why_not: WhyNot
    ) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """States and overlays by name, for one viewer; `end` with the reason when that ends.

        Raises `Refusal` for one too many.
        """
        if self._count >= CONSOLE_STREAMS_MAX:
            name, bound = self._broker.name, CONSOLE_STREAMS_MAX
            raise Refusal.later(f"the console of broker {name} is open {bound} times")
        self._count += 1
        if self._broker.effect_runner.hits is None:
            self._broker.effect_runner.hits = Hits()
        others = Neighborhood(self._broker.name, shown_to_others(self._broker, shown))
        loop, looking = asyncio.get_running_loop(), None
        looked_at = loop.time() - CONSOLE_OVERLAY_S
        try:
            while not self._broker.is_stopping:
                yield "status", self.state()
                if looking is None and loop.time() - looked_at >= CONSOLE_OVERLAY_S:
                    why = await why_not()
                    if why is not None:
                        yield "end", {"reason": why}
                        return
                    looked_at = loop.time()
                    near = addresses(self._broker)
                    looking = loop.run_in_executor(self._thread, others.look, near)
                wait = [] if looking is None else [looking]
                if wait:
                    await asyncio.wait(wait, timeout=CONSOLE_STATUS_S)
                if looking is not None and looking.done():
                    found = [one.members() for one in looking.result()]
                    looking = None
                    yield "overlay", {"brokers": found}
                    await asyncio.sleep(CONSOLE_STATUS_S)
                elif not wait:
                    await asyncio.sleep(CONSOLE_STATUS_S)
            yield "end", {"reason": "the broker is shutting down"}
        finally:
            self._count -= 1
            if not self._count:
                self._broker.effect_runner.hits = None
            with suppress(RuntimeError):  # it reports that there are no threads any more
                self._thread.submit(others.close)
