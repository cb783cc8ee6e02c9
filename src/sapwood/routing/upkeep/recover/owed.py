"""The retransmission buffer of one link: the messages that the neighbor has not acknowledged.

::

    number   entry
    8        Unsubscribe(key)
    9-12     PublishMany of 4, of which the record takes the places from 130 on
    13       Publish, place 140

`acknowledge(10)` leaves the last two of the four, and 13. The places are those that the journal has
to keep: here all from 130 on, as the record of a batch is released as a whole.

Publications beyond `bytes_max` are *let go*: of each the buffer keeps the place alone, 8 bytes, and
when they are to be sent they are read back (`effects.Recall`). With room for 8 to 10 only, the
buffer would be:

::

    number   entry
    8        Unsubscribe(key)
    9-12     PublishMany of 4
    13-15    LetGo at the places 140, 141 and 145, which were sent on by one origin
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from sapwood.errors import InvariantError
from sapwood.limits.recover import OWED_BYTES_MAX
from sapwood.matching.publication_batch import PublicationBatch
from sapwood.model.publication import Publication
from sapwood.routing.effects import Send, SendMany
from sapwood.routing.messages import OnTree, Publish, PublishMany, RouterMessage

Content: TypeAlias = RouterMessage | PublishMany

_SIZE: int = 256
"""The bytes counted for a publication without content of its own."""


@dataclass(frozen=True, slots=True)
class LetGo:
    """Publications as in `PublishMany`, without their content: their places in the journal."""

    origin: str
    hops: int
    places: array[int]
    digests: Sequence[bytes] = ()
    tree: tuple[str, int] | None = None

    def part(self, first: int) -> LetGo:
        """The publications from one on."""
        return replace(self, places=self.places[first:], digests=self.digests[first:])

    def read(self, publications: Sequence[Publication]) -> PublishMany:
        """The first publications, read back; those published here are taken without blind parts."""
        digests = self.digests[: len(publications)]
        if not isinstance(publications, PublicationBatch):
            publications = [one.beyond() for one in publications]
        return PublishMany(self.origin, self.hops, publications, digests, self.tree)

    def takes(self, other: LetGo) -> bool:
        """Append the publications of another entry; false if it is not of the same kind."""
        ours, theirs = (self.origin, self.hops, self.tree), (other.origin, other.hops, other.tree)
        if ours != theirs or self.digests or other.digests:
            return False
        self.places.extend(other.places)
        return True


class Entry(NamedTuple):
    """A message under its number, or several publications under the first of their numbers.

    `place` is the first of the record that the publication came in; `None` for other messages.
    """

    number: int
    content: Content | LetGo
    place: int | None

    @property
    def last(self) -> int:
        """The last of its numbers."""
        match self.content:
            case PublishMany(_, _, batch):
                return self.number + len(batch) - 1
            case LetGo():
                return self.number + len(self.content.places) - 1
            case _:
                return self.number

    def since(self, number: int) -> Entry:
        """The part of the entry with this number or a greater one."""
        skipped = number - self.number
        if skipped <= 0:
            return self
        assert isinstance(self.content, PublishMany | LetGo), "one message has one number"
        return Entry(number, self.content.part(skipped), self.place)


class Owed:
    """Messages for one neighbor, numbered without gaps.

    #: the entries have the numbers from acknowledged + 1 up to made
    #: bytes are those of the publications in them that were not let go
    """

    __slots__ = ("_entries", "acknowledged", "bytes", "bytes_max", "made")

    def __init__(self, acknowledged: int = 0) -> None:
        self.acknowledged = acknowledged
        self.made = acknowledged
        self.bytes = 0
        self.bytes_max = OWED_BYTES_MAX
        self._entries: deque[Entry] = deque()

    def __len__(self) -> int:
        """The number of messages that the neighbor may lack."""
        return self.made - self.acknowledged

    @property
    def is_full(self) -> bool:
        """True if a further publication is to be let go."""
        return self.bytes >= self.bytes_max

    @property
    def place(self) -> int | None:
        """The first place of a publication that the neighbor may lack; `None` where there is none.

        Places of entries grow with their numbers.
        """
        return next((entry.place for entry in self._entries if entry.place is not None), None)

    def append(self, content: Content | LetGo, place: int | None) -> None:
        """Give numbers to the messages of an entry that is to be sent."""
        entry = Entry(self.made + 1, content, place)
        self.made = entry.last
        last = self._entries[-1].content if self._entries else None
        if isinstance(content, LetGo) and isinstance(last, LetGo) and last.takes(content):
            return
        self._entries.append(entry)
        self.bytes += _size(content)

    def acknowledge(self, number: int) -> None:
        """Drop the messages up to a number, which the neighbor has."""
        assert number <= self.made, "nobody has what was never made"
        if number <= self.acknowledged:
            return
        self.acknowledged = number
        entries = self._entries
        while entries and entries[0].last <= number:
            self.bytes -= _size(entries.popleft().content)
        if entries:
            self._put(0, entries[0].since(number + 1))

    def read(self, number: int, publications: Sequence[Publication]) -> None:
        """Put publications back that were let go and read; the first of them has this number."""
        skipped = max(0, self.acknowledged + 1 - number)
        number, publications = number + skipped, publications[skipped:]
        for at, entry in enumerate(self._entries):
            if entry.number == number and isinstance(entry.content, LetGo) and publications:
                self._put(at, entry._replace(content=entry.content.read(publications)))
                rest = entry.since(number + len(publications))
                if len(publications) < len(entry.content.places):
                    self._entries.insert(at + 1, rest)
                return

    def _put(self, at: int, entry: Entry) -> None:
        """Put an entry in the place of another one."""
        self.bytes += _size(entry.content) - _size(self._entries[at].content)
        self._entries[at] = entry

    def since(self, number: int, count: int) -> Iterator[Entry]:
        """Entries with numbers greater than this one: whole ones, at least `count` messages."""
        last = number + count
        for entry in self._entries:
            if entry.number > last:
                return
            if entry.last > number:
                yield entry.since(number + 1)

    def validate(self) -> None:
        """Check that the numbers have no gap; raises `InvariantError`."""
        number = self.acknowledged
        for entry in self._entries:
            if entry.number != number + 1:
                raise InvariantError(f"message {number + 1} is owed, and not there")
            number = entry.last
        if number != self.made:
            raise InvariantError(f"messages up to {self.made} were made, {number} are there")
        if self.bytes != sum(_size(entry.content) for entry in self._entries):
            raise InvariantError("the bytes of what is owed were counted wrongly")


def _size(content: Content | LetGo) -> int:
    """The bytes of the publications in an entry."""
    match content:
        case PublishMany(_, _, PublicationBatch() as batch):
            return int((batch.ends - batch.starts).sum())
        case PublishMany(_, _, batch):
            return sum(_size_of(publication) for publication in batch)
        case Publish(_, _, publication) | OnTree(_, _, Publish(_, _, publication)):
            return _size_of(publication)
        case _:
            return 0


def _size_of(publication: Publication) -> int:
    return len(publication.encoded or b"") or _SIZE


def send(neighbor: str, content: Content) -> Send | SendMany:
    """The effect that puts an entry on the link."""
    if isinstance(content, PublishMany):
        return SendMany(neighbor, content)
    return Send(neighbor, content)


def several(content: Content) -> PublishMany | None:
    """Publications, one or several, as `PublishMany`; `None` for any other message."""
    match content:
        case PublishMany():
            return content
        case Publish(origin, hops, publication, digest):
            return PublishMany(origin, hops, (publication,), (digest,) if digest else ())
        case OnTree(source, epoch, Publish(origin, hops, publication, digest)):
            digests = (digest,) if digest else ()
            return PublishMany(origin, hops, (publication,), digests, (source, epoch))
        case _:
            return None
