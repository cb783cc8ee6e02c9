"""The protocol of membership: a router's neighbors, and those it routes with for each source.

A membership is a state machine with the same door as the router: it takes the router's inputs
(`Router` hands it everything, upkeep taken off) and routes by means of one `RoutingCore` or
several, whose links it determines. It may have messages and timers of its own, request links
(`Connect`, `Disconnect`) and report the neighbors for each source.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from sapwood.model.publication import Publication
from sapwood.overlay.disjoint import FindTree
from sapwood.routing.effects import Effect
from sapwood.routing.forwarding.protocol import Forwarding
from sapwood.routing.inputs import ClientInput, Input
from sapwood.routing.propagation.protocol import SubscriptionPropagation
from sapwood.routing.tables import ClientIds, LinkSubscription


class OnOneTree(Protocol):
    """The routing of a router on one tree (`sapwood.routing.core`), for inspection."""

    @property
    def subscriptions(self) -> SubscriptionPropagation:
        """The subscriptions known here, their sides, and those sent to neighbors."""
        ...

    @property
    def forwarding(self) -> Forwarding:
        """The strategy that selects the links of publications."""
        ...


class Membership(Protocol):
    """The neighbors of one router, and its routing among them."""

    @property
    def name(self) -> str:
        """The router's name."""
        ...

    @property
    def is_tree(self) -> bool:
        """True if the links of all routers together have to form a tree."""
        ...

    @property
    def finds(self) -> tuple[FindTree, ...]:
        """The functions that find the trees of a source, one for each way of its publications.

        Empty where all routers route on one tree.
        """
        ...

    def neighbors(self, source: str | None = None) -> tuple[str, ...]:
        """The neighbors for the publications of a source: on the way from it and to it.

        Without a source, those with which it has a link.
        """
        ...

    def cores(self, source: str) -> tuple[OnOneTree | None, ...]:
        """The routing of a source's publications here, on each way that they take, if there is one.

        Empty where routers do not route by neighbors' subscriptions.
        """
        ...

    def tells_over(self) -> frozenset[str] | None:
        """The neighbors on one tree that all routers agree on, for messages along a tree.

        `None` where all links are on it.
        """
        ...

    def handle(self, input: Input, now: float) -> list[Effect]:
        """Take one input; see `Router.handle`."""
        ...

    def refused(self, client: str, publications: Sequence[Publication]) -> Sequence[int]:
        """The places of the publications that would be refused: see `Router.refused`."""
        ...

    def ids_of(self, client: str) -> ClientIds:
        """The ids of an attached client's subscriptions and advertisements."""
        ...

    def statements(self) -> Iterator[ClientInput]:
        """The inputs that give an empty router the clients of this one, and their entries."""
        ...

    def next_deadline(self) -> float | None:
        """The time of the next `Tick` that it needs; `None` for never."""
        ...

    def behind(self) -> Collection[str]:
        """The neighbors whose backlog is not sent yet: see `Router.behind`."""
        ...

    def table_sizes(self) -> dict[str, int]:
        """The number of entries in each table: see `Router.table_sizes`."""
        ...

    def counters(self) -> dict[str, int]:
        """The counts since it was made: see `Router.counters`."""
        ...

    def received(self) -> Iterator[LinkSubscription]:
        """The subscriptions received over links."""
        ...

    def sent(self) -> Iterator[LinkSubscription]:
        """The subscriptions sent to neighbors."""
        ...

    def validate(self) -> None:
        """Check every relation between the tables; raises `InvariantError`."""
        ...
