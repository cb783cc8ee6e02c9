"""Routing tables, free of any strategy: what is known, and from which side it was heard.

Subscriptions and advertisements alike have one source: a client of this router, or the link over
which they came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from sapwood.errors import InvariantError
from sapwood.model.interest import Interest
from sapwood.model.promise import Promise
from sapwood.routing.sided_index import CLIENTS, SidedIndex

W = TypeVar("W", bound=Promise)
"""What entries hold: interests, or what publishers promise."""


@dataclass(frozen=True, slots=True)
class LocalEntry(Generic[W]):
    """What a client of this router subscribed to or advertised; `id` is the client's own."""

    key: str
    client: str
    id: str
    filter: W


@dataclass(frozen=True, slots=True)
class ReceivedEntry(Generic[W]):
    """What came over a link; `sending` is the number it came with."""

    filter: W
    sending: int


class ReceivedSubscription(NamedTuple):
    """A subscription that a router knows from a neighbor.

    On a tree of its own it waits for publications that `source` accepts, else for those of all.
    """

    neighbor: str
    key: str
    filter: Interest
    source: str | None = None


@dataclass(slots=True)
class Entries(Generic[W]):
    """All subscriptions that a router knows, or all advertisements.

    `received` holds one table for each link that is up, `by_client` one for each client.

    #: by_client[c][i].key in by_key, and the other way round
    #: no key is known from two sources
    """

    by_client: dict[str, dict[str, LocalEntry[W]]] = field(default_factory=dict)
    by_key: dict[str, LocalEntry[W]] = field(default_factory=dict)
    received: dict[str, dict[str, ReceivedEntry[W]]] = field(default_factory=dict)

    def add(self, entry: LocalEntry[W]) -> None:
        """Register an entry of an attached client."""
        self.by_client[entry.client][entry.id] = entry
        self.by_key[entry.key] = entry

    def remove(self, entry: LocalEntry[W]) -> None:
        """Unregister it."""
        del self.by_client[entry.client][entry.id]
        del self.by_key[entry.key]

    def source_of(self, key: str) -> str | None:
        """The neighbor over whose link the entry came; `None` if no link brought it."""
        for neighbor, received in self.received.items():
            if key in received:
                return neighbor
        return None

    def candidates(self, neighbor: str) -> Iterator[tuple[str, W]]:
        """All that `neighbor` could be told of: what it did not bring itself."""
        for entry in self.by_key.values():
            yield entry.key, entry.filter
        for other, received in self.received.items():
            if other != neighbor:
                for key, heard in received.items():
                    yield key, heard.filter

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        if {e.key: e for own in self.by_client.values() for e in own.values()} != self.by_key:
            raise InvariantError("the clients' entries and the keys differ")
        keys = [*self.by_key, *(key for received in self.received.values() for key in received)]
        if len(keys) != len(set(keys)):
            raise InvariantError("an entry is known from two sources")


def check_index(index: SidedIndex, entries: Entries[Interest]) -> None:
    """Check that an index holds exactly the subscriptions; raises `InvariantError`."""
    index.validate()
    if index.neighbors != tuple(entries.received):
        raise InvariantError("the index and the received subscriptions are of other links")
    local = {entry.key: entry.filter for entry in entries.by_key.values()}
    _check_side("clients", index, CLIENTS, local)
    for neighbor, received in entries.received.items():
        filters = {key: heard.filter for key, heard in received.items()}
        _check_side(f"link {neighbor}", index, neighbor, filters)


def _check_side(name: str, index: SidedIndex, side: str, filters: Mapping[str, Interest]) -> None:
    if index.size(side) != len(filters):
        raise InvariantError(
            f"the index holds {index.size(side)} subscriptions of {name}, not {len(filters)}"
        )
    if {key: index.filter(side, key) for key in index.keys(side)} != filters:
        raise InvariantError(f"the index lost or changed a subscription of {name}")
