"""A world: routers, the network between them, their clients, and their faults.

The world takes actions (a client subscribes, a link fails) at the current virtual time, and lets
time pass. It drives real routers through their one door and writes down what clients see. A router
gives the time of its next `Tick` by `next_deadline`; the last value counts. Messages that are due
at that time already come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Final

from sapwood.errors import InputError, InvariantError, LimitError
from sapwood.limits import SIMULATION_INPUTS_MAX, SIMULATION_RESTLESS_TICKS_MAX
from sapwood.overlay.rewiring import with_link, with_router, without_link, without_router
from sapwood.overlay.topology import LINK_LATENCY_DEFAULT_S, Hop, Link, Overlay, undirected
from sapwood.overlay.wiring import Wiring
from sapwood.routing.effects import (
    AcceptedMany,
    CloseLink,
    Connect,
    DeliverMany,
    Disconnect,
    Effect,
    Measure,
    Persist,
    Recall,
    Release,
    Remaining,
    Send,
    SendMany,
)
from sapwood.routing.inputs import (
    AttachClient,
    ClientPublish,
    Drained,
    Input,
    LinkDown,
    LinkUp,
    Receive,
    Suspicion,
    Tick,
)
from sapwood.routing.messages import Publish, carried, counted
from sapwood.simulation.answers import Answers
from sapwood.simulation.asking_again import AskingAgain
from sapwood.simulation.channels import CALM, SetChannel
from sapwood.simulation.clock import Agenda
from sapwood.simulation.clocks import SetClock
from sapwood.simulation.history import History
from sapwood.simulation.machine import (
    Machine,
    MakeRouter,
    absent_from,
    counted_by,
    finds_of,
    keep,
    owe,
    rewire,
    stated_at,
)
from sapwood.simulation.network import (
    NOMINAL,
    REMOVED,
    Arrival,
    Delay,
    Departure,
    Echo,
    Network,
    Notice,
    Occurrence,
    Room,
    Timing,
    Written,
    default_delay,
    is_periodic,
    is_upkeep,
)
from sapwood.simulation.requests import Requests
from sapwood.simulation.standing_by import StandingBy
from sapwood.simulation.stored import Stored, Tail, Unit, Wishes
from sapwood.simulation.tally import Tally
from sapwood.simulation.tampering import Tampering
from sapwood.simulation.timers import Timers
from sapwood.simulation.trace import Trace
from sapwood.simulation.writing import Doom, Writing

LOOK_EVERY: Final = 4
"""Inputs of a router between two looks at all its relations, which take longer than these: a
relation that is broken after one input is broken after the next ones, too, but for few mistakes."""


class World(Requests):
    """An overlay in virtual time.

    `timing` and `seed` decide how far delays differ from the nominal ones. With `validate` each
    router checks itself after that number of inputs (`True`: each; `False`: never), not counting
    publications, which change no table; besides, all look when the world is drained. More than
    `inputs_max` inputs are a `LimitError`. `calm_s`: see `quiet`. `lossy`: routers are notified
    that any link may lose and reorder messages. `delay` is the latency between routers without a
    link. Unless `traced`, there is no story in words.

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
        validate: int = LOOK_EVERY,
        inputs_max: int = SIMULATION_INPUTS_MAX,
        calm_s: float = 0.0,
        lossy: bool = False,
        traced: bool = True,
        delay: Delay = default_delay,
    ) -> None:
        self.topology = topology
        self.trace = Trace(kept=traced)
        self.tally = Tally()
        self.stored = Stored()
        self.tampering = Tampering(seed)
        self.standing_by = StandingBy()
        #: is called with each input of a router and its effects, before they are carried out
        self.watch: Callable[[str, Input, Sequence[Effect]], None] | None = None
        self.routers: dict[str, Machine] = {}
        self._make_router = make_router
        self._validate = validate
        #: router -> inputs since it checked itself, publications not counted
        self._unchecked: dict[str, int] = {}
        self._is_lossy = lossy
        #: whether tables heal: then a message lost on one link may be missed elsewhere
        self._heals, self._inputs_max = calm_s > 0, inputs_max
        self._incarnations = dict.fromkeys(topology.routers, 0)
        self._failed: dict[Hop, None] = {}
        #: routers that have had an older state, and whether they are to return with it
        self._relapsed: dict[str, bool] = {}
        #: router -> client -> its statements: clients outlive their routers
        self._wishes: dict[str, dict[str, Wishes]] = {name: {} for name in topology.routers}
        self._agenda: Agenda[Occurrence] = Agenda()
        self._timers = Timers(calm_s)
        draw = Random(f"{seed}/network").random  # noqa: S311 - reproducible on purpose
        self.network = Network(topology, self._agenda, draw, timing, delay)
        self.time = self.network.time
        shell = self._carry_out, self._kept, self.crash_router, self._feed
        self._writing = Writing(self.stored, self.network, *shell)
        for name in topology.routers:
            self._start(name)
        is_mesh = not all(router.is_tree for router in self.routers.values())
        finds = next((f for f in map(finds_of, self.routers.values()) if f), ())
        if is_mesh and not finds:  # routers link themselves, thousands of times
            self.topology = Wiring(topology)
        self.history = History(self.topology, is_mesh, keep(self.routers.values()))
        self.history.finds = finds
        self._asking_again = AskingAgain(self.history, self.stored, self._wishes, self._feed)
        self._answers = Answers(self.history, self._asking_again, self.time)
        for link in topology.links:
            self._feed(link.a, LinkUp(link.b, is_lossy=lossy))
            self._feed(link.b, LinkUp(link.a, is_lossy=lossy))
        self._settle()

    @property
    def now(self) -> float:
        """The current virtual time in seconds."""
        return self._agenda.now

    # Faults ------------------------------------------------------------------------------------

    def fail_link(self, a: str, b: str) -> None:
        """Take a link down; nothing happens if it failed already."""
        if self._is_gone(a, b):
            return
        self.topology.link(a, b)
        self._failed[undirected(a, b)] = None
        self._take_down(a, b, "failed")

    def return_link(self, a: str, b: str) -> None:
        """Bring a failed link up again, as far as both routers run."""
        if self._is_gone(a, b):
            return
        self.topology.link(a, b)
        self._failed.pop(undirected(a, b), None)
        self._bring_up(a, b, "failed")

    def suspect(self, router: str, neighbor: str, seconds: float) -> None:
        """Let a router suspect a neighbor, wrongly or not; nothing happens if it does not run."""
        if self.topology.known(router) in self.routers:
            self._feed(router, Suspicion(neighbor, seconds))

    def crash_router(self, router: str, tail: Tail = Tail.LOST, steps: int | None = None) -> None:
        """Stop a router: its state is lost, its links go down, its clients are cut off.

        With `steps` it crashes after that number of steps (`Doom`), if it comes so far before it is
        to return. `tail` is the part of unwritten inputs that is left.
        """
        if self.topology.known(router) not in self.routers:
            return
        if steps is not None:
            self._writing.doom(router, Doom(steps, tail))
            return
        self.trace.remark(self.now, f"{router} crashes, {tail.value} tail")
        self.tally.crashes += 1
        self._writing.leave_tail(router, tail)
        self._asking_again.crashed(router)
        if tail is Tail.OLD and self.stored.go_back(router):
            self._relapsed[router] = True
            self.history.relapse(self.now, router)
        self._stop(router, f"{router} is down")

    def return_router(self, router: str) -> None:
        """Start a crashed router afresh, with its persisted state.

        Its clients come back and repeat all their requests.
        """
        self._writing.spare(self.topology.known(router))
        if router in self.routers:
            return
        self.trace.remark(self.now, f"{router} returns")
        self._incarnations[router] += 1
        self._start(router)
        restored = self.stored.restored(router, self.routers[router])
        if restored is not None:
            self._feed(router, restored)
            for other in self.history.former_neighbors(router):
                self._feed(router, LinkDown(other, for_good=True))
        self._asking_again.let_go(router, absent_from(self.routers[router]))
        for neighbor in self.topology.neighbors(router):
            self._bring_up(router, neighbor, f"{router} is down")
        for client in self._wishes[router]:
            self._feed(router, AttachClient(client))
        is_older = self._relapsed.get(router, False)
        if router in self._relapsed:  # its statements are not those that clients made last
            self._relapsed[router] = False
            self._asking_again.correct(router, stated_at(self.routers[router]))
        if self.history.is_kept and not is_older:
            self._asking_again.ask(router, self.now)
        self._asking_again.restate(router, self.now)
        if self.history.is_kept:
            self._asking_again.publish(router, self.now)

    def heal(self) -> None:
        """End all faults: crashed routers return, failed links come up, messages arrive."""
        self.tampering.end()
        for router in self.topology.routers:
            self.return_router(router)
        for a, b in tuple(self._failed):
            self.return_link(a, b)
        self.set_channel(SetChannel(CALM))

    def set_channel(self, change: SetChannel) -> None:
        """Let a link, or every link, lose, repeat, reorder or delay messages from now on."""
        if change.between is not None:
            self.topology.link(*change.between)
        channels = self.network.channels
        before = {link: channels.of(link.a, link.b).is_datagram for link in self.topology.links}
        channels.set(change)
        for link, was_datagram in before.items():
            is_datagram = channels.of(link.a, link.b).is_datagram
            if is_datagram and not was_datagram:
                self.history.link_down(self.now, link.a, link.b)  # as far as promises go
                if self._heals:
                    self.history.disturb(self.now)
            elif was_datagram and not is_datagram and self.network.is_joined(link.a, link.b):
                self.history.link_joined(self.now, link.a, link.b)

    def set_clock(self, change: SetClock) -> None:
        """Let the clock of a router, or of each, go differently from now on."""
        chosen = self.topology.routers if change.router is None else (change.router,)
        for router in chosen:
            self.time.change(self.topology.known(router), change, self.now)
            if router in self.routers:
                self._await_deadline(router)

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

        Requests to it from then on get no answer, and publications are not sent.
        """
        overlay = without_router(self.topology, router)
        self.trace.remark(self.now, f"{router} leaves")
        for neighbor in self.topology.neighbors(router):
            self._remove_link(router, neighbor)
        if router in self.routers:
            self._stop(router, REMOVED)
        self.stored.forget(router)
        self._writing.spare(router)
        self._wishes[router] = {}
        self._rewire(overlay)

    def add_link(self, a: str, b: str, latency_s: float = LINK_LATENCY_DEFAULT_S) -> None:
        """Join two routers that are not neighbors; if one is down, as soon as that is back.

        Raises `InputError` for a link that would close a circle where routers route on one tree.
        """
        link = Link(a, b, latency_s)
        overlay = with_link(self.topology, link)
        if not self.history.is_mesh and self.topology.is_tree and not overlay.is_tree:
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
        """Let two routers be neighbors no more; messages on the link are lost."""
        overlay = without_link(self.topology, a, b)
        self._remove_link(a, b)
        self._rewire(overlay)

    # Time --------------------------------------------------------------------------------------

    @property
    def quiet(self) -> bool:
        """True if nothing is under way that could still change anything.

        That is: on the links are only messages that are periodic (`network.is_periodic`), no notice
        of a link is under way, and ticks have changed nothing for long enough: since the last
        change every router that has a deadline has ticked `SIMULATION_CALM_ROUNDS` times, and
        `calm_s` seconds have passed. Without timers that is at once. Nothing has changed after a
        tick, or a message that is periodic, where its effects are all periodic and each table has
        as many entries as before. All other inputs are changes, except publications and their
        consequences.
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
        for router in self._unchecked.keys() & self.routers.keys():
            self.routers[router].validate()
        self._unchecked.clear()

    def disturbed(self) -> None:
        """Note a change of which no router was notified: the world is not quiet."""
        self._timers.changed(self.now)

    def validate(self) -> None:
        """Let every router check itself; raises `InvariantError`."""
        for router in self.routers.values():
            router.validate()

    def counted(self) -> Counter[str]:
        """The sums of the counters of all routers that ever ran: see `Router.counters`."""
        total = Counter(self.tally.counted)
        for router in self.routers.values():
            total.update(counted_by(router))
        return total

    # What follows from an input ----------------------------------------------------------------

    def _next_due(self) -> float | None:
        """The time of the next occurrence or tick."""
        due, tick = self._agenda.next_due, self._timers.next_due
        return due if tick is None or (due is not None and due <= tick) else tick

    def _go_on(self) -> None:
        """Let the next thing happen; there must be one. At equal times, ticks come last."""
        due, tick = self._agenda.next_due, self._timers.next_due
        if tick is not None and (due is None or tick < due):
            self._agenda.advance(tick)
            self._tick(self._timers.pop())
        else:
            match occurrence := self._agenda.pop():
                case Arrival() if self.network.take(occurrence):
                    self._arrive(occurrence)
                case Departure():
                    self.network.depart(occurrence)
                case Notice():
                    self._notice(occurrence)
                case Written():
                    self._writing.written(occurrence)
                case Echo(router, measured) if self.network.is_meant(occurrence):
                    self._feed(router, measured)
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
            and self._writing.is_idle
            and self._timers.is_calm(self.now)
            and not (self.history.is_kept and owe(self.routers, self.topology))
        ):
            calm = self.tampering.is_over(self.now) and not self.network.channels.has_datagrams
            self.history.settle(self.now, calm=calm)

    def _arrive(self, arrival: Arrival) -> None:
        if not self.network.arrive(arrival):
            return
        if (message := self.tampering.passed(arrival, self.now)) is None:
            return
        said = carried(message)
        if isinstance(said, Publish):
            crossed = self.tally.crossings.setdefault(said.publication.id, [])
            crossed.append((arrival.source, arrival.target))
        age_ns = self.network.age_ns(arrival)
        self._feed(arrival.target, Receive(arrival.source, message, age_ns=age_ns))

    def _notice(self, notice: Notice) -> None:
        if not self.network.heed(notice):
            return
        up, neighbor, router = notice.session is not None, notice.neighbor, notice.router
        if up and self.network.is_joined(router, neighbor):
            self.history.link_joined(self.now, router, neighbor)
        is_gone = not up and neighbor in self.history.former_neighbors(router)
        news = LinkUp(neighbor, is_lossy=self._is_lossy) if up else LinkDown(neighbor, is_gone)
        self._feed(router, news)

    def _start(self, router: str) -> None:
        """Let a router run, with whatever it has kept; all lives of a router begin here."""
        self.routers[router] = self._make_router(router, self._incarnations[router])
        self._await_deadline(router)

    def _stop(self, router: str, reason: str) -> None:
        """Let a router run no more; all lives of a router end here."""
        self.tally.counted.update(counted_by(self.routers.pop(router)))
        self._writing.forget(router)
        self._timers.forget(router)
        if reason == REMOVED or not self.history.is_kept:
            self.history.gone(self.now, router)
            self.history.abandoned(router)
        for neighbor in self.topology.neighbors(router):
            self._take_down(router, neighbor, reason)
        self.network.forget(router)

    def _rewire(self, overlay: Overlay) -> None:
        self.topology = overlay
        self.history.rewired(self.now, overlay)
        self._timers.changed(self.now)

    def _is_gone(self, a: str, b: str) -> bool:
        """True if routers have given up a link that there was, or do without an added one."""
        is_known = self.tally.links_rewired > 0 or b in self.history.ever_linked(a)
        return is_known and b not in self.topology.neighbors(a)

    def _remove_link(self, a: str, b: str) -> None:
        self._failed.pop(undirected(a, b), None)
        self.trace.remark(self.now, f"link {a}-{b} is removed")
        self._take_down(a, b, REMOVED)
        self.history.link_removed(a, b)
        for router, neighbor in ((a, b), (b, a)):
            if self.history.is_kept and self.network.session(router, neighbor) is None:
                self._feed(router, LinkDown(neighbor, for_good=True))  # that is news only now

    def _take_down(self, a: str, b: str, reason: str) -> None:
        if self.network.take_down(a, b, reason):
            self._note_down(a, b, reason)

    def _bring_up(self, a: str, b: str, reason: str) -> None:
        if self.network.bring_up(a, b, reason):
            self.trace.remark(self.now, f"link {a}-{b} is up")

    def _note_down(self, a: str, b: str, reason: str) -> None:
        self.trace.remark(self.now, f"link {a}-{b} is down: {reason}")
        self.history.link_down(self.now, a, b)

    def _make_room(self, router: str) -> None:
        """Let the links take more of the messages that a router holds back."""
        for neighbor in self.routers[router].behind():
            self.network.make_room(router, neighbor)

    def _await_deadline(self, router: str) -> None:
        """Schedule a router's tick at its next deadline, in place of an earlier one."""
        deadline = self.routers[router].next_deadline()
        at = None if deadline is None else self.time.when(router, deadline)
        self._timers.set(router, None if at is None else max(at, self.now))

    def _tick(self, router: str) -> None:
        if (late := self.tampering.noticed(router, self.now)) > self.now:
            self._timers.set(router, late)
            return
        self.tally.ticks += 1
        self._feed(router, Tick())
        due = self.routers[router].next_deadline()
        at = None if due is None else self.time.when(router, due)
        if at is not None and at <= self.now:
            raise InvariantError(f"{router} asks for a tick by {due!r}, when it has just had it")

    # Inputs and effects ------------------------------------------------------------------------

    def _feed(self, name: str, event: Input) -> None:
        """Give one input to one router, and carry out its effects."""
        if name not in self.routers:
            return  # it crashed over its last input
        self.tally.inputs += 1
        if self.tally.inputs > self._inputs_max:
            what = "the inputs of the simulation"
            raise LimitError("SIMULATION_INPUTS_MAX", self._inputs_max, None, what)
        said = carried(event.message) if isinstance(event, Receive) else None
        is_publication = isinstance(said, Publish) or isinstance(event, ClientPublish)
        router = self.routers[name]
        is_routine = isinstance(event, Tick) or is_periodic(said)
        sizes = router.table_sizes() if is_routine else None
        effects = router.handle(event, self.time.shown(name, self.now))
        self.trace.note(self.now, name, event, effects)
        if self.watch is not None:
            self.watch(name, event, effects)
        if self._validate:
            self._look(name, 0 if is_publication else 1)
        self._writing.perform(name, effects)
        if name not in self.routers:
            return
        self._await_deadline(name)
        self._make_room(name)
        if is_routine and sizes == router.table_sizes() and all(map(is_upkeep, effects)):
            if isinstance(event, Tick):
                self._timers.ticked(name)
        elif not is_publication:
            self._timers.changed(self.now)

    def _look(self, name: str, inputs: int) -> None:
        """Let a router check itself if it is time, after `inputs` more inputs."""
        unchecked = self._unchecked[name] = self._unchecked.get(name, 0) + inputs
        if unchecked >= self._validate:
            del self._unchecked[name]
            self.routers[name].validate()

    def _carry_out(self, router: str, effect: Effect, since: float) -> None:
        """Carry out an effect that a router returned at the time `since`."""
        match effect:
            case Send(neighbor, message):
                kind, count = counted(message)
                self.tally.messages[kind.__name__.lower()] += count
                self.network.send(router, neighbor, message, effect.age_ns)
            case CloseLink(neighbor, reason):
                self.tally.links_closed += 1
                if self.network.close(router, neighbor):
                    self._note_down(router, neighbor, reason)
            case SendMany():
                for message in effect.publications.messages():
                    self._carry_out(router, Send(effect.neighbor, message), since)
            case Release():
                self.stored.release(router, effect)
            case Connect() | Disconnect() | Measure():
                rewire(self, router, effect, partial(self.trace.remark, self.now))
            case Persist() | Recall():
                raise InvariantError("what is to be kept is kept before anything is carried out")
            case DeliverMany() | AcceptedMany() | Remaining():
                raise InvariantError("here publications come one by one, and so do effects")
            case _:
                self._answers.give(router, effect, self.now, since)

    def _kept(self, router: str, unit: Unit) -> None:
        """Give clients the deliveries of a written unit, from the mailboxes that they empty."""
        for delivery in self._asking_again.deliveries(router, unit):
            self._answers.give(router, delivery, self.now, self.now)
