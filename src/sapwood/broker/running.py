"""A broker as a process: signals, descriptors, memory."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from functools import partial

from sapwood.broker.broker import Broker
from sapwood.broker.descriptors import LoopFaults, with_descriptors
from sapwood.broker.logs import Log
from sapwood.broker.memory import give_memory_back, leave_alone_what_is_here
from sapwood.broker.reloading import Reloading
from sapwood.broker.settings import BrokerSettings


def run_broker(
    settings: BrokerSettings,
    log: Log,
    announce: Callable[[str], None],
    reloading: Reloading | None = None,
) -> None:
    """Run a broker until SIGINT or SIGTERM, then stop it in good order.

    With SIGHUP it reads the files of identities and certificates again, and its configuration if
    that is known.

    `announce` gets the lines for programs that `Broker` describes. Raises `EnvironmentMissingError`
    where it cannot listen, and the error of any defect of the broker.
    """
    give_memory_back()
    fitting = with_descriptors(settings, log)
    asyncio.run(_serve(Broker(fitting, log, announce, owns_process=True), log, reloading))


async def _serve(broker: Broker, log: Log, reloading: Reloading | None) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(LoopFaults(log))
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await broker.start()
    again = broker.reload if reloading is None else partial(reloading.reload, broker)
    loop.add_signal_handler(signal.SIGHUP, again)
    leave_alone_what_is_here()
    stopped = asyncio.create_task(stop.wait())
    failed = asyncio.create_task(broker.run_until_failure())
    await asyncio.wait((stopped, failed), return_when=asyncio.FIRST_COMPLETED)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.remove_signal_handler(number)  # a second signal ends the process at once
    defective = failed.done()
    stopped.cancel()
    failed.cancel()
    await broker.stop()
    if defective:
        failed.result()
