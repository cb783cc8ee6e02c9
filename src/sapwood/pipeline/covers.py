"""Which filters of one group are covered by another: what a worker of `compile` does."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from sapwood.limits import CANDIDATES_HELD_MAX
from sapwood.model.filter import Filter
from sapwood.pipeline.blocking import Grid, Way, access, asked_blocks
from sapwood.pipeline.boxes import Boxes, Hull, boxes_of, hull_of
from sapwood.pipeline.buckets import NOBODY, buckets
from sapwood.pipeline.collecting import uncollected
from sapwood.pipeline.kernels import plain
from sapwood.pipeline.normalforms import decode_form

if TYPE_CHECKING:
    import pyarrow as pa

PLACED: Final = "home STRING, slot INT, role INT, key STRING, form BINARY"
COVERED: Final = "home STRING, key STRING, cover STRING, is_last BOOLEAN"

_LARGE_FROM: Final = 300
"""Filters from which on the compiled kernels are the faster ones, measured; below, a worker need
not even load the compiler."""


COVERS: Final = 1
"""Role of a filter in a group: it may cover others."""

ASKS: Final = 2
"""Role of a filter in a group: others may cover it."""

ALONE: Final = 4
"""Beside `ASKS`: it asks in no other group, so what covers it is found here or nowhere."""


class Member(NamedTuple):
    """One filter of a group; `role` is the sum of `COVERS`, `ASKS` and `ALONE`."""

    key: str
    role: int
    form: bytes


@dataclass(frozen=True, slots=True)
class PlaceFilters:
    """The function for `mapInArrow`: (home, key, form) in, `PLACED` out.

    `slots` says into how many groups the filters of a home are cut; homes that are not named are
    one group. `ways` are those in which filters are stored; one that cannot be is general. A row
    comes out for each group in which the filter may cover something or asks.
    """

    slots: tuple[tuple[str, int], ...]
    grid: Grid
    ways: frozenset[Way]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Place all filters of one task."""
        import pyarrow as pa

        slots = dict(self.slots)
        for batch in batches:
            homes, keys, forms = (column.to_pylist() for column in batch.columns)
            rows: list[int] = []
            places: list[int] = []
            roles: list[int] = []
            with uncollected():
                for row, (home, key, form) in enumerate(zip(homes, keys, forms, strict=True)):
                    count = slots.get(home, 1)
                    found = (
                        {0: COVERS | ASKS | ALONE}
                        if count == 1
                        else place(key, hull_of(form), self.grid, count, self.ways)
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
    """The function for `mapInArrow`: `PLACED`, sorted by slot and home, in, `COVERED` out.

    `is_last` tells that neither a filter nor its cover is known to any other group.
    """

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Find the covers in all groups of one task."""
        import pyarrow as pa

        rows = (row for batch in batches for row in _rows(batch))
        for (home, _), group in groupby(rows, key=itemgetter(0, 1)):
            with uncollected():
                members = [Member(key, role, form) for _, _, role, key, form in group]
                members.sort()  # by key, so that equal sets give equal covers
                alone = {member.key for member in members if member.role & ALONE}
                pairs = covered(members)
                keys, covers = zip(*pairs, strict=True) if pairs else ((), ())
                last = [key in alone and cover in alone for key, cover in pairs]
            columns = [
                pa.array([home] * len(pairs), pa.string()),
                pa.array(keys, pa.string()),
                pa.array(covers, pa.string()),
                pa.array(last, pa.bool_()),
            ]
            yield pa.RecordBatch.from_arrays(columns, names=["home", "key", "cover", "is_last"])


def place(key: str, hull: Hull, grid: Grid, slots: int, ways: Container[Way]) -> dict[int, int]:
    """The groups, of so many, that a filter belongs to, and its role in each."""
    found = access(hull, grid, ways)
    # General covers are everywhere, and must be met somewhere.
    asked = asked_blocks(hull, grid, ways) or (int(key[:8], 16),)
    if found is None:
        roles = dict.fromkeys(range(slots), COVERS)
    else:
        roles = {block % slots: COVERS for block in found[1]}
    asking = {block % slots for block in asked}
    for slot in asking:
        roles[slot] = roles.get(slot, 0) | ASKS | (ALONE if len(asking) == 1 else 0)
    return roles


def covered(members: Sequence[Member]) -> list[tuple[str, str]]:
    """Pairs (key, key of a cover) for the members that need not be kept, for they are covered.

    Members are distinct and accept something. Of filters that accept the same in different forms
    one is kept, and nobody is covered by way of itself. Where a cover is covered as well, the pair
    names the last one.
    """
    group = _Group(members, boxes_of([member.form for member in members]))
    kernels = _kernels(len(members))
    roles = np.array([member.role for member in members], np.int64)
    asks, stores = (roles & ASKS) > 0, (roles & COVERS) > 0
    sides, convex = group.boxes.sides, group.boxes.convex
    # Among boxes holding is covering.
    held = kernels.sweep(
        sides,
        group.boxes.order,
        stores & convex,
        asks,
        *buckets(group.boxes, stores & convex),
    )
    found = (held != NOBODY).nonzero()[0].tolist()
    cover = {
        number: int(held[number]) for number in found if group.goes_before(held[number], number)
    }
    # Of other filters the hulls only tell which may cover.
    is_open = asks.copy()
    is_open[list(cover)] = False
    questions, others = is_open.nonzero()[0], buckets(group.boxes, stores & ~convex)
    while len(questions) and len(others.boxes):
        answered, pairs = kernels.candidates(sides, questions, *others, CANDIDATES_HELD_MAX)
        for number, other in pairs.tolist():
            if number not in cover and group.covers(other, number):
                cover[number] = other
        questions = questions[answered:]
    return [(members[number].key, members[last].key) for number, last in _last(cover, members)]


@dataclass(frozen=True, slots=True)
class _Group:
    """Members with their boxes, and with their filters as far as somebody asked for them."""

    members: Sequence[Member]
    boxes: Boxes
    _filters: dict[int, Filter] = field(default_factory=dict)

    def covers(self, cover: int, number: int) -> bool:
        """Whether one member covers another, and is the one of both to be kept."""
        if not self._filter(cover).covers(self._filter(number)):
            return False
        return self.goes_before(cover, number)

    def goes_before(self, cover: int, number: int) -> bool:
        """Whether of a cover and what it covers the cover is to be kept.

        Only if each covers the other is there a choice, and never between boxes.
        """
        if self.boxes.convex[number]:
            return True
        if self.members[cover].key < self.members[number].key:
            return True
        return not self._filter(number).covers(self._filter(cover))

    def _filter(self, number: int) -> Filter:
        found = self._filters.get(number)
        if found is None:
            found = self._filters[number] = decode_form(self.members[number].form)
        return found


def _kernels(size: int) -> Any:
    """The kernels for a group of so many filters."""
    if size < _LARGE_FROM:
        return plain
    from sapwood.pipeline.kernels import compiled

    return compiled


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
