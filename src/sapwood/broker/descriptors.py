"""Open files: the number that a broker needs for its connections, and the system's limit."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, Protocol

from sapwood.broker.logs import Log
from sapwood.broker.settings import BrokerSettings
from sapwood.limits import ACCEPTS_WAITING_MAX, CONNECTIONS_MAX, DESCRIPTORS_RESERVED


class Listening(Protocol):
    """A listening socket, of which asyncio exposes little."""

    def fileno(self) -> int:
        """Its descriptor."""


_OUT_OF_DESCRIPTORS: Final = "socket.accept() out of system resource"
"""The message of asyncio in this case."""


def with_descriptors(settings: BrokerSettings, log: Log) -> BrokerSettings:
    """The settings with as many connections as the system has open files for.

    Raises the process's own limit as far as that is allowed. Where it is not enough there are fewer
    connections; the log has their number when the broker listens, and a warning where more were
    configured.
    """
    reserved = DESCRIPTORS_RESERVED + (settings.http_streams_max if settings.gateway else 0)
    reserved += 0 if settings.mqtt is None else settings.mqtt_connections_max
    needed = settings.connections_max + reserved
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return settings
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    except (OSError, ValueError):  # systems may have a lower limit than they report
        allowed = soft
    if allowed >= needed:
        return settings
    possible = max(1, allowed - reserved)
    if settings.connections_max != CONNECTIONS_MAX:  # only an explicit number is checked
        log.warning(
            "fewer connections than asked for",
            connections_max=possible,
            reason=f"the system allows {allowed} open files; raise the hard limit (ulimit -Hn, "
            "LimitNOFILE= of systemd) or lower --connections-max",
        )
    return replace(settings, connections_max=possible)


def lengthen_queues(listening: Iterable[Listening]) -> None:
    """Lengthen the queues of connections that wait in the system to be accepted."""
    for one in listening:
        with socket.socket(fileno=os.dup(one.fileno())) as twin:
            twin.listen(ACCEPTS_WAITING_MAX)


class LoopFaults:
    """Reports of an event loop, as lines of the log: a lack of descriptors is one a second."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def __call__(self, loop: Any, context: dict[str, Any]) -> None:
        """Handle a report, with the signature for `set_exception_handler`."""
        if context.get("message") == _OUT_OF_DESCRIPTORS:
            reason = str(context.get("exception"))
            self._log.error("cannot accept", reason=f"{reason}; trying again in a second")
        else:
            loop.default_exception_handler(context)
