"""Routing tables, out of the way of Python's garbage collector.

A million subscriptions are ten million objects that refer to each other without a circle: they are
freed with their last reference. The collector would visit all of them again and again, a second
each time, in which a broker does nothing else. So the growth of tables is put aside (`gc.freeze`),
which costs nothing. Circles of garbage that exist at that moment are never collected; a broker
makes a few with each connection that ends.

Only for a process that is a broker and nothing else: the collector is that of the whole process.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from sapwood.limits import SUBSCRIPTIONS_AT_ONCE_MAX
from sapwood.routing.inputs import ClientSubscribe, ClientSubscribeMany, Drained, Input, Receive
from sapwood.routing.messages import Replace, Subscribe, SubscribeMany, Update, carried


class TableGrowth:
    """Puts the growth of tables aside, some subscriptions at a time."""

    __slots__ = ("_grown",)

    def __init__(self) -> None:
        self._grown = 0

    def handled(self, request: Input) -> None:
        """Count the subscriptions in an input, and put them aside when there are enough."""
        self._grown += _subscriptions_in(request)
        if self._grown >= SUBSCRIPTIONS_AT_ONCE_MAX:
            self._grown = 0
            gc.freeze()


@contextmanager
def without_garbage() -> Iterator[None]:
    """Suspend the collector while tables are restored: none of their objects is garbage."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _subscriptions_in(request: Input) -> int:
    match request:
        case Receive(_, message):
            said = carried(message)
            if isinstance(said, SubscribeMany):
                return len(said.keys)
            return isinstance(said, Subscribe | Replace | Update)
        case ClientSubscribeMany(_, subscriptions):
            return len(subscriptions)
        case Drained():  # entries for a neighbor are remembered, too
            return SUBSCRIPTIONS_AT_ONCE_MAX
        case _:
            return isinstance(request, ClientSubscribe)
