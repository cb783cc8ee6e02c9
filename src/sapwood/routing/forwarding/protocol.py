"""The protocol of forwarding, which selects the next links of publications and writes digests.

A strategy is an object, one for each router (on many trees, one for each version of each tree). It
follows the router's subscriptions side by side (`tables.Follower`) and keeps whatever it computes
from them: indexes, key tables, trees, Bloom structures. All of it is derived: a new strategy that
is given all entries decides the same (`Entries.follow`).

Digests. A strategy may write a few bytes beside a publication for the next routers: keys that it
has found, a forwarding tree, Bloom bits. They travel in `Publish.digest` and mean nothing to other
strategies. A digest that is not empty begins with the *mark* of the strategy that wrote it, a byte
that no other strategy uses, so that each recognizes its own. Routers with different strategies may
stand beside each other: a strategy passes a foreign digest on unread, decides by itself, which is a
content match for this hop, and counts it (`digests_unread`). So a digest may save work and never
lose a publication; a strategy that reads one must allow for routers in between that did not.
A digest has at most `limits.DIGEST_BYTES_MAX` bytes; a strategy that would need more writes none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol, cast, runtime_checkable

from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.holders import Holders
from sapwood.routing.tables import Follower

NO_DIGEST: Final = b""


class Onward(NamedTuple):
    """The part of a batch that goes to one neighbor: publications, each with its digest.

    `places` are their places in the batch, in order: of a batch (p, q, r), `places == (0, 2)` and
    `digests == (b"", b"k7")` mean p without a digest and r with one.
    """

    neighbor: str
    places: Sequence[int]
    digests: Sequence[bytes]


class Routed(NamedTuple):
    """The routing of a batch.

    `keys[i]` are those of the clients' subscriptions that accept publication i, in any order. If
    there are fewer than publications, only the first ones were routed, as they have so many matches
    that the rest is to come by itself; there is one at least. `onward` has each neighbor with any
    publication once, in the order in which their links came up.
    """

    keys: Sequence[Sequence[str]]
    onward: Sequence[Onward]


class Numbering(Protocol):
    """A strategy that numbers the keys of clients' subscriptions, and routes to numbers.

    Its `Routed.keys` may be a `KeyBatch`, so that no key is looked up.
    """

    @property
    def holders(self) -> Holders:
        """The keys by number."""
        ...


class Clearing(Protocol):
    """A strategy that defers work, and does it chunk by chunk when other work has had its turn.

    So it forgets the subscriptions of a link that is gone: nothing is routed there any more, from
    the moment on that its side is removed.
    """

    @property
    def has_left(self) -> bool:
        """True if deferred work is left."""
        ...

    def clear(self, count: int) -> None:
        """Forget up to `count` subscriptions, or do work that takes about as long."""
        ...


class PromisesFollower(Follower[AdvertisedContent], Protocol):
    """A follower of advertisements, which can be compared with them."""

    def validate(self, sides: Mapping[str, Mapping[str, AdvertisedContent]]) -> None:
        """Check the state against the advertisements of each side; raises `InvariantError`."""
        ...


class Typing(Protocol):
    """A strategy that keeps tables for the types of documents that are advertised."""

    @property
    def types(self) -> PromisesFollower:
        """The follower for the router's advertisements."""
        ...


@runtime_checkable
class Naming(Protocol):
    """A strategy whose digests may name all receivers of a publication behind a link.

    No router further on looks at the content of such a publication, so it need not travel.
    """

    def is_complete(self, digest: bytes) -> bool:
        """True if a digest of this strategy names all receivers."""
        ...


class Forwarding(Follower[Interest], Protocol):
    """Selects, at one router, the links and client keys of publications."""

    @property
    def digests_unread(self) -> int:
        """The number of digests of other strategies that were passed on."""
        ...

    def route(
        self,
        batch: Sequence[Publication],
        arrival: str | None,
        digests: Sequence[bytes],
        now: float,
    ) -> Routed:
        """Route the publications of a batch, which came from one side with these digests.

        `arrival` is the neighbor that they came from, `None` for a client of this router; they
        never go back to it, which on a tree excludes loops.
        """
        ...

    def matched(self, publication: Publication) -> Sequence[str]:
        """The keys of the clients' subscriptions that accept a publication, as they are now."""
        ...

    def validate(self, sides: Mapping[str, Mapping[str, Interest]]) -> None:
        """Check the state against the filters of each side; raises `InvariantError`."""
        ...


def numbered_by(forwarding: Forwarding) -> Holders | None:
    """The keys of clients' subscriptions by number, of a strategy that numbers them."""
    # by name: it is called for every router, and `isinstance` with a `Protocol` takes microseconds
    return cast("Numbering", forwarding).holders if hasattr(forwarding, "holders") else None


def types_of(forwarding: Forwarding) -> PromisesFollower | None:
    """The follower of advertisements, of a strategy that has tables by type."""
    return cast("Typing", forwarding).types if hasattr(forwarding, "types") else None


def clearing_of(forwarding: Forwarding) -> Clearing | None:
    """A strategy with deferred work; called once, as `behind` is called after every input."""
    return cast("Clearing", forwarding) if hasattr(forwarding, "clear") else None
