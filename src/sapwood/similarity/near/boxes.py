"""Record filters that may be near each other: by their attributes and the hulls of their values.

`box_similarity(a, b)` is 1 where b covers a, or else the mean, over the boxes of a, of the best box
of b; of two boxes each attribute that b's has and a's lacks counts 1/2, and one whose values share
nothing counts 0. So where it is s or more, either b covers a, and the hull of b has no attribute
that a box of a lacks, or some box of b has at most log2(1 / s) attributes that a box of a lacks.
A filter is therefore stored under the sets of attributes of its boxes, and of its hull if it has
several, and searches under all sets from which a box of its own lacks no more attributes than that.
Within a block hulls that share no value of an attribute rule a pair out; the other pairs are
computed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import floor, log2
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sapwood.covering.batch.boxes import Box, End, box_of
from sapwood.language.forms import encode_form
from sapwood.model.filter import Filter
from sapwood.similarity.boxes import UNTOLD, box_similarity
from sapwood.similarity.near.patterns import Directions

Attributes: TypeAlias = frozenset[str]

_SEPARATOR: Final = "\0"


def missing_most(least: float) -> int:
    """The most attributes that may be missing from a box where a similarity is the least."""
    return floor(log2(least) / log2(UNTOLD) + 1e-6) if least < 1 else 0


def label_of(attributes: Attributes) -> str:
    """A set of attributes as a label."""
    return _SEPARATOR.join(sorted(attributes))


def attributes_of(label: str) -> Attributes:
    """The set of attributes of a label."""
    return frozenset(label.split(_SEPARATOR)) if label else frozenset()


def stored_labels(filter: Filter) -> frozenset[str]:
    """The labels under which a filter is stored: the attributes of its boxes, and of its hull."""
    boxes = _attributes(filter)
    if len(boxes) > 1:
        # What covers another filter may do so by several boxes together.
        boxes |= {frozenset(name for name, _ in box_of(encode_form(filter)).spans)}
    return frozenset(map(label_of, boxes))


def search_labels(filter: Filter, labels: Iterable[str], least: float) -> frozenset[str]:
    """The labels under which a filter searches, of those given."""
    most, boxes = missing_most(least), _attributes(filter)
    return frozenset(
        label for label in labels if any(len(attributes_of(label) - box) <= most for box in boxes)
    )


def _attributes(filter: Filter) -> frozenset[Attributes]:
    return frozenset(
        frozenset(name for name, _ in conjunction.constraints)
        for conjunction in filter.conjunctions
    )


class BoxBlock:
    """Record filters of one block: similarities of searching filters with stored ones."""

    def __init__(self, filters: Sequence[Filter], least: float) -> None:
        self.filters = filters
        self.least = least
        self._boxes = [box_of(encode_form(one)) for one in filters]
        self._ranks = _ranks(self._boxes)

    def directions(self, searching: Sequence[int], stored: Sequence[int]) -> Iterator[Directions]:
        """As `PatternBlock.directions`."""
        groups = self._groups(stored)
        searched: dict[frozenset[Attributes], list[_Group]] = {}
        for number in searching:
            one = self.filters[number]
            kind = _attributes(one)
            chosen = searched.get(kind)
            if chosen is None:
                labels = search_labels(one, (group.label for group in groups), self.least)
                chosen = searched[kind] = [group for group in groups if group.label in labels]
            near: dict[int, float] = {}
            spans = self._spans(number)
            for group in chosen:
                for other in group.meeting(spans):
                    if other != number and other not in near:
                        value = box_similarity(one, self.filters[other])
                        if value >= self.least:
                            near[other] = value
            if near:
                yield Directions(number, list(near), list(near.values()))

    def _spans(self, number: int) -> dict[str, tuple[int, int]]:
        return {
            name: (self._ranks[name][span.low], self._ranks[name][span.high])
            for name, span in self._boxes[number].spans
        }

    def _groups(self, stored: Sequence[int]) -> list[_Group]:
        members: dict[str, list[int]] = {}
        for number in stored:
            for label in sorted(stored_labels(self.filters[number])):
                members.setdefault(label, []).append(number)
        return [
            _Group(label, some, [self._spans(number) for number in some])
            for label, some in members.items()
        ]


class _Group:
    """Filters that are stored under one label, with their hulls as columns of ranks."""

    __slots__ = ("_columns", "_members", "label")

    def __init__(
        self, label: str, members: Sequence[int], spans: Sequence[Mapping[str, tuple[int, int]]]
    ) -> None:
        self.label = label
        self._members = np.array(members, np.int64)
        #: for each attribute that any hull has, their lows and highs; the widest where one has not
        self._columns: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        everything = -1, np.iinfo(np.int64).max
        for name in dict.fromkeys(name for one in spans for name in one):
            ends = [one.get(name, everything) for one in spans]
            lows, highs = np.array(ends, np.int64).T
            self._columns[name] = np.ascontiguousarray(lows), np.ascontiguousarray(highs)

    def meeting(self, spans: Mapping[str, tuple[int, int]]) -> Collection[int]:
        """The members whose hulls share values of each attribute with another one."""
        meets: NDArray[np.bool_] | None = None
        for name, (low, high) in spans.items():
            column = self._columns.get(name)
            if column is not None:
                some = (column[0] <= high) & (column[1] >= low)
                meets = some if meets is None else meets & some
        members = self._members if meets is None else self._members[meets]
        found: list[int] = members.tolist()
        return found


def _ranks(boxes: Iterable[Box]) -> dict[str, dict[End, int]]:
    """For each attribute the ends of all spans, by number in their order."""
    ends: dict[str, set[End]] = {}
    for box in boxes:
        for name, span in box.spans:
            ends.setdefault(name, set()).update((span.low, span.high))
    return {
        name: {end: rank for rank, end in enumerate(sorted(some))} for name, some in ends.items()
    }
