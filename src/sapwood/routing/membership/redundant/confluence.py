"""The confluence of the publications of one source that come on several paths into one stream.

A *stream* comes on one path, on one branch there: numbered, in order, and *whole* from its first
number on. That is: every publication of it that is wanted here comes, unless the branch ends.
`through` is the number up to which all publications that are wanted here were handed on. So a
stream whose first number is not beyond the next one is *sure*: its publications can be handed on at
once, and repeated ones are recognized by their numbers. One number for each source is all the
memory that duplicates cost.

A stream that is not sure begins behind something that may still come on another path: its branch
is new, and the last one broke. Its publications are held as long as there is a sure stream, which
brings them anyway, or brings the news that nothing is missing (`mark`); when there is none left,
the stream that begins first becomes sure, as nothing better is to come.

Worked example, two paths. Path 0 has brought 1 to 4, path 1 has brought 1 and 2: `through` is 4,
and 3 and 4 are dropped when path 1 brings them. Path 0 breaks and has another branch, whose first
number is 7, and brings 7. Path 1 may still bring 5 and 6, so 7 is held. Path 1 brings 5, then the
mark 6 (6 is not wanted here): 7 is handed on, and path 0 is sure again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sapwood.errors import InvariantError
from sapwood.limits.failures import REDUNDANT_HELD_MAX
from sapwood.model.publication import Publication


class Number(NamedTuple):
    """The place of a publication among those of its source: a life of it, and the place in that."""

    incarnation: int
    place: int

    def is_next(self, through: Number) -> bool:
        """True if nothing lies between a number and this one; across lives, that is unknown."""
        if self.incarnation != through.incarnation:
            return self < through
        return self.place <= through.place + 1

    @property
    def before(self) -> Number:
        """The number before this one."""
        return Number(self.incarnation, self.place - 1)


NOTHING: Final = Number(-1, 0)
"""The number before all publications."""


@dataclass(slots=True)
class _Stream:
    """The stream of one path; `first` is `None` where the earlier publications are not known.

    #: marked is the last number up to which nothing is to come here any more
    """

    first: Number | None
    is_sure: bool = False
    marked: Number = NOTHING


@dataclass(slots=True)
class _Held:
    publication: Publication
    paths: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Confluence:
    """The streams of one source at one router.

    #: held are publications beyond `through`, in no order, that came on streams that are not sure
    #: where there is a stream, one is sure; where there is none, nothing is held
    """

    through: Number = NOTHING
    streams: dict[int, _Stream] = field(default_factory=dict)
    held: dict[Number, _Held] = field(default_factory=dict)

    def begin(self, path: int, first: Number | None) -> list[Publication]:
        """Begin the stream of a path's branch; `first` is the number of its first publication."""
        self.streams[path] = _Stream(first)
        return self._settle()

    def end(self, path: int) -> list[Publication]:
        """End the stream of a path; returns what has nothing to wait for now, in order."""
        del self.streams[path]
        return self._settle()

    def mark(self, path: int, number: Number) -> list[Publication]:
        """Note that nothing up to a number comes on a path any more; returns what waited."""
        stream = self.streams.get(path)
        if stream is None:
            return []
        stream.marked = max(stream.marked, number)
        return self._settle()

    def arrive(self, path: int, number: Number, publication: Publication) -> list[Publication]:
        """Take a publication of a path; returns the publications to be handed on, in order."""
        if number <= self.through:
            return []
        stream = self.streams.get(path)
        if stream is not None and stream.is_sure:
            self.held.pop(number, None)
            return [*self._release(number), publication]
        self.held.setdefault(number, _Held(publication)).paths.add(path)
        if len(self.held) > REDUNDANT_HELD_MAX and stream is not None:
            return [*self._trust(path), *self._settle()]
        return self._settle()

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        if self.streams and not any(stream.is_sure for stream in self.streams.values()):
            raise InvariantError("no path is sure, so everything would wait")
        if self.held and (not self.streams or min(self.held) <= self.through):
            raise InvariantError("something is held that nothing will release")

    def _settle(self) -> list[Publication]:
        """Make all streams sure that can be; one is, if there are any."""
        released: list[Publication] = []
        while True:
            sure = [one.marked for one in self.streams.values() if one.is_sure]
            released.extend(self._release(max(sure, default=NOTHING)))
            unsure = {path: one for path, one in self.streams.items() if not one.is_sure}
            found = next((path for path, one in unsure.items() if self._follows(one)), None)
            if found is None and unsure and not sure:
                found = min(unsure, key=lambda path: _begins(unsure[path]))
            if found is None:
                break
            released.extend(self._trust(found))
        if not self.streams and self.held:
            released.extend(self._release(max(self.held)))
        return released

    def _follows(self, stream: _Stream) -> bool:
        return stream.first is not None and stream.first.is_next(self.through)

    def _trust(self, path: int) -> list[Publication]:
        """Make a stream sure: what it has brought is handed on, and what was before that."""
        stream = self.streams[path]
        stream.is_sure = True
        brought = [number for number, held in self.held.items() if path in held.paths]
        first = NOTHING if stream.first is None else stream.first.before
        return self._release(max(brought, default=first))

    def _release(self, number: Number) -> list[Publication]:
        """Hand on the held publications up to a number, in order: none comes before it any more."""
        ready = sorted(one for one in self.held if one <= number)
        self.through = max(self.through, number)
        return [self.held.pop(one).publication for one in ready]


def _begins(stream: _Stream) -> tuple[bool, Number]:
    """A sort key of streams by how early they begin, those with an unknown first number last."""
    return (stream.first is None, stream.first or NOTHING)
