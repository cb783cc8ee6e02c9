"""Links are given from outside and form a tree: every neighbor is one for every source."""

from __future__ import annotations

from sapwood.matching.engine_names import Engines
from sapwood.model.interest import Interest
from sapwood.overlay.disjoint import FindTree
from sapwood.routing.core import RoutingCore
from sapwood.routing.effects import Effect
from sapwood.routing.inputs import Change, ClientSubscribe, ClientSubscribeMany, DetachClient
from sapwood.routing.membership.protocol import OnOneTree
from sapwood.routing.strategies import Protocol
from sapwood.routing.supply import SupplyWatch


class Given(RoutingCore):
    """A membership of one core, whose links are all links of the router.

    Where it routes by advertisements, clients are notified which of their subscriptions have an
    advertisement.
    """

    def __init__(
        self, name: str, protocol: Protocol, engines: Engines, incarnation: int | str = 0
    ) -> None:
        super().__init__(name, protocol, engines, incarnation)
        self._supply: SupplyWatch | None = None
        self._watch()

    def apply(self, change: Change) -> list[Effect]:
        """Apply a change to the tables; see `RoutingCore.apply`."""
        supply = self._supply
        if supply is None:
            return super().apply(change)
        if isinstance(change, DetachClient):
            supply.left(change.client)
        told: list[Effect] = []
        if isinstance(change, ClientSubscribe):
            told += supply.changing(change.client, ((change.subscription, change.filter),))
        elif isinstance(change, ClientSubscribeMany):
            told += supply.changing(change.client, change.subscriptions)
        return [*told, *supply.said(super().apply(change))]

    def rebuild(self) -> None:
        """Make what follows from the entries afresh."""
        super().rebuild()
        self._watch()
        if self._supply is not None:
            for client, own in self.subscriptions.entries.by_client.items():
                in_force = [id_ for id_, one in own.items() if self.subscriptions.in_force(one.key)]
                self._supply.take(client, in_force)

    def _watch(self) -> None:
        if self.protocol.clients_advertise:
            former, self._supply = self._supply, SupplyWatch(self._filter_of)
            self.advertisements.entries.exchange(former, self._supply)
            self._supply.said(())

    def _filter_of(self, client: str, id_: str) -> Interest:
        return self.subscriptions.own(client)[id_].filter

    def validate(self) -> None:
        """Check every relation between the tables; raises `InvariantError`."""
        super().validate()
        if self._supply is not None:
            self._supply.validate(self.advertisements.entries.sides())

    @property
    def is_tree(self) -> bool:
        """True: they have to be one; a link that closes a circle is detected, and closed."""
        return True

    @property
    def finds(self) -> tuple[FindTree, ...]:
        """Empty: the links are the tree."""
        return ()

    def neighbors(self, source: str | None = None) -> tuple[str, ...]:  # noqa: ARG002
        """All neighbors whose links are up, in the order in which they came up."""
        return tuple(self.subscriptions.entries.received)

    def cores(self, source: str) -> tuple[OnOneTree | None, ...]:  # noqa: ARG002
        """One core, for all sources."""
        return (self,)

    def tells_over(self) -> frozenset[str] | None:
        """`None`: all links are on the tree."""
        return None

    def next_deadline(self) -> float | None:
        """`None`: links are given."""
        return None
