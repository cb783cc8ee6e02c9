"""Covers among the record filters of one group, and the groups that a filter belongs to.

Filters are compared as boxes (`batch.boxes`); only a filter that is no box, and has a hull that
holds another one, is compared by the algebra.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from sapwood.covering.batch.blocking import Grid, Way, access, queried_blocks
from sapwood.covering.batch.boxes import Box, Boxes, boxes_of
from sapwood.covering.batch.buckets import NOBODY, buckets
from sapwood.covering.batch.groups import COVERS, QUERIES, Member, last_covers, with_queries
from sapwood.covering.batch.kernels import plain
from sapwood.language.forms import decode_form
from sapwood.limits import CANDIDATES_HELD_MAX
from sapwood.matching.readiness import KernelSet
from sapwood.model.filter import Filter

_LARGE_FROM: Final = 300
"""Filters from which on the compiled kernels are the faster ones, measured; below, a worker need
not even load the compiler."""


def place(key: str, box: Box, grid: Grid, slots: int, ways: Container[Way]) -> dict[int, int]:
    """The groups, out of `slots`, that a filter belongs to, and its role in each."""
    found = access(box, grid, ways)
    # General covers are in all groups, so a filter without blocks must query one.
    queried = queried_blocks(box, grid, ways) or (int(key[:8], 16),)
    if found is None:
        roles = dict.fromkeys(range(slots), COVERS)
    else:
        roles = {block % slots: COVERS for block in found[1]}
    return with_queries(roles, {block % slots for block in queried})


def covered(members: Sequence[Member]) -> list[tuple[str, str]]:
    """Pairs (key, key of a cover) for the members that need not be kept, as they are covered.

    Members are distinct and accept something. Of filters that accept the same in different forms
    one is kept, and no filter is covered by way of itself. Where a cover is covered as well, the
    pair names the last cover.
    """
    group = _Group(members, boxes_of([member.form for member in members]))
    kernels = _kernels(len(members))
    roles = np.array([member.role for member in members], np.int64)
    queries, stores = (roles & QUERIES) > 0, (roles & COVERS) > 0
    sides, convex = group.boxes.sides, group.boxes.convex
    # Between boxes, holding is covering.
    holder = kernels.sweep(
        sides,
        group.boxes.order,
        stores & convex,
        queries,
        *buckets(group.boxes, stores & convex),
    )
    found = (holder != NOBODY).nonzero()[0].tolist()
    cover = {
        number: int(holder[number]) for number in found if group.goes_before(holder[number], number)
    }
    # For other filters the boxes only rule out some that cannot cover.
    is_open = queries.copy()
    is_open[list(cover)] = False
    questions, others = is_open.nonzero()[0], buckets(group.boxes, stores & ~convex)
    while len(questions) and len(others.boxes):
        answered, pairs = kernels.candidates(sides, questions, *others, CANDIDATES_HELD_MAX)
        for number, other in pairs.tolist():
            if number not in cover and group.covers(other, number):
                cover[number] = other
        questions = questions[answered:]
    keys = [member.key for member in members]
    return [(keys[number], keys[last]) for number, last in last_covers(cover, keys)]


@dataclass(frozen=True, slots=True)
class _Group:
    """Members with their boxes, and with the filters that have been decoded so far."""

    members: Sequence[Member]
    boxes: Boxes
    _filters: dict[int, Filter] = field(default_factory=dict)

    def covers(self, cover: int, number: int) -> bool:
        """True if one member covers another, and is the one of both to be kept."""
        if not self._filter(cover).covers(self._filter(number)):
            return False
        return self.goes_before(cover, number)

    def goes_before(self, cover: int, number: int) -> bool:
        """True if, of a cover and the filter that it covers, the cover is to be kept.

        Ties, where each covers the other, are broken by key; boxes never tie.
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
    """The kernels for a group of `size` filters."""
    if size < _LARGE_FROM:
        return plain
    from sapwood.covering.batch.kernels import compiled

    return compiled


PIPELINE: Final = KernelSet("pipeline", "sapwood.covering.batch.kernels.compiled")
"""The compiled kernels of the pipeline."""
