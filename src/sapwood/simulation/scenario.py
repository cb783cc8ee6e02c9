"""Scenarios: timed actions, as a value that any driver can carry out.

A scenario is a topology and a list of steps. Each step is an action and how long to let time pass
before it. Two actions wait for a state instead of a time, so that the same scenario means the same
in virtual time and over real processes, whose clocks no driver controls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Final, TypeAlias, TypeVar

from sapwood.errors import InputError
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.model.subscription import Subscription
from sapwood.overlay.rewiring import with_link, with_router, without_link, without_router
from sapwood.overlay.topology import LINK_LATENCY_DEFAULT_S, Link, Overlay
from sapwood.simulation.channels import SetChannel
from sapwood.simulation.clocks import SetClock
from sapwood.simulation.history import AdvertisementName, ClientName, SubscriptionName
from sapwood.simulation.network import NOMINAL, Timing
from sapwood.simulation.stored import Tail
from sapwood.simulation.tampering import StallTimer, Tamper

T = TypeVar("T")

PUBLICATION_INTERVAL_DEFAULT_S: Final = 0.01
"""Virtual seconds between two publications of a whole overlay: one hop of the default latency."""

SUBSCRIBER: Final = "subscriber"
PUBLISHER: Final = "publisher"
"""The clients, one each at every router, of a scenario that is made from plain files."""


@dataclass(frozen=True, slots=True)
class SubscribeAction:
    """A client subscribes."""

    name: SubscriptionName
    filter: Interest


@dataclass(frozen=True, slots=True)
class ChangeAction:
    """A client changes the filter of a subscription, or subscribes if it has none of that id."""

    name: SubscriptionName
    filter: Interest


@dataclass(frozen=True, slots=True)
class UnsubscribeAction:
    """A client withdraws a subscription."""

    name: SubscriptionName


@dataclass(frozen=True, slots=True)
class SubscribeManyAction:
    """A client subscribes under several ids at once."""

    client: ClientName
    subscriptions: tuple[tuple[str, Interest], ...]


@dataclass(frozen=True, slots=True)
class UnsubscribeManyAction:
    """A client withdraws several subscriptions at once."""

    client: ClientName
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AdvertiseAction:
    """A client advertises what it will publish."""

    name: AdvertisementName
    filter: AdvertisedContent


@dataclass(frozen=True, slots=True)
class UnadvertiseAction:
    """A client withdraws an advertisement."""

    name: AdvertisementName


@dataclass(frozen=True, slots=True)
class PublishAction:
    """A client publishes."""

    publisher: ClientName
    publication: Publication


@dataclass(frozen=True, slots=True)
class DetachAction:
    """A client leaves; its subscriptions and advertisements go with it."""

    client: ClientName


@dataclass(frozen=True, slots=True)
class FailLink:
    """A link stops carrying messages; those on it are lost."""

    a: str
    b: str


@dataclass(frozen=True, slots=True)
class ReturnLink:
    """A failed link carries messages again."""

    a: str
    b: str


@dataclass(frozen=True, slots=True)
class CrashRouter:
    """A router stops and loses its state, but for its written records.

    `tail` is the part that is left of what it was about to write. With `steps` it stops while it
    writes: see `sapwood.simulation.world.Doom`.
    """

    router: str
    tail: Tail = Tail.LOST
    steps: int | None = None

    def __post_init__(self) -> None:
        if self.steps is not None and self.steps < 0:
            raise InputError(f"a router crashes after some steps, not {self.steps}")


@dataclass(frozen=True, slots=True)
class ReturnRouter:
    """A crashed router starts afresh; its clients come back and subscribe again."""

    router: str


@dataclass(frozen=True, slots=True)
class Suspect:
    """A router suspects a neighbor for some seconds, rightly or not."""

    router: str
    neighbor: str
    seconds: float


@dataclass(frozen=True, slots=True)
class CorruptTables:
    """A router's tables are corrupted; no router is notified.

    `kinds` are those of `sapwood.simulation.corruption`, one after the other, each of which strikes
    a `share` of what there is, as the seed draws it.
    """

    router: str
    kinds: tuple[str, ...]
    share: float
    seed: int = 0


@dataclass(frozen=True, slots=True)
class AddRouter:
    """A router joins that the overlay does not have; it has no link yet."""

    router: str


@dataclass(frozen=True, slots=True)
class RemoveRouter:
    """A router leaves for good, and its links and clients with it."""

    router: str


@dataclass(frozen=True, slots=True)
class AddLink:
    """Two routers that were not neighbors are linked."""

    a: str
    b: str
    latency_s: float = LINK_LATENCY_DEFAULT_S


@dataclass(frozen=True, slots=True)
class RemoveLink:
    """Two routers are neighbors no more; messages on the link are lost."""

    a: str
    b: str


Change: TypeAlias = AddRouter | RemoveRouter | AddLink | RemoveLink
"""A router or a link that comes or goes, for good."""


class Until(Enum):
    """A state that a driver can wait for."""

    CONFIRMED = "confirmed"
    """Every client whose router runs has been answered: subscriptions and advertisements are in
    force, withdrawals are done."""
    QUIET = "quiet"
    """Nothing is under way in the overlay: neither messages nor news of links; and timers, if
    there are any, change nothing (`World.quiet`)."""


@dataclass(frozen=True, slots=True)
class WaitAction:
    """Go on only when the overlay is in a state."""

    until: Until


Action: TypeAlias = (
    SubscribeAction
    | ChangeAction
    | UnsubscribeAction
    | SubscribeManyAction
    | UnsubscribeManyAction
    | AdvertiseAction
    | UnadvertiseAction
    | PublishAction
    | DetachAction
    | FailLink
    | ReturnLink
    | CrashRouter
    | ReturnRouter
    | Suspect
    | CorruptTables
    | Tamper
    | StallTimer
    | SetChannel
    | SetClock
    | Change
    | WaitAction
)


@dataclass(frozen=True, slots=True)
class Step:
    """An action, `after_s` seconds after the one before it was done."""

    action: Action
    after_s: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.after_s < float("inf"):
            raise InputError(f"a step comes some seconds after the last one, not {self.after_s!r}")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A topology and the steps that happen on it.

    `topology` is the overlay at the beginning. Clients may go on to send requests to a router that
    has left; they are lost. `seed` and `timing` decide the delays; drivers with a real network
    ignore them.
    """

    name: str
    topology: Overlay
    steps: tuple[Step, ...]
    seed: int = 0
    timing: Timing = NOMINAL

    def __post_init__(self) -> None:
        published: set[str] = set()
        places = Places(self.topology)
        for number, step in enumerate(self.steps, 1):
            try:
                places.check(step.action)
            except InputError as error:
                raise InputError(f"scenario {self.name!r}, step {number}: {error}") from error
            if isinstance(step.action, PublishAction):
                id_ = step.action.publication.id
                if id_ in published:
                    raise InputError(
                        f"scenario {self.name!r}, step {number}: publication {id_!r} is there "
                        "already; give each publication its own id"
                    )
                published.add(id_)


def subscribe_then_publish(
    name: str,
    topology: Overlay,
    subscriptions: Iterable[Subscription],
    publications: Iterable[tuple[Publication, str | None]],
    *,
    advertisements: Iterable[tuple[str, AdvertisedContent, str | None]] | None = (),
    faults: Iterable[tuple[float, Action]] = (),
    seed: int = 0,
    interval_s: float = PUBLICATION_INTERVAL_DEFAULT_S,
) -> Scenario:
    """The plain timeline: all advertise and subscribe, and when all is confirmed they publish.

    One publication is sent every `interval_s` seconds. `faults` are (seconds, action), counted
    from the first publication. `advertisements` are (id, filter, home) of the routers' publishers;
    with `None`, each publisher of this scenario advertises everything. Homes that are not given are
    drawn with the seed, for subscriptions, publications and advertisements independently.
    """
    timed: list[tuple[float, Action]] = [
        (number * interval_s, PublishAction(ClientName(home, PUBLISHER), publication))
        for number, (publication, home) in enumerate(
            _with_homes(publications, topology, seed, "publications")
        )
    ]
    if advertisements is None:
        published: dict[str, list[Publication]] = {}
        for _, action in timed:
            if isinstance(action, PublishAction):
                published.setdefault(action.publisher.home, []).append(action.publication)
        advertisements = [
            (name, promised, home)
            for home, some in published.items()
            for name, promised in everything_of(some)
        ]
    steps = [
        Step(AdvertiseAction(AdvertisementName(home, PUBLISHER, id_), promised))
        for (id_, promised), home in _with_homes(
            (((id_, promised), home) for id_, promised, home in advertisements),
            topology,
            seed,
            "advertisements",
        )
    ]
    steps.extend(
        Step(SubscribeAction(SubscriptionName(home, SUBSCRIBER, s.id), s.filter))
        for s, home in _with_homes(
            ((s, s.home) for s in subscriptions), topology, seed, "subscriptions"
        )
    )
    steps.append(Step(WaitAction(Until.CONFIRMED)))
    steps.append(Step(WaitAction(Until.QUIET)))
    steps.extend(timed_steps([*faults, *timed]))
    steps.append(Step(WaitAction(Until.QUIET)))
    return Scenario(name, topology, tuple(steps), seed)


def everything_of(publications: Iterable[Publication]) -> list[tuple[str, Interest]]:
    """Advertisements, by their ids, that allow all records, or all documents, if there are any."""
    publications = list(publications)
    found: list[tuple[str, Interest]] = []
    if any(publication.attributes is not None for publication in publications):
        found.append(("everything", parse_filter("true")))
    if any(publication.document is not None for publication in publications):
        found.append(("every document", parse_xpath("/*")))
    return found


def timed_steps(actions: Iterable[tuple[float, Action]]) -> list[Step]:
    """Actions at absolute times, as steps that follow each other; equal times keep their order."""
    steps: list[Step] = []
    now = 0.0
    for time, action in sorted(actions, key=lambda timed: timed[0]):
        after = max(0.0, round(time - now, 9))  # nanoseconds, not the dust of the subtraction
        steps.append(Step(action, after))
        now += after
    return steps


def _with_homes(
    items: Iterable[tuple[T, str | None]], topology: Overlay, seed: int, stream: str
) -> Iterator[tuple[T, str]]:
    """Each item with its home, drawn from the routers where there is none.

    Every item takes a draw, so that naming one home does not move all others.
    """
    generator = Random(f"{seed}/homes/{stream}")  # noqa: S311 - reproducible on purpose
    for item, home in items:
        drawn = generator.randrange(len(topology.routers))
        yield item, topology.routers[drawn] if home is None else home


class Places:
    """The places of actions: the routers and links that exist after the earlier actions.

    #: overlay is the present one; ever has the routers that are or were in it
    """

    __slots__ = ("ever", "overlay")

    def __init__(self, overlay: Overlay) -> None:
        self.overlay = overlay
        self.ever = dict.fromkeys(overlay.routers)

    def check(self, action: Action) -> None:
        """Follow an action; refuse it (`InputError`) where there is no such router or link."""
        match action:
            case SubscribeAction(name) | ChangeAction(name) | UnsubscribeAction(name):
                self._known(name.home)
            case AdvertiseAction(advertisement) | UnadvertiseAction(advertisement):
                self._known(advertisement.home)
            case (
                PublishAction(client)
                | DetachAction(client)
                | SubscribeManyAction(client)
                | UnsubscribeManyAction(client)
            ):
                self._known(client.home)
            case FailLink(a, b) | ReturnLink(a, b) | Tamper(between=(a, b)):
                self.overlay.link(a, b)
            case CrashRouter(router) | ReturnRouter(router) | StallTimer(router):
                self.overlay.known(router)
            case CorruptTables(router):
                self.overlay.known(router)
            case Suspect(router, neighbor):
                self.overlay.known(router)
                self.overlay.known(neighbor)
            case AddRouter(router):
                self.overlay = with_router(self.overlay, router)
                self.ever[router] = None
            case RemoveRouter(router):
                self.overlay = without_router(self.overlay, router)
            case AddLink(a, b, latency_s):
                self.overlay = with_link(self.overlay, Link(a, b, latency_s))
            case RemoveLink(a, b):
                self.overlay = without_link(self.overlay, a, b)
            case SetChannel() | SetClock():
                self._check_conditions(action)
            case WaitAction() | Tamper():
                pass

    def _check_conditions(self, action: SetChannel | SetClock) -> None:
        if isinstance(action, SetChannel):
            if action.between is not None:
                self.overlay.link(*action.between)
        elif action.router is not None:
            self.overlay.known(action.router)

    def _known(self, home: str) -> None:
        if home not in self.ever:
            self.overlay.known(home)
