"""Routing tables, free of any strategy: who wants what, and from which side it was heard.

A subscription has one source: a client of this router, or the link over which it came.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sapwood.errors import InvariantError
from sapwood.matching.index import Index
from sapwood.model.filter import Filter
from sapwood.model.publication import Publication


@dataclass(frozen=True, slots=True)
class LocalSubscription:
    """A subscription of a client of this router; `subscription` is the client's own id."""

    key: str
    client: str
    subscription: str
    filter: Filter


@dataclass(slots=True)
class Clients:
    """The clients attached here and what they subscribed to.

    #: by_client[c][i].key in by_key, and the other way round
    #: set(index) == set(by_key)
    """

    index: Index
    by_client: dict[str, dict[str, LocalSubscription]] = field(default_factory=dict)
    by_key: dict[str, LocalSubscription] = field(default_factory=dict)

    def add(self, entry: LocalSubscription) -> None:
        """Register a subscription of an attached client."""
        self.by_client[entry.client][entry.subscription] = entry
        self.by_key[entry.key] = entry
        self.index.add(entry.key, entry.filter)

    def remove(self, entry: LocalSubscription) -> None:
        """Unregister it."""
        del self.by_client[entry.client][entry.subscription]
        del self.by_key[entry.key]
        self.index.remove(entry.key)

    def match(self, publication: Publication) -> list[tuple[str, tuple[str, ...]]]:
        """Each client with a matching subscription, and the sorted ids of those; by client name."""
        found: dict[str, list[str]] = {}
        for key in self.index.match(publication):
            entry = self.by_key[key]
            found.setdefault(entry.client, []).append(entry.subscription)
        return [(client, tuple(sorted(ids))) for client, ids in sorted(found.items())]

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        entries = {e.key: e for own in self.by_client.values() for e in own.values()}
        if entries != self.by_key:
            raise InvariantError("the clients' subscriptions and the keys differ")
        _validate_index("the clients' index", self.index, {k: e.filter for k, e in entries.items()})


@dataclass(slots=True)
class Received:
    """What one neighbor wants: the subscriptions that came over its link.

    #: set(index) == set(filters) == set(sendings)
    """

    index: Index
    filters: dict[str, Filter] = field(default_factory=dict)
    #: the number that each came with
    sendings: dict[str, int] = field(default_factory=dict)

    def add(self, key: str, filter: Filter, sending: int) -> None:  # noqa: A002 - the field's word
        """Register a subscription of the neighbor."""
        self.filters[key] = filter
        self.sendings[key] = sending
        self.index.add(key, filter)

    def remove(self, key: str) -> None:
        """Unregister it."""
        del self.filters[key], self.sendings[key]
        self.index.remove(key)

    def validate(self, neighbor: str) -> None:
        """Check the relation above; raises `InvariantError`."""
        if self.sendings.keys() != self.filters.keys():
            raise InvariantError(f"the numbers of link {neighbor} are not those of its filters")
        _validate_index(f"the index of link {neighbor}", self.index, self.filters)


@dataclass(slots=True)
class Tables:
    """All a router knows about wants.

    `received` holds one entry for each link that is up.
    """

    clients: Clients
    received: dict[str, Received] = field(default_factory=dict)

    def source_of(self, key: str) -> str | None:
        """The neighbor over whose link the subscription came; `None` if no link brought it."""
        for neighbor, received in self.received.items():
            if key in received.filters:
                return neighbor
        return None

    def candidates(self, neighbor: str) -> Iterator[tuple[str, Filter]]:
        """All subscriptions that `neighbor` could be told of: those it did not bring itself."""
        for entry in self.clients.by_key.values():
            yield entry.key, entry.filter
        for other, received in self.received.items():
            if other != neighbor:
                yield from received.filters.items()


def _validate_index(name: str, index: Index, filters: dict[str, Filter]) -> None:
    if len(index) != len(filters):
        raise InvariantError(f"{name} holds {len(index)} subscriptions, not {len(filters)}")
    for key, wanted in filters.items():
        if key not in index or index.filter(key) != wanted:
            raise InvariantError(f"{name} lost or changed {key}")
