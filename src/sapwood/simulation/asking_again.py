"""Clients repeat unanswered requests when a router that remembers them is back.

A router with a store has a client's requests up to some point, and the client has its
answers up to an earlier one. Between the two, a repeated request does no harm: a statement that is
there is answered as the first time, and one that was withdrawn is not there.
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
    """The statement that a client asked to end, and the lives of it that this concerns."""

    name: StatementName
    lives: tuple[Epoch[Any], ...]


class AskingAgain:
    """The requests that clients of a world repeat, as their routers may have forgotten them.

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
        """Note that a client has left: it waits for no answer."""
        self._departing[client] += 1
        self._forget_endings(client.home, client.client)

    def deliveries(self, router: str, unit: Unit) -> list[Deliver]:
        """The deliveries of a written unit, without those to clients that had left before."""
        for record in unit.records:
            if isinstance(record, DetachClient):
                self._departing -= Counter([ClientName(router, record.client)])
        return [one for one in unit.deliveries if not self._is_gone(ClientName(router, one.client))]

    def has_left(self, router: str, client: str) -> bool:
        """True if an answer of a router is for a client that has left."""
        return self._is_gone(ClientName(router, client))

    def ending(self, router: str, client: str, id_: str) -> Ending | None:
        """The ending that an answer confirms; `None` where it was requested only once."""
        if self.has_left(router, client):
            return None
        return self._endings.pop((router, client, id_), None)

    def let_go(self, router: str, absent: Collection[str]) -> None:
        """Tell a router which of the clients that it remembers have left."""
        for name in list(self._departing):
            if name.home == router:  # the departure is repeated if the router remembers the client
                self._departing[name] = int(name.client in absent)
        self._departing += Counter()
        for client in sorted(absent):
            left = ClientName(router, client) in self._departing
            if left or client not in self._wishes[router]:
                self._departing[ClientName(router, client)] = 1
                self._feed(router, DetachClient(client))

    def crashed(self, router: str) -> None:
        """Forget the endings that a crashed router would have answered."""
        self._forget_endings(router)

    def ask(self, router: str, now: float) -> None:
        """Let clients repeat their unanswered requests, in the same order, except publications.

        Publications come behind all requests, so that an advertisement is known before them.
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
        """Let a router with an older state forget statements that its clients withdrew or changed.

        No client has requested that, so no client gets an answer.
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
        """Let a router forget a statement if its client has withdrawn or changed it."""
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
        """Let clients repeat their unanswered publications."""
        for owed in self._history.unanswered_of(router):
            if isinstance(owed, str):
                self._publish(router, owed, now)

    def restate(self, router: str, now: float) -> None:
        """Let clients state all their subscriptions and advertisements."""
        for client, wishes in self._wishes[router].items():
            for id_ in wishes.advertisements:
                self._state(AdvertisementName(router, client, id_), now)
            for id_ in wishes.subscriptions:
                self._state(SubscriptionName(router, client, id_), now)

    def _is_leaving(self, name: StatementName) -> bool:
        """True if the client waits for the end of the statement, and requests it again."""
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
        """Let a client repeat a publication that was not accepted, unless the router has it."""
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
        """True if the client of that name that the router knows has left."""
        return client in self._departing
