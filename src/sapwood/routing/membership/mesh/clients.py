"""The clients' requests of one router on all trees, and the trees that have yet to confirm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from sapwood.errors import InvariantError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.routing.effects import Effect, Subscribed, SubscribedMany
from sapwood.routing.inputs import (
    AttachClient,
    ClientAdvertise,
    ClientSubscribe,
    ClientSubscribeMany,
)

Named: TypeAlias = tuple[str, str]
"""A client, and the id that it gave to a subscription or advertisement."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The requests of one client, by its own ids."""

    subscriptions: dict[str, Interest] = field(default_factory=dict)
    advertisements: dict[str, AdvertisedContent] = field(default_factory=dict)


class Clients:
    """The clients of a router that routes on many trees.

    #: awaited[s] are the sources, of those in reach, of whose publications subscription s could
    #: miss some
    #: in_force are the keys of awaited without sources; the clients of all other subscriptions have
    #: been notified that they are in force
    #: _changing are the keys of awaited that clients had in force with another filter
    #: reached is never empty: a router reaches itself
    #: unannounced are the advertisements of which their clients are not notified, in their order
    """

    __slots__ = ("_asked", "_changing", "_reached", "awaited", "in_force", "unannounced")

    def __init__(self) -> None:
        self._asked: dict[str, Asked] = {}
        self._changing: set[Named] = set()
        self._reached: frozenset[str] = frozenset()
        self.awaited: dict[Named, set[str]] = {}
        self.in_force: dict[Named, None] = {}
        self.unannounced: dict[Named, None] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The clients that are attached, in the order in which they came."""
        return tuple(self._asked)

    def attach(self, client: str) -> None:
        """Attach a client without requests."""
        if client in self._asked:
            raise InvariantError(f"client {client!r} is attached already")
        self._asked[client] = Asked()

    def detach(self, client: str) -> None:
        """Detach a client that has left, with its requests."""
        asked = self.of(client)
        for id_ in asked.subscriptions:
            self._wait_no_longer((client, id_))
        for id_ in asked.advertisements:
            self.unannounced.pop((client, id_), None)
        del self._asked[client]

    def of(self, client: str) -> Asked:
        """The requests of an attached client."""
        asked = self._asked.get(client)
        if asked is None:
            raise InvariantError(f"client {client!r} is not attached")
        return asked

    def subscribe(self, request: ClientSubscribe | ClientSubscribeMany) -> None:
        """Enter subscriptions under free ids, or changed ones: every tree in reach must confirm."""
        client, own = request.client, self.of(request.client).subscriptions
        if isinstance(request, ClientSubscribe):
            subscriptions: tuple[tuple[str, Interest], ...] = (
                (request.subscription, request.filter),
            )
        else:
            subscriptions = request.subscriptions
        for id_, wanted in subscriptions:
            named = (client, id_)
            if id_ in own and self.relies_on(named):
                self._changing.add(named)
            own[id_] = wanted
            self.awaited[named] = set(self._reached)
            self.in_force.pop(named, None)

    def relies_on(self, named: Named) -> bool:
        """True if a client takes a subscription for in force, with one filter or another."""
        return named not in self.awaited or named in self._changing

    def unsubscribe(self, client: str, id_: str) -> None:
        """Remove a subscription."""
        del self.of(client).subscriptions[id_]
        self._wait_no_longer((client, id_))

    def advertise(self, request: ClientAdvertise) -> None:
        """Enter an advertisement under a free id."""
        self.of(request.client).advertisements[request.advertisement] = request.filter
        self.unannounced[request.client, request.advertisement] = None

    def unadvertise(self, client: str, id_: str) -> None:
        """Remove an advertisement."""
        del self.of(client).advertisements[id_]
        self.unannounced.pop((client, id_), None)

    def reach(self, sources: Iterable[str]) -> frozenset[str]:
        """Set the sources in reach; returns the new ones, whose confirmations are awaited.

        Sources out of reach are not waited for any more.
        """
        reached = frozenset(sources)
        gained, lost = reached - self._reached, self._reached - reached
        if gained or lost:
            self._reached = reached
            for awaited in self.awaited.values():
                awaited.update(gained)
                awaited.difference_update(lost)
            self._sort()
        return gained

    def review(self, source: str, is_in_force: Callable[[Named], bool]) -> None:
        """Update what waits for a source, another tree of which carries, or grows."""
        if source in self._reached and self.awaited:
            for named, awaited in self.awaited.items():
                if is_in_force(named):
                    awaited.discard(source)
                else:
                    awaited.add(source)
            self._sort()

    def confirmed(self, source: str, named: Named) -> None:
        """Note that a subscription is in force wherever a source publishes."""
        awaited = self.awaited.get(named)
        if awaited is not None:
            awaited.discard(source)
            if not awaited:
                self.in_force[named] = None

    def take_in_force(self) -> list[Effect]:
        """Notify clients of the subscriptions that have come into force on all trees, once each."""
        clients: dict[str, list[str]] = {}
        for named in tuple(self.in_force):
            clients.setdefault(named[0], []).append(named[1])
            self._wait_no_longer(named)
        return [
            Subscribed(client, ids[0]) if len(ids) == 1 else SubscribedMany(client, tuple(ids))
            for client, ids in clients.items()
        ]

    def requests(self) -> Iterator[AttachClient | ClientSubscribeMany]:
        """The requests that subscribe for all clients on a new tree."""
        for client, asked in self._asked.items():
            yield AttachClient(client)
            if asked.subscriptions:
                yield ClientSubscribeMany(client, tuple(asked.subscriptions.items()))

    def advertisements(self) -> Iterator[ClientAdvertise]:
        """The requests that advertise for all clients."""
        for client, asked in self._asked.items():
            for id_, promised in asked.advertisements.items():
                yield ClientAdvertise(client, id_, promised)

    def validate(self, is_in_force: Callable[[str, Named], bool]) -> None:
        """Check the relations above; raises `InvariantError`.

        `is_in_force` is true if a subscription misses nothing of a source.
        """
        for (client, id_), awaited in self.awaited.items():
            if id_ not in self.of(client).subscriptions:
                raise InvariantError(f"{client} waits for subscription {id_!r}, and has none")
            missing = {s for s in self._reached if not is_in_force(s, (client, id_))}
            if awaited != missing:
                raise InvariantError(f"subscription {id_!r} of {client} waits for other sources")
        if self.in_force.keys() != {
            named for named, awaited in self.awaited.items() if not awaited
        }:
            raise InvariantError("not exactly what waits for nothing is in force")
        if not self._changing <= self.awaited.keys():
            raise InvariantError("a subscription changes, and is not waited for")
        for client, id_ in self.unannounced:
            if id_ not in self.of(client).advertisements:
                raise InvariantError(f"{client} waits for advertisement {id_!r}, and has none")

    def _wait_no_longer(self, named: Named) -> None:
        self.awaited.pop(named, None)
        self.in_force.pop(named, None)
        self._changing.discard(named)

    def _sort(self) -> None:
        self.in_force = {named: None for named, awaited in self.awaited.items() if not awaited}
