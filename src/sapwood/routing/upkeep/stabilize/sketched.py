"""One side of an edge as its end has it in its tables, with a sketch that follows it.

An entry is identified by its name, `s` or `a` and the key; the element that stands for it is made
of the whole entry: name, number and content. So a table that has a key with another filter, or
another number, has another entry. With two entries, whose elements are 5 and 9, in a sketch of 64
bits with one probe, where 5 lies at 3 and 9 at 60:

    names     sr1.0.1 -> 5      ar1.0.1 -> 9
    bits      0x1000000000000008
    count     2
    sum       14

Tables are scanned at each comparison and only changes are counted; so whatever happened to a table
is noticed. What happened to the sketch is forgotten when it is made afresh.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from sapwood.language.written import canonical
from sapwood.model.kept import Kept
from sapwood.routing.tables import SentEntry
from sapwood.sketches.bloom import BloomFilter
from sapwood.sketches.counting import CountingBloomFilter
from sapwood.sketches.elements import element_of
from sapwood.sketches.shape import Shape

SUM_MASK: Final = (1 << 64) - 1

PREFIXES: Final[Mapping[str, str]] = MappingProxyType({"subscription": "s", "advertisement": "a"})
"""The prefixes of entries' names, by the nouns of tables."""


class Known(NamedTuple):
    """An entry as it was in the last scan."""

    content: Kept
    sending: int
    element: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a table: its sketch's bits, the number of entries, their elements' sum."""

    bits: BloomFilter
    count: int
    sum: int


class SketchedTable:
    """A table that is scanned again and again.

    #: sketch has counted exactly the elements of known, and sum is their sum
    """

    __slots__ = ("known", "sketch", "sum")

    def __init__(self) -> None:
        self.known: dict[str, Known] = {}
        self.sketch: CountingBloomFilter | None = None
        self.sum = 0

    def __len__(self) -> int:
        return len(self.known)

    def afresh(self) -> None:
        """Drop the sketch and the record of the last scan."""
        self.known, self.sketch, self.sum = {}, None, 0

    def summary(self, entries: Iterable[tuple[str, SentEntry]], shape: Shape) -> Summary:
        """The summary of a table, in a shape."""
        came, went = self._look(entries)
        sketch = self.sketch
        if sketch is None or sketch.shape != shape or sketch.faults:
            elements = [one.element for one in self.known.values()]
            sketch = self.sketch = CountingBloomFilter(shape, elements)
        else:
            sketch.remove_many(went)
            sketch.add_many(came)
        return Summary(sketch.bits(), len(self.known), self.sum)

    def elements(self, entries: Iterable[tuple[str, SentEntry]]) -> dict[str, int]:
        """The elements of a table's entries by their names."""
        came, went = self._look(entries)
        if self.sketch is not None:
            self.sketch.remove_many(went)
            self.sketch.add_many(came)
        return {name: one.element for name, one in self.known.items()}

    def _look(self, entries: Iterable[tuple[str, SentEntry]]) -> tuple[list[int], list[int]]:
        """Scan all entries; returns the elements that came, and those that went."""
        before, now = self.known, dict[str, Known]()
        came: list[int] = []
        went: list[int] = []
        for name, (_, content, sending) in entries:
            known = before.pop(name, None)
            if known is None or known.sending != sending or not _is_same(known.content, content):
                if known is not None:
                    went.append(known.element)
                known = Known(content, sending, _element(name, content, sending))
                came.append(known.element)
            now[name] = known
        went.extend(known.element for known in before.values())
        self.known = now
        self.sum = (self.sum + sum(came) - sum(went)) & SUM_MASK
        return came, went


def named(table: str, statements: Iterable[SentEntry]) -> Iterator[tuple[str, SentEntry]]:
    """The statements of a table, by names that no other table uses."""
    prefix = PREFIXES[table]
    for statement in statements:
        yield prefix + statement.key, statement


def _is_same(one: Kept, other: Kept) -> bool:
    return one is other or one == other


def _element(name: str, content: Kept, sending: int) -> int:
    """The number that stands for an entry, equal at both ends of an edge."""
    if not isinstance(content, bytes):
        packed = getattr(content, "packed", None)
        content = repr(tuple(canonical(content))).encode() if packed is None else packed
    return element_of(b"%b\0%d\0%b" % (name.encode(), sending, content))
