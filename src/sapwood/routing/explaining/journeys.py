"""A publication's way to a subscription, put together from the accounts of the routers on it.

Two passes over the routers of the way. From the subscriber outward: the subscription that each sent
to the next one, or the one that stands for it there. From the publisher inward: whether the
publication goes on, the entries that it goes on for, and where it ends. The accounts may come from
routers in a simulation, or from brokers over the network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TypeAlias

from sapwood.language.explanations import explain
from sapwood.model.explanation import Explanation
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.explaining.accounts import (
    Account,
    Entry,
    Held,
    Owned,
    Question,
    Standing,
)
from sapwood.routing.propagation.reasons import STANDS, Reasons, Treatment

Ask: TypeAlias = Callable[[str, Question], Account | None]
"""Asks the router of a name; `None` where it cannot be asked, or routes nothing of the source."""


class Link(StrEnum):
    """The state of the link between two routers on a way."""

    UP = "up"
    DOWN = "down"
    """One of the two has no such link."""
    SILENT = "silent"
    """One of the two did not answer."""


@dataclass(frozen=True, slots=True)
class Telling:
    """The subscription that a router sent to its neighbor nearer to the publisher.

    `link` is the state of the link. `reasons` are empty where the router does not have the
    subscription. `holds`: the neighbor has the entry it was sent, under the key `key`. `is_own`:
    the router has the subscription itself, and not only one that stands for it.
    """

    sender: str
    receiver: str
    link: Link
    reasons: Reasons
    holds: bool
    is_own: bool
    key: str = ""

    @property
    def stands(self) -> bool:
        """True if the neighbor has an entry that stands for the subscription."""
        return self.holds and bool(self.reasons) and self.reasons[-1].how in STANDS


@dataclass(frozen=True, slots=True)
class Because:
    """A subscription that brings a publication over a link.

    `stands`: it is the one asked about, or stands for it. `is_merger`: the neighbor has made it of
    several.
    """

    key: str
    filter: Interest
    stands: bool
    is_merger: bool


@dataclass(frozen=True, slots=True)
class Hop:
    """A link on the way, `source` nearer to the publisher.

    `goes`: by the router's account the publication goes on there; without a `because` it goes
    everywhere. `is_all` unless `because` leaves entries out. `telling` is the way in which `source`
    received the subscription. `wanted`: a client or neighbor gets the publication at `target`.
    """

    source: str
    target: str
    goes: bool
    because: tuple[Because, ...]
    is_all: bool
    telling: Telling
    wanted: bool

    @property
    def link(self) -> Link:
        """The state of the link between the two."""
        return self.telling.link


@dataclass(frozen=True, slots=True)
class Journey:
    """One way of a publication to a subscription, as the tables of its routers have it.

    `standing` is the subscription at its own router, `None` where it is missing, and `match` the
    explanation of its filter for the publication, `None` then. `delivered`: all hops are gone, and
    it matches. `ended` is the router where the publication ends, the last of those that it reaches.
    The `silent` routers gave no answer. Without a publication there are only the `tellings`: for
    each link on the path, in its order.
    """

    path: tuple[str, ...]
    standing: Standing | None
    match: Explanation | None
    hops: tuple[Hop, ...]
    tellings: tuple[Telling, ...]
    silent: tuple[str, ...] = ()

    @property
    def reached(self) -> tuple[str, ...]:
        """The routers that the publication comes to, in order."""
        count = next((n for n, hop in enumerate(self.hops) if not hop.goes), len(self.hops))
        return self.path[: count + 1]

    @property
    def ended(self) -> str:
        """The last router that the publication reaches."""
        return self.reached[-1]

    @property
    def delivered(self) -> bool:
        """True if the subscriber gets it."""
        matches = self.match is not None and self.match.matches
        return matches and self.ended == self.path[-1]


def journey(
    asking: Ask,
    path: Sequence[str],
    subject: Owned,
    publication: Publication | None,
    way: int = 0,
) -> Journey:
    """Follow a publication from the first router of a path to a subscription at the last.

    Without one, only the subscriptions that routers on the path have sent are asked for.

    Raises `DocumentError` and `LimitError` for a document that cannot be read.
    """
    source = path[0]
    silent: dict[str, None] = {}

    def ask(router: str, question: Question) -> Account | None:
        said = asking(router, question)
        if said is None:
            silent[router] = None
        return said

    toward = path[-2] if len(path) > 1 else ""
    asked = ask(path[-1], Question(source, way, subject, toward=toward))
    standing = None if asked is None else asked.standing
    tellings = _told(ask, path, way, asked)
    hops = []
    for place, (here, there) in enumerate(pairwise(path)):
        if publication is None:
            break
        behind = path[place - 1] if place else ""
        hops.append(_hop(ask, (behind, here, there), tellings[place], publication, (source, way)))
    match = None
    if standing is not None and publication is not None:
        match = explain(standing.filter, publication)
    return Journey(tuple(path), standing, match, tuple(hops), tuple(tellings), tuple(silent))


def _told(ask: Ask, path: Sequence[str], way: int, asked: Account | None) -> list[Telling]:
    """The tellings of all links on a path, from the publisher's on."""
    tellings: list[Telling] = []
    is_own = True
    for place in range(len(path) - 1, 0, -1):
        sender, receiver = path[place], path[place - 1]
        standing = None if asked is None else asked.standing
        reasons = () if standing is None else standing.told.get(receiver, ())
        last = reasons[-1] if reasons and reasons[-1].how in STANDS else None
        subject = None if last is None else Held(sender, last)
        beyond = path[place - 2] if place > 1 else ""
        heard = ask(receiver, Question(path[0], way, subject, toward=beyond))
        held = None if heard is None else heard.standing
        link, key = _link(heard, asked, receiver, sender), "" if held is None else held.key
        holds = held is not None and link is Link.UP
        tellings.append(Telling(sender, receiver, link, reasons, holds, is_own, key))
        is_own = is_own and last is not None and last.how is Treatment.ITSELF
        asked = heard
    return tellings[::-1]


def _hop(
    ask: Ask,
    routers: tuple[str, str, str],
    telling: Telling,
    publication: Publication,
    on: tuple[str, int],
) -> Hop:
    """The hop of a publication from a router, which it reached from `routers[0]`."""
    behind, here, there = routers
    question = Question(*on, None, publication, behind, there, telling.key)
    said = ask(here, question)
    entries = () if said is None or said.onward is None else said.onward.because
    about = tuple(entry.key for entry in entries)
    # Of the next router only one answer counts here: whether the publication goes anywhere.
    other = ask(there, Question(*on, None, publication, here, about=about))
    onward = None if said is None else said.onward
    return Hop(
        here,
        there,
        onward is not None and onward.goes and telling.link is Link.UP,
        tuple(_because(entry, telling, other) for entry in entries),
        onward is None or onward.is_all,
        telling,
        other is not None and other.wanted,
    )


def _link(one: Account | None, other: Account | None, here: str, there: str) -> Link:
    if one is None or other is None:
        return Link.SILENT
    joined = there in one.neighbors and here in other.neighbors
    return Link.UP if joined else Link.DOWN


def _because(entry: Entry, telling: Telling, other: Account | None) -> Because:
    stands = telling.stands and entry.key == telling.key
    merged = stands and telling.reasons[-1].how is Treatment.MERGED
    begun = other is not None and entry.key in other.begun
    return Because(entry.key, entry.filter, stands, is_merger=merged or begun)
