"""Clients' requests in a world: recorded, and passed to their home router if it runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from sapwood.errors import DuplicateIdError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.overlay.topology import Overlay
from sapwood.routing.inputs import (
    AttachClient,
    ClientAdvertise,
    ClientPublish,
    ClientSubscribe,
    ClientSubscribeMany,
    ClientUnadvertise,
    ClientUnsubscribe,
    ClientUnsubscribeMany,
    DetachClient,
    Input,
)
from sapwood.simulation.asking_again import AskingAgain
from sapwood.simulation.history import AdvertisementName, ClientName, History, SubscriptionName
from sapwood.simulation.machine import Machine
from sapwood.simulation.stored import Wishes
from sapwood.simulation.tally import Tally
from sapwood.simulation.timekeeping import Timekeeping
from sapwood.simulation.trace import Trace


class Requests(ABC):
    """The part of a world that clients talk to.

    #: _wishes has every router that is or was there, with the statements of its clients
    """

    topology: Overlay
    history: History
    tally: Tally
    time: Timekeeping
    trace: Trace
    routers: dict[str, Machine]
    _wishes: dict[str, dict[str, Wishes]]
    _asking_again: AskingAgain

    @property
    @abstractmethod
    def now(self) -> float:
        """The current virtual time in seconds."""

    @abstractmethod
    def _feed(self, name: str, event: Input) -> None:
        """Give one input to one router."""

    def subscribe(self, name: SubscriptionName, wanted: Interest) -> None:
        """Let a client subscribe; if its router is down, as soon as that is back.

        Under an id that it has with another filter, it changes that subscription, if it has been
        answered: clients wait for one answer before the next request, by which they know of which
        filter it is.
        """
        wishes = self._wishes_of(name.owner).subscriptions
        if wishes.setdefault(name.id, wanted) != wanted:
            if name.home not in self.routers or name in self.history.owed:
                self.trace.remark(self.now, f"{'/'.join(name)} is not answered, and not changed")
                return
            wishes[name.id] = wanted
        if name.home in self.routers:
            self.history.subscribe(self.now, name, wanted)
            self._feed(name.home, ClientSubscribe(name.client, name.id, wanted))

    def subscribe_many(self, client: ClientName, wanted: Sequence[tuple[str, Interest]]) -> None:
        """Let a client subscribe under several ids at once, as by `subscribe` one by one."""
        wishes = self._wishes_of(client).subscriptions
        known = [(id_, one) for id_, one in wanted if wishes.setdefault(id_, one) == one]
        if client.home in self.routers and known:
            for id_, one in known:
                self.history.subscribe(self.now, SubscriptionName(*client, id_), one)
            self._feed(client.home, ClientSubscribeMany(client.client, tuple(known)))
        for id_, one in wanted:
            if wishes[id_] != one:
                self.subscribe(SubscriptionName(*client, id_), one)

    def unsubscribe_many(self, client: ClientName, ids: Sequence[str]) -> None:
        """Let a client withdraw several subscriptions at once; as `unsubscribe`."""
        wishes = self._wishes_of(client).subscriptions
        for id_ in ids:
            wishes.pop(id_, None)
        if client.home in self.routers or self.history.is_kept:
            for id_ in ids:
                self.history.unsubscribe(self.now, SubscriptionName(*client, id_))
        if client.home in self.routers:
            self._feed(client.home, ClientUnsubscribeMany(client.client, tuple(ids)))

    def unsubscribe(self, name: SubscriptionName) -> None:
        """Let a client withdraw a subscription.

        If its router is down it is gone already, or will be when a router that remembers is back.
        """
        self._wishes_of(name.owner).subscriptions.pop(name.id, None)
        if name.home in self.routers or self.history.is_kept:
            self.history.unsubscribe(self.now, name)
        if name.home in self.routers:
            self._feed(name.home, ClientUnsubscribe(name.client, name.id))

    def advertise(self, name: AdvertisementName, promised: AdvertisedContent) -> None:
        """Let a client advertise; if its router is down, as soon as that is back."""
        self._wishes_of(name.owner).advertisements.setdefault(name.id, promised)
        if name.home in self.routers:
            self.history.advertise(self.now, name, promised)
            self._feed(name.home, ClientAdvertise(name.client, name.id, promised))

    def unadvertise(self, name: AdvertisementName) -> None:
        """Let a client withdraw an advertisement; as `unsubscribe`."""
        self._wishes_of(name.owner).advertisements.pop(name.id, None)
        if name.home in self.routers or self.history.is_kept:
            self.history.unadvertise(self.now, name)
        if name.home in self.routers:
            self._feed(name.home, ClientUnadvertise(name.client, name.id))

    def publish(self, publisher: ClientName, publication: Publication) -> bool:
        """Let a client publish; false if its router is down and did not take the publication."""
        if publication.id in self.history.publications:
            raise DuplicateIdError("publication", publication.id)
        if self._known(publisher.home) not in self.routers:
            self.tally.unsent += 1
            self.trace.remark(self.now, f"{publication.id} unsent, {publisher.home} is down")
            return False
        self._wishes_of(publisher)
        self.history.publish(self.now, publisher, publication)
        self.time.published(publisher.home, publication.id, self.now)
        self._feed(publisher.home, ClientPublish(publisher.client, publication))
        return True

    def detach(self, client: ClientName) -> None:
        """Let a client leave; its statements go with it."""
        if self._wishes[self._known(client.home)].pop(client.client, None) is None:
            return
        if client.home in self.routers or self.history.is_kept:
            self.history.gone(self.now, client.home, client.client)
        if self.history.is_kept:
            self._asking_again.left(client)
        if client.home in self.routers:
            self._feed(client.home, DetachClient(client.client))

    def clients(self) -> list[ClientName]:
        """The clients that came and have not left."""
        return [ClientName(home, name) for home, own in self._wishes.items() for name in own]

    def _known(self, home: str) -> str:
        """A router's name, if there is or ever was one; raises `UnknownNameError`."""
        return home if home in self._wishes else self.topology.known(home)

    def _wishes_of(self, client: ClientName) -> Wishes:
        """The statements of a client; a new client is attached to its router, if that runs."""
        own = self._wishes[self._known(client.home)]
        if client.client not in own:
            own[client.client] = Wishes()
            if client.home in self.routers:
                self._feed(client.home, AttachClient(client.client))
        return own[client.client]
