"""What a membership strategy is: who a router's neighbors are, and with whom it routes what.

It is a state machine with the same door as the router: it takes what the router takes (`Router`
hands it everything, upkeep taken off) and routes by means of one `RoutingCore` or several, whose
links it decides. It may have messages and timers of its own, ask for links (`Connect`,
`Disconnect`) and say which neighbors are there for which source.
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
from sapwood.routing.tables import LinkSubscription, Stated


class OnOneTree(Protocol):
    """What a router routes by on one tree (`sapwood.routing.core`), for who looks at it."""

    @property
    def subscriptions(self) -> SubscriptionPropagation:
        """What is known, from where, and what neighbors were told of it."""
        ...

    @property
    def forwarding(self) -> Forwarding:
        """What chooses where publications go."""
        ...


class Membership(Protocol):
    """The neighbors of one router, and its routing among them."""

    @property
    def name(self) -> str:
        """The router's name."""
        ...

    @property
    def is_tree(self) -> bool:
        """Whether the links of all routers together have to form a tree."""
        ...

    @property
    def finds(self) -> tuple[FindTree, ...]:
        """How the trees of a source are found, one for each way that its publications take.

        None where all routers route on one tree.
        """
        ...

    def neighbors(self, source: str | None = None) -> tuple[str, ...]:
        """With whom this router routes the publications of a source: on the way from it and to it.

        Without a source, those with whom it has a link.
        """
        ...

    def cores(self, source: str) -> tuple[OnOneTree | None, ...]:
        """What routes the publications of a source here, on each way that they take, if anything.

        None where routers do not route by what each neighbor wants.
        """
        ...

    def tells_over(self) -> frozenset[str] | None:
        """The neighbors on one tree that all routers agree on, for what is told along a tree.

        `None` where all links are on it.
        """
        ...

    def handle(self, input: Input, now: float) -> list[Effect]:
        """Take one input; see `Router.handle`."""
        ...

    def refused(self, client: str, publications: Sequence[Publication]) -> Sequence[int]:
        """The places of those that would be refused: see `Router.refused`."""
        ...

    def stated(self, client: str) -> Stated:
        """What an attached client has stated, by its ids."""
        ...

    def statements(self) -> Iterator[ClientInput]:
        """What makes a router that knows nothing have the clients of this one, and their wants."""
        ...

    def next_deadline(self) -> float | None:
        """When to hand it a `Tick`; `None` for never."""
        ...

    def behind(self) -> Collection[str]:
        """The neighbors that are not told everything yet: see `Router.behind`."""
        ...

    def table_sizes(self) -> dict[str, int]:
        """Entries in each table: see `Router.table_sizes`."""
        ...

    def counters(self) -> dict[str, int]:
        """What was counted: see `Router.counters`."""
        ...

    def received(self) -> Iterator[LinkSubscription]:
        """The subscriptions that came over links."""
        ...

    def told(self) -> Iterator[LinkSubscription]:
        """The subscriptions that neighbors have been told of."""
        ...

    def validate(self) -> None:
        """Check every relation between the tables; raises `InvariantError`."""
        ...
