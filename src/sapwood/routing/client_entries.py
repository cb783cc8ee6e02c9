"""The entries of a router's clients, under ids of their own: subscriptions, or advertisements.

Propagation spreads them over the overlay: one by one (`propagation/entries.py`) or as counts
(`propagation/xroute/counting.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic

from sapwood.errors import InvariantError
from sapwood.language.interests import Interests
from sapwood.model.kept import accepts_nothing, kept
from sapwood.routing.effects import (
    Advertised,
    Effect,
    Refused,
    Subscribed,
    SubscribedMany,
    Unadvertised,
    Unsubscribed,
    UnsubscribedMany,
)
from sapwood.routing.messages import (
    Advertise,
    Confirm,
    ConfirmAdvertisement,
    ConfirmMany,
    Message,
    Replace,
    Subscribe,
    SubscribeMany,
    Unadvertise,
    Unsubscribe,
    UnsubscribeMany,
)
from sapwood.routing.tables import Entries, Follower, LocalEntry, W


@dataclass(frozen=True, slots=True)
class ManyKind:
    """The messages and effects for several entries of one kind at once."""

    state: Callable[[tuple[str, ...], Interests, int], Message]
    withdraw: Callable[[tuple[str, ...]], Message]
    confirm: Callable[[tuple[str, ...], tuple[int, ...]], Message]
    in_force: Callable[[str, tuple[str, ...]], Effect]
    withdrawn: Callable[[str, tuple[str, ...]], Effect]


@dataclass(frozen=True, slots=True)
class EntryKind:
    """The messages to neighbors and the effects for clients of one kind of entry."""

    noun: str
    #: the client's request that withdraws one
    undo: str
    state: Callable[[str, Any, int], Message]
    #: sends one in the place of others; `None` where there is no such message
    replace: Callable[[str, Any, int, tuple[str, ...]], Message] | None
    withdraw: Callable[[str], Message]
    confirm: Callable[[str, int], Message]
    in_force: Callable[[str, str], Effect]
    withdrawn: Callable[[str, str], Effect]
    #: the messages and effects for several at once; `None` where there are none
    many: ManyKind | None = None


SUBSCRIPTIONS: Final = EntryKind(
    "subscription",
    "unsubscribe",
    Subscribe,
    Replace,
    Unsubscribe,
    Confirm,
    Subscribed,
    Unsubscribed,
    ManyKind(SubscribeMany, UnsubscribeMany, ConfirmMany, SubscribedMany, UnsubscribedMany),
)

ADVERTISEMENTS: Final = EntryKind(
    "advertisement",
    "unadvertise",
    Advertise,
    None,
    Unadvertise,
    ConfirmAdvertisement,
    Advertised,
    Unadvertised,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a neighbor's message about subscriptions.

    With an `objection` the neighbor broke a rule of routing; the part of the message before that is
    carried out.
    """

    effects: list[Effect]
    objection: str | None = None


class ClientEntries(ABC, Generic[W]):
    """All entries of one kind of a router's clients, and the answers to these clients.

    `identity` is unique among all routers and all their lives; it begins every key made here. The
    `follower` gets every change of the entries.
    """

    __slots__ = ("_identity", "_serial", "entries", "kind")

    def __init__(self, kind: EntryKind, identity: str, follower: Follower[W] | None = None) -> None:
        self.kind = kind
        self.entries: Entries[W] = Entries(follower)
        self._identity = identity
        self._serial = 0

    def attach(self, client: str) -> None:
        """Attach a client without entries."""
        if client in self.entries.by_client:
            raise InvariantError(f"client {client!r} is attached already")
        self.entries.by_client[client] = {}

    def own(self, client: str) -> dict[str, LocalEntry[W]]:
        """The entries of an attached client, by its ids."""
        own = self.entries.by_client.get(client)
        if own is None:
            raise InvariantError(f"client {client!r} is not attached")
        return own

    def register(self, client: str, id_: str, filter: W) -> LocalEntry[W]:
        """Register a client's entry under a free id; `announce` has to follow."""
        self._serial += 1
        key = f"{self._identity}.{self._serial}"
        entry: LocalEntry[W] = LocalEntry(key, client, id_, kept(filter))
        self.entries.add(entry)
        return entry

    def register_many(self, client: str, named: Sequence[tuple[str, W]]) -> list[LocalEntry[W]]:
        """Register a client's entries under several ids, all free and different."""
        first, identity = self._serial + 1, self._identity
        entries: list[LocalEntry[W]] = [
            LocalEntry(f"{identity}.{serial}", client, id_, kept(filter_))
            for serial, (id_, filter_) in enumerate(named, first)
        ]
        self._serial += len(entries)
        if entries:
            self.entries.add_many(entries, [filter_ for _, filter_ in named])
        return entries

    def repeated(self, present: LocalEntry[W], filter: W) -> list[Effect]:
        """Answer a client that makes a request again under an id that it uses.

        A subscription to another filter is changed to that one: see `change`.
        """
        if present.filter != filter and self.kind is SUBSCRIPTIONS:
            return self.change(present, filter)
        if present.filter != filter:
            reason = (
                f"{self.kind.noun} id {present.id!r} is taken by another filter of this "
                f"client; {self.kind.undo} it first or choose another id"
            )
            return [Refused(present.client, present.id, reason)]
        if self.in_force(present.key):
            return [self.kind.in_force(present.client, present.id)]
        return []  # the answer is on its way

    def change(self, present: LocalEntry[W], filter: W) -> list[Effect]:
        """Change a client's subscription under an id to another filter.

        The former entry is set aside, and withdrawn when the new one is in force (`settle`). Until
        then publications reach the client by either, so it misses none that both accept, wherever
        the publication is under way, and it gets each once, as routers name a client's subscription
        by id.
        """
        self.entries.set_aside(present)
        return self.announce(self.register(present.client, present.id, filter))

    def settle(self, effects: list[Effect]) -> list[Effect]:
        """Add to the effects of an input the withdrawal of entries set aside.

        Those are the former entries of the ids that the effects report to be in force.
        """
        for effect in effects:  # which grow meanwhile
            if not self.entries.aside:
                break
            if isinstance(effect, Subscribed):
                effects += self._withdraw_aside(effect.client, (effect.subscription,))
            elif isinstance(effect, SubscribedMany):
                effects += self._withdraw_aside(effect.client, effect.subscriptions)
        return effects

    def _withdraw_aside(self, client: str, ids: Sequence[str]) -> list[Effect]:
        former = [entry for id_ in ids for entry in self.entries.remove_aside(client, id_)]
        return self.withdraw_many(former) if former else []

    def unknown(self, client: str, id_: str) -> list[Effect]:
        """Refuse the withdrawal of an id that the client does not use."""
        return [Refused(client, id_, f"this client has no {self.kind.noun} with id {id_!r}")]

    def release(self, entry: LocalEntry[W]) -> list[Effect]:
        """Withdraw a client's entry."""
        former = self.entries.remove_aside(entry.client, entry.id)
        self.entries.remove(entry)
        effects = self.withdraw_many([*former, entry]) if former else self.withdraw(entry)
        return [*effects, self.kind.withdrawn(entry.client, entry.id)]

    def release_many(self, entries: Sequence[LocalEntry[W]]) -> list[Effect]:
        """Withdraw several entries of a client."""
        former = []
        for entry in entries:
            if self.entries.aside:
                former += self.entries.remove_aside(entry.client, entry.id)
            self.entries.remove(entry)
        effects = self.withdraw_many([*former, *entries])
        ids = tuple(entry.id for entry in entries)
        if self.kind.many is not None and len(ids) > 1:
            return [*effects, self.kind.many.withdrawn(entries[0].client, ids)]
        return [*effects, *(self.kind.withdrawn(entry.client, entry.id) for entry in entries)]

    def detach(self, client: str, at_once: int | None = None) -> list[Effect]:
        """Detach a client that has left, and withdraw its entries.

        If there are more than `at_once`, they are withdrawn chunk by chunk, by `clear`.
        """
        own = self.own(client)
        if at_once is not None and len(own) > at_once:
            self.entries.let_go(client)
            former = self.entries.remove_aside_of(client)
            return [*self.withdraw_many(former), *self.clear(at_once)]
        entries = [*self.entries.remove_aside_of(client), *own.values()]
        for entry in list(own.values()):  # all first, so that nothing is announced to the client
            self.entries.remove(entry)
        del self.entries.by_client[client]
        return self.withdraw_many(entries)

    def clear(self, count: int) -> list[Effect]:
        """Withdraw up to `count` entries of clients that have gone, the newest first."""
        return self.withdraw_many(self.entries.remove_leaving(count))

    def announce(self, entry: LocalEntry[W]) -> list[Effect]:
        """Spread a registered entry over the overlay.

        An entry that accepts nothing is in force at once, and no neighbor receives it.
        """
        if accepts_nothing(entry.content):
            return [self.kind.in_force(entry.client, entry.id)]
        return self._announce(entry)

    def announce_many(self, entries: Sequence[LocalEntry[W]], filters: Sequence[W]) -> list[Effect]:
        """Spread several registered entries over the overlay, in order.

        `filters` are theirs.
        """
        idle = [place for place, one in enumerate(entries) if accepts_nothing(one.content)]
        if not idle:  # as a rule
            return self._announce_many(entries, filters)
        effects = [effect for place in idle for effect in self.announce(entries[place])]
        some = [
            place for place in range(len(entries)) if not accepts_nothing(entries[place].content)
        ]
        left = [entries[place] for place in some]
        return [*effects, *self._announce_many(left, [filters[place] for place in some])]

    def withdraw(self, entry: LocalEntry[W]) -> list[Effect]:
        """Withdraw from the overlay an entry that is no longer registered."""
        return [] if accepts_nothing(entry.content) else self._withdraw(entry)

    def withdraw_many(self, entries: Sequence[LocalEntry[W]]) -> list[Effect]:
        """Withdraw from the overlay several entries, none of which is registered any more."""
        return self._withdraw_many([one for one in entries if not accepts_nothing(one.content)])

    @abstractmethod
    def _announce(self, entry: LocalEntry[W]) -> list[Effect]:
        """Spread an entry that accepts something."""

    def _announce_many(
        self,
        entries: Sequence[LocalEntry[W]],
        filters: Sequence[W],  # noqa: ARG002 - for propagation that sends all at once
    ) -> list[Effect]:
        """Spread several entries that accept something."""
        return [effect for entry in entries for effect in self._announce(entry)]

    @abstractmethod
    def _withdraw(self, entry: LocalEntry[W]) -> list[Effect]:
        """Withdraw an entry that accepts something and is no longer registered."""

    def _withdraw_many(self, entries: Sequence[LocalEntry[W]]) -> list[Effect]:
        """Withdraw several such entries."""
        return [effect for entry in entries for effect in self._withdraw(entry)]

    @abstractmethod
    def in_force(self, key: str) -> bool:
        """True if every router that a client's entry must reach has confirmed it."""

    @property
    @abstractmethod
    def unconfirmed(self) -> int:
        """The number of entries, of clients and of neighbors, that wait for confirmations."""


def cycle_reason(what: str, known: str, neighbor: str) -> str:
    """The reason to close a link over which an entry or publication came that was known already."""
    return (
        f"{what} was known {known} before it came over the link to {neighbor}: the overlay has a "
        "cycle, and under this protocol it must be a tree; remove one link, or put mesh+ before "
        "the name of the protocol everywhere"
    )


def unexpected_message(message: Message) -> str:
    """The reason to close a link over which a message came that the protocol does not have."""
    return (
        f"under this routing protocol nobody says {type(message).__name__}: start both brokers "
        "with the same protocol"
    )
