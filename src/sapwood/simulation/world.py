"""A world: routers, the network between them, their clients, and what fate does to them.

The world takes actions (a client subscribes, a link fails) at the current virtual time, and lets
time pass. It drives real routers through their one door and writes down what clients see.

A router says with `next_deadline` when it wants a `Tick`; what it said last counts. What is under
way at that time already comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from sapwood.errors import DuplicateIdError, InputError, InvariantError, LimitError
from sapwood.limits import SIMULATION_INPUTS_MAX, SIMULATION_RESTLESS_TICKS_MAX
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.overlay.rewiring import with_link, with_router, without_link, without_router
from sapwood.overlay.topology import LINK_LATENCY_DEFAULT_S, Hop, Link, Overlay
from sapwood.routing.effects import (
    Accepted,
    Advertised,
    CloseLink,
    Connect,
    Deliver,
    Disconnect,
    Effect,
    Persist,
    Refused,
    Send,
    Subscribed,
    SubscribedMany,
    Unadvertised,
    Unsubscribed,
    UnsubscribedMany,
)
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
    Drained,
    Input,
    LinkDown,
    LinkUp,
    Receive,
    Restored,
    Suspicion,
    Tick,
)
from sapwood.routing.messages import Publish, carried, counted
from sapwood.simulation.clock import Agenda
from sapwood.simulation.history import AdvertisementName, ClientName, History, SubscriptionName
from sapwood.simulation.machine import Machine, MakeRouter, finds_of
from sapwood.simulation.network import (
    NOMINAL,
    REMOVED,
    Arrival,
    Network,
    Notice,
    Occurrence,
    Room,
    Timing,
    is_periodic,
    is_upkeep,
)
from sapwood.simulation.stored import Stored, Wishes
from sapwood.simulation.tally import Tally
from sapwood.simulation.timers import Timers
from sapwood.simulation.trace import Trace


class World:
    """One overlay in virtual time.

    `timing` and `seed` decide how far delays differ from the nominal ones. With `validate` each
    router checks itself after each input. More than `inputs_max` inputs are a `LimitError`.
    `calm_s`: see `quiet`.

    #: topology is the present overlay; a router is in it until it leaves, in `routers` only while
    #: it runs, in `_wishes` for ever
    """

    def __init__(
        self,
        topology: Overlay,
        make_router: MakeRouter,
        *,
        seed: int = 0,
        timing: Timing = NOMINAL,
        validate: bool = True,
        inputs_max: int = SIMULATION_INPUTS_MAX,
        calm_s: float = 0.0,
    ) -> None:
        self.topology = topology
        self.trace = Trace()
        self.tally = Tally()
        self.stored = Stored()
        self.routers: dict[str, Machine] = {}
        self._make_router = make_router
        self._validate = validate
        self._inputs_max = inputs_max
        self._incarnations = dict.fromkeys(topology.routers, 0)
        self._failed: dict[Hop, None] = {}
        #: router -> client -> what that client asked for: clients outlive their routers
        self._wishes: dict[str, dict[str, Wishes]] = {name: {} for name in topology.routers}
        self._agenda: Agenda[Occurrence] = Agenda()
        self._timers = Timers(calm_s)
        draw = Random(f"{seed}/network").random  # noqa: S311 - reproducible on purpose
        self.network = Network(topology, self._agenda, draw, timing)
        for name in topology.routers:
            self._start(name)
        is_mesh = not all(router.is_tree for router in self.routers.values())
        self.history = History(topology, is_mesh)
        self.history.finds = next((f for f in map(finds_of, self.routers.values()) if f), ())
        for link in topology.links:
            self._feed(link.a, LinkUp(link.b))
            self._feed(link.b, LinkUp(link.a))
        self._settle()

    @property
    def now(self) -> float:
        """The current virtual time in seconds."""
        return self._agenda.now

    # Clients -----------------------------------------------------------------------------------

    def subscribe(self, name: SubscriptionName, wanted: Interest) -> None:
        """Let a client subscribe; if its router is down, as soon as that is back."""
        wishes = self._wishes_of(name.owner).subscriptions
        wishes.setdefault(name.id, wanted)
        if name.home in self.routers:
            self.history.subscribe(self.now, name, wanted)
            self._feed(name.home, ClientSubscribe(name.client, name.id, wanted))

    def subscribe_many(self, client: ClientName, wanted: Sequence[tuple[str, Interest]]) -> None:
        """Let a client subscribe under several ids at once, as by `subscribe` one by one."""
        wishes = self._wishes_of(client).subscriptions
        for id_, one in wanted:
            wishes.setdefault(id_, one)
        if client.home in self.routers:
            for id_, one in wanted:
                self.history.subscribe(self.now, SubscriptionName(*client, id_), one)
            self._feed(client.home, ClientSubscribeMany(client.client, tuple(wanted)))

    def unsubscribe_many(self, client: ClientName, ids: Sequence[str]) -> None:
        """Let a client withdraw several subscriptions at once; as `unsubscribe`."""
        wishes = self._wishes_of(client).subscriptions
        for id_ in ids:
            wishes.pop(id_, None)
        if client.home in self.routers:
            for id_ in ids:
                self.history.unsubscribe(self.now, SubscriptionName(*client, id_))
            self._feed(client.home, ClientUnsubscribeMany(client.client, tuple(ids)))

    def unsubscribe(self, name: SubscriptionName) -> None:
        """Let a client withdraw a subscription; if its router is down it is gone already."""
        self._wishes_of(name.owner).subscriptions.pop(name.id, None)
        if name.home in self.routers:
            self.history.unsubscribe(self.now, name)
            self._feed(name.home, ClientUnsubscribe(name.client, name.id))

    def advertise(self, name: AdvertisementName, promised: AdvertisedContent) -> None:
        """Let a client advertise; if its router is down, as soon as that is back."""
        self._wishes_of(name.owner).advertisements.setdefault(name.id, promised)
        if name.home in self.routers:
            self.history.advertise(self.now, name, promised)
            self._feed(name.home, ClientAdvertise(name.client, name.id, promised))

    def unadvertise(self, name: AdvertisementName) -> None:
        """Let a client withdraw an advertisement; if its router is down it is gone already."""
        self._wishes_of(name.owner).advertisements.pop(name.id, None)
        if name.home in self.routers:
            self.history.unadvertise(self.now, name)
            self._feed(name.home, ClientUnadvertise(name.client, name.id))

    def publish(self, publisher: ClientName, publication: Publication) -> bool:
        """Let a client publish; false if its router is down and nobody took the publication."""
        if publication.id in self.history.publications:
            raise DuplicateIdError("publication", publication.id)
        if self._known(publisher.home) not in self.routers:
            self.tally.unsent += 1
            self.trace.remark(self.now, f"{publication.id} unsent, {publisher.home} is down")
            return False
        self._wishes_of(publisher)
        self.history.publish(self.now, publisher, publication)
        self._feed(publisher.home, ClientPublish(publisher.client, publication))
        return True

    def detach(self, client: ClientName) -> None:
        """Let a client leave; what it asked for goes with it."""
        known = self._wishes[self._known(client.home)].pop(client.client, None)
        if known is not None and client.home in self.routers:
            self.history.gone(self.now, client.home, client.client)
            self._feed(client.home, DetachClient(client.client))

    def clients(self) -> list[ClientName]:
        """The clients that came and have not left."""
        return [ClientName(home, name) for home, own in self._wishes.items() for name in own]

    # Faults ------------------------------------------------------------------------------------

    def fail_link(self, a: str, b: str) -> None:
        """Take a link down; nothing happens if it failed already."""
        if self._is_gone(a, b):
            return
        self.topology.link(a, b)
        self._failed[min(a, b), max(a, b)] = None
        self._take_down(a, b, "failed")

    def return_link(self, a: str, b: str) -> None:
        """Bring a failed link up again, as far as both routers run."""
        if self._is_gone(a, b):
            return
        self.topology.link(a, b)
        self._failed.pop((min(a, b), max(a, b)), None)
        self._bring_up(a, b, "failed")

    def suspect(self, router: str, neighbor: str, seconds: float) -> None:
        """Let a router suspect a neighbor, wrongly or not; nothing happens if it does not run."""
        if self.topology.known(router) in self.routers:
            self._feed(router, Suspicion(neighbor, seconds))

    def crash_router(self, router: str) -> None:
        """Stop a router: its state is lost, its links go down, its clients are cut off."""
        if self.topology.known(router) not in self.routers:
            return
        self.trace.remark(self.now, f"{router} crashes")
        self._stop(router, f"{router} is down")

    def return_router(self, router: str) -> None:
        """Start a crashed router afresh; its clients come back and ask again for all they had."""
        if self.topology.known(router) in self.routers:
            return
        self.trace.remark(self.now, f"{router} returns")
        self._incarnations[router] += 1
        self._start(router)
        records = self.stored.of(router)
        if records:
            self._feed(router, Restored(records))
        for neighbor in self.topology.neighbors(router):
            self._bring_up(router, neighbor, f"{router} is down")
        stale = list(self.stored.stale(router, self._wishes[router])) if records else []
        for client, wishes in self._wishes[router].items():
            self._feed(router, AttachClient(client))
            for request in stale:
                if request.client == client:
                    self._feed(router, request)
            for id_, promised in wishes.advertisements.items():
                self.history.advertise(self.now, AdvertisementName(router, client, id_), promised)
                self._feed(router, ClientAdvertise(client, id_, promised))
            for id_, wanted in wishes.subscriptions.items():
                self.history.subscribe(self.now, SubscriptionName(router, client, id_), wanted)
                self._feed(router, ClientSubscribe(client, id_, wanted))
        for request in stale:
            if isinstance(request, DetachClient):
                self._feed(router, request)

    def heal(self) -> None:
        """End all faults: crashed routers return, failed links come up."""
        for router in self.topology.routers:
            self.return_router(router)
        for a, b in tuple(self._failed):
            self.return_link(a, b)

    # Routers and links that come and go --------------------------------------------------------

    def add_router(self, router: str) -> None:
        """Let a router join that the overlay does not have; `add_link` gives it links.

        The name may be that of a router that left: it is another one, and has none of its clients.
        """
        overlay = with_router(self.topology, router)
        self.trace.remark(self.now, f"{router} joins")
        self._incarnations[router] = self._incarnations.get(router, -1) + 1
        self._wishes[router] = {}
        self.network.add_router(router)
        self._rewire(overlay)
        self._start(router)

    def remove_router(self, router: str) -> None:
        """Let a router leave for good: state, links and clients go with it.

        Whoever asks something of it from then on waits in vain, and publications are not sent.
        """
        overlay = without_router(self.topology, router)
        self.trace.remark(self.now, f"{router} leaves")
        for neighbor in self.topology.neighbors(router):
            self._remove_link(router, neighbor)
        if router in self.routers:
            self._stop(router, REMOVED)
        self.stored.forget(router)
        self._wishes[router] = {}
        self._rewire(overlay)

    def add_link(self, a: str, b: str, latency_s: float = LINK_LATENCY_DEFAULT_S) -> None:
        """Join two routers that are not neighbors; if one is down, as soon as that is back.

        Raises `InputError` for a link that would close a circle where routers route on one tree.
        """
        link = Link(a, b, latency_s)
        overlay = with_link(self.topology, link)
        if self.topology.is_tree and not (overlay.is_tree or self.history.is_mesh):
            raise InputError(f"link {link} closes a circle, and the routers route on one tree")
        self.trace.remark(self.now, f"link {link} is added")
        self._rewire(overlay)
        self.history.link_added(a, b)
        self.network.add_link(link)
        for end in (a, b):
            if end not in self.routers:
                self.network.take_down(a, b, f"{end} is down")
        self._bring_up(a, b, REMOVED)

    def remove_link(self, a: str, b: str) -> None:
        """Let two routers be neighbors no more; what is on the link is lost."""
        overlay = without_link(self.topology, a, b)
        self._remove_link(a, b)
        self._rewire(overlay)

    # Time --------------------------------------------------------------------------------------

    @property
    def quiet(self) -> bool:
        """Whether nothing is under way that could still come to something.

        That is: on the links are only messages that are periodic (`network.is_periodic`), no router
        has yet to hear of a link, and ticks have changed nothing for long enough: since the last
        change every router that has a deadline has ticked `SIMULATION_CALM_ROUNDS` times, and
        `calm_s` seconds have passed. Without timers that is at once. Nothing has changed after a
        tick, or a message that is periodic, where its effects are all periodic and each table has
        as many entries as before. All other inputs are changes, publications and what they lead to
        excepted.
        """
        pending = len(self._agenda) - self.network.periodic_pending
        return pending == 0 and self._timers.is_calm(self.now)

    def step(self) -> bool:
        """Let the next thing happen; false if the world is quiet."""
        if self.quiet:
            return False
        self._go_on()
        return True

    def run_until(self, time: float) -> None:
        """Let everything happen that is due by `time`, and time pass until then."""
        while (due := self._next_due()) is not None and due <= time:
            self._go_on()
        self._agenda.advance(time)

    def drain(self) -> None:
        """Let everything happen until the world is quiet.

        Raises `LimitError` after `SIMULATION_RESTLESS_TICKS_MAX` ticks for each router.
        """
        ticks_max = self.tally.ticks + SIMULATION_RESTLESS_TICKS_MAX * len(self.topology.routers)
        while self.step():
            if self.tally.ticks > ticks_max:
                limit = "SIMULATION_RESTLESS_TICKS_MAX"
                what = "the ticks of a router in an overlay that does not become quiet"
                raise LimitError(limit, SIMULATION_RESTLESS_TICKS_MAX, None, what)

    def validate(self) -> None:
        """Let every router check itself; raises `InvariantError`."""
        for router in self.routers.values():
            router.validate()

    # What follows from an input ----------------------------------------------------------------

    def _next_due(self) -> float | None:
        """When the next thing happens."""
        due, tick = self._agenda.next_due, self._timers.next_due
        return due if tick is None or (due is not None and due <= tick) else tick

    def _go_on(self) -> None:
        """Let the next thing happen; there must be one. At equal times, ticks come last."""
        due, tick = self._agenda.next_due, self._timers.next_due
        if tick is not None and (due is None or tick < due):
            self._agenda.advance(tick)
            self._tick(self._timers.pop())
        else:
            occurrence = self._agenda.pop()
            match occurrence:
                case Arrival():
                    self._arrive(occurrence)
                case Notice():
                    self._notice(occurrence)
                case Room(router, neighbor):
                    if self.network.has_room(occurrence):
                        self._feed(router, Drained(neighbor))
                    elif router in self.routers:
                        self._make_room(router)
        self._settle()

    def _settle(self) -> None:
        """Write down when nothing is left that could still change a routing table."""
        if (
            self.history.settling
            and self.network.control_pending == 0
            and self._timers.is_calm(self.now)
        ):
            self.history.settle(self.now)

    def _known(self, home: str) -> str:
        """A router's name, if there is or ever was one; raises `UnknownNameError`."""
        return home if home in self._wishes else self.topology.known(home)

    def _wishes_of(self, client: ClientName) -> Wishes:
        """What a client asked for; one that is new comes to its router, if that runs."""
        own = self._wishes[self._known(client.home)]
        if client.client not in own:
            own[client.client] = Wishes()
            if client.home in self.routers:
                self._feed(client.home, AttachClient(client.client))
        return own[client.client]

    def _arrive(self, arrival: Arrival) -> None:
        if not self.network.arrive(arrival):
            return
        said = carried(arrival.message)
        if isinstance(said, Publish):
            crossed = self.tally.crossings.setdefault(said.publication.id, [])
            crossed.append((arrival.source, arrival.target))
        self._feed(arrival.target, Receive(arrival.source, arrival.message))

    def _notice(self, notice: Notice) -> None:
        if not self.network.heed(notice):
            return
        up = notice.session is not None
        if up and self.network.is_joined(notice.router, notice.neighbor):
            self.history.link_joined(self.now, notice.router, notice.neighbor)
        self._feed(notice.router, (LinkUp if up else LinkDown)(notice.neighbor))

    def _start(self, router: str) -> None:
        """Let a router run, with whatever it has kept; all lives of a router begin here."""
        self.routers[router] = self._make_router(router, self._incarnations[router])
        self._await_deadline(router)

    def _stop(self, router: str, reason: str) -> None:
        """Let a router run no more; all lives of a router end here."""
        del self.routers[router]
        self.stored.stop(router, self._wishes[router])
        self._timers.forget(router)
        self.history.gone(self.now, router)
        for neighbor in self.topology.neighbors(router):
            self._take_down(router, neighbor, reason)
        self.network.forget(router)

    def _rewire(self, overlay: Overlay) -> None:
        self.topology = overlay
        self.history.rewired(self.now, overlay)
        self._timers.changed(self.now)

    def _is_gone(self, a: str, b: str) -> bool:
        """Whether routers have given up a link that there was."""
        known = {frozenset((link.a, link.b)) for link in self.history.links()}
        return {a, b} in known and b not in self.topology.neighbors(a)

    def _remove_link(self, a: str, b: str) -> None:
        self._failed.pop((min(a, b), max(a, b)), None)
        self.trace.remark(self.now, f"link {a}-{b} is removed")
        self._take_down(a, b, REMOVED)
        self.history.link_removed(a, b)

    def _take_down(self, a: str, b: str, reason: str) -> None:
        if self.network.take_down(a, b, reason):
            self._note_down(a, b, reason)

    def _bring_up(self, a: str, b: str, reason: str) -> None:
        if self.network.bring_up(a, b, reason):
            self.trace.remark(self.now, f"link {a}-{b} is up")

    def _note_down(self, a: str, b: str, reason: str) -> None:
        self.trace.remark(self.now, f"link {a}-{b} is down: {reason}")
        self.history.link_down(self.now, a, b)

    # Clocks ------------------------------------------------------------------------------------

    def _shown(self, router: str, time: float) -> float:  # noqa: ARG002 - all clocks are right
        """What the clock of a router shows at a time: the one place where clocks may differ."""
        return time

    def _when(self, router: str, shown: float) -> float:  # noqa: ARG002 - all clocks are right
        """When the clock of a router shows a time, the other way round."""
        return shown

    def _make_room(self, router: str) -> None:
        """Let the links take more of what a router has yet to tell."""
        for neighbor in self.routers[router].behind():
            self.network.make_room(router, neighbor)

    def _await_deadline(self, router: str) -> None:
        """Let a router have its tick when it wants it: what it wanted before is void."""
        deadline = self.routers[router].next_deadline()
        at = None if deadline is None else max(self._when(router, deadline), self.now)
        self._timers.set(router, at)

    def _tick(self, router: str) -> None:
        self.tally.ticks += 1
        self._feed(router, Tick())
        due = self.routers[router].next_deadline()
        if due is not None and self._when(router, due) <= self.now:
            raise InvariantError(f"{router} asks for a tick by {due!r}, when it has just had it")

    # Inputs and effects ------------------------------------------------------------------------

    def _feed(self, name: str, event: Input) -> None:
        """Give one input to one router, and carry out what it wants done."""
        self.tally.inputs += 1
        if self.tally.inputs > self._inputs_max:
            raise LimitError(
                "SIMULATION_INPUTS_MAX", self._inputs_max, None, "the inputs of the simulation"
            )
        said = carried(event.message) if isinstance(event, Receive) else None
        is_publication = isinstance(said, Publish) or isinstance(event, ClientPublish)
        self.tally.content_matches += is_publication
        router = self.routers[name]
        is_routine = isinstance(event, Tick) or is_periodic(said)
        sizes = router.table_sizes() if is_routine else None
        effects = router.handle(event, self._shown(name, self.now))
        self.trace.note(self.now, name, event, effects)
        if self._validate:
            router.validate()
        for effect in effects:
            self._carry_out(name, effect)
        self._await_deadline(name)
        self._make_room(name)
        if is_routine and sizes == router.table_sizes() and all(map(is_upkeep, effects)):
            if isinstance(event, Tick):
                self._timers.ticked(name)
        elif not is_publication:
            self._timers.changed(self.now)

    def _carry_out(self, router: str, effect: Effect) -> None:
        history, now = self.history, self.now
        match effect:
            case Send(neighbor, message):
                kind, count = counted(message)
                self.tally.messages[kind.__name__.lower()] += count
                self.network.send(router, neighbor, message)
            case Deliver(client, subscriptions, publication):
                for id_ in subscriptions:
                    name = SubscriptionName(router, client, id_)
                    history.delivered(now, publication.id, name)
            case Subscribed() | SubscribedMany() | Unsubscribed() | UnsubscribedMany():
                self._answered(router, effect)
            case Advertised(client, id_):
                history.advertised(now, AdvertisementName(router, client, id_))
            case Unadvertised(client, id_):
                history.unadvertised(now, AdvertisementName(router, client, id_))
            case Accepted(_, id_):
                history.accepted(now, id_)
            case Refused(client, subject, _):
                history.refused(now, ClientName(router, client), subject)
            case CloseLink(neighbor, reason):
                self.tally.links_closed += 1
                if self.network.close(router, neighbor):
                    self._note_down(router, neighbor, reason)
            case Persist(record):
                self.stored.keep(router, record)
            case Connect() | Disconnect():
                self._rewire_for(router, effect)
            case _:
                raise InvariantError("here publications come one by one, and so do effects")

    def _answered(
        self, router: str, effect: Subscribed | SubscribedMany | Unsubscribed | UnsubscribedMany
    ) -> None:
        """A client hears of its subscriptions."""
        match effect:
            case Subscribed(client, id_) | Unsubscribed(client, id_):
                ids: tuple[str, ...] = (id_,)
            case SubscribedMany(client, ids) | UnsubscribedMany(client, ids):
                pass
        is_in_force = isinstance(effect, Subscribed | SubscribedMany)
        write = self.history.subscribed if is_in_force else self.history.unsubscribed
        for id_ in ids:
            write(self.now, SubscriptionName(router, client, id_))

    def _rewire_for(self, router: str, effect: Connect | Disconnect) -> None:
        """A router asks for a link that there is not, or gives one up."""
        neighbor = effect.neighbor
        is_linked = neighbor in self.topology.neighbors(router)
        if isinstance(effect, Disconnect) and is_linked:
            self.remove_link(router, neighbor)
        elif isinstance(effect, Connect) and not is_linked and neighbor in self.topology.routers:
            try:
                self.add_link(router, neighbor)
            except InputError as error:  # as brokers leave such a link out
                self.trace.remark(self.now, str(error))
