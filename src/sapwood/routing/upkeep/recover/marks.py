"""Marks: the place in a router's log from which the messages that it owes follow.

The messages that a router owes follow from its records, so without marks it would route all
publications again that it ever had. A mark is a place between two records, with the number of
messages taken and made on each link up to there. Once all messages made up to there are
acknowledged, nothing before it is owed: the mark is persisted, and the publications before it are
released.

::

    records      s0   p0 p1 p2   s1   p3   s2 | p4 p5   s3
    mark                                      | 3 state records, 4 publications, r2: 7 taken, 5 made
    restored     s0              s1        s2   p4 p5   s3
                 messages are not owed          messages are owed: 6, 7, and so on

State records before the mark are routed again for their changes alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from sapwood.routing.upkeep.recover.conversation import Conversation


class Mark(Struct, array_like=True, frozen=True):
    """A place between two records.

    Before it are `states` records that are no publications, and `places` publications. `links` has,
    for each link, the numbers of messages that had been taken and made.
    """

    states: int
    places: int
    links: dict[str, tuple[int, int]]


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Mark)


def encoded(mark: Mark) -> bytes:
    """A mark as it is persisted."""
    return _ENCODER.encode(mark)


def decoded(value: bytes) -> Mark:
    """A mark from its persisted form."""
    return _DECODER.decode(value)


class Marks:
    """The marks of one router before which something is still owed: the oldest and the latest.

    One is made after each `every` publications, subscriptions and other records that were `seen`.

    #: _latest is there only where _oldest is
    """

    __slots__ = ("_every", "_last", "_latest", "_oldest")

    def __init__(self, every: int) -> None:
        self._every = every
        self._last = 0
        self._oldest: Mark | None = None
        self._latest: Mark | None = None

    def is_due(self, seen: int) -> bool:
        """True if there are enough records since the last mark."""
        return seen - self._last >= self._every

    def make(self, seen: int, states: int, places: int, links: Mapping[str, Conversation]) -> None:
        """Make a mark at the present place."""
        self._last = seen
        counts = {name: (one.taken, one.owed.made) for name, one in links.items()}
        mark = Mark(states, places, counts)
        if self._oldest is None:
            self._oldest = mark
        else:
            self._latest = mark

    def settled(self, links: Mapping[str, Conversation]) -> Mark | None:
        """The mark before which nothing is owed any more, if there is one."""
        mark = self._oldest
        if mark is None:
            return None
        for name, (_, made) in mark.links.items():
            link = links.get(name)
            # A link that has begun afresh since, with other numbers, owes nothing from before.
            if link is not None and link.owed.acknowledged < made <= link.owed.made:
                return None
        self._oldest, self._latest = self._latest, None
        return mark

    def restored(self, seen: int) -> None:
        """Begin with a restored router that has `seen` records again."""
        self._last = seen
