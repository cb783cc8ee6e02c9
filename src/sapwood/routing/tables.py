"""Routing tables, free of any strategy: what is known, and from which side it was heard.

Subscriptions and advertisements alike have one source: a client of this router, or the link over
which they came.
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
"""Entries that a follower is told of at once, 60 MB or so of filters as it hears of them."""

_CONTENT: Final[Callable[[LocalEntry[Any] | ReceivedEntry[Any]], Kept]] = attrgetter("content")

W = TypeVar("W", bound=AdvertisedContent)
"""What entries hold: interests, or what publishers promise."""


class LocalEntry(Struct, Generic[W], frozen=True, gc=False):
    """What a client of this router subscribed to or advertised; `id` is the client's own.

    `content` is the filter as it is kept (`model.kept`).
    """

    key: str
    client: str
    id: str
    content: Kept

    @property
    def filter(self) -> W:
        """What the client subscribed to or advertised."""
        return cast("W", content_of(self.content))


class ReceivedEntry(Struct, Generic[W], frozen=True, gc=False):
    """What came over a link; `sending` is the number it came with.

    `content` is the filter as it is kept (`model.kept`).
    """

    content: Kept
    sending: int

    @property
    def filter(self) -> W:
        """What the neighbor stated."""
        return cast("W", content_of(self.content))


class LinkSubscription(NamedTuple):
    """A subscription that a router knows from a neighbor, or has told it of.

    On a tree of its own it waits for publications that `source` accepts, else for those of all.
    """

    neighbor: str
    key: str
    filter: Interest
    source: str | None = None


class Stated(NamedTuple):
    """What a client has stated at its router, by its own ids."""

    subscriptions: tuple[str, ...]
    advertisements: tuple[str, ...]


class Statement(NamedTuple):
    """What one router has stated to another, as either of the two has it in its tables.

    `content` is a filter, or as `model.kept` keeps it; `sending` is the number it was sent with.
    """

    key: str
    content: Kept
    sending: int


class Table(Protocol):
    """All subscriptions of a router, or all advertisements, for who compares them with others."""

    def held_from(self, neighbor: str) -> Iterator[Statement]:
        """What came over a link."""
        ...

    def told_to(self, neighbor: str) -> Iterator[Statement]:
        """What a neighbor was told and not told to forget."""
        ...

    def side_of(self, key: str) -> str | None:
        """Where an entry came from: a neighbor, or `CLIENTS`; `None` for one that is not here."""
        ...

    def unanswered(self, neighbor: str) -> Iterator[str]:
        """The keys that were told and that a neighbor has yet to confirm, for others to be so."""
        ...

    def in_force(self, key: str) -> bool:
        """Whether every router that an entry must reach has confirmed it."""
        ...

    def neighbors(self) -> Collection[str]:
        """Those whose links are up."""
        ...

    def keys_from(self, neighbor: str) -> KeysView[str]:
        """The keys of what came over a link that is up."""
        ...

    def held(self, neighbor: str, key: str) -> Statement | None:
        """What came over a link, up or not, under a key, if anything did."""
        ...

    def stated(self, neighbor: str, key: str) -> Statement | None:
        """What a neighbor was told under a key, if it was, and not told to forget it."""
        ...

    def is_confirmed(self, neighbor: str, key: str) -> bool:
        """Whether a neighbor has confirmed what it was told under a key."""
        ...

    def renumber(self, neighbor: str, key: str, sending: int) -> None:
        """What came over a link under a key has another number there now: nothing else follows."""
        ...


W_contra = TypeVar("W_contra", bound=AdvertisedContent, contravariant=True)


class Follower(Protocol[W_contra]):
    """What follows the entries of a router: told of each change, at once, by whoever makes it.

    A side is a neighbor or `CLIENTS`, the router's own clients; that one is always there.
    """

    def add_side(self, side: str) -> None:
        """A neighbor is there, from which nothing has come."""

    def remove_side(self, side: str) -> None:
        """A neighbor is gone, with all that came from there."""

    def learned(self, side: str, key: str, filter: W_contra) -> None:
        """An entry came from a side, under a key that no side has."""

    def learned_many(self, side: str, entries: Sequence[tuple[str, W_contra]]) -> None:
        """Several entries, with their keys, came from a side, as by `learned` one by one."""

    def forgot(self, side: str, key: str) -> None:
        """An entry of a side is there no longer."""


class Followers(Generic[W]):
    """Several that follow the same entries, each told of every change, in their order."""

    __slots__ = ("each",)

    def __init__(self, each: Sequence[Follower[W]]) -> None:
        self.each = each

    def add_side(self, side: str) -> None:
        """A neighbor is there, from which nothing has come."""
        for one in self.each:
            one.add_side(side)

    def remove_side(self, side: str) -> None:
        """A neighbor is gone, with all that came from there."""
        for one in self.each:
            one.remove_side(side)

    def learned(self, side: str, key: str, filter: W) -> None:
        """An entry came from a side, under a key that no side has."""
        for one in self.each:
            one.learned(side, key, filter)

    def learned_many(self, side: str, entries: Sequence[tuple[str, W]]) -> None:
        """Several entries, with their keys, came from a side."""
        for one in self.each:
            one.learned_many(side, entries)

    def forgot(self, side: str, key: str) -> None:
        """An entry of a side is there no longer."""
        for one in self.each:
            one.forgot(side, key)


@dataclass(slots=True)
class Entries(Generic[W]):
    """All subscriptions that a router knows, or all advertisements.

    `received` holds one table for each link that is up, `by_client` one for each client. All
    changes are made by the methods below, so that the `follower`, if there is one, misses none.

    #: by_client[c][i].key in by_key, and the other way round but for what is leaving or set aside
    #: aside[c, i] is what c had under i, oldest first, until what is there now is in force
    #: leaving has what clients had that have gone, by their ids, without those that had nothing
    #: no key is known from two sources
    #: the follower was told of exactly the entries that are here, and of the sides they are on
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
        """Unregister it."""
        del self.by_client[entry.client][entry.id]
        del self.by_key[entry.key]
        if self.follower is not None:
            self.follower.forgot(CLIENTS, entry.key)

    def let_go(self, client: str) -> None:
        """A client has gone; what it had is nobody's any more, and yet to be removed."""
        own = self.by_client.pop(client)
        if own:
            self.leaving.append(own)

    def set_aside(self, entry: LocalEntry[W]) -> None:
        """Free the id of an entry, which stays until another under that id is in force."""
        del self.by_client[entry.client][entry.id]
        self.aside.setdefault((entry.client, entry.id), []).append(entry)

    def remove_aside(self, client: str, id_: str) -> list[LocalEntry[W]]:
        """Unregister what was set aside for an id."""
        former = self.aside.pop((client, id_), [])
        for entry in former:
            del self.by_key[entry.key]
            if self.follower is not None:
                self.follower.forgot(CLIENTS, entry.key)
        return former

    def remove_aside_of(self, client: str) -> list[LocalEntry[W]]:
        """Unregister all that was set aside for the ids of a client."""
        ids = [id_ for owner, id_ in self.aside if owner == client]
        return [entry for id_ in ids for entry in self.remove_aside(client, id_)]

    def is_current(self, entry: LocalEntry[W]) -> bool:
        """Whether an entry is what its client has under its id."""
        own = self.by_client.get(entry.client)
        return own is not None and own.get(entry.id) is entry

    def has_left(self, entry: LocalEntry[W]) -> bool:
        """Whether the client has gone whose entry this is; one of the same name may have come."""
        if self.is_current(entry):
            return False
        return not any(one is entry for one in self.aside.get((entry.client, entry.id), ()))

    def remove_leaving(self, count: int) -> list[LocalEntry[W]]:
        """Unregister so many of the entries of clients that have gone, the newest first.

        What was covered by others came after these, and is gone before it could be told of.
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
        """A link is there, over which nothing has come."""
        assert neighbor not in self.received, "a link comes up once"
        self.received[neighbor] = {}
        if self.follower is not None:
            self.follower.add_side(neighbor)

    def link_down(self, neighbor: str) -> dict[str, ReceivedEntry[W]]:
        """A link is gone; returns what had come over it."""
        if self.follower is not None:
            self.follower.remove_side(neighbor)
        return self.received.pop(neighbor)

    def enter(self, neighbor: str, key: str, entry: ReceivedEntry[W]) -> None:
        """An entry has come over a link, under a key that is not known."""
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
        """Several entries have come over a link, under keys that are not known.

        `named` are their filters by key.
        """
        self.received[neighbor].update(entries)
        if self.follower is not None:
            self.follower.learned_many(neighbor, named)

    def leave(self, neighbor: str, key: str) -> None:
        """An entry that came over a link is there no longer."""
        del self.received[neighbor][key]
        if self.follower is not None:
            self.follower.forgot(neighbor, key)

    def follow(self, follower: Follower[W], *, told: int = 0) -> None:
        """Let another one follow in the place of the first, and tell it of all that is here.

        It has been `told` of so many of the clients' entries, the first ones.
        """
        self.follower = follower
        self._tell(follower, CLIENTS, self.by_key, told)
        for neighbor, received in self.received.items():
            follower.add_side(neighbor)
            self._tell(follower, neighbor, received)

    @property
    def followers(self) -> Sequence[Follower[W]]:
        """All that follow."""
        if self.follower is None:
            return ()
        return self.follower.each if isinstance(self.follower, Followers) else (self.follower,)

    def exchange(self, former: Follower[W] | None, latter: Follower[W] | None) -> None:
        """Let one of several no longer follow, and another, which is told of all that is here."""
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
        """Tell of all entries of a side but the first: not of so many at once that need memory."""
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
        """The filters of each side by key, that of the clients first."""
        sides = {CLIENTS: {entry.key: entry.filter for entry in self.by_key.values()}}
        for neighbor, received in self.received.items():
            sides[neighbor] = {key: heard.filter for key, heard in received.items()}
        return sides

    def source_of(self, key: str) -> str | None:
        """The neighbor over whose link the entry came; `None` if no link brought it."""
        for neighbor, received in self.received.items():
            if key in received:
                return neighbor
        return None

    def candidates(self, neighbor: str) -> Iterator[tuple[str, W]]:
        """All that `neighbor` could be told of: what it did not bring itself.

        What a client stated that accepts nothing is told to nobody.
        """
        for entry in self.by_key.values():
            if not accepts_nothing(entry.content):
                yield entry.key, entry.filter
        for other, received in self.received.items():
            if other != neighbor:
                for key, heard in received.items():
                    yield key, heard.filter

    def size_without(self, neighbor: str) -> int:
        """How many entries there are at most that `neighbor` could be told of."""
        others = (len(received) for other, received in self.received.items() if other != neighbor)
        return len(self.by_key) + sum(others)

    def keys_without(self, neighbor: str) -> Iterator[str]:
        """The keys of all that `neighbor` could be told of, in the order of `candidates`."""
        for key, entry in self.by_key.items():
            if not accepts_nothing(entry.content):
                yield key
        for other, received in self.received.items():
            if other != neighbor:
                yield from received

    def filter_of(self, key: str) -> W:
        """The filter of an entry that is here."""
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
