"""The network between the routers: FIFO links with latency, which can go down and come up.

While a link is up it loses nothing and keeps the order of each direction, unless its channel does
otherwise (`channels`). When it goes down, everything on it is gone. Each end learns of that by
itself, possibly later than the other. Messages carry a stamp (`timekeeping`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from sapwood.errors import InputError, InvariantError
from sapwood.overlay.topology import Hop, Link, Overlay
from sapwood.routing.effects import Effect, Send
from sapwood.routing.inputs import Recalled
from sapwood.routing.messages import Message, Publish, carried
from sapwood.routing.tables import CLIENTS
from sapwood.simulation.channels import Channel, Channels
from sapwood.simulation.clock import Agenda
from sapwood.simulation.timekeeping import Timekeeping
from sapwood.timing.link_bounds import Stamp


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message reaches the end of a link; `session` is the life of the link that it is from.

    It was sent at the true time `sent_s`, with a stamp by the clock of its source. `is_taken`: it
    came some time ago, and its router has done with it only now.
    """

    source: str
    target: str
    message: Message
    session: int
    stamp: Stamp
    sent_s: float
    is_taken: bool = False


@dataclass(frozen=True, slots=True)
class Departure:
    """A router has come to sending a message, which was made when its clock showed `born`."""

    source: str
    target: str
    message: Message
    session: int
    born: int | None


@dataclass(frozen=True, slots=True)
class Notice:
    """A router learns that its link to a neighbor is up (`session`), or down (`None`).

    `life` is the life of the router that it is meant for.
    """

    router: str
    neighbor: str
    session: int | None
    life: int


@dataclass(frozen=True, slots=True)
class Room:
    """A link has room for more of the messages that a router holds back; as `Notice`."""

    router: str
    neighbor: str
    session: int
    life: int


@dataclass(frozen=True, slots=True)
class Written:
    """A router's store has written the records of the first `count` inputs; as `Notice`.

    Or it has read something.
    """

    router: str
    count: int
    life: int
    recalled: Recalled | None = None


Occurrence: TypeAlias = Arrival | Departure | Notice | Room | Written
"""An occurrence on the agenda."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The deviation of times from the nominal ones.

    A message takes between `latency_s` and `latency_s * (1 + jitter)`; an end learns of a change of
    its link within `notice_s` seconds. A store writes what it gathered within `commit_s` seconds,
    and meanwhile gathers for the next writing. A router takes `processing_s` for each message of a
    neighbor, one after the other; later messages wait meanwhile.
    """

    jitter: float = 0.0
    notice_s: float = 0.0
    commit_s: float = 0.0
    processing_s: float = 0.0


NOMINAL: Final = Timing()
"""Every message takes exactly its link's latency, and both ends learn of a change at once."""


_CLEARING_S: Final = 0.001
"""Seconds between two parts of a router's withdrawals for clients that have gone."""

REMOVED: Final = "removed"
"""The reason against a link that the overlay does not have any more, or not yet."""


def is_periodic(said: object) -> bool:
    """True if a message or an effect is upkeep's own traffic, which never ends.

    Its class has an attribute `periodic` that is true: a heartbeat, say, or the renewal
    of a lease. A wait until nothing is under way does not include it.
    """
    return bool(getattr(said, "periodic", False))


def is_upkeep(effect: Effect) -> bool:
    """True if an effect is upkeep's own traffic; see `is_periodic`."""
    return is_periodic(carried(effect.message) if isinstance(effect, Send) else effect)


@dataclass(slots=True)
class _LinkState:
    """The state of a link. It carries messages iff no reason is against it."""

    link: Link
    #: which life of the link this is; a new one begins whenever it goes down
    session: int = 0
    reasons: set[str] = field(default_factory=set)
    #: the last session that an end was notified is up; `None`: it was notified of the link as down
    told: dict[str, int | None] = field(default_factory=dict)
    #: no message from this end arrives before this time
    floor: dict[str, float] = field(default_factory=dict)
    #: nor leaves it before this one
    leaving: dict[str, float] = field(default_factory=dict)
    #: the ends that are to be notified soon that the link has room
    awaiting_room: set[str] = field(default_factory=set)
    #: this end gets no new notice before this time
    notice_floor: dict[str, float] = field(default_factory=dict)


class Network:
    """All links of an overlay: those that it has, and those that it ever had.

    `draw()` gives numbers from 0 up to 1; it is called only where `timing` leaves room for chance.
    Occurrences go onto `agenda`; the caller takes them off and passes them to `arrive` and `heed`.
    """

    def __init__(
        self,
        topology: Overlay,
        agenda: Agenda[Occurrence],
        draw: Callable[[], float],
        timing: Timing,
    ) -> None:
        self.messages_lost = 0
        self.time = Timekeeping(draw)
        self.channels = Channels()
        #: occurrences on the agenda that can still change routing tables
        self.control_pending = 0
        #: messages on the agenda that are periodic
        self.periodic_pending = 0
        self._agenda = agenda
        self._draw = draw
        self._timing = timing
        #: until when routers have something to do, and the longest that a message took that came
        self._busy: dict[str, float] = {}
        self._served_max_s = 0.0
        self._lives = dict.fromkeys(topology.routers, 0)
        self._states: dict[Hop, _LinkState] = {}
        #: the routers that are to withdraw more of what clients have left behind soon
        self._clearing: set[str] = set()
        #: router -> the links that it has or had
        self._around: dict[str, list[_LinkState]] = {router: [] for router in topology.routers}
        for link in topology.links:
            state = self._enter(link)
            for end in (link.a, link.b):
                state.told[end] = state.session

    def add_router(self, router: str) -> None:
        """Let a router be there that was not, or that was forgotten."""
        self._lives.setdefault(router, 0)
        self._around.setdefault(router, [])

    def add_link(self, link: Link) -> None:
        """Let a link be there, down until `REMOVED` is taken away as the reason for that.

        Whatever else was against an earlier link between the two is forgotten.
        """
        state = self._states.get((link.a, link.b)) or self._enter(link)
        state.link = link
        state.reasons = {REMOVED}

    def is_up(self, a: str, b: str) -> bool:
        """True if the link carries messages."""
        return not self._state(a, b).reasons

    def is_joined(self, a: str, b: str) -> bool:
        """True if the link carries messages and both ends know it."""
        state = self._state(a, b)
        return not state.reasons and all(told == state.session for told in state.told.values())

    def session(self, router: str, neighbor: str) -> int | None:
        """The life of a link that a router was last notified is up; `None` for none."""
        return self._state(router, neighbor).told[router]

    def delay_max_s(self, link: Link) -> float:
        """The longest that a message may be under way on a link, and wait to be written down.

        How long messages waited for routers that were busy is known when it is over only.
        """
        waiting_s = 2 * self._timing.commit_s + self.channels.extra_max_s + self._served_max_s
        return link.latency_s * (1 + self._timing.jitter) + waiting_s

    def send(self, source: str, target: str, message: Message, age_ns: int | None = 0) -> None:
        """Send a message whose content is `age_ns` old; of publications the age is known.

        It is lost if the link is down, or has been and the sender has no notice of it yet.
        """
        state = self._state(source, target)
        if state.told[source] is None:
            raise InvariantError(f"{source} sent to {target} though it knew that link to be down")
        if state.reasons or state.told[source] != state.session:
            self.messages_lost += 1
            return
        said, now = carried(message), self._agenda.now
        if isinstance(said, Publish):
            born = self.time.born(source, said.publication.id)
        else:
            born = None if age_ns is None else self.time.read(source, now) - age_ns
        departure = Departure(source, target, message, state.session, born)
        pause_s = self.channels.of(source, target).pause_s
        if pause_s:
            at = max(now + pause_s * self._draw(), state.leaving.get(source, 0.0))
            state.leaving[source] = at
            self._count(message, 1)
            self._agenda.schedule(at, departure)
        else:
            self._put(departure, state)

    def depart(self, departure: Departure) -> None:
        """Let a message leave that waited at its router."""
        self._count(departure.message, -1)
        state = self._state(departure.source, departure.target)
        if departure.session != state.session or state.told[departure.source] != state.session:
            self.messages_lost += 1
        else:
            self._put(departure, state)

    def _put(self, departure: Departure, state: _LinkState) -> None:
        """Stamp a message and let it arrive some time, never, or twice, as its channel decides."""
        source, target, message, session, born = (
            *(departure.source, departure.target, departure.message),
            *(departure.session, departure.born),
        )
        now = self._agenda.now
        channel = self.channels.of(source, target)
        stamp = self.time.stamp(source, target, born, now)
        arrival = Arrival(source, target, message, session, stamp, now)
        if channel.loss and self._draw() < channel.loss:
            self.messages_lost += 1
        else:
            self._fly(arrival, state, channel)
        if channel.duplication and self._draw() < channel.duplication:
            self._fly(arrival, state, channel)

    def _fly(self, arrival: Arrival, state: _LinkState, channel: Channel) -> None:
        latency = state.link.latency_s
        if self._timing.jitter:
            latency *= 1 + self._timing.jitter * self._draw()
        at = self._agenda.now + latency + channel.draw_delay(self._draw)
        if not (channel.reordering and self._draw() < channel.reordering):
            # A later message does not overtake an earlier one.
            at = max(at, state.floor[arrival.source])
            state.floor[arrival.source] = at
        self._count(arrival.message, 1)
        self._agenda.schedule(at, arrival)

    def under_way(self, source: str, target: str) -> list[Message]:
        """The messages from one router to another that will arrive, in their order."""
        session = self._state(source, target).session
        return [
            one.message
            for one in self._agenda.pending()
            if isinstance(one, Arrival)
            and (one.source, one.target, one.session) == (source, target, session)
        ]

    def take(self, arrival: Arrival) -> bool:
        """True if a router is done with an arrival now; if not, it comes again when it is."""
        if arrival.is_taken or not self._timing.processing_s:
            return True
        now, router = self._agenda.now, arrival.target
        done = max(now, self._busy.get(router, 0.0)) + self._timing.processing_s
        self._busy[router] = done
        self._served_max_s = max(self._served_max_s, done - now)
        self._agenda.schedule(done, replace(arrival, is_taken=True))
        return False

    def arrive(self, arrival: Arrival) -> bool:
        """Take a message off its link; false if it was lost on the way."""
        self._count(arrival.message, -1)
        if arrival.session != self._state(arrival.source, arrival.target).session:
            self.messages_lost += 1
            return False
        return True

    def age_ns(self, arrival: Arrival) -> int | None:
        """The upper bound of an arrival's age, by its receiver; called once for each arrival."""
        source, target, now = arrival.source, arrival.target, self._agenda.now
        age_ns = self.time.arrived(source, target, arrival.stamp, arrival.sent_s, now)
        said = carried(arrival.message)
        if isinstance(said, Publish):
            self.time.received(target, said.publication.id, age_ns, now)
        return age_ns

    def heed(self, notice: Notice) -> bool:
        """Let a notice take effect; false if that life of the router is over."""
        self.control_pending -= 1
        if notice.life != self._lives[notice.router]:
            return False
        self._state(notice.router, notice.neighbor).told[notice.router] = notice.session
        return True

    def write(self, router: str, count: int) -> None:
        """Let a router know soon that its store has written something."""
        at = self._agenda.now + self._timing.commit_s * self._draw()
        self.control_pending += 1
        self._agenda.schedule(at, Written(router, count, self._lives[router]))

    def read(self, router: str, recalled: Recalled) -> None:
        """Let a router have soon what its store has read."""
        at = self._agenda.now + self._timing.commit_s * self._draw()
        self.control_pending += 1
        self._agenda.schedule(at, Written(router, 0, self._lives[router], recalled))

    def is_written(self, written: Written) -> bool:
        """Take the end of a writing off; false if that life of the router is over."""
        self.control_pending -= 1
        return written.life == self._lives[written.router]

    @property
    def now(self) -> float:
        """The time."""
        return self._agenda.now

    @property
    def writes_at_once(self) -> bool:
        """True if stores take no time."""
        return self._timing.commit_s == 0

    def make_room(self, router: str, neighbor: str) -> None:
        """Let a router that is behind know soon that the link takes more, if it believes it up.

        That is after half of the link's latency, in which others have their turn; what clients have
        left behind goes after `_CLEARING_S`.
        """
        if neighbor == CLIENTS:
            if router not in self._clearing:
                self._clearing.add(router)
                self.control_pending += 1
                at = self._agenda.now + _CLEARING_S
                self._agenda.schedule(at, Room(router, CLIENTS, 0, self._lives[router]))
            return
        state = self._state(router, neighbor)
        session = state.told[router]
        if session is None or router in state.awaiting_room:
            return
        state.awaiting_room.add(router)
        self.control_pending += 1
        at = self._agenda.now + state.link.latency_s / 2
        self._agenda.schedule(at, Room(router, neighbor, session, self._lives[router]))

    def has_room(self, room: Room) -> bool:
        """Let a link take more; false if its end does not believe it up any more."""
        self.control_pending -= 1
        if room.neighbor == CLIENTS:
            self._clearing.discard(room.router)
            return room.life == self._lives[room.router]
        state = self._state(room.router, room.neighbor)
        state.awaiting_room.discard(room.router)
        is_alive = room.life == self._lives[room.router]
        return is_alive and state.told[room.router] == room.session

    def take_down(self, a: str, b: str, reason: str) -> bool:
        """Let a link be down for a reason (more than one can hold); whether it was up before."""
        state = self._state(a, b)
        was_up = not state.reasons
        state.reasons.add(reason)
        if was_up:
            state.session += 1
            self._tell_both(state, None)
        return was_up

    def bring_up(self, a: str, b: str, reason: str) -> bool:
        """Take a reason away; true if the link came up, no other reason being left."""
        state = self._state(a, b)
        if reason not in state.reasons:
            return False
        state.reasons.remove(reason)
        if state.reasons:
            return False
        self._tell_both(state, state.session)
        for source, target in ((state.link.a, state.link.b), (state.link.b, state.link.a)):
            # The end learns of the link before it gets messages over it.
            state.floor[source] = max(self._agenda.now, state.notice_floor[target])
        return True

    def forget(self, router: str) -> None:
        """Let a router lose its state: notices that it got, or was to get, are void."""
        self._lives[router] += 1
        self._busy.pop(router, None)
        self.time.forget(router)
        for state in self._around[router]:
            state.told[router] = None
            state.notice_floor[router] = self._agenda.now

    def close(self, router: str, neighbor: str) -> bool:
        """Take a link down for good because `router` refuses it; true if it was up before.

        Only the neighbor is notified: the router has forgotten the link already.
        """
        state = self._state(router, neighbor)
        was_up = not state.reasons
        state.reasons.add("closed")
        state.told[router] = None
        if was_up:
            state.session += 1
            self._tell(state, neighbor, router, None)
        return was_up

    def _state(self, a: str, b: str) -> _LinkState:
        state = self._states.get((a, b))
        if state is None:
            raise InputError(f"there is no link between {a!r} and {b!r}, nor was there any")
        return state

    def _enter(self, link: Link) -> _LinkState:
        """Begin with a link that there never was; its ends know nothing of it."""
        state = _LinkState(link)
        for end in (link.a, link.b):
            state.told[end] = None
            state.floor[end] = state.notice_floor[end] = 0.0
            self._around[end].append(state)
        self._states[link.a, link.b] = self._states[link.b, link.a] = state
        return state

    def _count(self, message: Message, step: int) -> None:
        """Count a message that is put on a link (1) or taken off (-1)."""
        said = carried(message)
        if is_periodic(said):
            self.periodic_pending += step
        elif not isinstance(said, Publish):
            self.control_pending += step

    def _tell_both(self, state: _LinkState, session: int | None) -> None:
        self._tell(state, state.link.a, state.link.b, session)
        self._tell(state, state.link.b, state.link.a, session)

    def _tell(self, state: _LinkState, router: str, neighbor: str, session: int | None) -> None:
        at = self._agenda.now
        if self._timing.notice_s:
            at += self._timing.notice_s * self._draw()
        at = max(at, state.notice_floor[router])
        state.notice_floor[router] = at
        self.control_pending += 1
        self._agenda.schedule(at, Notice(router, neighbor, session, self._lives[router]))
