"""Running a broker as a process: from start to signal to the end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

from sapwood.broker.broker import Broker
from sapwood.broker.logs import Log
from sapwood.broker.settings import BrokerSettings


def run_broker(settings: BrokerSettings, log: Log, announce: Callable[[str], None]) -> None:
    """Run a broker until SIGINT or SIGTERM, then stop it in good order.

    `announce` gets the lines for programs that `Broker` describes. Raises
    `EnvironmentMissingError` where it cannot listen, and whatever defect the broker turns out to
    have.
    """
    asyncio.run(_serve(Broker(settings, log, announce)))


async def _serve(broker: Broker) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await broker.start()
    stopped = asyncio.create_task(stop.wait())
    failed = asyncio.create_task(broker.run_until_failure())
    await asyncio.wait((stopped, failed), return_when=asyncio.FIRST_COMPLETED)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.remove_signal_handler(number)  # a second signal does not wait for anybody
    defective = failed.done()
    stopped.cancel()
    failed.cancel()
    await broker.stop()
    if defective:
        failed.result()
