"""The answers that clients get from their routers, written into the history."""

from __future__ import annotations

from typing import Final, TypeAlias

from sapwood.routing.effects import (
    Accepted,
    Advertised,
    Deliver,
    Refused,
    Subscribed,
    SubscribedMany,
    Supply,
    Unadvertised,
    Unsubscribed,
    UnsubscribedMany,
)
from sapwood.simulation.asking_again import AskingAgain
from sapwood.simulation.history import AdvertisementName, ClientName, History, SubscriptionName
from sapwood.simulation.timekeeping import Timekeeping

Answer: TypeAlias = (
    Deliver
    | Subscribed
    | SubscribedMany
    | Unsubscribed
    | UnsubscribedMany
    | Advertised
    | Unadvertised
    | Supply
    | Accepted
    | Refused
)

_OF_REQUESTS: Final = (
    Subscribed,
    SubscribedMany,
    Unsubscribed,
    UnsubscribedMany,
    Advertised,
    Unadvertised,
    Supply,
)


class Answers:
    """Hands the effects that are for clients to them."""

    def __init__(self, history: History, asking_again: AskingAgain, time: Timekeeping) -> None:
        self._history = history
        self._time = time
        self._asking_again = asking_again

    def give(self, router: str, answer: Answer, now: float, since: float) -> None:
        """Record that a client gets an answer, which its router gave at the time `since`.

        It does not answer requests that the client made after that time. A client that has left
        gets no answer, and a client of its name that came since is another one.
        """
        history = self._history
        if isinstance(answer, _OF_REQUESTS) and self._asking_again.has_left(router, answer.client):
            return
        match answer:
            case Deliver(client, subscriptions, publication):
                self._time.delivered(router, publication.id, now)
                for id_ in subscriptions:
                    name = SubscriptionName(router, client, id_)
                    history.delivered(now, publication.id, name)
            case Subscribed(client, id_):
                self._begin(router, client, (id_,), now, since)
            case SubscribedMany(client, ids):
                self._begin(router, client, ids, now, since)
            case Unsubscribed(client, id_):
                self._end(router, client, (id_,), now)
            case UnsubscribedMany(client, ids):
                self._end(router, client, ids, now)
            case Advertised(client, id_):
                history.advertised(now, AdvertisementName(router, client, id_))
            case Unadvertised(client, id_):
                if not self._end_again(router, client, id_, now):
                    history.unadvertised(now, AdvertisementName(router, client, id_))
            case Supply():
                self._supplied(router, answer)
            case Accepted(_, id_):
                history.accepted(now, id_)
            case Refused(client, subject, _):
                if not self._end_again(router, client, subject, now):
                    history.refused(now, ClientName(router, client), subject)

    def _begin(
        self, router: str, client: str, ids: tuple[str, ...], now: float, since: float
    ) -> None:
        for id_ in ids:
            self._history.subscribed(now, SubscriptionName(router, client, id_), since)

    def _supplied(self, router: str, said: Supply) -> None:
        for id_ in said.subscriptions:
            name = SubscriptionName(router, said.client, id_)
            self._history.supplied(name, is_there=said.is_there)

    def _end(self, router: str, client: str, ids: tuple[str, ...], now: float) -> None:
        for id_ in ids:
            if not self._end_again(router, client, id_, now):
                self._history.unsubscribed(now, SubscriptionName(router, client, id_))

    def _end_again(self, router: str, client: str, id_: str, now: float) -> bool:
        """True if an answer is for a repeated request to end something; the first one was lost."""
        ending = self._asking_again.ending(router, client, id_)
        if ending is not None:
            self._history.ended(now, *ending)
        return ending is not None
