"""The history: requests, confirmations, acceptances and deliveries in order, for the oracle.

Only what clients see is here, and the state of links; routing tables and messages are not,
so that a wrong router cannot write its own alibi.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.overlay.disjoint import FindTree
from sapwood.overlay.spanning import fewest_links
from sapwood.overlay.topology import Hop, Link, Overlay


class Moment(NamedTuple):
    """A place in the history: virtual time in seconds, and a number that orders equal times."""

    time: float
    order: int


BEGINNING: Final = Moment(-math.inf, 0)
"""Before all that happens."""


class ClientName(NamedTuple):
    """A client in the whole overlay: names are unique only at their home router."""

    home: str
    client: str


class SubscriptionName(NamedTuple):
    """A subscription in the whole overlay: ids are unique only for their client."""

    home: str
    client: str
    id: str

    @property
    def owner(self) -> ClientName:
        """The client that subscribed."""
        return ClientName(self.home, self.client)


@dataclass(frozen=True, slots=True)
class AdvertisementName:
    """An advertisement in the whole overlay: ids are unique only for their client."""

    home: str
    client: str
    id: str

    @property
    def owner(self) -> ClientName:
        """The client that advertised."""
        return ClientName(self.home, self.client)


StatementName: TypeAlias = SubscriptionName | AdvertisementName
"""The name of a statement: a client can request it, and its end. The two kinds are never equal."""

W = TypeVar("W", bound=AdvertisedContent)
N = TypeVar("N", SubscriptionName, AdvertisementName)


@dataclass(slots=True)
class Epoch(Generic[W]):
    """One life of a subscription or an advertisement, from the client's request to its end.

    #: asked <= confirmed; asked <= leaving <= left, where they are set
    #: left is set and equal to leaving where no answer comes: the client or its router went
    #: is_change: it took the place of the life before it, which leaves when this one is requested
    #: and has left when this one is confirmed, or has left as well
    #: is_repeat: its client states again what it had when its router went back to an older state
    """

    filter: W
    asked: Moment
    confirmed: Moment | None = None
    leaving: Moment | None = None
    left: Moment | None = None
    is_change: bool = False
    is_repeat: bool = False


@dataclass(slots=True)
class Published:
    """A publication that a client handed to its home router: for the last time when `handed`."""

    publication: Publication
    publisher: ClientName
    asked: Moment
    accepted: Moment | None = None
    refused: Moment | None = None
    handed: Moment = BEGINNING


class Delivery(NamedTuple):
    """A publication handed to a client on behalf of one of its subscriptions."""

    moment: Moment
    publication: str
    subscription: SubscriptionName


@dataclass(slots=True)
class Outage:
    """A time during which a link was not to be relied on.

    `joined` is when it carried messages again and both ends knew; `settled` when, after that, no
    message was left in the overlay that could still change a routing table. Where the link goes
    down again before, `joined` stays `None`. A link that is added was down since `BEGINNING`; one
    that is removed goes down, or was down, `for_good`, and does not join.
    """

    down: Moment
    joined: Moment | None = None
    settled: Moment | None = None
    for_good: bool = field(default=False, compare=False)


@dataclass(slots=True)
class History:
    """The record of one simulation.

    `topology` is the present overlay, at first the one that everything begins with. Where routers
    have stores (`is_kept`), clients' requests outlive them.

    #: overlays has every overlay that there was, and since when; `topology` is the last of them
    #: epochs of one subscription follow each other: all but the last have `leaving` set, and are
    #: answered in their order, where one is not the change of another; and so do those of one
    #: advertisement, which is never changed
    #: outages holds only links that were ever down, by their ends in both orders
    #: unrests, where routers route on many trees (`is_mesh`), are the times in which trees may
    #: change: from the beginning, or a change of a link, until nothing is left that could change a
    #: table; all but the last are settled. Where routers have stores, on one tree, there is
    #: the first only, in which neighbors get to know each other
    #: finds, where routers route on many trees, gives the tree of each source, one for each way
    #: disturbances are the times in which something was wrong that is no link's alone: whatever
    #: travels from one router to another may be lost; all but the last are settled
    #: relapses are those of them in which a router had an older state
    #: unsupplied holds the subscriptions that no advertisement supplies, by the last answers
    #: _ever and _ever_around hold all links of `overlays`, by their ends, and by one of them
    #: owed holds exactly the requests of clients that are not answered yet: subscriptions,
    #: advertisements and withdrawals by their names, publications by their ids
    #: _to_repeat has the subscriptions that ended as their router went back to an older state, and
    #: that their clients still have
    """

    topology: Overlay
    is_mesh: bool = False
    is_kept: bool = False
    subscriptions: dict[SubscriptionName, list[Epoch[Interest]]] = field(default_factory=dict)
    advertisements: dict[AdvertisementName, list[Epoch[AdvertisedContent]]] = field(
        default_factory=dict
    )
    unsupplied: dict[SubscriptionName, None] = field(default_factory=dict)
    publications: dict[str, Published] = field(default_factory=dict)
    deliveries: list[Delivery] = field(default_factory=list)
    outages: dict[Hop, list[Outage]] = field(default_factory=dict)
    unrests: list[Outage] = field(default_factory=list)
    disturbances: list[Outage] = field(default_factory=list)
    relapses: list[Outage] = field(default_factory=list)
    refusals: list[tuple[Moment, ClientName, str]] = field(default_factory=list)
    owed: dict[StatementName | str, None] = field(default_factory=dict)
    overlays: list[tuple[Moment, Overlay]] = field(default_factory=list)
    finds: tuple[FindTree, ...] = (fewest_links,)
    _noted: int = 0
    _ever: dict[frozenset[str], Link] = field(default_factory=dict)
    _ever_around: dict[str, dict[str, None]] = field(default_factory=dict)
    _unsettled: list[tuple[Hop, Outage]] = field(default_factory=list)
    _to_repeat: set[StatementName] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._overlay_is(BEGINNING, self.topology)
        if self.is_mesh or self.is_kept:
            self._stir(0.0)

    def subscribe(self, now: float, name: SubscriptionName, wanted: Interest) -> None:
        """A client asks its home router for a subscription, and takes it for supplied."""
        self.unsupplied.pop(name, None)
        self._ask(self.subscriptions, now, name, wanted)

    def subscribed(self, now: float, name: SubscriptionName, since: float | None = None) -> None:
        """The home router has said, at the time `since`, that the subscription is in force.

        It may have been changed since then: the change is not answered by this.
        """
        self._confirm(self.subscriptions, now, name, now if since is None else since)

    def unsubscribe(self, now: float, name: SubscriptionName) -> None:
        """A client asks its home router to withdraw a subscription."""
        self._leave(self.subscriptions, now, name)

    def unsubscribed(self, now: float, name: SubscriptionName) -> None:
        """The home router says that the subscription is withdrawn."""
        self._end(self.subscriptions, now, name)

    def supplied(self, name: SubscriptionName, *, is_there: bool) -> None:
        """The home router says whether an advertisement intersects a subscription."""
        if is_there:
            self.unsupplied.pop(name, None)
        else:
            self.unsupplied[name] = None

    def advertise(self, now: float, name: AdvertisementName, promised: AdvertisedContent) -> None:
        """A client asks its home router for an advertisement."""
        self._ask(self.advertisements, now, name, promised)

    def advertised(self, now: float, name: AdvertisementName) -> None:
        """The home router says that the advertisement is in force."""
        self._confirm(self.advertisements, now, name, now)

    def unadvertise(self, now: float, name: AdvertisementName) -> None:
        """A client asks its home router to withdraw an advertisement."""
        self._leave(self.advertisements, now, name)

    def unadvertised(self, now: float, name: AdvertisementName) -> None:
        """The home router says that the advertisement is withdrawn."""
        self._end(self.advertisements, now, name)

    def gone(self, now: float, home: str, client: str | None = None) -> None:
        """A client, or every client of a router, is gone, and all that it asked for with it."""
        self._gone(self.subscriptions, now, home, client)
        self._gone(self.advertisements, now, home, client)

    def publish(self, now: float, publisher: ClientName, publication: Publication) -> None:
        """A client hands a publication to its home router."""
        moment = self._moment(now)
        self.publications[publication.id] = Published(publication, publisher, moment, handed=moment)
        self.owed[publication.id] = None

    def published_again(self, now: float, publication: str) -> None:
        """Record that a client repeats a publication to its home router, which does not have it.

        It may have been refused to a client that advertises, and the answer was lost: then it comes
        behind all that the client has published meanwhile, and is judged by what it advertises now.
        """
        published = self.publications[publication]
        published.handed = self._moment(now)
        if any(name.owner == published.publisher for name in self.advertisements):
            published.asked = published.handed

    def accepted(self, now: float, publication: str) -> None:
        """The home router answers for the publication from here on."""
        published = self.publications.get(publication)
        if published is not None and published.accepted is None:
            published.accepted = self._moment(now)
            self.owed.pop(publication, None)

    def abandoned(self, home: str, publication: str | None = None) -> None:
        """Expect no answer any more for a publication, or for any that a router owes.

        Its client has left before it was answered, or the router for good.
        """
        for owed in self.unanswered_of(home) if publication is None else (publication,):
            if isinstance(owed, str):
                self.owed.pop(owed, None)

    def unanswered_of(self, home: str) -> list[StatementName | str]:
        """The requests of a router's clients that are not answered yet."""
        return [
            owed
            for owed in self.owed
            if home == (self.publications[owed].publisher if isinstance(owed, str) else owed).home
        ]

    def leaving(self, name: StatementName) -> tuple[Epoch[Any], ...]:
        """The lives of a statement whose end its client waits for."""
        chains = _chains(self._lives_of(name)[name])
        ending = [chain for chain in chains if chain[-1].leaving is not None]
        return tuple(one for chain in ending for one in chain if one.left is None)

    def ended(self, now: float, name: StatementName, lives: Iterable[Epoch[Any]]) -> None:
        """Record that lives of a statement have ended, or were never there."""
        last = self._lives_of(name)[name][-1]
        for epoch in lives:
            if epoch.left is None:
                epoch.left = self._moment(now)
                if epoch is last:
                    self.owed.pop(name, None)

    def refused(self, now: float, client: ClientName, subject: str) -> None:
        """The home router refuses a request of a client."""
        moment = self._moment(now)
        self.refusals.append((moment, client, subject))
        published = self.publications.get(subject)
        if published is not None and published.publisher == client:
            published.refused = moment
            self.owed.pop(subject, None)

    def delivered(self, now: float, publication: str, subscription: SubscriptionName) -> None:
        """A client has a publication because of one of its subscriptions."""
        self.deliveries.append(Delivery(self._moment(now), publication, subscription))

    def link_down(self, now: float, a: str, b: str) -> None:
        """Record that a link stops carrying messages."""
        began = self._moment(now)
        # In the first unrest neighbors get to know each other: these may not have done so yet.
        outage = Outage(BEGINNING if self._are_strangers else began)
        outages = self.outages.setdefault((a, b), [])
        self.outages[b, a] = outages
        outages.append(outage)
        if self.is_mesh:
            self._stir(now)
        else:
            self._unsettled.append(((a, b), outage))

    def link_joined(self, now: float, a: str, b: str) -> None:
        """Record that a link carries messages again, and both ends know it."""
        outages = self.outages.get((a, b))
        if outages and outages[-1].joined is None:
            outages[-1].joined = self._moment(now)
            if self.is_mesh:
                self._stir(now)

    def rewired(self, now: float, overlay: Overlay) -> None:
        """Record a changed overlay; the links that went are down already."""
        self._overlay_is(self._moment(now), overlay)
        if self.is_mesh and (self.is_kept or not self.finds):
            # Also where the link was down, as its return was awaited; where routers choose their
            # links, it may carry messages before both ends know it.
            self._stir(now)

    def link_added(self, a: str, b: str) -> None:
        """Record a new link, which carries no messages yet."""
        outages = self.outages.setdefault((a, b), [])
        self.outages[b, a] = outages
        if not outages:
            outages.append(Outage(BEGINNING))
        if not self.is_mesh:
            self._unsettled.extend(((a, b), one) for one in outages if one.settled is None)

    def link_removed(self, a: str, b: str) -> None:
        """Record that a link is gone; the end of its outage is not awaited."""
        outages = self.outages.get((a, b))
        if outages:
            outages[-1].for_good = True
        self._unsettled = [(hop, one) for hop, one in self._unsettled if set(hop) != {a, b}]

    def overlay_at(self, moment: Moment) -> Overlay:
        """The overlay that there was at a moment."""
        return self.overlays[self.overlay_number(moment)][1]

    def overlay_number(self, moment: Moment) -> int:
        """The place in `overlays` of the one that there was at a moment."""
        return bisect_right(self.overlays, moment, key=lambda entry: entry[0]) - 1

    def routers(self) -> tuple[str, ...]:
        """All routers that ever were in the overlay."""
        return tuple(self._ever_around)

    def links(self) -> tuple[Link, ...]:
        """The links that ever were: of those between the same two routers the last."""
        return tuple(self._ever.values())

    def ever_linked(self, router: str) -> tuple[str, ...]:
        """The routers to which another one has a link or had one."""
        return tuple(self._ever_around.get(router, ()))

    def former_neighbors(self, router: str) -> list[str]:
        """The routers to which another one had a link, and has none in the present overlay."""
        is_here = router in self.topology
        present = set(self.topology.neighbors(router) if is_here else ())
        return [end for end in self.ever_linked(router) if end not in present]

    def _overlay_is(self, since: Moment, overlay: Overlay) -> None:
        self.topology = overlay
        self.overlays.append((since, overlay))
        routers, links = overlay.news
        for router in routers:
            self._ever_around.setdefault(router, {})
        for link in links:
            self._ever[frozenset((link.a, link.b))] = link
            self._ever_around[link.a][link.b] = self._ever_around[link.b][link.a] = None

    def disturb(self, now: float) -> None:
        """From here on, until the overlay has settled, nothing between routers is to be relied on.

        Tables may be wrong, or messages lost or altered.
        """
        if not self._is_disturbed:
            self.disturbances.append(Outage(self._moment(now)))

    def relapse(self, now: float, home: str) -> None:
        """Record that a router has an older state, which disturbs: deliveries may come again.

        Its clients have to repeat all their requests, answered or not.
        """
        self.disturb(now)
        again = self._to_repeat | {name for name, _ in self.live()}  # some went back once more
        self.gone(now, home)
        self._to_repeat |= {name for name in again if name.home == home}
        if self.disturbances[-1] not in self.relapses:
            self.relapses.append(self.disturbances[-1])

    @property
    def settling(self) -> bool:
        """True if some outage is not settled, or some unrest, or disturbance."""
        return bool(self._unsettled) or self._is_stirred or self._is_disturbed

    def settle(self, now: float, *, calm: bool = True) -> None:
        """Record that nothing in the overlay can still change a routing table.

        Unless it is `calm`, what disturbs it is not over.
        """
        if self._is_stirred:
            self.unrests[-1].settled = self._moment(now)
        if self._is_disturbed and calm:
            self.disturbances[-1].settled = self._moment(now)
        waiting: list[tuple[Hop, Outage]] = []
        for hop, outage in self._unsettled:
            if self.outages[hop][-1].joined is None:
                waiting.append((hop, outage))
            else:
                outage.settled = self._moment(now)
        self._unsettled = waiting

    def live(self) -> list[tuple[SubscriptionName, Interest]]:
        """The subscriptions whose end was not requested, in the order of their first request."""
        return _live(self.subscriptions)

    def live_advertisements(self) -> list[tuple[AdvertisementName, AdvertisedContent]]:
        """The advertisements whose end was not requested, in the order of their first request."""
        return _live(self.advertisements)

    def unanswered(self) -> tuple[str, ...]:
        """The owed answers, in words; when the overlay is at rest there should be none."""
        return tuple(self._owed_words(owed) for owed in self.owed)

    def _owed_words(self, owed: StatementName | str) -> str:
        if isinstance(owed, str):
            return f"publication {owed} of {'/'.join(self.publications[owed].publisher)}"
        if isinstance(owed, SubscriptionName):
            return f"{'/'.join(owed)}: {self.subscriptions[owed][-1].filter}"
        place = "/".join((owed.home, owed.client, owed.id))
        return f"advertisement {place}: {self.advertisements[owed][-1].filter}"

    # One life of a statement -------------------------------------------------------------------

    def _ask(self, lives: dict[N, list[Epoch[W]]], now: float, name: N, stated: W) -> None:
        epochs = lives.setdefault(name, [])
        is_there = bool(epochs) and epochs[-1].leaving is None
        if is_there and (epochs[-1].filter == stated or isinstance(name, AdvertisementName)):
            return  # repeated: either the same, which changes nothing, or to be refused
        asked = self._moment(now)
        if is_there:
            epochs[-1].leaving = asked
        is_repeat = name in self._to_repeat
        self._to_repeat.discard(name)
        epochs.append(Epoch(stated, asked, is_change=is_there, is_repeat=is_repeat))
        self.owed[name] = None

    def _confirm(self, lives: dict[N, list[Epoch[Any]]], now: float, name: N, since: float) -> None:
        chain = [epoch for epoch in _unfinished(lives, name) if epoch.asked.time <= since]
        if chain and chain[-1].confirmed is None:
            moment = chain[-1].confirmed = self._moment(now)
            for former in chain[:-1]:
                former.left = former.left or moment
            if chain[-1].leaving is None:
                self.owed.pop(name, None)

    def _leave(self, lives: dict[N, list[Epoch[Any]]], now: float, name: N) -> None:
        self._to_repeat.discard(name)
        epoch = _current(lives, name)
        if epoch is not None and epoch.leaving is None:
            epoch.leaving = self._moment(now)
            self.owed[name] = None

    def _end(self, lives: dict[N, list[Epoch[Any]]], now: float, name: N) -> None:
        chain = _unfinished(lives, name)
        if chain and chain[-1].leaving is not None:
            moment = self._moment(now)
            for epoch in chain:
                epoch.left = epoch.left or moment
            if chain[-1] is lives[name][-1]:
                self.owed.pop(name, None)

    def _gone(
        self, lives: dict[N, list[Epoch[Any]]], now: float, home: str, client: str | None
    ) -> None:
        for name, epochs in lives.items():
            if name.home != home or client not in (None, name.client):
                continue
            self._to_repeat.discard(name)
            for epoch in epochs:
                if epoch.left is None:
                    moment = self._moment(now)
                    epoch.leaving = epoch.leaving or moment
                    epoch.left = moment
                    self.owed.pop(name, None)

    def _lives_of(self, name: StatementName) -> dict[Any, list[Epoch[Any]]]:
        return self.subscriptions if isinstance(name, SubscriptionName) else self.advertisements

    @property
    def _is_stirred(self) -> bool:
        return bool(self.unrests) and self.unrests[-1].settled is None

    @property
    def _are_strangers(self) -> bool:
        """True if neighbors that keep their state, on one tree, may not know each other yet."""
        return not self.is_mesh and bool(self.unrests) and self.unrests[0].settled is None

    @property
    def _is_disturbed(self) -> bool:
        return bool(self.disturbances) and self.disturbances[-1].settled is None

    def _stir(self, now: float) -> None:
        """From here on, until the overlay has settled, trees may change."""
        if not self._is_stirred:
            self.unrests.append(Outage(self._moment(now)))

    def _moment(self, now: float) -> Moment:
        self._noted += 1
        return Moment(now, self._noted)


def _current(lives: dict[N, list[Epoch[Any]]], name: N) -> Epoch[Any] | None:
    epochs = lives.get(name)
    return epochs[-1] if epochs else None


def _chains(epochs: Iterable[Epoch[W]]) -> list[list[Epoch[W]]]:
    """The lives in order: in one list those of which each took the place of the one before."""
    chains: list[list[Epoch[W]]] = []
    for epoch in epochs:
        if epoch.is_change:
            chains[-1].append(epoch)
        else:
            chains.append([epoch])
    return chains


def _unfinished(lives: dict[N, list[Epoch[Any]]], name: N) -> list[Epoch[Any]]:
    """The lives up to the one that is answered next: of the first ones that have not ended."""
    chains = _chains(lives.get(name, ()))
    return next((chain for chain in chains if chain[-1].left is None), [])


def _live(lives: dict[N, list[Epoch[W]]]) -> list[tuple[N, W]]:
    return [(name, e[-1].filter) for name, e in lives.items() if e[-1].leaving is None]
