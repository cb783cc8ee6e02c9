"""Explanations, hop by hop, of a publication's delivery in a simulation, or of its absence.

A witness sits in the world, and whenever the publication comes to a router it inspects the present
tables of all routers on the way (`sapwood.routing.explaining`). Publications change no table, so
the tables after one has passed are those that decided. The actual course stands beside it: the
routers that the publication came to, and what clients got.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import cast

from sapwood.errors import InputError
from sapwood.language.explanations import explain
from sapwood.model.explanation import Explanation
from sapwood.model.interest import Interest
from sapwood.overlay.ways import way_between
from sapwood.routing.effects import Effect, Refused
from sapwood.routing.explaining.accounts import Account, Owned, Question, account, ways
from sapwood.routing.explaining.journeys import Journey, journey
from sapwood.routing.inputs import ClientPublish, Input, Receive
from sapwood.routing.messages import Message, OnPlane, Publish, Stamped, carried
from sapwood.routing.router import Router
from sapwood.simulation.history import SubscriptionName
from sapwood.simulation.scenario import (
    ChangeAction,
    PublishAction,
    Scenario,
    SubscribeAction,
    SubscribeManyAction,
)
from sapwood.simulation.world import World


@dataclass(frozen=True, slots=True)
class Passage:
    """A way of a publication to a subscription: by the tables, and as it went.

    `arrived` are the routers on the way that it came to, in the order of the way.
    """

    journey: Journey
    arrived: tuple[str, ...]

    @property
    def ended(self) -> str:
        """The last router on the way to which it came without a gap."""
        path = self.journey.path
        return [here for here, there in zip(path, self.arrived, strict=False) if here == there][-1]


@dataclass(frozen=True, slots=True)
class Explained:
    """The course of one publication towards one subscription.

    `source` is the router of its publisher, `sent` whether that ran, `refused` why it took none.
    `delivered` is how often the subscriber got it. There is no passage where nothing leads from
    one router to the other, or the publication was not sent. `names` are the ids of subscriptions
    by their keys.
    """

    publication: str
    subscription: SubscriptionName
    source: str
    sent: bool
    refused: str | None
    delivered: int
    match: Explanation
    passages: tuple[Passage, ...]
    names: Mapping[str, str]


@dataclass(slots=True)
class _Seen:
    """The journeys seen on one way, by the router that the publication had reached then."""

    path: tuple[str, ...]
    journeys: dict[str, Journey] = field(default_factory=dict)


@dataclass(slots=True)
class _Followed:
    """A publication, its subscriptions, and the journeys seen, by subscription and way."""

    action: PublishAction
    wanted: dict[SubscriptionName, Interest] = field(default_factory=dict)
    seen: dict[tuple[SubscriptionName, int], _Seen] = field(default_factory=dict)
    refused: str | None = None
    names: dict[str, str] = field(default_factory=dict)


class Witness:
    """Follows publications to subscriptions, pairs of their ids, while a scenario is carried out.

    Raises `InputError` where the scenario has no such publication or subscription, or the protocol
    routes by something else than the subscriptions of neighbors.
    """

    def __init__(self, scenario: Scenario, pairs: Iterable[tuple[str, str]]) -> None:
        self._world: World | None = None
        self._followed: dict[str, _Followed] = {}
        published, subscribed = _published(scenario), _subscribed(scenario)
        for publication, subscription in pairs:
            if publication not in published:
                raise InputError(f"no publication has the id {publication!r}: give one that is")
            if subscription not in subscribed:
                raise InputError(f"no subscription has the id {subscription!r}: give one that is")
            followed = self._followed.get(publication)
            if followed is None:
                followed = self._followed[publication] = _Followed(published[publication])
            followed.wanted.update(subscribed[subscription])

    def attend(self, world: World) -> None:
        """Watch a world from now on."""
        for router in world.routers.values():
            if not isinstance(router, Router) or not ways(router, router.name):
                raise InputError(
                    "under this protocol routers do not route by what each neighbor wants, so "
                    "there is nothing to explain hop by hop: take one without pastry"
                )
        self._world = world
        world.watch = self._note

    def explained(self) -> tuple[Explained, ...]:
        """The course of each publication, for each subscription of the ids it is paired with."""
        assert self._world is not None, "a witness has attended"
        history = self._world.history
        delivered = Counter((one.publication, one.subscription) for one in history.deliveries)
        return tuple(
            Explained(
                id_,
                name,
                followed.action.publisher.home,
                id_ in history.publications,
                followed.refused,
                delivered[id_, name],
                explain(wanted, followed.action.publication),
                tuple(_passage(one) for (of, _), one in followed.seen.items() if of == name),
                MappingProxyType(followed.names),
            )
            for id_, followed in self._followed.items()
            for name, wanted in followed.wanted.items()
        )

    def _note(self, router: str, event: Input, effects: Iterable[Effect]) -> None:
        """A router has taken an input."""
        match event:
            case ClientPublish(_, publication) if publication.id in self._followed:
                followed = self._followed[publication.id]
                refusals = (one for one in effects if isinstance(one, Refused))
                reasons = (one.reason for one in refusals if one.subject == publication.id)
                followed.refused = next(reasons, None)
                if followed.refused is None:
                    for way in range(ways(self._router(router), router)):
                        self._come(followed, router, way)
            case Receive(_, message):
                said = carried(message)
                if isinstance(said, Publish) and said.publication.id in self._followed:
                    self._come(self._followed[said.publication.id], router, _way_of(message))

    def _come(self, followed: _Followed, router: str, way: int) -> None:
        """A publication is at a router, on a way."""
        source, publication = followed.action.publisher.home, followed.action.publication
        for name in followed.wanted:
            seen = followed.seen.get((name, way))
            if seen is None:
                path = self._path(source, name.home, way)
                if path is None:
                    continue
                seen = followed.seen[name, way] = _Seen(path)
            if router in seen.path and router not in seen.journeys:
                subject = Owned(name.client, name.id)
                found = journey(self._ask, seen.path, subject, publication, way)
                seen.journeys[router] = found
                self._name(followed, found, way)

    def _name(self, followed: _Followed, found: Journey, way: int) -> None:
        """Collect the ids of the subscriptions that occur in a journey, as far as they have any."""
        assert self._world is not None
        reasons = (one for hop in found.hops for one in hop.telling.reasons)
        keys = {one.key for hop in found.hops for one in hop.because} | {one.key for one in reasons}
        for router in self._world.routers:
            cores = self._router(router).membership.cores(found.path[0])
            core = cores[way] if way < len(cores) else None
            if core is not None:
                by_key = core.subscriptions.entries.by_key
                followed.names.update((key, by_key[key].id) for key in keys & by_key.keys())

    def _ask(self, router: str, question: Question) -> Account | None:
        assert self._world is not None
        world = self._world
        if router not in world.routers:
            return None
        return account(self._router(router), question, world.time.shown(router, world.now))

    def _router(self, name: str) -> Router:
        assert self._world is not None
        return cast("Router", self._world.routers[name])

    def _path(self, source: str, home: str, way: int) -> tuple[str, ...] | None:
        """The routers from a source to another: on the links there are, or on its tree."""
        assert self._world is not None
        world = self._world
        if not world.history.is_mesh:
            return way_between(source, home, world.topology.neighbors)

        def peers(router: str) -> Iterable[str]:
            said = self._ask(router, Question(source, way))
            return () if said is None else said.neighbors

        return way_between(source, home, peers)


def _passage(seen: _Seen) -> Passage:
    """Each hop as it was when the publication was at its first end, or as late as anything."""
    last = list(seen.journeys.values())[-1]
    hops = tuple(
        seen.journeys.get(hop.source, last).hops[place] for place, hop in enumerate(last.hops)
    )
    arrived = tuple(router for router in seen.path if router in seen.journeys)
    tellings = tuple(hop.telling for hop in hops)
    return Passage(replace(last, hops=hops, tellings=tellings), arrived)


def _way_of(message: Message) -> int:
    inner = message.message if isinstance(message, Stamped) else message
    return inner.plane if isinstance(inner, OnPlane) else 0


def _published(scenario: Scenario) -> Mapping[str, PublishAction]:
    """The publish actions of a scenario, by id of the publication."""
    actions = (step.action for step in scenario.steps)
    return {one.publication.id: one for one in actions if isinstance(one, PublishAction)}


def _subscribed(scenario: Scenario) -> Mapping[str, Mapping[SubscriptionName, Interest]]:
    """The subscriptions by id, with the filters that they have in the end."""
    found: dict[str, dict[SubscriptionName, Interest]] = {}
    for step in scenario.steps:
        match step.action:
            case SubscribeAction(name, wanted) | ChangeAction(name, wanted):
                found.setdefault(name.id, {})[name] = wanted
            case SubscribeManyAction(client, subscriptions):
                for id_, wanted in subscriptions:
                    found.setdefault(id_, {})[SubscriptionName(*client, id_)] = wanted
    return found
