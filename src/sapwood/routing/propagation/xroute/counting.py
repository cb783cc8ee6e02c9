"""Subscriptions that spread as counts: XRoute in a router (`propagation/xroute`).

Every change of a count at one router is one message to each neighbor, and each message that comes
is one message to each other neighbor; so every change passes every router, in the order of its
link. Confirmations take the same way back: a client's subscription is in force when every router
has counted it. Under advertisements (`wanted`) a change goes on only where it is wanted, and is
confirmed from where it ends; `answering.py` argues why nothing is lost.

That is enough, and lasts. As soon as a router has counted a subscription, its table of the side
that the subscription is on has a filter that accepts all that the subscription accepts; and a
message that takes this filter away brings back those that it hid, and is carried out at once. So
when every router has counted it, a publication that any of them accepts from then on is sent on
towards the subscription by every router on the way.

A change is identified by the router at which it began (`origin`) and its number there. On a tree it
comes to each router once, and over one link. Where it comes again over another, the overlay has a
cycle, in which some router hears of it from two sides. Over the same link it may come again: from a
router on the way that has gone back to an older state and been told of it again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence

from sapwood.errors import InvariantError, PeerError
from sapwood.limits import SUBSCRIPTIONS_AT_ONCE_MAX
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.kept import accepts_nothing, kept
from sapwood.routing.client_entries import (
    SUBSCRIPTIONS,
    ClientEntries,
    Outcome,
    cycle_reason,
    unexpected_message,
)
from sapwood.routing.effects import Effect, Send
from sapwood.routing.messages import ConfirmUpdate, SubscriptionMessage, Update
from sapwood.routing.propagation.protocol import NO_ADVERTISEMENTS
from sapwood.routing.propagation.reasons import Reason, Reasons, Treatment
from sapwood.routing.propagation.xroute.node import Node
from sapwood.routing.propagation.xroute.receipts import Cause, Receipts
from sapwood.routing.propagation.xroute.search import Containment, MakeIndex
from sapwood.routing.propagation.xroute.triples import Operation
from sapwood.routing.propagation.xroute.view import View
from sapwood.routing.tables import CLIENTS, Follower, LocalEntry, ReceivedEntry


class CountingPropagation(ClientEntries[Interest]):
    """All subscriptions at one router: those of clients one by one, those of neighbors as counts.

    `make_index` makes an exact covering index of interests, `make_view` the view of a link: of all
    filters (`View`), or of those that an advertisement from there intersects (`WantedView`).

    #: entries.received[n] has a key for each filter that neighbor n counts
    #: links are the neighbors that receive subscriptions
    #: the sides of the node are those keys' neighbors, and the clients, whose filters it counts
    """

    __slots__ = ("_began", "_heard", "_keys", "_node", "_receipts", "_sendings")

    def __init__(
        self,
        identity: str,
        make_index: MakeIndex,
        follower: Follower[Interest] | None = None,
        make_view: Callable[[Containment], View] = View,
    ) -> None:
        super().__init__(SUBSCRIPTIONS, identity, follower)
        self._node = Node(make_index, make_view)
        self._receipts = Receipts()
        self._keys: dict[str, dict[Interest, str]] = {}
        self._sendings = 0
        #: changes that began here
        self._began = 0
        #: name of a router -> its latest identity, the latest of its changes that came here, and
        #: the link over which it came, while that is there
        self._heard: dict[str, tuple[str, int, str]] = {}

    @property
    def links(self) -> Mapping[str, View]:
        """The view of each neighbor that receives subscriptions."""
        return self._node.views

    @property
    def unconfirmed(self) -> int:
        """The number of causes of messages that are not confirmed."""
        waiting = self._receipts.waiting.values()
        return len({cause for causes in waiting for cause in causes.values()})

    def in_force(self, key: str) -> bool:
        """True if every router that a client's subscription must reach has counted it."""
        return key not in self._receipts.stated

    # Clients -----------------------------------------------------------------------------------

    def _announce(self, entry: LocalEntry[Interest]) -> list[Effect]:
        """Count one more subscription of a client."""
        told = self._node.subscribe(entry.filter)
        effects = self._begin(told, Cause(None, entry.key, 0))
        if self.in_force(entry.key):
            effects.append(self.kind.in_force(entry.client, entry.id))
        return effects

    def _withdraw(self, entry: LocalEntry[Interest]) -> list[Effect]:
        """Count one subscription of a client less."""
        self._receipts.forget(entry.key)
        return self._begin(self._node.unsubscribe(entry.filter))

    # Links -------------------------------------------------------------------------------------

    def link_up(self, neighbor: str, *, is_told: bool = True) -> None:
        """Add a link, over which nothing is sent yet, or nothing ever (not `is_told`)."""
        self._node.connect(neighbor, is_told=is_told)
        self._receipts.link_up(neighbor)
        self.entries.link_up(neighbor)
        self._keys[neighbor] = {}

    def replay(self, neighbor: str, at_once: int) -> list[Effect]:
        """Send a neighbor all filters that it has to count, `at_once` of them in a message."""
        if neighbor not in self.links:
            return []
        if (
            self._node.size_without(neighbor) <= at_once
            or self._node.views[neighbor].looks_at_advertisements
        ):
            return self._tell(neighbor, self._node.start(neighbor), at_once)
        return self._tell(neighbor, self._node.begin(neighbor, at_once), at_once)

    @property
    def behind(self) -> Collection[str]:
        """The neighbors with a backlog of filters that were there before their link.

        And `CLIENTS`, while clients that have gone have subscriptions here.
        """
        late = [neighbor for neighbor, view in self.links.items() if view.pending]
        return [*late, CLIENTS] if self.entries.leaving else late

    def drained(self, neighbor: str, at_once: int) -> list[Effect]:
        """Withdraw more entries of clients that have gone, or send more of a neighbor's backlog."""
        if neighbor == CLIENTS:
            return self.clear(at_once)
        if neighbor not in self.links:
            return []
        return self._tell(neighbor, self._node.go_on(neighbor, at_once), at_once)

    def link_down(self, neighbor: str, at_once: int | None = None) -> list[Effect]:  # noqa: ARG002
        """Remove a link, and at once all filters that were counted behind it."""
        self.entries.link_down(neighbor)
        del self._keys[neighbor]
        # Routers behind it may have lost their last changes, and send others in their place.
        self._heard = {name: last for name, last in self._heard.items() if last[-1] != neighbor}
        effects = [
            effect for cause in self._receipts.link_down(neighbor) for effect in self._answer(cause)
        ]
        for told in self._node.disconnect(neighbor):
            effects.extend(self._begin(told))
        return effects

    # Messages ----------------------------------------------------------------------------------

    def on_message(self, neighbor: str, message: SubscriptionMessage) -> Outcome:
        """Carry out a neighbor's message about subscriptions."""
        match message:
            case Update():
                return self._update(neighbor, message)
            case ConfirmUpdate(sending):
                cause = self._receipts.confirm(neighbor, sending)
                return Outcome([] if cause is None else self._answer(cause))
            case _:
                return Outcome([], objection=unexpected_message(message))

    def advertised(
        self,
        neighbor: str,
        key: str,
        filter: AdvertisedContent,
        at_once: int | None = None,
    ) -> list[Effect]:
        """Register an advertisement of a link, and send the filters that it makes wanted there."""
        if neighbor not in self.links:
            return []
        return self._tell(neighbor, self._node.advertised(neighbor, key, filter, at_once))

    def unadvertised(
        self,
        neighbor: str,
        key: str,
        at_once: int | None = None,  # noqa: ARG002
    ) -> list[Effect]:
        """Remove an advertisement of a link, and withdraw what only it made wanted there."""
        if neighbor not in self.links:
            return []
        return self._tell(neighbor, self._node.unadvertised(neighbor, key))

    def _update(self, neighbor: str, message: Update) -> Outcome:
        """Carry out a neighbor's change."""
        if self._has_come(message, neighbor):
            what = f"change {message.number} of subscriptions at router {message.origin}"
            return Outcome([], objection=cycle_reason(what, "here", neighbor))
        interface = self._node.interfaces[neighbor]
        told: dict[str, list[Operation]] = {link: [] for link in self.links if link != neighbor}
        objection = None
        touched: dict[Interest, None] = {}
        for operation in message.operations:
            for link, operations in self._node.bring(operation, neighbor).items():
                told[link].extend(operations)
            try:
                booking = interface.book(operation)
            except PeerError as error:
                objection = f"{neighbor} cannot mean what it says of subscriptions: {error}"
                break
            touched.update(dict.fromkeys(booking.touched))
            for link, operations in self._node.tell(booking, neighbor).items():
                told[link].extend(operations)
        cause = Cause(neighbor, "", message.sending)
        effects = self._send(told, message.origin, message.number, cause)
        if not cause.open and objection is None:
            effects.extend(self._answer(cause))
        self._give_keys(neighbor, touched, interface.counts)
        return Outcome(effects, objection)

    def why(self, neighbor: str, key: str) -> Reasons:
        """The reasons why a neighbor has an entry, or does not have it."""
        if neighbor not in self.links:
            return (Reason(Treatment.NOWHERE),)
        entry = self.entries.by_key.get(key)
        if entry is not None and accepts_nothing(entry.content):
            return (Reason(Treatment.EMPTY),)
        wanted = self.entries.filter_of(key)
        if wanted in self.links[neighbor].pending:
            return (Reason(Treatment.WAITING),)
        if self.links[neighbor].is_unwanted(wanted):
            return (Reason(Treatment.UNWANTED),)
        head = self.links[neighbor].entries[wanted].head.filter
        return (Reason(Treatment.ITSELF if head == wanted else Treatment.COVERED, "", head),)

    def held_as(self, neighbor: str, told: Reason) -> str | None:
        """The key here of the filter that a neighbor reports to count; `None` if missing."""
        return None if told.filter is None else self._keys[neighbor].get(told.filter)

    def sent(self) -> Iterator[tuple[str, str, Interest]]:
        """Neighbor and filter of all filters that neighbors count; the keys are empty."""
        for neighbor, view in self.links.items():
            for filter_ in view.propagated:
                yield neighbor, "", filter_

    def validate(
        self,
        advertisements: Mapping[str, Mapping[str, AdvertisedContent]] = NO_ADVERTISEMENTS,
    ) -> None:
        """Check every relation between the tables; raises `InvariantError`."""
        if [CLIENTS, *self.entries.received] != list(self._node.interfaces):
            raise InvariantError("interfaces and received tables differ")
        self.entries.validate()
        self._node.validate()
        for neighbor, view in self.links.items():
            view.check_advertisements(advertisements.get(neighbor, {}))
        self._receipts.validate()
        for neighbor, keys in self._keys.items():
            received = self.entries.received[neighbor]
            if {key: entry.filter for key, entry in received.items()} != {
                key: filter_ for filter_, key in keys.items()
            }:
                raise InvariantError(f"keys and filters from {neighbor} disagree")
            if keys.keys() != self._node.interfaces[neighbor].counts.keys():
                raise InvariantError(f"not exactly the filters that {neighbor} counts have keys")
        counted = {f: c.instances for f, c in self._node.clients.counts.items()}
        stated: dict[Interest, int] = {}
        for entry in self.entries.by_key.values():
            if accepts_nothing(entry.content):
                continue
            stated[entry.filter] = stated.get(entry.filter, 0) + 1
        if counted != stated:
            raise InvariantError("the clients' subscriptions are not counted as they are")

    # Updates -----------------------------------------------------------------------------------

    def _begin(
        self, told: Mapping[str, Sequence[Operation]], cause: Cause | None = None
    ) -> list[Effect]:
        """Send the updates of a change that begins at this router."""
        self._began += 1
        return self._send(told, self._identity, self._began, cause)

    def _tell(
        self,
        neighbor: str,
        operations: Sequence[Operation],
        at_once: int = SUBSCRIPTIONS_AT_ONCE_MAX,
    ) -> list[Effect]:
        """Send one neighbor operations that begin here for its sake, in chunks of `at_once`."""
        return [
            effect
            for start in range(0, len(operations), at_once)
            for effect in self._begin({neighbor: operations[start : start + at_once]})
        ]

    def _send(
        self,
        told: Mapping[str, Sequence[Operation]],
        origin: str,
        number: int,
        cause: Cause | None,
    ) -> list[Effect]:
        effects: list[Effect] = []
        for link, operations in told.items():
            if not operations:
                continue  # nothing is wanted there, or the first operation was wrong
            self._sendings += 1
            message = Update(origin, number, self._sendings, tuple(operations))
            effects.append(Send(link, message))
            if cause is not None:
                self._receipts.sent(link, self._sendings, cause)
        return effects

    def _answer(self, cause: Cause) -> list[Effect]:
        """Confirm messages to the client or neighbor that caused them: all are confirmed."""
        if cause.link is not None:
            return [Send(cause.link, ConfirmUpdate(cause.sending))]
        entry = self.entries.by_key[cause.key]
        if not self.entries.is_current(entry):
            return []
        return [self.kind.in_force(entry.client, entry.id)]

    def _has_come(self, message: Update, neighbor: str) -> bool:
        """True if a change began here, or the last of its origin came over another link."""
        if message.origin == self._identity:
            return True
        name, _, _ = message.origin.rpartition(".")
        heard = self._heard.get(name)
        self._heard[name] = (message.origin, message.number, neighbor)
        if heard is None or heard[-1] == neighbor:
            return False
        return heard[:2] == (message.origin, message.number)

    def _give_keys(
        self, neighbor: str, touched: Iterable[Interest], counted: Container[Interest]
    ) -> None:
        """Give keys to filters that a neighbor has begun to count; remove uncounted ones."""
        keys = self._keys[neighbor]
        for filter_ in touched:
            if filter_ in counted and filter_ not in keys:
                self._serial += 1
                key = keys[filter_] = f"{self._identity}.{self._serial}"
                self.entries.enter(neighbor, key, ReceivedEntry(kept(filter_), 0))
            elif filter_ not in counted and filter_ in keys:
                self.entries.leave(neighbor, keys.pop(filter_))
