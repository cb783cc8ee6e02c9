"""How subscriptions, and how advertisements, spread from router to router.

Both do the same: a client states something under an id of its own, routers pass it on over their
links as far as the links need it, and the client hears of it when every router that it must reach
has confirmed. They differ in the words they travel by (`EntryKind`) and in what a link needs (the
propagation strategy).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sapwood.errors import InvariantError
from sapwood.limits import REPLACED_KEYS_MAX
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.routing.client_entries import (
    ClientEntries,
    EntryKind,
    Outcome,
    cycle_reason,
    unexpected_message,
)
from sapwood.routing.confirmation import Confirmations
from sapwood.routing.effects import Effect, Send
from sapwood.routing.messages import (
    Confirm,
    Message,
    Replace,
    Subscribe,
    SubscriptionMessage,
    Unsubscribe,
)
from sapwood.routing.propagation.flooding import Flooding
from sapwood.routing.propagation.protocol import (
    NO_ADVERTISEMENTS,
    Change,
    Propagation,
    net_change,
)
from sapwood.routing.tables import Follower, LocalEntry, ReceivedEntry, W


class EntryPropagation(ClientEntries[W]):
    """All entries of one kind at one router: known, told to neighbors, confirmed.

    `identity` is unique among all routers and all their lives; it begins every key made here.
    `propagation` makes the state of one link.

    #: links.keys() == entries.received.keys(): the links that are up
    #: the candidates of links[n] are all entries that did not come from n
    """

    __slots__ = ("_propagation", "_sendings", "confirmations", "links")

    def __init__(
        self,
        kind: EntryKind,
        identity: str,
        propagation: Callable[[], Propagation[W]],
        follower: Follower[W] | None = None,
    ) -> None:
        super().__init__(kind, identity, follower)
        self.links: dict[str, Propagation[W]] = {}
        self.confirmations = Confirmations()
        self._propagation = propagation
        self._sendings = 0

    # Clients -----------------------------------------------------------------------------------

    def announce(self, entry: LocalEntry[W]) -> list[Effect]:
        """Propagate what a client stated."""
        return self.propagate(entry.key, entry.filter, source=None)

    def withdraw(self, entry: LocalEntry[W]) -> list[Effect]:
        """Withdraw it."""
        return self.stop_propagating(entry.key, source=None)

    def in_force(self, key: str) -> bool:
        """Whether every router that it must reach has confirmed it."""
        return self.confirmations.in_force(key)

    @property
    def unconfirmed(self) -> int:
        """What is not yet in force, of clients and of neighbors."""
        return len(self.confirmations.awaited)

    # Links -------------------------------------------------------------------------------------

    def link_up(self, neighbor: str, *, is_told: bool = True) -> None:
        """A link is there, over which nothing was told so far, or never will be."""
        self.links[neighbor] = self._propagation() if is_told else Flooding()
        self.entries.link_up(neighbor)
        self.confirmations.link_up(neighbor)

    def replay(self, neighbor: str) -> list[Effect]:
        """Tell a neighbor all that it needs to know."""
        return self.emit(neighbor, self.links[neighbor].start(self.entries.candidates(neighbor)))

    def link_down(self, neighbor: str) -> list[Effect]:
        """A link is gone: drop it and all that came over it."""
        del self.links[neighbor]
        received = self.entries.link_down(neighbor)
        effects = self._report(self.confirmations.link_down(neighbor))
        for key in received:
            effects.extend(self.stop_propagating(key, source=neighbor))
        return effects

    def advertised(
        self: EntryPropagation[Interest],
        neighbor: str,
        key: str,
        filter: AdvertisedContent,
    ) -> list[Effect]:
        """An advertisement came over a link: what it makes wanted is said there."""
        return self.emit(neighbor, self.links[neighbor].advertised(key, filter))

    def unadvertised(self: EntryPropagation[Interest], neighbor: str, key: str) -> list[Effect]:
        """An advertisement of a link is gone, and with it what only it made wanted there."""
        link = self.links[neighbor]
        if link.advertisements is None:
            return []
        return [*self.emit(neighbor, link.unadvertised(key)), *self.reassign(neighbor)]

    # Messages ----------------------------------------------------------------------------------

    def on_message(
        self: EntryPropagation[Interest], neighbor: str, message: SubscriptionMessage
    ) -> Outcome:
        """A neighbor says something of subscriptions."""
        match message:
            case Subscribe(key, wanted, sending):
                return self._enter(neighbor, key, wanted, sending, ())
            case Replace(key, wanted, sending, replaced):
                return self._enter(neighbor, key, wanted, sending, replaced)
            case Unsubscribe(key):
                is_known = key in self.entries.received[neighbor]
                return Outcome(self.retract(neighbor, key) if is_known else [])
            case Confirm(key, sending):
                return Outcome(self.confirmed(neighbor, key, sending))
            case _:
                return Outcome([], objection=unexpected_message(message))

    def known(self, key: str) -> str | None:
        """In words, from where an entry is known already; `None` if it is new."""
        if key in self.entries.by_key:
            return "here"
        source = self.entries.source_of(key)
        return None if source is None else f"over the link to {source}"

    def receive(
        self,
        neighbor: str,
        key: str,
        filter: W,
        sending: int,
        replaced: Sequence[str] = (),
    ) -> list[Effect]:
        """A neighbor states something new, in the place of what it stated under other keys."""
        self.entries.enter(neighbor, key, ReceivedEntry(filter, sending))
        for other in replaced:
            self.entries.leave(neighbor, other)
        return self.propagate(key, filter, neighbor, replaced)

    def retract(self, neighbor: str, key: str) -> list[Effect]:
        """A neighbor withdraws what it stated."""
        self.entries.leave(neighbor, key)
        return self.stop_propagating(key, source=neighbor)

    def confirmed(self, neighbor: str, key: str, sending: int) -> list[Effect]:
        """A neighbor confirms."""
        return self._report(self.confirmations.confirm(neighbor, key, sending))

    # What all have in common -------------------------------------------------------------------

    def propagate(
        self,
        key: str,
        filter: W,
        source: str | None,
        replaced: Sequence[str] = (),
    ) -> list[Effect]:
        """Tell all links but `source` of a new entry, as far as they need to know.

        The entries in `replaced`, which came from there as well, are gone.
        """
        effects: list[Effect] = []
        for other in replaced:
            self.confirmations.discard(other)
        for neighbor, link in self.links.items():
            if neighbor != source:
                change = link.add(key, filter)
                if replaced:  # one change, so that it travels on as one
                    change = net_change((change, *map(link.remove, replaced)))
                effects.extend(self.emit(neighbor, change))
                self.confirmations.expect(key, neighbor, link.representative(key))
        if self.confirmations.in_force(key):
            effects.extend(self._report([key]))
        return effects

    def stop_propagating(self, key: str, source: str | None) -> list[Effect]:
        """Tell all links but `source` that an entry is gone."""
        self.confirmations.discard(key)
        effects: list[Effect] = []
        for neighbor, link in self.links.items():
            if neighbor != source:
                effects.extend(self.emit(neighbor, link.remove(key)))
        return effects

    def emit(self, neighbor: str, change: Change) -> list[Effect]:
        """Turn a change of what a link is told into messages.

        The last of what is told takes the place of what is withdrawn.
        """
        link = self.links[neighbor]
        effects: list[Effect] = []
        last = change.propagate[-1] if change.propagate and self.kind.replace else None
        replaced = () if last is None else change.withdraw[:REPLACED_KEYS_MAX]
        for key in change.propagate:
            self._sendings += 1
            self.confirmations.sent[neighbor][key] = self._sendings
            taken = replaced if key == last else ()
            effects.append(Send(neighbor, self._statement(key, link.propagated[key], taken)))
        for number, key in enumerate(change.withdraw):
            if number >= len(replaced):
                effects.append(Send(neighbor, self.kind.withdraw(key)))
            settled = self.confirmations.withdraw(neighbor, key, link.representative)
            effects.extend(self._report(settled))
        return effects

    def reassign(self, neighbor: str) -> list[Effect]:
        """Let nothing wait on a link any more that the link does not need any more."""
        link = self.links[neighbor]
        return self._report(self.confirmations.reassign(neighbor, link.representative))

    def told(self) -> Iterator[tuple[str, str, W]]:
        """Neighbor, key and filter of all that neighbors have been told."""
        for neighbor, link in self.links.items():
            for key, wanted in link.propagated.items():
                yield neighbor, key, wanted

    def validate(
        self, advertisements: Mapping[str, Mapping[str, AdvertisedContent]] = NO_ADVERTISEMENTS
    ) -> None:
        """Check every relation between the tables; raises `InvariantError`.

        `advertisements` are those that came over each link.
        """
        if list(self.links) != list(self.entries.received):
            raise InvariantError("links and received tables differ")
        self.entries.validate()
        for neighbor, link in self.links.items():
            link.validate(dict(self.entries.candidates(neighbor)))
            if link.advertisements is not None and link.advertisements != advertisements[neighbor]:
                raise InvariantError(
                    f"link {neighbor} knows other advertisements than came over it"
                )
        self.confirmations.validate(self.links)

    def _enter(
        self: EntryPropagation[Interest],
        neighbor: str,
        key: str,
        filter: Interest,
        sending: int,
        replaced: tuple[str, ...],
    ) -> Outcome:
        """A neighbor subscribes, in the place of what it has here of `replaced`."""
        known = self.known(key)
        if known is not None:
            return Outcome([], objection=cycle_reason(f"subscription {key}", known, neighbor))
        received = self.entries.received[neighbor]
        left = tuple(other for other in dict.fromkeys(replaced) if other in received)
        return Outcome(self.receive(neighbor, key, filter, sending, left))

    def _statement(self, key: str, filter: W, replaced: tuple[str, ...]) -> Message:
        """What states an entry under the latest number, in the place of others."""
        if replaced and self.kind.replace is not None:
            return self.kind.replace(key, filter, self._sendings, replaced)
        return self.kind.state(key, filter, self._sendings)

    def _report(self, keys: Iterable[str]) -> list[Effect]:
        """Say of entries that they are in force, to whoever they came from."""
        effects: list[Effect] = []
        for key in keys:
            entry = self.entries.by_key.get(key)
            if entry is not None:
                effects.append(self.kind.in_force(entry.client, entry.id))
                continue
            source = self.entries.source_of(key)
            if source is not None:
                sending = self.entries.received[source][key].sending
                effects.append(Send(source, self.kind.confirm(key, sending)))
        return effects
