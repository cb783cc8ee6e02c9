"""The entries of a client: its subscriptions and advertisements that are not withdrawn.

::

    requested  ->  in force  ->  leaving  ->  gone      by the answer to a withdrawal
    requested  ->  gone                                 by a refusal
    in force   ->  changed, or kept as it was           by the answers to a change (`changing`)

An entry is requested again on every connection. It is gone with the broker's answer to its
withdrawal, with a refusal, or, while it is leaving, with the connection.

A client may have a million entries. So the garbage collector does not track them (a pass over them
would take a second), and work that takes as many steps as there are entries is done bit by bit
(`bulk_requests`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from msgspec import Struct

from sapwood.errors import InvariantError
from sapwood.wire.interests import AdvertisedText, InterestText
from sapwood.wire.messages import (
    AdvertiseRequest,
    Cause,
    Message,
    SubscribeRequest,
    UnadvertiseRequest,
    UnsubscribeRequest,
)

F = TypeVar("F")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EntryKind(Generic[F]):
    """A kind of entries: its noun in errors, and the messages to request and withdraw one."""

    noun: str
    request: Callable[[str, F], Message]
    withdrawal: Callable[[str], Message]


SUBSCRIPTION: Final[EntryKind[InterestText]] = EntryKind(
    "subscription", SubscribeRequest, UnsubscribeRequest
)
ADVERTISEMENT: Final[EntryKind[AdvertisedText]] = EntryKind(
    "advertisement", AdvertiseRequest, UnadvertiseRequest
)


HELD: Final = -1
"""The value of `asked` of an entry that is not to be requested before its group is released."""


class Entry(Struct, Generic[F, T], gc=False):
    """One subscription or advertisement.

    `filter` is the filter as it travels. `owner` is the object of the application for this entry,
    opaque here; it does not refer to the entry.
    """

    kind: EntryKind[F]
    id: str
    filter: F
    owner: T
    #: the withdrawal was requested, and the broker has not answered it yet
    is_leaving: bool = False
    #: the entry was in force at least once
    was_in_force: bool = False
    #: the number of the connection on which a subscription was requested last, from 1 on, or `HELD`
    asked: int = 0


class ClientEntries(Generic[F, T]):
    """All entries of one kind, by id, in the order in which they were requested first."""

    __slots__ = ("_entries", "_leaving", "kind")

    def __init__(self, kind: EntryKind[F]) -> None:
        self.kind = kind
        self._entries: dict[str, Entry[F, T]] = {}
        #: the entries that are leaving, by id
        self._leaving: dict[str, Entry[F, T]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._entries

    def __iter__(self) -> Iterator[Entry[F, T]]:
        return iter(self._entries.values())

    def get(self, id_: str) -> Entry[F, T] | None:
        """The entry of this id, or `None`."""
        return self._entries.get(id_)

    def known(self, id_: str) -> Entry[F, T]:
        """The entry of this id. Raises `InvariantError` if there is none."""
        entry = self._entries.get(id_)
        if entry is None:
            raise InvariantError(f"{self.kind.noun} {id_!r} is not there")
        return entry

    def add(self, id_: str, filter_: F, owner: T, asked: int = 0) -> Entry[F, T]:
        """Add an entry under a free id, and return it."""
        if id_ in self._entries:
            raise InvariantError(f"{self.kind.noun} {id_!r} is there already")
        entry = self._entries[id_] = Entry(self.kind, id_, filter_, owner, asked=asked)
        return entry

    def leave(self, entry: Entry[F, T]) -> None:
        """Mark an entry as leaving."""
        entry.is_leaving = True
        self._leaving[entry.id] = entry

    def remove(self, entry: Entry[F, T]) -> None:
        """Remove an entry, whose id is free from now on."""
        del self._entries[entry.id]
        self._leaving.pop(entry.id, None)

    def remove_leaving(self) -> list[Entry[F, T]]:
        """Remove and return all leaving entries, in the order in which they began to leave."""
        gone = list(self._leaving.values())
        for entry in gone:
            self.remove(entry)
        return gone


@dataclass(frozen=True, slots=True)
class EntryConfirmed:
    """The entry is in force in the whole overlay, for the first time or again."""

    entry: Entry[Any, Any]


@dataclass(frozen=True, slots=True)
class EntryRefused:
    """The broker refused a request about the entry, which is gone."""

    entry: Entry[Any, Any]
    reason: str
    cause: Cause = Cause.REQUEST


@dataclass(frozen=True, slots=True)
class EntryWithdrawn:
    """The entry is withdrawn, and gone."""

    entry: Entry[Any, Any]


@dataclass(frozen=True, slots=True)
class EntryChanged:
    """The entry is in force with the filter to which it was to be changed."""

    entry: Entry[Any, Any]


@dataclass(frozen=True, slots=True)
class EntryKept:
    """The broker refused to change the entry, which is in force as it was before."""

    entry: Entry[Any, Any]
    reason: str


@dataclass(frozen=True, slots=True)
class EntriesConfirmed:
    """The entries, which may have several owners, are in force, for the first time or again."""

    entries: tuple[Entry[Any, Any], ...]


@dataclass(frozen=True, slots=True)
class EntriesWithdrawn:
    """The entries, which may have several owners, are withdrawn, and gone."""

    entries: tuple[Entry[Any, Any], ...]


EntryEvent: TypeAlias = EntryConfirmed | EntryRefused | EntryWithdrawn | EntryChanged | EntryKept
"""An event that concerns one entry."""

EntriesEvent: TypeAlias = EntriesConfirmed | EntriesWithdrawn
"""An event that concerns several entries."""
