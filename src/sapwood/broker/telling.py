"""Sending neighbors their backlog of messages, as fast as their links take it.

The entries that clients have left behind are withdrawn in the same way, as fast as others leave
time for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from sapwood.broker.connections import Connections
from sapwood.routing.tables import CLIENTS


class Telling:
    """Hands a router its `Drained`s: one for each turn of the loop and each link that takes more.

    `behind` are the neighbors for which the router has a backlog. `drained` is called with one of
    them, handles the input, and flushes its output. `call_soon` lets others have their turn first.
    """

    def __init__(
        self,
        behind: Callable[[], Collection[str]],
        drained: Callable[[str], None],
        connections: Connections,
        call_soon: Callable[..., Any],
    ) -> None:
        self._behind = behind
        self._drained = drained
        self._connections = connections
        self._call_soon = call_soon
        #: the neighbors whose turn is scheduled
        self._soon: set[str] = set()

    def check(self) -> None:
        """Schedule links that take more: one that has come up, one whose queue became shorter."""
        for neighbor in self._behind():
            if self._takes_more(neighbor) and neighbor not in self._soon:
                self._soon.add(neighbor)
                self._call_soon(self._go_on, neighbor)

    def _go_on(self, neighbor: str) -> None:
        self._soon.discard(neighbor)
        if neighbor == CLIENTS or neighbor in self._connections.links:
            self._drained(neighbor)
            self.check()

    def _takes_more(self, neighbor: str) -> bool:
        if neighbor == CLIENTS:
            return True
        tcp = self._connections.links.get(neighbor)
        return tcp is not None and tcp.outbox.takes_more
