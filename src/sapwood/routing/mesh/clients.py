"""What the clients of one router asked for on all trees, and which trees have yet to confirm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from sapwood.errors import InvariantError
from sapwood.model.interest import Interest
from sapwood.model.promise import Promise
from sapwood.routing.inputs import AttachClient, ClientAdvertise, ClientInput, ClientSubscribe

Named: TypeAlias = tuple[str, str]
"""A client, and the id that it gave to a statement."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one client asked for, by its own ids."""

    subscriptions: dict[str, Interest] = field(default_factory=dict)
    advertisements: dict[str, Promise] = field(default_factory=dict)


class Clients:
    """The clients of a router that routes on many trees.

    #: awaited[s] are the sources, of those in reach, on whose tree subscription s is not in force
    #: in_force are the keys of awaited for which there are none; of all others that clients have
    #: subscribed to they have heard that they are in force
    #: reached is never empty: a router reaches itself
    #: unannounced are the advertisements of which their clients have not heard
    """

    __slots__ = ("_asked", "_reached", "awaited", "in_force", "unannounced")

    def __init__(self) -> None:
        self._asked: dict[str, Asked] = {}
        self._reached: frozenset[str] = frozenset()
        self.awaited: dict[Named, set[str]] = {}
        self.in_force: dict[Named, None] = {}
        self.unannounced: set[Named] = set()

    def attach(self, client: str) -> None:
        """A client has come, with nothing."""
        if client in self._asked:
            raise InvariantError(f"client {client!r} is attached already")
        self._asked[client] = Asked()

    def detach(self, client: str) -> None:
        """A client has left; what it asked for goes with it."""
        asked = self.of(client)
        for id_ in asked.subscriptions:
            self._wait_no_longer((client, id_))
        self.unannounced.difference_update((client, id_) for id_ in asked.advertisements)
        del self._asked[client]

    def of(self, client: str) -> Asked:
        """What an attached client asked for."""
        asked = self._asked.get(client)
        if asked is None:
            raise InvariantError(f"client {client!r} is not attached")
        return asked

    def subscribe(self, request: ClientSubscribe) -> None:
        """Take in a subscription under a free id: every tree in reach has to confirm it."""
        self.of(request.client).subscriptions[request.subscription] = request.filter
        self.awaited[request.client, request.subscription] = set(self._reached)

    def unsubscribe(self, client: str, id_: str) -> None:
        """A subscription is withdrawn."""
        del self.of(client).subscriptions[id_]
        self._wait_no_longer((client, id_))

    def advertise(self, request: ClientAdvertise) -> None:
        """Take in an advertisement under a free id."""
        self.of(request.client).advertisements[request.advertisement] = request.filter
        self.unannounced.add((request.client, request.advertisement))

    def unadvertise(self, client: str, id_: str) -> None:
        """An advertisement is withdrawn."""
        del self.of(client).advertisements[id_]
        self.unannounced.discard((client, id_))

    def reach(self, sources: Iterable[str]) -> None:
        """These are the sources in reach from now on: new ones are waited for, others not."""
        reached = frozenset(sources)
        gained, lost = reached - self._reached, self._reached - reached
        if gained or lost:
            self._reached = reached
            for awaited in self.awaited.values():
                awaited.update(gained)
                awaited.difference_update(lost)
            self._sort()

    def start_over(self, source: str) -> None:
        """A tree is routed on afresh: what waits, waits for that one again."""
        if source in self._reached:
            for awaited in self.awaited.values():
                awaited.add(source)
            self._sort()

    def confirmed(self, source: str, named: Named) -> None:
        """A subscription is in force on a tree."""
        awaited = self.awaited.get(named)
        if awaited is not None:
            awaited.discard(source)
            if not awaited:
                self.in_force[named] = None

    def take_in_force(self) -> list[Named]:
        """The subscriptions that are in force on all trees by now, once each."""
        found = list(self.in_force)
        for named in found:
            self._wait_no_longer(named)
        return found

    def requests(self, *, advertisements: bool) -> Iterator[ClientInput]:
        """All that was asked for, as a router on a new tree has to hear it."""
        for client, asked in self._asked.items():
            yield AttachClient(client)
            for id_, wanted in asked.subscriptions.items():
                yield ClientSubscribe(client, id_, wanted)
            if advertisements:
                for id_, promised in asked.advertisements.items():
                    yield ClientAdvertise(client, id_, promised)

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        for (client, id_), awaited in self.awaited.items():
            if id_ not in self.of(client).subscriptions:
                raise InvariantError(f"{client} waits for subscription {id_!r}, and has none")
            if not awaited <= self._reached:
                raise InvariantError(f"subscription {id_!r} of {client} waits for nobody in reach")
        if self.in_force.keys() != {
            named for named, awaited in self.awaited.items() if not awaited
        }:
            raise InvariantError("not exactly what waits for nothing is in force")
        for client, id_ in self.unannounced:
            if id_ not in self.of(client).advertisements:
                raise InvariantError(f"{client} waits for advertisement {id_!r}, and has none")

    def _wait_no_longer(self, named: Named) -> None:
        self.awaited.pop(named, None)
        self.in_force.pop(named, None)

    def _sort(self) -> None:
        self.in_force = {named: None for named, awaited in self.awaited.items() if not awaited}
