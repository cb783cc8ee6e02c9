"""The two edges of one link, as one end has them: it is the sender of one, the holder of the other.

A sender goes through *rounds*. Its snapshot has the entries that it had sent when it asked; the
holder's answer is compared with that, since links are FIFO and the holder had just then all that
was sent before. What the sender sends while the answer is on its way must not be undone by the
correction, so only those differences of snapshot and answer count that still exist (Shen's
procedure lacks this; dossier 2.14, the two hazards of a stale snapshot)::

    missing   in the snapshot, not at the holder, and still sent
    surplus   at the holder, not in the snapshot, and not sent or withdrawn since
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sapwood.limits.healing import (
    ROUNDS_AFRESH,
    SKETCH_BITS,
    SKETCH_BITS_MAX,
    SKETCH_NOTE_BYTES,
    SKETCH_PROBES,
)
from sapwood.routing.tables import SentEntry, Table
from sapwood.routing.upkeep.stabilize.notes import (
    Listing,
    Observe,
    Said,
    Sketch,
    portions,
)
from sapwood.routing.upkeep.stabilize.sketched import SketchedTable, Summary, named
from sapwood.sketches.elements import element_of
from sapwood.sketches.shape import Shape

SIZE_MIN: Final = 64


def sent(tables: Mapping[str, Table], neighbor: str) -> Iterator[tuple[str, SentEntry]]:
    """All entries sent to a neighbor, by name."""
    for table, entries in tables.items():
        yield from named(table, entries.sent_to(neighbor))


def held(tables: Mapping[str, Table], neighbor: str) -> Iterator[tuple[str, SentEntry]]:
    """All entries received from a neighbor, by name."""
    for table, entries in tables.items():
        yield from named(table, entries.held_from(neighbor))


class Difference(NamedTuple):
    """The entries that a holder lacks, and those that it has too much, by name."""

    missing: tuple[str, ...]
    surplus: tuple[str, ...]


def difference(
    snapshot: Mapping[str, int], listed: Mapping[str, int], now: Mapping[str, int]
) -> Difference:
    """Compare the snapshot, the holder's answer, and the entries sent now; see the module."""
    missing = (
        name
        for name, element in snapshot.items()
        if listed.get(name) != element and now.get(name) == element
    )
    surplus = (
        name
        for name, element in listed.items()
        if snapshot.get(name) != element and now.get(name) == snapshot.get(name)
    )
    return Difference(tuple(missing), tuple(surplus))


@dataclass(slots=True)
class Asked:
    """A question under way: its number, the entries the sender had sent, and the answer so far.

    #: summary is there for a question about a sketch, elements for one about the whole table
    """

    round: int
    summary: Summary | None = None
    elements: dict[str, int] = field(default_factory=dict)
    parts: int = 0
    bits: bytearray = field(default_factory=bytearray)
    listed: dict[str, int] = field(default_factory=dict)

    def takes(self, answer: Sketch | Listing) -> bool:
        """True if an answer is the next part of the one asked for."""
        is_kind = isinstance(answer, Sketch) == (self.summary is not None)
        return is_kind and answer.round == self.round and answer.part == self.parts

    def is_alike(self, answer: Sketch) -> bool:
        """True if the holder has the entries sent, by its sketch, which is complete."""
        assert self.summary is not None, "a sketch was asked for"
        summary = self.summary
        return (answer.count, answer.sum) == (summary.count, summary.sum) and (
            bytes(self.bits) == summary.bits.to_bytes()
        )


class Sender:
    """The end of an edge that has sent entries.

    #: _asked is the question under way, `None` when it is answered
    """

    __slots__ = ("_asked", "_believed", "_planned", "_seed", "_shape", "number", "table", "waiting")

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self.table = SketchedTable()
        self._asked: Asked | None = None
        #: the shape in use, and the number of entries that it is for
        self._shape = Shape(SIZE_MIN, SKETCH_PROBES, 0)
        self._planned = 0
        #: rounds since the sketch was made afresh
        self._believed = ROUNDS_AFRESH
        #: the number of the last question
        self.number = 0
        #: the names that were not confirmed in the round before
        self.waiting: frozenset[str] = frozenset()

    def observe(self, entries: Iterable[tuple[str, SentEntry]], held: int) -> Observe:
        """Begin a round; returns the question. The holder had `held` entries at its last answer."""
        self.number += 1
        self._believed += 1
        if self._believed > ROUNDS_AFRESH or max(held, len(self.table)) > 2 * self._planned:
            self.table.afresh()
            entries = list(entries)
            expected = max(held, len(entries))
            self._believed, self._planned = 1, expected
            wanted = min(expected * SKETCH_BITS, SKETCH_BITS_MAX) // SKETCH_BITS
            salt = element_of(f"{self._seed}/{self.number}".encode())
            self._shape = Shape.of(wanted, SKETCH_BITS, SKETCH_PROBES, salt)
        shape = self._shape
        self._asked = Asked(self.number, self.table.summary(entries, shape))
        return Observe(self.number, shape.size, shape.probes, shape.salt)

    def heard_sketch(
        self, answer: Sketch, entries: Iterable[tuple[str, SentEntry]]
    ) -> Observe | None:
        """Take in a part of the answer; returns the next question, where the sketches differ."""
        asked = self._asked
        if asked is None or not asked.takes(answer):
            return None
        asked.parts += 1
        asked.bits += answer.bits
        if asked.parts < answer.parts:
            return None
        self._asked = None
        if asked.is_alike(answer):
            return None
        self.table.afresh()  # it may be the sketch that is wrong
        self.number += 1
        self._asked = Asked(self.number, elements=self.table.elements(entries))
        return Observe(self.number)

    def heard_listing(
        self, answer: Listing, entries: Iterable[tuple[str, SentEntry]]
    ) -> Difference | None:
        """Take in a part of the answer; returns the difference, when all parts are there."""
        asked = self._asked
        if asked is None or not asked.takes(answer):
            return None
        asked.parts += 1
        asked.listed.update(zip(answer.names, answer.elements, strict=False))
        if asked.parts < answer.parts:
            return None
        self._asked = None
        return difference(asked.elements, asked.listed, self.table.elements(entries))

    @property
    def is_asking(self) -> bool:
        """True if a question is under way."""
        return self._asked is not None


class Holder:
    """The end of an edge that has received entries."""

    __slots__ = ("_afresh", "conflicts", "has_conflict", "restating", "table")

    def __init__(self) -> None:
        self.table = SketchedTable()
        self._afresh = Shape(SIZE_MIN, SKETCH_PROBES, 0)
        #: entries that are still to come as corrections
        self.restating = 0
        #: rounds in a row with an entry that another neighbor had sent before
        self.conflicts = 0
        self.has_conflict = False

    def begin_round(self) -> None:
        """Begin a round of the sender, and count conflicting entries since the last one.

        Corrections that were announced and have not come by now were lost, or never meant.
        """
        self.restating = 0
        self.conflicts = self.conflicts + 1 if self.has_conflict else 0
        self.has_conflict = False

    def answer(self, asked: Observe, entries: Iterable[tuple[str, SentEntry]]) -> Iterator[Said]:
        """The answer to a sender's question about a table."""
        if not asked.size:
            self.table.afresh()
            elements = self.table.elements(entries)
            parts = list(portions(elements))
            for part, names in enumerate(parts):
                some = tuple(elements[name] for name in names)
                yield Listing(asked.round, part, len(parts), names, some)
            return
        shape = Shape(asked.size, asked.probes, asked.salt)
        if shape != self._afresh:
            self.table.afresh()
            self._afresh = shape
        summary = self.table.summary(entries, shape)
        bits = summary.bits.to_bytes()
        starts = range(0, len(bits), SKETCH_NOTE_BYTES)
        for part, start in enumerate(starts):
            some_bits = bits[start : start + SKETCH_NOTE_BYTES]
            yield Sketch(asked.round, part, len(starts), summary.count, summary.sum, some_bits)
