"""Round trips to other brokers, measured by a TCP handshake that nothing follows.

A router that routes by the nearest routers (`irbr:near`) requests the delays to routers to which it
has no link, and may never have one. Their operating system answers the handshake, not their
process, so it costs them next to nothing, and the round trip does not depend on their load. Linux
knows the round trip of the handshake itself (`TCP_INFO`); elsewhere it is the time until the
connection is up, in which this process may have been busy. An address for datagrams has no answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import Callable
from typing import Final

from sapwood.broker.logs import Log
from sapwood.errors import InputError
from sapwood.limits.structured import MEASURE_TIMEOUT_S, MEASURES_AT_ONCE
from sapwood.routing.effects import Measure
from sapwood.routing.inputs import Input, Measured
from sapwood.wire.address import Address, parse_address

_RTT_US: Final = struct.Struct("=68xI")
"""The smoothed round trip in microseconds in `struct tcp_info` of Linux: that of the handshake."""


class Meter:
    """Measures brokers, `MEASURES_AT_ONCE` at a time; each answer is an input for the router."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._room = asyncio.Semaphore(MEASURES_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    def measure(self, effect: Measure, handle: Callable[[Input], None]) -> None:
        """Begin to measure a broker; `handle` gets a `Measured` later, whatever comes of it."""
        task = asyncio.create_task(self._answer(effect, handle), name=f"measure {effect.router}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Cancel the measurements under way."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, effect: Measure, handle: Callable[[Input], None]) -> None:
        delay_s: float | None = None
        try:
            address = parse_address(effect.address, linking=True) if effect.address else None
            if address is not None and not address.is_datagram:
                async with self._room:
                    delay_s = await asyncio.wait_for(round_trip_s(address), MEASURE_TIMEOUT_S)
        except (InputError, OSError, UnicodeError, TimeoutError) as error:
            self._log.debug("not measured", neighbor=effect.router, reason=str(error))
        handle(Measured(effect.router, delay_s, effect.address))


async def round_trip_s(address: Address) -> float:
    """Seconds there and back by a TCP handshake; raises `OSError`, and nothing is ever sent."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    family, kind, number, _, where = found[0]
    with socket.socket(family, kind, number) as connection:
        connection.setblocking(False)  # noqa: FBT003
        began = time.perf_counter()
        await loop.sock_connect(connection, where)
        elapsed = time.perf_counter() - began
        with contextlib.suppress(AttributeError, OSError, struct.error):  # Linux alone has it
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RTT_US.size)
            return float(_RTT_US.unpack(info)[0]) / 1e6
        return elapsed
