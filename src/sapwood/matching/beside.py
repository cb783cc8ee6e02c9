"""Work beside the caller, for tasks that take too long for a turn of an event loop.

A library, `sapwood match` and the simulator do all work where it comes up, so the same calls always
lead to the same state. A broker must not stand still: its shell sets a worker by `working`
(`sapwood.broker.side_thread`), and engines that can (`columnar`) submit such work to it. The
context carries the worker, since routers, links and indexes in between have no use for it.

No result depends on when such work is done.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, Protocol


class Worker(Protocol):
    """A thread, or the like, that does work beside the caller."""

    def submit(self, work: Callable[[], None]) -> None:
        """Do the work soon, in another thread; returns at once."""

    def later(self, work: Callable[[], None]) -> None:
        """Do the work after a moment, in the same thread; returns at once."""


_WORKER: Final[ContextVar[Worker | None]] = ContextVar("sapwood_worker", default=None)


def worker() -> Worker | None:
    """The worker of this context; `None` where callers do all work themselves."""
    return _WORKER.get()


class Working:
    """A context in which `worker()` is the chosen worker; entered for each batch of a broker."""

    __slots__ = ("_token", "_worker")

    def __init__(self, chosen: Worker) -> None:
        self._worker = chosen

    def __enter__(self) -> None:
        self._token = _WORKER.set(self._worker)

    def __exit__(self, *error: object) -> None:
        _WORKER.reset(self._token)


def working(chosen: Worker) -> Working:
    """A context in which `worker()` is `chosen`."""
    return Working(chosen)
