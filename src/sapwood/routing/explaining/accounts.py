"""A router's account of a subscription and of a publication: from its tables, as they are.

A question is about one way that the publications of a source take. It changes nothing at a router,
and its answer is small: it names no more entries than people read. The questions and answers of a
simulation and those of brokers, sent as frames, are the same values.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated

from msgspec import Meta, Struct

from sapwood.limits.explaining import (
    EXPLAINED_ENTRIES_MAX,
    EXPLAINED_NAMED_MAX,
    EXPLAINED_PATTERN_BYTES_MAX,
)
from sapwood.model.fields import Count
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.protocol import NO_DIGEST
from sapwood.routing.membership.protocol import OnOneTree
from sapwood.routing.propagation.reasons import Reason, Reasons
from sapwood.routing.router import Router
from sapwood.routing.tables import CLIENTS

_Keys = Annotated[tuple[str, ...], Meta(max_length=EXPLAINED_NAMED_MAX)]


class Owned(Struct, array_like=True, frozen=True, tag="owned"):
    """The subscription that a client of the router has under an id."""

    client: str
    id: str


class Held(Struct, array_like=True, frozen=True, tag="held"):
    """A subscription that a neighbor reports to have sent to the router."""

    neighbor: str
    told: Reason


class Question(Struct, array_like=True, frozen=True):
    """A question to a router.

    `source` is the router at which the publications begin, `way` counts the ways that they take.
    `subject` is the subscription in question, `publication` the one to be routed. It came from the
    neighbor `origin`, empty for a client, and is to go `toward` another one, because of the entry
    with the key `first`, if that is the reason. `about` are keys that may be of mergers.
    """

    source: str
    way: Count = 0
    subject: Owned | Held | None = None
    publication: Publication | None = None
    origin: str = ""
    toward: str = ""
    first: str = ""
    about: _Keys = ()


class Entry(Struct, array_like=True, frozen=True):
    """A subscription that came over a link."""

    key: str
    filter: Interest


class Standing(Struct, array_like=True, frozen=True):
    """A subscription at one router, with the reasons why each neighbor has it or does not.

    `in_force`: all routers that it must reach have confirmed it; only for those of clients.
    """

    key: str
    filter: Interest
    in_force: bool
    told: dict[str, Reasons]


class Onward(Struct, array_like=True, frozen=True):
    """The decision on one link: if a publication goes there, and for which entries.

    `because` names a few, the one with the key `first` before others; `is_all` if there are no
    others.
    """

    goes: bool
    because: tuple[Entry, ...]
    is_all: bool


class Account(Struct, array_like=True, frozen=True):
    """The answer of a router.

    `neighbors` are those on the way. `standing` is `None` where the subscription is missing,
    `onward` where no publication was to be routed or `toward` is no neighbor. `wanted`: a client
    here, or a neighbor, gets the publication. `begun` are the keys asked about that are mergers of
    this router: it made them, and no entry came under them.
    """

    router: str
    neighbors: tuple[str, ...]
    standing: Standing | None = None
    onward: Onward | None = None
    wanted: bool = False
    begun: tuple[str, ...] = ()


def account(router: Router, question: Question, now: float) -> Account | None:
    """The account of a router at a time; `None` where nothing of the source is routed there.

    Examines `EXPLAINED_ENTRIES_MAX` entries at most, fewer for a long document. Raises
    `DocumentError` and `LimitError` for a document that cannot be read.
    """
    cores = router.membership.cores(question.source)
    core = cores[question.way] if question.way < len(cores) else None
    if core is None:
        return None
    received = core.subscriptions.entries.received
    onward, wanted = None, False
    if question.publication is not None:
        arrival = question.origin if question.origin in received else None
        routed = _routed(core, question.publication, arrival, now)
        wanted = bool(routed)
        if question.toward in received:
            onward = _onward(core, question, question.toward in routed)
    standing = None if question.subject is None else _standing(core, question)
    begun = tuple(key for key in question.about if _begun(core, router.name, key))
    return Account(router.name, tuple(received), standing, onward, wanted, begun)


def ways(router: Router, source: str) -> int:
    """The number of ways on which the publications of a source come; 0 if that is not known."""
    return len(router.membership.cores(source))


def _routed(core: OnOneTree, publication: Publication, arrival: str | None, now: float) -> set[str]:
    """The neighbors that get a publication, and `CLIENTS` if a client does."""
    (keys,), onward = core.forwarding.route((publication,), arrival, (NO_DIGEST,), now)
    return {one.neighbor for one in onward} | ({CLIENTS} if len(keys) else set())


def _onward(core: OnOneTree, question: Question, goes: bool) -> Onward:  # noqa: FBT001 - a field
    publication = question.publication
    assert publication is not None, "only publications are routed"
    found: list[Entry] = []
    looked = 0
    looked_max = EXPLAINED_ENTRIES_MAX
    if publication.document:
        fitting = max(1, EXPLAINED_PATTERN_BYTES_MAX // len(publication.document))
        looked_max = min(looked_max, fitting)
    for entry in islice(_first(core, question), looked_max):
        looked += 1
        if entry.filter.matches(publication):
            found.append(entry)
            if len(found) > EXPLAINED_NAMED_MAX:
                return Onward(goes, tuple(found[:-1]), is_all=False)
    is_all = looked >= len(core.subscriptions.entries.received[question.toward])
    return Onward(goes, tuple(found), is_all)


def _first(core: OnOneTree, question: Question) -> Iterator[Entry]:
    """The entries received over the link, the one with the key `first` before all others."""
    received = core.subscriptions.entries.received[question.toward]
    if question.first in received:
        yield Entry(question.first, received[question.first].filter)
    for key, entry in received.items():
        if key != question.first:
            yield Entry(key, entry.filter)


def _standing(core: OnOneTree, question: Question) -> Standing | None:
    spread, subject = core.subscriptions, question.subject
    assert subject is not None, "only what is asked for is looked for"
    if isinstance(subject, Owned):
        own = spread.entries.by_client.get(subject.client, {}).get(subject.id)
        if own is None:
            return None
        key, wanted, in_force, source = own.key, own.filter, spread.in_force(own.key), CLIENTS
    else:
        source = subject.neighbor
        known = spread.held_as(source, subject.told) if source in spread.entries.received else None
        if known is None:
            return None
        key, wanted, in_force = known, spread.entries.received[source][known].filter, True
    others = (other for other in spread.links if question.toward in ("", other))
    told = {other: spread.why(other, key) for other in others if other != source}
    return Standing(key, wanted, in_force, told)


def _begun(core: OnOneTree, router: str, key: str) -> bool:
    """True if a router has made a key that is no subscription."""
    entries = core.subscriptions.entries
    is_own = key.startswith(f"{router}.") and key not in entries.by_key
    return is_own and entries.source_of(key) is None
