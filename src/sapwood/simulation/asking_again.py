"""What clients do when a router that remembers them is back: they ask again what has no answer.

A router that keeps what it knows has a client's requests up to some point, and the client has its
answers up to an earlier one. Between the two, asking again does no harm: what is there is answered
as the first time, what was withdrawn is not there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from sapwood.model.advertised_content import AdvertisedContent
from sapwood.routing.effects import Deliver
from sapwood.routing.inputs import (
    ClientAdvertise,
    ClientInput,
    ClientPublish,
    ClientSubscribe,
    ClientSubscribeMany,
    ClientUnadvertise,
    ClientUnsubscribe,
    DetachClient,
)
from sapwood.simulation.history import (
    AdvertisementName,
    ClientName,
    Epoch,
    History,
    StatementName,
    SubscriptionName,
)
from sapwood.simulation.stored import Stored, Unit, Wishes


class Ending(NamedTuple):
    """What a client asked to end, and which lives of it that is."""

    name: StatementName
    lives: tuple[Epoch[Any], ...]


class AskingAgain:
    """What the clients of a world know of what their routers may have forgotten, or not.

    `wishes` are those of clients by router, and `feed` hands an input to a router.
    """

    def __init__(
        self,
        history: History,
        stored: Stored,
        wishes: Mapping[str, Mapping[str, Wishes]],
        feed: Callable[[str, ClientInput], None],
    ) -> None:
        self._history = history
        self._stored = stored
        self._wishes = wishes
        self._feed = feed
        #: clients that left, and how often, where the router has not written so
        self._departing: Counter[ClientName] = Counter()
        self._endings: dict[tuple[str, str, str], Ending] = {}

    def left(self, client: ClientName) -> None:
        """A client has left: it waits for no answer."""
        self._departing[client] += 1
        self._forget_endings(client.home, client.client)

    def deliveries(self, router: str, unit: Unit) -> list[Deliver]:
        """What a router delivers with what it has written: not to clients that had left before."""
        for record in unit.records:
            if isinstance(record, DetachClient):
                self._departing -= Counter([ClientName(router, record.client)])
        return [one for one in unit.deliveries if not self._is_gone(ClientName(router, one.client))]

    def has_left(self, router: str, client: str) -> bool:
        """Whether what a router says to a client is for one that has left."""
        return self._is_gone(ClientName(router, client))

    def ending(self, router: str, client: str, id_: str) -> Ending | None:
        """What an answer is about that ends something; `None` where it was asked once."""
        if self.has_left(router, client):
            return None
        return self._endings.pop((router, client, id_), None)

    def let_go(self, router: str, absent: Collection[str]) -> None:
        """Tell a router which of the clients that it remembers have left."""
        for name in list(self._departing):
            if name.home == router:  # the router hears of it once more, if it remembers the client
                self._departing[name] = int(name.client in absent)
        self._departing += Counter()
        for client in sorted(absent):
            left = ClientName(router, client) in self._departing
            if left or client not in self._wishes[router]:
                self._departing[ClientName(router, client)] = 1
                self._feed(router, DetachClient(client))

    def crashed(self, router: str) -> None:
        """A router has crashed: what it would have answered went with it."""
        self._forget_endings(router)

    def ask(self, router: str, now: float) -> None:
        """Let clients ask again, in the same order, what has not been answered but publications.

        These come behind all that is asked for, so that an advertisement is known before.
        """
        for owed in self._history.unanswered_of(router):
            if isinstance(owed, str):
                continue
            leaving = self._history.leaving(owed)
            if leaving:
                self._endings[router, owed.client, owed.id] = Ending(owed, leaving)
                is_wanted = isinstance(owed, SubscriptionName)
                undo = ClientUnsubscribe if is_wanted else ClientUnadvertise
                self._feed(router, undo(owed.client, owed.id))
            self._state(owed, now)

    def correct(self, router: str, stated: Iterable[ClientInput]) -> None:
        """Let a router with an older state forget what its clients want no more, or otherwise.

        Nobody has asked for that, so nobody is told.
        """
        for change in stated:
            match change:
                case ClientSubscribe(client, id_, wanted):
                    self._take_back(SubscriptionName(router, client, id_), wanted)
                case ClientSubscribeMany(client, subscriptions):
                    for id_, wanted in subscriptions:
                        self._take_back(SubscriptionName(router, client, id_), wanted)
                case ClientAdvertise(client, id_, promised):
                    self._take_back(AdvertisementName(router, client, id_), promised)
                case _:
                    pass

    def _take_back(self, name: StatementName, stated: AdvertisedContent) -> None:
        """Let a router forget something, if its client wants it no more or otherwise."""
        home, client, id_ = name.home, name.client, name.id
        wishes = self._wishes[home].get(client, Wishes())
        is_wanted = isinstance(name, SubscriptionName)
        wished: AdvertisedContent | None
        wished = wishes.subscriptions.get(id_) if is_wanted else wishes.advertisements.get(id_)
        if wished != stated and not self._is_leaving(name):
            undo = ClientUnsubscribe if is_wanted else ClientUnadvertise
            self._endings[home, client, id_] = Ending(name, ())
            self._feed(home, undo(client, id_))

    def publish(self, router: str, now: float) -> None:
        """Let clients publish again what has not been answered."""
        for owed in self._history.unanswered_of(router):
            if isinstance(owed, str):
                self._publish(router, owed, now)

    def restate(self, router: str, now: float) -> None:
        """Let clients ask for all that they want, and say all that they will publish."""
        for client, wishes in self._wishes[router].items():
            for id_ in wishes.advertisements:
                self._state(AdvertisementName(router, client, id_), now)
            for id_ in wishes.subscriptions:
                self._state(SubscriptionName(router, client, id_), now)

    def _is_leaving(self, name: StatementName) -> bool:
        """Whether the client waits to see it ended, and asks for that again."""
        return name in self._history.owed and bool(self._history.leaving(name))

    def _forget_endings(self, router: str, client: str | None = None) -> None:
        for key in [one for one in self._endings if one[0] == router]:
            if client in (None, key[1]):
                del self._endings[key]

    def _state(self, name: StatementName, now: float) -> None:
        wishes = self._wishes[name.home][name.client]
        if isinstance(name, AdvertisementName):
            if name.id in wishes.advertisements:
                promised = wishes.advertisements[name.id]
                self._history.advertise(now, name, promised)
                self._feed(name.home, ClientAdvertise(name.client, name.id, promised))
        elif name.id in wishes.subscriptions:
            wanted = wishes.subscriptions[name.id]
            self._history.subscribe(now, name, wanted)
            self._feed(name.home, ClientSubscribe(name.client, name.id, wanted))

    def _publish(self, router: str, id_: str, now: float) -> None:
        """Let a client publish again what was not accepted, unless the router has it."""
        published = self._history.publications[id_]
        publisher = published.publisher
        if self._stored.has_accepted(router, id_):
            self._history.accepted(now, id_)
        elif publisher.client in self._wishes[router] and not self._is_gone(publisher):
            self._history.published_again(now, id_)
            self._feed(router, ClientPublish(publisher.client, published.publication))
        else:
            self._history.abandoned(router, id_)

    def _is_gone(self, client: ClientName) -> bool:
        """Whether what a router has for a client is for one that has left."""
        return client in self._departing
