"""Tree patterns that may be near each other: by the names that they require.

Let pattern b require a name n in all its alternatives, and let no expansion of pattern a have n.
Then in looking for b in a the step of n, or one above it, is found nowhere, and a factor of the
estimate is the chance of that step at a place p of a: at most the likeliest path from p to an
element n, `reach[p, n]`. All other factors are at most 1, and the sum over alternatives below one
step is at most 1; but k branches that fall on alternatives of one step are weighed with a penalty
for each conflict, and may add up to more, to `growth(k)` at most. So

    Sim(a, b) <= growth of all steps of b * the largest reach of n from a place of a

unless b covers a: then b requires no name that a does not require, since all further names of a
document for a could be changed. So b is near to a only if all names that b requires are *allowed*
by a: they are in a, or in its expansions, or the bound is not below the needed similarity. Patterns
with too many branches for a useful bound count as if they required nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood.covering.xsearch import XSearchIndex
from sapwood.matching.readiness import Awaiting
from sapwood.model.patterns.pattern import TreePattern
from sapwood.similarity.estimates import Similarity
from sapwood.similarity.kernels.choice import SIMILARITY
from sapwood.similarity.many import TILE, Estimates
from sapwood.similarity.steps import Step
from sapwood.similarity.tables import Given, PlaceTable, Table
from sapwood.xml.document import local_name

GROWTH_MAX: Final = 4.0
"""Patterns whose growth is larger require nothing: three branches in one step have 1.6."""

ANYBODY: Final = ""
"""The label of patterns that require no name."""

_PAIR: Final = 90
"""Microseconds of plain Python for a pair that is not ruled out."""


class Directions(NamedTuple):
    """Similarities of one filter, by its number, with some others."""

    one: int
    others: list[int]
    similarities: list[float]


@lru_cache(maxsize=64)
def growth(branches: int, conflict: float) -> float:
    """The largest sum over the ways to place `branches` branches, all weights being 1.

    In one step those that fall on d alternatives, in as many ways as a set has partitions into d
    parts, count at most a penalty for each two of them; steps beside each other multiply.
    """
    own = sum(
        _partitions(branches, parts) * conflict ** (parts * (parts - 1) // 2)
        for parts in range(1, branches + 1)
    )
    beside = (
        growth(some, conflict) * growth(branches - some, conflict) for some in range(1, branches)
    )
    return max(1.0, own, *beside)


def _partitions(members: int, parts: int) -> int:
    """The number of partitions of a set into `parts` parts (Stirling, of the second kind)."""
    if parts in (1, members):
        return 1
    if parts > members:
        return 0
    return parts * _partitions(members - 1, parts) + _partitions(members - 1, parts - 1)


class Required(NamedTuple):
    """The element names that all alternatives of a pattern require, all names, and growth."""

    names: frozenset[str]
    every: frozenset[str]
    growth: float


def required(steps: Sequence[Step], conflict: float) -> Required:
    """The names that a pattern requires, by its steps at the document."""
    names = [frozenset(_names(step)) for step in steps]
    most = max((_growth(step, conflict) for step in steps), default=1.0)
    every = frozenset[str]().union(*names)
    if not names or most > GROWTH_MAX:
        return Required(frozenset(), every, 1.0)
    return Required(frozenset.intersection(*names), every, most)


def _names(step: Step) -> Iterator[str]:
    if step.test is not None and not step.is_attribute:
        yield step.test.local
    for below in step.steps:
        yield from _names(below)


def _growth(step: Step, conflict: float) -> float:
    branches = len(step.steps)
    # Beyond a dozen branches it is beyond any bound, and takes long to compute.
    own = 1.0 if branches < 2 else growth(branches, conflict) if branches < 12 else float("inf")
    for below in step.steps:
        own *= _growth(below, conflict)
    return own


class Allowing:
    """The names, of those given, that each pattern allows near patterns to require."""

    __slots__ = ("_numbers", "_places", "_reach", "least", "names")

    def __init__(self, places: PlaceTable, names: Iterable[str], least: float) -> None:
        self.names = tuple(dict.fromkeys(names))
        self.least = least
        self._places = places
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self._reach = self._reached()

    def _reached(self) -> NDArray[np.float64]:
        """For each place and name the likeliest path from there to an element of that name."""
        arrays, places = self._places.arrays, self._places.places
        own = np.zeros((len(places), len(self.names)))
        for number, place in enumerate(places):
            name = self._numbers.get(local_name(place.name))
            if name is not None and not place.is_attribute:
                own[number, name] = 1.0
        reach = np.zeros_like(own)
        for number in range(len(places) - 1, -1, -1):
            some = slice(int(arrays.starts[number]), int(arrays.attributes[number]))
            kids = arrays.kids[some]
            if len(kids):
                there = np.maximum(own[kids], reach[kids])
                reach[number] = (arrays.shares[some, None] * there).max(axis=0)
        return reach

    def allowed(self, given: Given, every: frozenset[str]) -> tuple[NDArray[np.bool_], ...]:
        """By name, whether a pattern allows it to those without branches, and to those with."""
        there = np.zeros(len(self.names), np.bool_)
        best = np.zeros(len(self.names))
        for _, part in given.parts:
            elements = np.unique(part.places[part.attributes == 0])
            if len(elements):
                best = np.maximum(best, self._reach[elements].max(axis=0))
            for place in elements.tolist():
                name = self._numbers.get(local_name(self._places.places[place].name))
                if name is not None:
                    there[name] = True
        for one in every:
            if one in self._numbers:
                there[self._numbers[one]] = True
        return there | (best >= self.least), there | (best * GROWTH_MAX >= self.least)


class PatternBlock:
    """Patterns of one block: similarities of searching patterns with stored ones."""

    def __init__(
        self, similarity: Similarity, patterns: Sequence[TreePattern], least: float
    ) -> None:
        self.similarity = similarity
        self.patterns = patterns
        self.least = least
        self.table = Table(similarity, patterns)
        conflict = similarity.constants.conflict
        self.required = [required(steps, conflict) for steps in self.table.steps]
        names = dict.fromkeys(name for one in self.required for name in sorted(one.names))
        self.allowing = Allowing(self.table.places, names, least)
        #: the same among all names that documents have, once labels are needed
        self._everywhere: Allowing | None = None

    def labels(self, number: int) -> frozenset[str]:
        """The labels under which a pattern searches: names that it allows, and `ANYBODY`."""
        if self._everywhere is None:
            places = self.table.places
            every = (local_name(one.name) for one in places.places if not one.is_attribute)
            self._everywhere = Allowing(places, every, self.least)
        names, own = self._everywhere.names, self.required[number].every
        # The wider of the two: a pattern stored under a name may have branches.
        _, allowed = self._everywhere.allowed(self.table.given(number), own)
        there = (name for name, is_in in zip(names, allowed, strict=True) if is_in)
        return frozenset((ANYBODY, *own, *there))

    def directions(self, searching: Sequence[int], stored: Sequence[int]) -> Iterator[Directions]:
        """For each searching pattern the stored ones whose similarity is the least or more.

        Both are numbers of patterns. A searching pattern may come several times, with other stored
        ones each time.
        """
        if not searching or not stored:
            return
        given = {number: self.table.given(number) for number in searching}
        allowed = {
            number: [np.packbits(names) for names in self.allowing.allowed(one, every)]
            for number, one in given.items()
            for every in [self.required[number].every]
        }
        covers = self._covers(searching, stored)
        needed, branched = self._needed(stored)
        kernels = Awaiting(SIMILARITY).compiled(len(searching) * len(stored) * _PAIR)
        for first in range(0, len(stored), TILE):
            some = slice(first, first + TILE)
            tile = stored[some]
            there = frozenset(tile)
            estimates = None
            if kernels is not None:
                estimates = Estimates(kernels, self.table, given, tile)
            for number in searching:
                plain, wide = (_within(needed[some], names) for names in allowed[number])
                candidates = np.flatnonzero(np.where(branched[some], wide, plain))
                if estimates is not None:
                    values = estimates.row(number, candidates)
                else:
                    values = self._estimated(number, [tile[at] for at in candidates.tolist()])
                is_similar = values >= self.least
                found = dict(
                    zip(
                        (tile[at] for at in candidates[is_similar].tolist()),
                        values[is_similar].tolist(),
                        strict=True,
                    )
                )
                found.update(dict.fromkeys(covers[number] & there, 1.0))
                found.pop(number, None)
                if found:
                    yield Directions(number, list(found), list(found.values()))

    def _covers(self, searching: Iterable[int], stored: Iterable[int]) -> dict[int, set[int]]:
        """The stored patterns that cover each searching one."""
        index = XSearchIndex()
        for number in stored:
            index.add(number, self.patterns[number])
        return {number: set(index.covering(self.patterns[number])) for number in searching}

    def _needed(self, stored: Sequence[int]) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """The names that each stored one requires, as rows of bits, and whether it has branches."""
        needed = np.zeros((len(stored), len(self.allowing.names)), np.bool_)
        column = {name: at for at, name in enumerate(self.allowing.names)}
        for row, number in enumerate(stored):
            needed[row, [column[name] for name in self.required[number].names]] = True
        branched = np.array([self.required[number].growth > 1 for number in stored], np.bool_)
        return np.packbits(needed, axis=1), branched

    def _estimated(self, number: int, others: Iterable[int]) -> NDArray[np.float64]:
        one = self.patterns[number]
        found = [self.similarity.estimate(one, self.patterns[other]) for other in others]
        return np.array(found, np.float64)


def _within(needed: NDArray[np.uint8], allowed: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """For each row of bits whether all are allowed."""
    return np.logical_not(np.asarray((needed & ~allowed).any(axis=1), np.bool_))


def stored_label(names: frozenset[str], frequencies: Mapping[str, int]) -> str:
    """The label under which a pattern is stored: the rarest of the names that it requires."""
    return min(names, key=lambda name: (frequencies.get(name, 0), name), default=ANYBODY)
