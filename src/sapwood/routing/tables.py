"""Routing tables, free of any strategy: subscriptions and advertisements, and their sides.

Each subscription and each advertisement has one source: a client of this router, or the link over
which it came.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar, cast

from msgspec import Struct

from sapwood.errors import InvariantError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.kept import (
    Kept,
    KeptFilters,
    accepts_nothing,
    are_packed,
    content_of,
)

CLIENTS: Final = ""
"""The side of a router's own clients; no neighbor has an empty name."""

_FOLLOWED: Final = 1 << 17
"""Entries handed to a follower at once; their filters take about 60 MB there."""

_CONTENT: Final[Callable[[LocalEntry[Any] | ReceivedEntry[Any]], Kept]] = attrgetter("content")

W = TypeVar("W", bound=AdvertisedContent)
"""The type of an entry's filter: an interest, or an advertised content."""


class LocalEntry(Struct, Generic[W], frozen=True, gc=False):
    """A subscription or advertisement of a client of this router; `id` is the client's own.

    `content` is the filter as it is kept (`model.kept`).
    """

    key: str
    client: str
    id: str
    content: Kept

    @property
    def filter(self) -> W:
        """The filter of the subscription or advertisement."""
        return cast("W", content_of(self.content))


class ReceivedEntry(Struct, Generic[W], frozen=True, gc=False):
    """An entry received over a link; `sending` is the sequence number it came with.

    `content` is the filter as it is kept (`model.kept`).
    """

    content: Kept
    sending: int

    @property
    def filter(self) -> W:
        """The filter that the neighbor sent."""
        return cast("W", content_of(self.content))


class LinkSubscription(NamedTuple):
    """A subscription that a router has received from a neighbor, or sent to it.

    On a tree of its own it applies to publications that `source` accepts, else to all.
    """

    neighbor: str
    key: str
    filter: Interest
    source: str | None = None


class ClientIds(NamedTuple):
    """The ids of a client's subscriptions and advertisements, as the client chose them."""

    subscriptions: tuple[str, ...]
    advertisements: tuple[str, ...]


class SentEntry(NamedTuple):
    """An entry that one router has sent to another, as either of the two has it in its tables.

    `content` is a filter, or the form in which `model.kept` keeps it; `sending` is the sequence
    number it was sent with.
    """

    key: str
    content: Kept
    sending: int


class Table(Protocol):
    """All subscriptions of a router, or all advertisements, as comparisons of tables read them."""

    def held_from(self, neighbor: str) -> Iterator[SentEntry]:
        """The entries received over a link."""
        ...

    def sent_to(self, neighbor: str) -> Iterator[SentEntry]:
        """The entries sent to a neighbor and not withdrawn."""
        ...

    def side_of(self, key: str) -> str | None:
        """The side of an entry: a neighbor, or `CLIENTS`; `None` for an entry that is not here."""
        ...

    def unanswered(self, neighbor: str) -> Iterator[str]:
        """The keys sent to a neighbor whose confirmation is missing and holds up other entries."""
        ...

    def in_force(self, key: str) -> bool:
        """True if every router that an entry must reach has confirmed it."""
        ...

    def neighbors(self) -> Collection[str]:
        """The neighbors whose links are up."""
        ...

    def keys_from(self, neighbor: str) -> KeysView[str]:
        """The keys of the entries received over a link that is up."""
        ...

    def held(self, neighbor: str, key: str) -> SentEntry | None:
        """The entry received over a link, up or not, under a key; `None` if there is none."""
        ...

    def stated(self, neighbor: str, key: str) -> SentEntry | None:
        """The entry sent to a neighbor under a key and not withdrawn; `None` if there is none."""
        ...

    def is_confirmed(self, neighbor: str, key: str) -> bool:
        """True if a neighbor has confirmed the entry it was sent under a key."""
        ...

    def renumber(self, neighbor: str, key: str, sending: int) -> None:
        """Give an entry received over a link another sequence number, and change nothing else."""
        ...


W_contra = TypeVar("W_contra", bound=AdvertisedContent, contravariant=True)


class Follower(Protocol[W_contra]):
    """An index that follows the entries of a router: called at every change, by its maker.

    A side is a neighbor or `CLIENTS`, the router's own clients; `CLIENTS` is always there.
    """

    def add_side(self, side: str) -> None:
        """Add a neighbor, from which nothing has come."""

    def remove_side(self, side: str) -> None:
        """Remove a neighbor, with all entries of its side."""

    def learned(self, side: str, key: str, filter: W_contra) -> None:
        """Add an entry to a side, under a key that no side has."""

    def learned_many(self, side: str, entries: Sequence[tuple[str, W_contra]]) -> None:
        """Add several entries, with their keys, to a side, as by one `learned` each."""

    def forgot(self, side: str, key: str) -> None:
        """Remove an entry of a side."""


class Followers(Generic[W]):
    """Several followers of the same entries; every change is passed to each, in their order."""

    __slots__ = ("each",)

    def __init__(self, each: Sequence[Follower[W]]) -> None:
        self.each = each

    def add_side(self, side: str) -> None:
        """Add a neighbor, from which nothing has come."""
        for one in self.each:
            one.add_side(side)

    def remove_side(self, side: str) -> None:
        """Remove a neighbor, with all entries of its side."""
        for one in self.each:
            one.remove_side(side)

    def learned(self, side: str, key: str, filter: W) -> None:
        """Add an entry to a side, under a key that no side has."""
        for one in self.each:
            one.learned(side, key, filter)

    def learned_many(self, side: str, entries: Sequence[tuple[str, W]]) -> None:
        """Add several entries, with their keys, to a side."""
        for one in self.each:
            one.learned_many(side, entries)

    def forgot(self, side: str, key: str) -> None:
        """Remove an entry of a side."""
        for one in self.each:
            one.forgot(side, key)


@dataclass(slots=True)
class Entries(Generic[W]):
    """All subscriptions that a router knows, or all advertisements.

    `received` holds one table for each link that is up, `by_client` one for each client. All
    changes are made by the methods below, so that the `follower`, if there is one, misses none.

    #: by_client[c][i].key in by_key, and conversely except for entries leaving or set aside
    #: aside[c, i] are the former entries of c under i, oldest first, until the new one is in force
    #: leaving has the entries by id of clients that have gone, one table per client, none empty
    #: no key is known from two sources
    #: the follower has exactly the entries that are here, and their sides
    """

    follower: Follower[W] | None = None
    by_client: dict[str, dict[str, LocalEntry[W]]] = field(default_factory=dict)
    by_key: dict[str, LocalEntry[W]] = field(default_factory=dict)
    received: dict[str, dict[str, ReceivedEntry[W]]] = field(default_factory=dict)
    leaving: list[dict[str, LocalEntry[W]]] = field(default_factory=list)
    aside: dict[tuple[str, str], list[LocalEntry[W]]] = field(default_factory=dict)

    def add(self, entry: LocalEntry[W]) -> None:
        """Register an entry of an attached client."""
        self.by_client[entry.client][entry.id] = entry
        self.by_key[entry.key] = entry
        if self.follower is not None:
            self.follower.learned(CLIENTS, entry.key, entry.filter)

    def add_many(self, entries: Sequence[LocalEntry[W]], filters: Sequence[W]) -> None:
        """Register several entries of one attached client, which have these filters."""
        keys = [entry.key for entry in entries]
        ids = [entry.id for entry in entries]
        self.by_client[entries[0].client].update(zip(ids, entries, strict=True))
        self.by_key.update(zip(keys, entries, strict=True))
        if self.follower is not None:
            self.follower.learned_many(CLIENTS, list(zip(keys, filters, strict=True)))

    def remove(self, entry: LocalEntry[W]) -> None:
        """Unregister an entry."""
        del self.by_client[entry.client][entry.id]
        del self.by_key[entry.key]
        if self.follower is not None:
            self.follower.forgot(CLIENTS, entry.key)

    def let_go(self, client: str) -> None:
        """Detach a client that has gone; its entries move to `leaving`, to be removed later."""
        own = self.by_client.pop(client)
        if own:
            self.leaving.append(own)

    def set_aside(self, entry: LocalEntry[W]) -> None:
        """Free the id of an entry, which stays until its successor under that id is in force."""
        del self.by_client[entry.client][entry.id]
        self.aside.setdefault((entry.client, entry.id), []).append(entry)

    def remove_aside(self, client: str, id_: str) -> list[LocalEntry[W]]:
        """Unregister the entries that were set aside for an id, and return them."""
        former = self.aside.pop((client, id_), [])
        for entry in former:
            del self.by_key[entry.key]
            if self.follower is not None:
                self.follower.forgot(CLIENTS, entry.key)
        return former

    def remove_aside_of(self, client: str) -> list[LocalEntry[W]]:
        """Unregister all entries that were set aside for the ids of a client, and return them."""
        ids = [id_ for owner, id_ in self.aside if owner == client]
        return [entry for id_ in ids for entry in self.remove_aside(client, id_)]

    def is_current(self, entry: LocalEntry[W]) -> bool:
        """True if an entry is the one that its client has under its id."""
        own = self.by_client.get(entry.client)
        return own is not None and own.get(entry.id) is entry

    def has_left(self, entry: LocalEntry[W]) -> bool:
        """True if the client of an entry has gone; another of the same name may have come."""
        if self.is_current(entry):
            return False
        return not any(one is entry for one in self.aside.get((entry.client, entry.id), ()))

    def remove_leaving(self, count: int) -> list[LocalEntry[W]]:
        """Unregister up to `count` entries of clients that have gone, the newest first.

        A covered entry came after its covers, so it is gone before it would have to be propagated.
        """
        some: list[LocalEntry[W]] = []
        while self.leaving and len(some) < count:
            _, entry = self.leaving[-1].popitem()
            if not self.leaving[-1]:
                self.leaving.pop()
            del self.by_key[entry.key]
            if self.follower is not None:
                self.follower.forgot(CLIENTS, entry.key)
            some.append(entry)
        return some

    def link_up(self, neighbor: str) -> None:
        """Add a link, over which nothing has come."""
        assert neighbor not in self.received, "a link comes up once"
        self.received[neighbor] = {}
        if self.follower is not None:
            self.follower.add_side(neighbor)

    def link_down(self, neighbor: str) -> dict[str, ReceivedEntry[W]]:
        """Remove a link, and return the entries received over it."""
        if self.follower is not None:
            self.follower.remove_side(neighbor)
        return self.received.pop(neighbor)

    def enter(self, neighbor: str, key: str, entry: ReceivedEntry[W]) -> None:
        """Register an entry received over a link, under a key that is not known."""
        received = self.received[neighbor]
        assert key not in received, "a key comes over a link once"
        received[key] = entry
        if self.follower is not None:
            self.follower.learned(neighbor, key, entry.filter)

    def enter_many(
        self,
        neighbor: str,
        entries: Mapping[str, ReceivedEntry[W]],
        named: Sequence[tuple[str, W]],
    ) -> None:
        """Register several entries received over a link, under keys that are not known.

        `named` are their filters by key.
        """
        self.received[neighbor].update(entries)
        if self.follower is not None:
            self.follower.learned_many(neighbor, named)

    def leave(self, neighbor: str, key: str) -> None:
        """Remove an entry that was received over a link."""
        del self.received[neighbor][key]
        if self.follower is not None:
            self.follower.forgot(neighbor, key)

    def follow(self, follower: Follower[W], *, told: int = 0) -> None:
        """Replace the follower, and hand the new one all entries.

        It has the first `told` of the clients' entries already.
        """
        self.follower = follower
        self._tell(follower, CLIENTS, self.by_key, told)
        for neighbor, received in self.received.items():
            follower.add_side(neighbor)
            self._tell(follower, neighbor, received)

    @property
    def followers(self) -> Sequence[Follower[W]]:
        """All followers."""
        if self.follower is None:
            return ()
        return self.follower.each if isinstance(self.follower, Followers) else (self.follower,)

    def exchange(self, former: Follower[W] | None, latter: Follower[W] | None) -> None:
        """Drop one of several followers, and add another, which is handed all entries."""
        following = [one for one in self.followers if one is not former]
        if latter is not None:
            self.follow(latter)
            following.append(latter)
        self.follower = Followers(following) if len(following) > 1 else next(iter(following), None)

    def _tell(
        self,
        follower: Follower[W],
        side: str,
        entries: Mapping[str, LocalEntry[W] | ReceivedEntry[W]],
        told: int = 0,
    ) -> None:
        """Hand a follower the entries of a side after the first `told`, in chunks."""
        keys, held = islice(entries, told, None), islice(entries.values(), told, None)
        while some := list(islice(keys, _FOLLOWED)):
            contents = [*map(_CONTENT, islice(held, len(some)))]
            if are_packed(contents):
                named = cast("Sequence[tuple[str, W]]", KeptFilters(some, contents))
            else:
                filters = cast("Iterable[W]", map(content_of, contents))
                named = list(zip(some, filters, strict=True))
            follower.learned_many(side, named)

    def sides(self) -> dict[str, dict[str, W]]:
        """The filters of each side by key, those of the clients first."""
        sides = {CLIENTS: {entry.key: entry.filter for entry in self.by_key.values()}}
        for neighbor, received in self.received.items():
            sides[neighbor] = {key: heard.filter for key, heard in received.items()}
        return sides

    def source_of(self, key: str) -> str | None:
        """The neighbor over whose link the entry came; `None` if it came over no link."""
        for neighbor, received in self.received.items():
            if key in received:
                return neighbor
        return None

    def candidates(self, neighbor: str) -> Iterator[tuple[str, W]]:
        """The entries that could be propagated to `neighbor`: all that it did not send itself.

        A client's entry whose filter accepts nothing is propagated to no neighbor.
        """
        for entry in self.by_key.values():
            if not accepts_nothing(entry.content):
                yield entry.key, entry.filter
        for other, received in self.received.items():
            if other != neighbor:
                for key, heard in received.items():
                    yield key, heard.filter

    def size_without(self, neighbor: str) -> int:
        """An upper bound of the number of entries that could be propagated to `neighbor`."""
        others = (len(received) for other, received in self.received.items() if other != neighbor)
        return len(self.by_key) + sum(others)

    def keys_without(self, neighbor: str) -> Iterator[str]:
        """The keys of the entries that could be propagated to `neighbor`, in the same order."""
        for key, entry in self.by_key.items():
            if not accepts_nothing(entry.content):
                yield key
        for other, received in self.received.items():
            if other != neighbor:
                yield from received

    def filter_of(self, key: str) -> W:
        """The filter of an entry of this table."""
        entry = self.by_key.get(key)
        if entry is not None:
            return entry.filter
        return next(heard[key].filter for heard in self.received.values() if key in heard)

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        held = {e.key: e for own in self.by_client.values() for e in own.values()}
        left = {e.key: e for own in self.leaving for e in own.values()}
        aside = {e.key: e for former in self.aside.values() for e in former}
        every = held | left | aside
        if len(every) < len(held) + len(left) + len(aside) or every != self.by_key:
            raise InvariantError("the clients' entries and the keys differ")
        if not all(id_ in self.by_client.get(client, {}) for client, id_ in self.aside):
            raise InvariantError("something is set aside, and nothing took its place")
        keys = [*self.by_key, *(key for received in self.received.values() for key in received)]
        if len(keys) != len(set(keys)):
            raise InvariantError("an entry is known from two sources")
