"""Detours round links that are long down: the messages owed on a link travel by other routers.

Under `recover` a link that is down only delays: its two ends continue their conversation when it is
back. Where links form circles no router has to wait for that. The conversation does not depend on
its carrier, as long as that brings messages in order and without a gap: so when a link has been
down for `DETOUR_S`, its ends continue over a *detour*, packets that other routers pass on, and over
the link again when that is up. Trees, tables and numbers stay as they are. Nothing is lost, comes
twice or in another order, for each end sends what it has taken whenever one carrier takes the place
of another (`recover.notes.Back`); that is the argument for this instead of another tree, for which
the messages that each router owes on the old one would have to be known.

* Routers announce which of their links are up, and in which session (`notes.Links`); every router
  passes that on, so all know all ways. The end whose name comes first opens the detour, on a way
  with as few links as can be, when the other end has noticed as well that the link is down.
* A detour promises order without a gap: packets are numbered, and one that is not the next ends the
  detour, as does a link of its way that was down, in whatever session it is up again. The end that
  opened it opens another one, if there is a way; of two detours only the later counts.
* A router that passes a packet on keeps nothing: a packet lost there is owed, and sent again on the
  next detour. So packets need no numbers of links, no acknowledgement and no store.
* Nothing is polled: detours are opened, and opened again, when links come and go. Only the patience
  with a link that is down is a time.

There is no detour round a router that is down: the messages that are to pass it wait for its store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from sapwood.errors import InvariantError
from sapwood.limits.recover import DETOUR_S
from sapwood.routing.effects import CloseLink, Effect, Send, SendMany
from sapwood.routing.inputs import (
    Change,
    ClientPublishMany,
    LinkDown,
    LinkUp,
    Recalled,
    Receive,
    ReceiveMany,
    Restored,
)
from sapwood.routing.messages import Message, RouterMessage, Stamped, UpkeepMessage, UpkeepNote
from sapwood.routing.upkeep.detour.known_links import KnownLinks
from sapwood.routing.upkeep.detour.notes import (
    NOTHING,
    Links,
    Numbered,
    Packet,
    links_in,
    note_of,
    packet_in,
    stamped,
)
from sapwood.routing.upkeep.protocol import Action, Kept, Upkeep


class Conversing(Upkeep, Protocol):
    """An upkeep that continues its conversation with a neighbor, whatever carries the messages."""

    def neighbors(self) -> Iterable[str]:
        """The neighbors that routing takes for linked."""
        ...


@dataclass(slots=True)
class _Way:
    """One end of a detour.

    #: sent and taken count the packets; is_open: the other end has answered
    """

    id: Numbered
    route: tuple[str, ...]
    sessions: tuple[tuple[Numbered, Numbered], ...] | None
    sent: int = 0
    taken: int = 0
    is_open: bool = False


class Detour:
    """The links that one router knows, and its detours.

    #: _up has the links that are up, and their sessions; _down those that routing takes for up
    #: and that are not, with the times since when; a link is in one of them at most
    #: _ways are for links that are down; those that are open are links, to the inner upkeep
    """

    def __init__(self, router: Kept, inner: Conversing) -> None:
        self._router = router
        self._inner = inner
        self._life = router.incarnation
        #: numbers sessions, detours and announcements of links, all in one
        self._count = 0
        self._known = KnownLinks()
        self._up: dict[str, int] = {}
        self._down: dict[str, float] = {}
        self._ways: dict[str, _Way] = {}
        #: the last detour of each neighbor that this end has seen
        self._last: dict[str, Numbered] = {}

    @property
    def is_passive(self) -> bool:
        """False: it has messages of its own."""
        return False

    @property
    def takes_batches(self) -> bool:
        """The value of the inner upkeep."""
        return self._inner.takes_batches

    @property
    def inner(self) -> Conversing:
        """The upkeep that holds the conversations with neighbors."""
        return self._inner

    # Links -------------------------------------------------------------------------------------

    def link_up(self, link: LinkUp, now: float) -> Sequence[Action]:
        """End a detour: the link itself carries messages again."""
        neighbor = link.neighbor
        actions = self._end(neighbor, now)
        self._up[neighbor] = self._next()
        self._down.pop(neighbor, None)
        actions += self._through(self._inner.link_up(link, now), now)
        actions += [Send(neighbor, note_of(said)) for said in self._known]
        return [*actions, *self._tell(now)]

    def link_down(self, link: LinkDown, now: float) -> Sequence[Action]:
        """Begin the patience with a link, unless it is given up."""
        neighbor = link.neighbor
        actions: list[Action] = []
        if link.for_good:
            actions += self._end(neighbor, now)
        is_open = neighbor in self._ways and self._ways[neighbor].is_open
        if not is_open:
            actions += self._through(self._inner.link_down(link, now), now)
        return [*actions, *self._lost(neighbor, now)]

    def closed(self, link: LinkDown, now: float) -> Sequence[Action]:
        """Forget a link that routing has closed and forgotten."""
        self._ways.pop(link.neighbor, None)
        actions = self._through(self._inner.closed(link, now), now)
        return [*actions, *self._lost(link.neighbor, now)]

    def _lost(self, neighbor: str, now: float) -> list[Action]:
        """Note that a link is down, if it was up."""
        if neighbor not in self._inner.neighbors():
            self._down.pop(neighbor, None)
        elif neighbor not in self._down:
            self._down[neighbor] = now
        return self._tell(now) if self._up.pop(neighbor, None) is not None else []

    # Inputs ------------------------------------------------------------------------------------

    def asked(self, request: Change | ClientPublishMany, now: float) -> Sequence[Action]:
        """Pass a request to the inner upkeep."""
        return self._through(self._inner.asked(request, now), now)

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Sequence[Action]:
        """Take in announcements of links, pass packets on, and take those for this router."""
        message = received.message if isinstance(received, Receive) else None
        if isinstance(message, UpkeepMessage):
            packet, links = packet_in(message), links_in(message)
            if links is not None:
                return self._heard(received.neighbor, links, now)
            if packet is not None:
                assert isinstance(message, Stamped), "a packet is stamped"
                return self._packet(received.neighbor, packet, message.message, now)
        return self._through(self._inner.arrived(received, now), now)

    def sent(self, send: Send | SendMany, now: float) -> Sequence[Effect]:
        """Send a message to a neighbor, by the way there is."""
        return [one for effect in self._inner.sent(send, now) for one in self._on_way(effect)]

    def recalled(self, recalled: Recalled, now: float) -> Sequence[Action]:
        """Pass recalled publications to the inner upkeep."""
        return self._through(self._inner.recalled(recalled, now), now)

    def restored(self, restored: Restored, now: float) -> Iterator[Action]:
        """Restore the inner upkeep; links are down at first, and the patience with them begins."""
        yield from self._inner.restored(restored, now)
        self._down = dict.fromkeys(self._inner.neighbors(), now)

    # Known links -------------------------------------------------------------------------------

    def _tell(self, now: float) -> list[Action]:
        """Announce to all routers which links are up here."""
        version = Numbered(self._life, self._next())
        said = Links(self._router.name, version, dict(self._up))
        self._known.take(said)
        return [*(Send(neighbor, note_of(said)) for neighbor in self._up), *self._look(now)]

    def _heard(self, neighbor: str, links: Links, now: float) -> list[Action]:
        """Take in a router's announcement of its links, and pass it on if it is new."""
        if neighbor not in self._up or links.router == self._router.name:
            return []
        if not self._known.take(links):
            return []
        others = [other for other in self._up if other != neighbor]
        return [*(Send(other, note_of(links)) for other in others), *self._look(now)]

    # Detours -----------------------------------------------------------------------------------

    def tick(self, now: float) -> Sequence[Action]:
        """Open the detours of links whose patience has ended."""
        return [*self._through(self._inner.tick(now), now), *self._look(now)]

    def next_deadline(self) -> float | None:
        """The end of the next patience, or the deadline of the inner upkeep."""
        ours = [since + DETOUR_S for n, since in self._down.items() if self._is_waiting(n)]
        theirs = self._inner.next_deadline()
        return min([*ours, *(() if theirs is None else (theirs,))], default=None)

    def _is_waiting(self, neighbor: str) -> bool:
        """True if the patience with a link goes on: its start is minus infinity once it is over."""
        return self._opens(neighbor) and self._down[neighbor] > float("-inf")

    def _opens(self, neighbor: str) -> bool:
        """True if detours to a neighbor are opened at this end."""
        return self._router.name < neighbor

    def _look(self, now: float) -> list[Action]:
        """Open the detours that can be opened, and reopen those of which a link was down."""
        actions: list[Action] = []
        for neighbor in [one for one in self._down if self._opens(one)]:
            if self._down[neighbor] + DETOUR_S > now:
                continue
            self._down[neighbor] = float("-inf")
            way = self._ways.get(neighbor)
            if way is not None and way.sessions == self._known.sessions(way.route):
                continue
            actions += self._end(neighbor, now)
            actions += self._open(neighbor)
        return actions

    def _open(self, neighbor: str) -> list[Action]:
        """Open a detour, if there is a way, and the neighbor has noticed that the link is down."""
        own = self._router.name
        route = self._known.route(own, neighbor)
        if route is None or self._known.claims(neighbor, own):
            return []
        way = _Way(Numbered(self._life, self._next()), route, self._known.sessions(route))
        self._ways[neighbor] = way
        return [*self._send(way, NOTHING)]

    def _end(self, neighbor: str, now: float) -> list[Action]:
        """End a detour, if there is one."""
        way = self._ways.pop(neighbor, None)
        if way is None or not way.is_open:
            return []
        return self._through(self._inner.link_down(LinkDown(neighbor), now), now)

    def _packet(
        self, sender: str, packet: Packet, message: RouterMessage | UpkeepNote, now: float
    ) -> list[Action]:
        """Pass a packet on, or take it at its last router."""
        route, at = packet.route, packet.at
        is_here = 0 < at < len(route) and route[at] == self._router.name
        if not is_here or route[at - 1] != sender or sender not in self._up:
            return []
        if at + 1 < len(route):
            if route[at + 1] not in self._up:
                return []
            return [Send(route[at + 1], stamped(_further(packet), message))]
        return self._take(route[0], packet, message, now)

    def _take(self, neighbor: str, packet: Packet, message: Message, now: float) -> list[Action]:
        """Take a packet from the other end of a link that is down."""
        if neighbor not in self._down:
            return []
        actions: list[Action] = []
        if not self._opens(neighbor) and packet.number == 0:
            actions += self._answer(neighbor, packet, now)
        way = self._ways.get(neighbor)
        if way is None or way.id != packet.id:
            return actions
        if packet.number != way.taken:  # one was lost
            return [*actions, *self._broken(neighbor, now)]
        way.taken += 1
        if not way.is_open:
            way.is_open = True
            actions += self._through(self._inner.link_up(LinkUp(neighbor), now), now)
        if message == NOTHING:
            return actions
        received = Receive(neighbor, message)
        return [*actions, *self._through(self._inner.arrived(received, now), now)]

    def _answer(self, neighbor: str, packet: Packet, now: float) -> list[Action]:
        """Answer the other end's new detour, which takes the place of an earlier one."""
        if packet.id <= self._last.get(neighbor, Numbered(0, 0)):
            return []
        self._last[neighbor] = packet.id
        actions = self._end(neighbor, now)
        self._ways[neighbor] = _Way(packet.id, packet.route[::-1], None)
        return actions

    def _broken(self, neighbor: str, now: float) -> list[Action]:
        """Reopen a detour with a gap, or notify the end that opened it."""
        if self._opens(neighbor):
            return [*self._end(neighbor, now), *self._open(neighbor)]
        way = self._ways[neighbor]
        actions = self._end(neighbor, now)
        way.sent += 1
        return [*actions, *self._send(way, NOTHING)]

    # Ways --------------------------------------------------------------------------------------

    def _through(self, actions: Iterable[Action], now: float) -> list[Action]:
        """Carry out the actions of the inner upkeep; messages go on detours where they are."""
        done: list[Action] = []
        for action in actions:
            match action:
                case Send() | SendMany():
                    done.extend(self._on_way(action))
                case CloseLink(neighbor) if self._is_round(neighbor):
                    done.extend(self._broken(neighbor, now))
                case CloseLink(neighbor):
                    done.append(action)
                    self._ways.pop(neighbor, None)
                    done.extend(self._lost(neighbor, now))
                case _:
                    done.append(action)
        return done

    def _is_round(self, neighbor: str) -> bool:
        """True if a link has a detour, and routing still takes it for linked."""
        return neighbor in self._ways and neighbor in self._inner.neighbors()

    def _on_way(self, effect: Effect) -> list[Effect]:
        """The effects of sending to a neighbor: on the detour if there is one."""
        match effect:
            case Send(neighbor, message):
                way = self._ways.get(neighbor)
                return [effect] if way is None else self._send(way, message)
            case SendMany(neighbor, many):
                way = self._ways.get(neighbor)
                if way is None:
                    return [effect]
                return [one for message in many.messages() for one in self._send(way, message)]
            case _:
                return [effect]

    def _send(self, way: _Way, message: Message) -> list[Effect]:
        """Send a message as a packet; the other end notices one that is not sent."""
        assert not isinstance(message, Stamped), "a message has one stamp"
        packet = Packet(way.route, 1, way.id, way.sent)
        way.sent += 1
        first = way.route[1]
        return [Send(first, stamped(packet, message))] if first in self._up else []

    def _next(self) -> int:
        self._count += 1
        return self._count

    # Looks -------------------------------------------------------------------------------------

    def table_sizes(self) -> dict[str, int]:
        """`detours`: the number of links that have one."""
        detours = sum(way.is_open for way in self._ways.values())
        return {**self._inner.table_sizes(), "detours": detours}

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        self._inner.validate()
        if self._up.keys() & self._down.keys() or not self._ways.keys() <= self._down.keys():
            raise InvariantError("a link that is up is gone round")
        if not self._down.keys() <= set(self._inner.neighbors()):
            raise InvariantError("there is patience with a link that routing does not know")


def _further(packet: Packet) -> Packet:
    return Packet(packet.route, packet.at + 1, packet.id, packet.number)
