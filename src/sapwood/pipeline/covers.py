"""Which filters of one group are covered by another: what a worker of `compile` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntFlag
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sapwood.covering.catalogue import COVERING_INDEXES
from sapwood.covering.protocol import CoveringIndex
from sapwood.model.filter import Filter
from sapwood.pipeline.blocking import Grid, asked_blocks, cover_blocks
from sapwood.pipeline.normalforms import decode_form

if TYPE_CHECKING:
    import pyarrow as pa

PLACED: Final = "home STRING, slot INT, role INT, key STRING, form BINARY"
COVERED: Final = "home STRING, key STRING, cover STRING"

_FIRST_COVERS: Final = 4
"""Covers that are asked for first; more only where none of these will do."""


_SMALL: Final = "counting"
_LARGE: Final = "columnar"
_LARGE_FROM: Final = 1_000
"""Filters from which on the compiled index is the faster one, measured; below, a worker need not
even load the compiler. Both are exact."""


class Role(IntFlag):
    """What a filter does in a group."""

    COVER = 1
    ASKS = 2


class Member(NamedTuple):
    """One filter of a group."""

    key: str
    role: Role
    filter: Filter


@dataclass(frozen=True, slots=True)
class PlaceFilters:
    """The function for `mapInArrow`: (home, key, form) in, `PLACED` out.

    `slots` says into how many groups the filters of a home are cut; homes that are not named are
    one group. A row comes out for each group in which the filter may cover something or asks.
    """

    slots: tuple[tuple[str, int], ...]
    grid: Grid

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Place all filters of one task."""
        import pyarrow as pa

        slots = dict(self.slots)
        for batch in batches:
            homes, keys, forms = (column.to_pylist() for column in batch.columns)
            rows: list[int] = []
            places: list[int] = []
            roles: list[int] = []
            for row, (home, key, form) in enumerate(zip(homes, keys, forms, strict=True)):
                count = slots.get(home, 1)
                found = (
                    {0: Role.COVER | Role.ASKS}
                    if count == 1
                    else place(key, decode_form(form), self.grid, count)
                )
                rows += [row] * len(found)
                places += found
                roles += found.values()
            taken = batch.take(pa.array(rows, pa.int64()))
            home_column, key_column, form_column = taken.columns
            placed = (home_column, pa.array(places, pa.int32()), pa.array(roles, pa.int32()))
            names = ["home", "slot", "role", "key", "form"]
            yield pa.RecordBatch.from_arrays([*placed, key_column, form_column], names=names)


@dataclass(frozen=True, slots=True)
class FindCovers:
    """The function for `mapInArrow`: `PLACED`, sorted by home and slot, in, `COVERED` out."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Find the covers in all groups of one task."""
        import pyarrow as pa

        rows = (row for batch in batches for row in _rows(batch))
        for (home, _), group in groupby(rows, key=itemgetter(0, 1)):
            members = [Member(key, Role(role), decode_form(f)) for _, _, role, key, f in group]
            index = COVERING_INDEXES[_SMALL if len(members) < _LARGE_FROM else _LARGE]
            pairs = covered(members, index.make())
            keys, covers = zip(*pairs, strict=True) if pairs else ((), ())
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array([home] * len(pairs), pa.string()),
                    pa.array(keys, pa.string()),
                    pa.array(covers, pa.string()),
                ],
                names=["home", "key", "cover"],
            )


def place(key: str, filter: Filter, grid: Grid, slots: int) -> dict[int, Role]:  # noqa: A002
    """The groups, of so many, that a filter belongs to, and what it does in each."""
    blocks = cover_blocks(filter, grid)
    stored = range(slots) if blocks is None else {block % slots for block in blocks}
    # General covers are everywhere, and must be met somewhere.
    asked = {block % slots for block in asked_blocks(filter, grid)} or {int(key[:8], 16) % slots}
    roles = dict.fromkeys(sorted({*stored, *asked}), Role(0))
    for slot in stored:
        roles[slot] |= Role.COVER
    for slot in asked:
        roles[slot] |= Role.ASKS
    return roles


def covered(members: Sequence[Member], index: CoveringIndex) -> list[tuple[str, str]]:
    """Pairs (key, key of a cover) for the members that need not be kept, for they are covered.

    The index is empty. Of filters that accept the same in different forms one is kept, and nobody
    is covered by way of itself. Where a cover is covered as well, the pair names the last one.
    """
    for number, member in enumerate(members):
        if member.role & Role.COVER:
            index.add(number, member.filter)
    cover: dict[int, int] = {}
    for number, member in enumerate(members):
        if member.role & Role.ASKS:
            found = _cover(member, members, index)
            if found is not None:
                cover[number] = found
    return [(members[number].key, members[last].key) for number, last in _last(cover, members)]


def _cover(member: Member, members: Sequence[Member], index: CoveringIndex) -> int | None:
    """A member that covers this one, and for which this one may be given up."""
    for limit in (_FIRST_COVERS, max(len(index), 1)):
        found = index.cov(member.filter, limit)
        for number in found:
            if _goes_before(members[number], member):
                return number
        if len(found) < limit:
            break
    return None


def _goes_before(cover: Member, member: Member) -> bool:
    """Whether of a cover and what it covers the cover is to be kept.

    Only if each covers the other is there a choice; plain conjunctions would be equal then.
    """
    if _is_plain(cover.filter) and _is_plain(member.filter):
        return True
    return cover.key < member.key or not member.filter.covers(cover.filter)


def _is_plain(filter: Filter) -> bool:  # noqa: A002
    return len(filter.conjunctions) == 1 and not filter.conjunctions[0].patterns


def _last(cover: dict[int, int], members: Sequence[Member]) -> Iterator[tuple[int, int]]:
    """For each number the last one on its way up; a circle is opened at its smallest key."""
    for number in tuple(cover):
        way: dict[int, None] = {}
        at = number
        while at in cover and at not in way:
            way[at] = None
            at = cover[at]
        if at in way:
            circle = list(way)[list(way).index(at) :]
            at = min(circle, key=lambda place: members[place].key)
            del cover[at]
        for passed in way:
            if passed != at:
                cover[passed] = at
    yield from cover.items()


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)
