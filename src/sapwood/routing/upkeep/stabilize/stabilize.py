"""Edge stabilization (Shen 5.4, 5.5): neighbors compare what one has sent and the other holds.

For each neighbor a router has a timer. When it is due, the router asks which of its entries the
neighbor holds, and corrects those where these are wrong (`notes`, `edges`). Nothing else is needed:
the entries that a router sends follow from those it holds from the others, so an edge whose sender
is right becomes right, then those behind it, and after as many rounds as the longest way has links,
all are. Shen calls the equation for what a holds from b the edge (a, b), and the procedure for what
b holds from a the same; here an edge is always from the sender to the holder.

Departures, with reasons:

* The entries compared are those the sender *has sent* (`Propagation.propagated`), and not all that
  it has from elsewhere. Under simple routing both are the same. Under identity, covering, merging
  and advertisements, which Shen leaves open, a router sends a part of its entries, selected by the
  order in which they came; its neighbor need not know how. An edge is legal iff the holder has the
  entries sent; and these serve all entries of the sender, by the strategy's own rule.
* Entries have names: the same filter of two subscribers is two entries. A name is held from one
  side only, so a wrong entry may stand in the way of the right one. An entry sent as a correction
  takes the place of another neighbor's; any other one does not, and is dropped for the next round
  to correct, where without this upkeep the link would be closed. The entries of the router's own
  clients are always right, and keys that it has yet to give are theirs as well. A neighbor that
  goes on sending entries of other sides for `CONFLICTS_MAX` rounds closes a circle, and the message
  is handed to routing.
* Corrections are inputs of routing, as if the messages that were lost, or came wrongly, had come,
  or had not: whatever follows from tables follows from them by the same code, under any propagation
  strategy, and travels on at once.
* The entries of a link that is down may be kept for a while (`timers`). Entries that wait for such
  a neighbor's confirmation get one in its place, as if its entry were gone; when the link is back,
  only differences are sent, as a correction.
* A message that no router sent is a message like others, and what it leaves behind is compared; an
  invalid note is dropped, as its question is asked again in the next round, and so is an invalid
  stamp, without the message behind it.
* A snapshot that is stale disturbs nothing (`edges`), and a sketch is made afresh with another salt
  every few rounds (`sketched`), so what it hides, and what happened to it, does not last.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

import msgspec

from sapwood.errors import InvariantError
from sapwood.limits.healing import CONFLICTS_MAX, ROUTERS_COUNTED_MAX, STABILIZE_PERIOD_S
from sapwood.routing.effects import Effect, Send, SendMany
from sapwood.routing.inputs import (
    Change,
    ClientPublishMany,
    Drained,
    LinkDown,
    LinkUp,
    Recalled,
    Receive,
    ReceiveMany,
    Restored,
)
from sapwood.routing.messages import (
    Advertise,
    Replace,
    Stamped,
    Subscribe,
    SubscribeMany,
    Unadvertise,
    Unsubscribe,
    UnsubscribeMany,
    UpkeepNote,
)
from sapwood.routing.upkeep.protocol import Action, Compared, Kept
from sapwood.routing.upkeep.stabilize import statements
from sapwood.routing.upkeep.stabilize.edges import Difference, Holder, Sender, held, sent
from sapwood.routing.upkeep.stabilize.notes import (
    Again,
    Ask,
    Correct,
    Cut,
    Found,
    Listing,
    Observe,
    Said,
    Sketch,
    note_of,
    portions,
    said_in,
)
from sapwood.routing.upkeep.stabilize.timers import STRAWMAN, Outage, Timer
from sapwood.routing.upkeep.stabilize.wasted import hops_in
from sapwood.sketches.elements import element_of

_STATEMENTS: Final = (
    Subscribe,
    Replace,
    SubscribeMany,
    Unsubscribe,
    UnsubscribeMany,
    Advertise,
    Unadvertise,
)
"""The messages that change the table of a holder."""


@dataclass(slots=True)
class Link:
    """Both edges to one neighbor.

    #: due_s is at most a period away, and is set so where it is not
    """

    sender: Sender
    due_s: float
    holder: Holder = field(default_factory=Holder)
    #: entries that were wrong in the last round that came to an end
    wrong: int = 0
    #: the number of entries in the holder's last answer
    held: int = 0
    #: completed rounds; is_asked: the holder has asked for the result of the next
    rounds: int = 0
    is_asked: bool = False
    #: results received as the holder, and the last of them
    heard: int = 0
    found: Found = field(default_factory=lambda: Found(0, 0))
    #: routers on the other side, as the neighbor reports them
    routers: int = 0
    #: true if the neighbor reports a link on its side that is down and kept, and what it was told
    is_cut: bool = False
    told_cut: bool = False
    #: true while the entries of routing for the neighbor are not sent, but compared at the end
    is_silent: bool = False


class Stabilize:
    """Compares the tables of one router with those of its neighbors.

    #: links are those that are up, outages those that were and may be again; no link is both
    #: _now is the time of the last input about links
    """

    def __init__(
        self, router: Kept, period_s: float = STABILIZE_PERIOD_S, timer: Timer = STRAWMAN
    ) -> None:
        self._router = router
        self._period_s = period_s
        self._timer = timer
        self.links: dict[str, Link] = {}
        self.outages: dict[str, Outage] = {}
        #: corrections since the router was made: entries that a neighbor lacked, or had too much
        self.corrected = 0
        #: links that were given up while they were down, and useless hops that came here meanwhile
        self.let_go = 0
        self.useless = 0
        #: invalid notes and stamps
        self.unread = 0
        self._now = 0.0

    @property
    def is_passive(self) -> bool:
        """False: it has a timer."""
        return False

    @property
    def takes_batches(self) -> bool:
        """True: publications pass."""
        return True

    # Links -------------------------------------------------------------------------------------

    def link_up(self, link: LinkUp, now: float) -> Iterable[Action]:
        """Begin with an edge; the first comparisons of all links are spread over a period."""
        self._now = now
        name, neighbor = self._router.name, link.neighbor
        seed = f"{name}/{self._router.incarnation}/{neighbor}/{now!r}"
        share = element_of(f"{name}/{neighbor}".encode()) / 2**64
        outage = self.outages.pop(neighbor, None)
        edge = self.links[neighbor] = Link(Sender(seed), now + share * self._period_s)
        if outage is None:
            yield link
            if self._timer.keeps:  # the neighbor may have kept entries of an earlier life
                yield self._observe_now(neighbor, edge)
                yield Send(neighbor, note_of(Ask()))
            return
        if outage.due_s is not None:
            edge.due_s = outage.due_s
        if not outage.is_kept:
            edge.is_silent = True
            yield link
        yield from self._back(neighbor, edge)

    def _back(self, neighbor: str, link: Link) -> Iterator[Action]:
        """Compare a link that is back, as soon as routing has no backlog for it."""
        if link.is_silent and neighbor in self._router.membership.behind():
            return
        link.is_silent = False
        link.sender.waiting = frozenset(statements.unanswered(self._router.tables, neighbor))
        if self._timer.threshold is not None:
            yield self._observe_now(neighbor, link)

    def link_down(self, link: LinkDown, now: float) -> Iterable[Action]:
        """End the comparisons of a link; the entries received over it are dropped, or kept."""
        self._see(now)
        neighbor = link.neighbor
        known, outage = self.links.pop(neighbor, None), self.outages.get(neighbor)
        was_kept = known is not None or (outage is not None and outage.is_kept)
        is_behind = neighbor in self._router.membership.behind()
        if link.for_good or not self._timer.keeps or is_behind:
            self.outages.pop(neighbor, None)
            if was_kept or outage is None:
                yield link
        elif known is not None:
            due_s = known.due_s if self._timer.threshold is None else None
            self.outages[neighbor] = Outage(due_s)
            yield from self._answered()

    def closed(self, link: LinkDown, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Forget a link that routing has closed."""
        self.links.pop(link.neighbor, None)
        self.outages.pop(link.neighbor, None)
        return ()

    def _let_go(self, neighbor: str) -> Iterator[Action]:
        """Drop the entries of a link that is down, after enough time or useless publications."""
        self.outages[neighbor] = Outage(None, is_kept=False)
        self.let_go += 1
        yield LinkDown(neighbor)

    def _answered(self) -> Iterator[Action]:
        """Confirm entries in the place of neighbors whose links are down but kept."""
        if not self.outages:
            return
        tables = self._router.tables
        for neighbor, outage in self.outages.items():
            if outage.is_kept:
                yield from statements.as_answers(tables, neighbor)

    # Inputs ------------------------------------------------------------------------------------

    def asked(self, request: Change | ClientPublishMany, now: float) -> Iterable[Action]:  # noqa: ARG002
        """Hand on a request as it is."""
        yield request
        if isinstance(request, Drained) and request.neighbor in self.links:
            link = self.links[request.neighbor]
            if link.is_silent:
                yield from self._back(request.neighbor, link)
        yield from self._answered()

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Iterable[Action]:
        """Take off the neighbor's notes, and check the entries that it sends."""
        actions = self._taken(received, now)
        return chain(actions, self._answered()) if self.outages else actions

    def _taken(self, received: Receive | ReceiveMany, now: float) -> Iterable[Action]:
        link = self.links.get(received.neighbor)
        if isinstance(received, ReceiveMany) or link is None:
            return (received,)
        message = received.message
        match message:
            case UpkeepNote(note):
                self._see(now)
                said = said_in(note)
                if said is None:  # damaged: the handshake refuses neighbors of another upkeep
                    self.unread += 1
                    return ()
                return self._heard(received.neighbor, link, said)
            case Subscribe() | Replace() | SubscribeMany() | Advertise():
                return self._stated(received, link)
            case Stamped(stamp, inner):
                self.unread += hops_in(stamp) is None  # what it is the stamp of is whole
                return self._taken(replace(received, message=inner), now)
            case _:
                return (received,)

    def _heard(self, neighbor: str, link: Link, said: Said) -> Sequence[Action]:
        """Carry out a note of a round."""
        router = self._router
        match said:
            case Observe():
                link.routers, link.is_cut = said.routers, said.is_cut
                if said.size:
                    link.holder.begin_round()
                answers = link.holder.answer(said, held(router.tables, neighbor))
                is_routine = said.size > 0
                return [Send(neighbor, note_of(one, periodic=is_routine)) for one in answers]
            case Cut(is_cut):
                link.is_cut = is_cut
                return ()
            case Sketch():
                link.held = said.count
                was_asking = link.sender.is_asking
                asked = link.sender.heard_sketch(said, sent(router.tables, neighbor))
                if asked is not None:
                    return (self._asking(neighbor, asked, periodic=False),)
                if was_asking and not link.sender.is_asking:
                    link.wrong = 0
                    return [*self._ended(neighbor, link), *self._ask_again(neighbor, link)]
                return ()
            case Listing():
                found = link.sender.heard_listing(said, sent(router.tables, neighbor))
                return () if found is None else self._correct(neighbor, link, found)
            case Correct():
                link.holder.restating = said.restated
                return list(statements.withdrawn(neighbor, said.withdrawn))
            case Ask():
                link.is_asked = True
                return (self._observe_now(neighbor, link),)
            case Found():
                link.heard, link.found = link.heard + 1, said
                return ()
            case Again():
                return list(statements.confirmations(router.tables, neighbor, said.names))

    def _correct(self, neighbor: str, link: Link, found: Difference) -> list[Action]:
        """Correct the holder's table: missing entries are sent before surplus ones are dropped.

        A name with a wrong content is both missing and surplus, and is only sent again.
        """
        link.wrong = len({*found.missing, *found.surplus})
        self.corrected += link.wrong
        missing = frozenset(found.missing)
        again = list(statements.again(self._router.tables, neighbor, missing))
        surplus = [name for name in found.surplus if name not in missing]
        actions: list[Action] = []
        if again:
            actions.append(Send(neighbor, note_of(Correct((), len(again)))))
        actions.extend(Send(neighbor, message) for message in again)
        actions.extend(Send(neighbor, note_of(Correct(some))) for some in portions(surplus) if some)
        actions.extend(self._ask_again(neighbor, link, besides=missing))
        return [*actions, *self._ended(neighbor, link)]

    def _ended(self, neighbor: str, link: Link) -> Sequence[Action]:
        """End a round, and send the result to the holder if it asked."""
        link.rounds += 1
        if not link.is_asked:
            return ()
        link.is_asked = False
        return (Send(neighbor, note_of(Found(link.wrong, len(link.sender.table)))),)

    def compare(self, now: float) -> Sequence[Action]:
        """Compare both edges to each neighbor now."""
        self._see(now)
        actions: list[Action] = []
        for neighbor, link in self.links.items():
            actions += [self._observe_now(neighbor, link), Send(neighbor, note_of(Ask()))]
        return actions

    def compared(self) -> Sequence[Compared]:
        """The results of the last comparisons with all neighbors, both ways."""
        own = self._router.name
        found: list[Compared] = []
        for name, link in self.links.items():
            told_now = len(link.sender.table)
            found.append(Compared(own, name, link.rounds, link.wrong, told_now))
            found.append(Compared(name, own, link.heard, link.found.wrong, link.found.entries))
        return found

    def _ask_again(
        self, neighbor: str, link: Link, besides: Collection[str] = ()
    ) -> Sequence[Action]:
        """Ask for confirmations, missing for a whole round, of entries that the holder has."""
        waiting = frozenset(statements.unanswered(self._router.tables, neighbor))
        late, link.sender.waiting = (waiting & link.sender.waiting).difference(besides), waiting
        if not late:
            return ()
        return [Send(neighbor, note_of(Again(some))) for some in portions(sorted(late))]

    def _stated(self, received: Receive, link: Link) -> Sequence[Action]:
        """Check a neighbor's entries; see the module for those that another side has."""
        neighbor, holder = received.neighbor, link.holder
        is_correction = holder.restating > 0
        holder.restating = max(0, holder.restating - 1)
        identity = f"{self._router.name}.{self._router.incarnation}"
        sides = statements.sides_of(self._router.tables, received.message, identity)
        if not any(side is not None for side in sides.values()):
            return (received,)
        if holder.conflicts > CONFLICTS_MAX:
            return (received,)  # which closes the link, with the reason
        allowed = statements.allowed(sides, neighbor, is_correction=is_correction)
        holder.has_conflict |= any(side not in (None, neighbor) for side in sides.values())
        same = statements.renumbered(self._router.tables, received) if is_correction else {}
        other = [key for key in allowed if key not in same]
        answers = [answer for answer in same.values() if answer is not None]
        return [*answers, *statements.parts(received, sides, other)]

    # Messages of routing -----------------------------------------------------------------------

    def sent(self, send: Send | SendMany, now: float) -> Sequence[Effect]:  # noqa: ARG002
        """Send a message as it is, if the link is up; what is not sent is compared later."""
        link = self.links.get(send.neighbor)
        if link is None and send.neighbor in self.outages:
            return ()
        is_silent = link is not None and link.is_silent
        if is_silent and isinstance(send, Send) and isinstance(send.message, _STATEMENTS):
            return ()
        return (send,)

    def restored(self, restored: Restored, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Return nothing: nothing was persisted that could be used."""
        return ()

    def recalled(self, recalled: Recalled, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Return nothing: no publication was recalled."""
        return ()

    # Time --------------------------------------------------------------------------------------

    def _see(self, now: float) -> None:
        """Note the time: a timer with an impossible time is set again."""
        self._now = now
        latest = now + self._period_s
        for link in self.links.values():
            if not link.due_s <= latest:
                link.due_s = latest
        for outage in self.outages.values():
            if outage.due_s is not None and not outage.due_s <= latest:
                outage.due_s = latest

    def tick(self, now: float) -> Iterable[Action]:
        """Begin a round with each neighbor whose timer is due."""
        self._see(now)
        for neighbor, link in self.links.items():
            if link.due_s <= now:
                yield self._observe_now(neighbor, link)
        due = [one for one, outage in self.outages.items() if _is_due(outage, now)]
        for neighbor in due:
            yield from self._let_go(neighbor)
        yield from self._answered()

    def _observe_now(self, neighbor: str, link: Link) -> Send:
        """Begin a round, whatever the timer shows."""
        link.due_s = self._now + self._period_s
        observe = link.sender.observe(sent(self._router.tables, neighbor), link.held)
        return self._asking(neighbor, observe, periodic=True)

    def _asking(self, neighbor: str, observe: Observe, *, periodic: bool) -> Send:
        """A question, with the number of routers on this side, and whether one is cut off."""
        routers, is_cut = self.routers_without(neighbor), self.is_cut_without(neighbor)
        if (link := self.links.get(neighbor)) is not None:
            link.told_cut = is_cut
        said = msgspec.structs.replace(observe, routers=routers, is_cut=is_cut)
        return Send(neighbor, note_of(said, periodic=periodic))

    def routers_without(self, neighbor: str) -> int:
        """The routers on this side of a link, as the neighbors on other links report them."""
        sides = (link.routers for name, link in self.links.items() if name != neighbor)
        return min(1 + sum(sides), ROUTERS_COUNTED_MAX)

    def is_cut_without(self, neighbor: str) -> bool:  # noqa: ARG002
        """False: no publication is counted, so nobody needs to know."""
        return False

    def next_deadline(self) -> float | None:
        """The earliest timer; at most a period after the last input about links."""
        due = [link.due_s for link in self.links.values()]
        due += [one.due_s for one in self.outages.values() if one.due_s is not None]
        return min(self._now + self._period_s, *due) if due else None

    def table_sizes(self) -> dict[str, int]:
        """The number of entries of neighbors that were wrong in the last round with each."""
        return {"wrong": sum(link.wrong for link in self.links.values())}

    def counters(self) -> dict[str, int]:
        """The numbers of corrections, and the costs of links that were down."""
        return {
            "corrected": self.corrected,
            "links_let_go": self.let_go,
            "useless_hops": self.useless,
            "notes_unread": self.unread,
        }

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        if any(link.holder.restating < 0 for link in self.links.values()):
            raise InvariantError("more was corrected than was announced")
        if not self.links.keys().isdisjoint(self.outages):
            raise InvariantError("a link is up, and is down")


def _is_due(outage: Outage, now: float) -> bool:
    return outage.is_kept and outage.due_s is not None and outage.due_s <= now
