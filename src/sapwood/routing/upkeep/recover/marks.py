"""Marks: how far back a router has to look to know what it owes.

What a router owes follows from its records, so without more it would route all publications again
that it ever had. A mark is a place between two records, with how many messages had been taken and
made on each link up to there. Once all that was made up to there is acknowledged, nothing before it
is owed: the mark is persisted, and the publications before it are released.

::

    records      s0   p0 p1 p2   s1   p3   s2 | p4 p5   s3
    mark                                      | 3 state records, 4 publications, r2: 7 taken, 5 made
    restored     s0              s1        s2   p4 p5   s3
                 what is said is not owed      what is said is owed: 6, 7, and so on

State records before the mark are routed again for what they change alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from sapwood.routing.upkeep.recover.conversation import Conversation


class Mark(Struct, array_like=True, frozen=True):
    """A place between two records.

    Before it are so many `states`, records of what is no publication, and `places`. `links` has,
    for each link, the messages that had been taken and made.
    """

    states: int
    places: int
    links: dict[str, tuple[int, int]]


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Mark)


def encoded(mark: Mark) -> bytes:
    """What is persisted."""
    return _ENCODER.encode(mark)


def decoded(value: bytes) -> Mark:
    """The mark that was persisted."""
    return _DECODER.decode(value)


class Marks:
    """The marks of one router that something before is still owed: the oldest and the latest.

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
        """Whether there are enough records since the last one."""
        return seen - self._last >= self._every

    def make(self, seen: int, states: int, places: int, links: Mapping[str, Conversation]) -> None:
        """Mark what is next."""
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
            # One that has begun afresh since, with other numbers, owes nothing from before.
            if link is not None and link.owed.acknowledged < made <= link.owed.made:
                return None
        self._oldest, self._latest = self._latest, None
        return mark

    def restored(self, seen: int) -> None:
        """The router was restored, and has seen so much again."""
        self._last = seen
