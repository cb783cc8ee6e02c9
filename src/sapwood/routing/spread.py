"""How subscriptions, and how advertisements, spread from router to router.

Both do the same: a client states something under an id of its own, routers pass it on over their
links as far as the links need it, and the client hears of it when every router that it must reach
has confirmed. They differ in the words they travel by (`Kind`) and in what a link needs (the
propagation strategy).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from sapwood.errors import InvariantError
from sapwood.model.filter import Filter
from sapwood.routing.confirmation import Confirmations
from sapwood.routing.effects import (
    Advertised,
    Effect,
    Refused,
    Send,
    Subscribed,
    Unadvertised,
    Unsubscribed,
)
from sapwood.routing.messages import (
    Advertise,
    Confirm,
    ConfirmAdvertisement,
    Message,
    Subscribe,
    Unadvertise,
    Unsubscribe,
)
from sapwood.routing.propagation.protocol import Change, Propagation
from sapwood.routing.tables import Entries, LocalEntry, ReceivedEntry


@dataclass(frozen=True, slots=True)
class Kind:
    """The words by which one kind of entry travels: messages to neighbors, effects for clients."""

    noun: str
    #: what a client does to be rid of one
    undo: str
    state: Callable[[str, Filter, int], Message]
    withdraw: Callable[[str], Message]
    confirm: Callable[[str, int], Message]
    in_force: Callable[[str, str], Effect]
    withdrawn: Callable[[str, str], Effect]


SUBSCRIPTIONS: Final = Kind(
    "subscription", "unsubscribe", Subscribe, Unsubscribe, Confirm, Subscribed, Unsubscribed
)

ADVERTISEMENTS: Final = Kind(
    "advertisement",
    "unadvertise",
    Advertise,
    Unadvertise,
    ConfirmAdvertisement,
    Advertised,
    Unadvertised,
)


class Spread:
    """All entries of one kind at one router: known, told to neighbors, confirmed.

    `identity` is unique among all routers and all their lives; it begins every key made here.
    `propagation` makes the state of one link.

    #: links.keys() == entries.received.keys(): the links that are up
    #: the candidates of links[n] are all entries that did not come from n
    """

    __slots__ = (
        "_identity",
        "_propagation",
        "_sendings",
        "_serial",
        "confirmations",
        "entries",
        "kind",
        "links",
    )

    def __init__(self, kind: Kind, identity: str, propagation: Callable[[], Propagation]) -> None:
        self.kind = kind
        self.entries = Entries()
        self.links: dict[str, Propagation] = {}
        self.confirmations = Confirmations()
        self._identity = identity
        self._propagation = propagation
        self._serial = 0
        self._sendings = 0

    # Clients -----------------------------------------------------------------------------------

    def attach(self, client: str) -> None:
        """A client has come, with nothing."""
        if client in self.entries.by_client:
            raise InvariantError(f"client {client!r} is attached already")
        self.entries.by_client[client] = {}

    def own(self, client: str) -> dict[str, LocalEntry]:
        """What an attached client stated, by its ids."""
        own = self.entries.by_client.get(client)
        if own is None:
            raise InvariantError(f"client {client!r} is not attached")
        return own

    def register(self, client: str, id_: str, wanted: Filter) -> LocalEntry:
        """Take in what a client states under a free id; it has to be propagated next."""
        self._serial += 1
        entry = LocalEntry(f"{self._identity}.{self._serial}", client, id_, wanted)
        self.entries.add(entry)
        return entry

    def repeated(self, present: LocalEntry, wanted: Filter) -> list[Effect]:
        """What a client hears that states something under an id again."""
        if present.filter != wanted:
            reason = (
                f"{self.kind.noun} id {present.id!r} is taken by another filter of this "
                f"client; {self.kind.undo} it first or choose another id"
            )
            return [Refused(present.client, present.id, reason)]
        if self.confirmations.in_force(present.key):
            return [self.kind.in_force(present.client, present.id)]
        return []  # the answer is on its way

    def unknown(self, client: str, id_: str) -> list[Effect]:
        """What a client hears that withdraws what it never stated."""
        return [Refused(client, id_, f"this client has no {self.kind.noun} with id {id_!r}")]

    def release(self, entry: LocalEntry) -> list[Effect]:
        """A client withdraws what it stated."""
        self.entries.remove(entry)
        effects = self.withdraw(entry.key, source=None)
        return [*effects, self.kind.withdrawn(entry.client, entry.id)]

    def detach(self, client: str) -> list[Effect]:
        """A client has left; what it stated goes with it."""
        entries = list(self.own(client).values())
        for entry in entries:  # all of them first, so that nothing is announced to the client
            self.entries.remove(entry)
        del self.entries.by_client[client]
        return [effect for entry in entries for effect in self.withdraw(entry.key, source=None)]

    # Links -------------------------------------------------------------------------------------

    def link_up(self, neighbor: str) -> None:
        """A link is there, over which nothing was told so far."""
        self.links[neighbor] = self._propagation()
        self.entries.received[neighbor] = {}
        self.confirmations.link_up(neighbor)

    def replay(self, neighbor: str) -> list[Effect]:
        """Tell a neighbor all that it needs to know."""
        return self.say(neighbor, self.links[neighbor].start(self.entries.candidates(neighbor)))

    def link_down(self, neighbor: str) -> list[Effect]:
        """A link is gone: drop it and all that came over it."""
        del self.links[neighbor]
        received = self.entries.received.pop(neighbor)
        effects = self._announce(self.confirmations.link_down(neighbor))
        for key in received:
            effects.extend(self.withdraw(key, source=neighbor))
        return effects

    # Messages ----------------------------------------------------------------------------------

    def known(self, key: str) -> str | None:
        """In words, from where an entry is known already; `None` if it is new."""
        if key in self.entries.by_key:
            return "here"
        source = self.entries.source_of(key)
        return None if source is None else f"over the link to {source}"

    def receive(self, neighbor: str, key: str, wanted: Filter, sending: int) -> list[Effect]:
        """A neighbor states something new."""
        self.entries.received[neighbor][key] = ReceivedEntry(wanted, sending)
        return self.propagate(key, wanted, source=neighbor)

    def retract(self, neighbor: str, key: str) -> list[Effect]:
        """A neighbor withdraws what it stated."""
        del self.entries.received[neighbor][key]
        return self.withdraw(key, source=neighbor)

    def confirmed(self, neighbor: str, key: str, sending: int) -> list[Effect]:
        """A neighbor confirms."""
        return self._announce(self.confirmations.confirm(neighbor, key, sending))

    # What all have in common -------------------------------------------------------------------

    def propagate(self, key: str, wanted: Filter, source: str | None) -> list[Effect]:
        """Tell all links but `source` of a new entry, as far as they need to know."""
        effects: list[Effect] = []
        for neighbor, link in self.links.items():
            if neighbor != source:
                effects.extend(self.say(neighbor, link.add(key, wanted)))
                self.confirmations.expect(key, neighbor, link.representative(key))
        if self.confirmations.in_force(key):
            effects.extend(self._announce([key]))
        return effects

    def withdraw(self, key: str, source: str | None) -> list[Effect]:
        """Tell all links but `source` that an entry is gone."""
        self.confirmations.discard(key)
        effects: list[Effect] = []
        for neighbor, link in self.links.items():
            if neighbor != source:
                effects.extend(self.say(neighbor, link.remove(key)))
        return effects

    def say(self, neighbor: str, change: Change) -> list[Effect]:
        """Turn a change of what a link is told into messages."""
        link = self.links[neighbor]
        effects: list[Effect] = []
        for key in change.propagate:
            self._sendings += 1
            self.confirmations.sent[neighbor][key] = self._sendings
            message = self.kind.state(key, link.propagated[key], self._sendings)
            effects.append(Send(neighbor, message))
        for key in change.withdraw:
            effects.append(Send(neighbor, self.kind.withdraw(key)))
            settled = self.confirmations.withdraw(neighbor, key, link.representative)
            effects.extend(self._announce(settled))
        return effects

    def relieve(self, neighbor: str) -> list[Effect]:
        """Let nothing wait on a link any more that the link does not need any more."""
        link = self.links[neighbor]
        return self._announce(self.confirmations.relieve(neighbor, link.representative))

    def validate(self) -> None:
        """Check every relation between the tables; raises `InvariantError`."""
        if list(self.links) != list(self.entries.received):
            raise InvariantError("links and received tables differ")
        self.entries.validate()
        for neighbor, link in self.links.items():
            link.validate(dict(self.entries.candidates(neighbor)))
        self.confirmations.validate(self.links)

    def _announce(self, keys: Iterable[str]) -> list[Effect]:
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
