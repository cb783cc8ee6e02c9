"""Many patterns and the knowledge of documents, as the arrays that kernels compare.

A table is made for patterns that are all there: it numbers the places that matter to them, their
steps, and the names and texts that they require. Of each pattern it makes both sides: the searched
one (`searched`), a tile of patterns at a time since the chances of all their steps at all places
take 8 bytes a pair; and the one searched in (`given`), some 70 bytes a node of an expansion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood.limits import EXPANSION_DEPTH_MAX, SIMILARITY_COMBINATIONS_MAX
from sapwood.model.patterns.conditions import Axis, NameTest
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.patterns.texts import Texts
from sapwood.similarity.estimates import Similarity
from sapwood.similarity.expansion import Occurrence
from sapwood.similarity.kernels.layout import (
    NONE,
    GivenArrays,
    PlaceArrays,
    Scratch,
    SearchedArrays,
    StepArrays,
    TableArrays,
)
from sapwood.similarity.knowledge import Place, Weighed
from sapwood.similarity.steps import Step
from sapwood.xml.document import local_name


class Given(NamedTuple):
    """A pattern that is looked into: expansions with their shares, and the most nodes of one."""

    parts: tuple[tuple[float, GivenArrays], ...]
    most: int


class Tile(NamedTuple):
    """Patterns that are looked for: their steps' arrays, and how large a comparison gets.

    `most` are the steps of a pattern, `branches` those below one step; `texts` are the conditions
    of steps on texts, in the order of their numbers.
    """

    steps: StepArrays
    searched: SearchedArrays
    patterns: int
    most: int
    branches: int
    texts: tuple[tuple[Texts, ...], ...]


class PlaceTable:
    """The places that documents have, numbered so that kids come after their parents."""

    __slots__ = ("arrays", "numbers", "places", "similarity")

    def __init__(self, similarity: Similarity, depth_max: int) -> None:
        self.similarity = similarity
        knowledge = similarity.knowledge
        self.places: list[Place] = [knowledge.root]
        self.numbers: dict[Place, int] = {knowledge.root: 0}
        starts, middles, kids, shares = [0], list[int](), list[int](), list[float]()
        for place in self.places:
            elements: Weighed = ()
            attributes: Weighed = ()
            if place.depth < depth_max and not place.is_attribute:
                elements, attributes = knowledge.elements(place), knowledge.attributes(place)
            for is_attribute, weighed in enumerate((elements, attributes)):
                if is_attribute:
                    middles.append(len(kids))
                for kid, _ in weighed:
                    if kid not in self.numbers:
                        self.numbers[kid] = len(self.places)
                        self.places.append(kid)
                    kids.append(self.numbers[kid])
                    shares.append(similarity.share(place, kid, len(weighed)))
            starts.append(len(kids))
        self.arrays = PlaceArrays(
            np.array(starts, np.int64),
            np.array(middles, np.int64),
            np.array(kids, np.int32),
            np.array(shares, np.float64),
            np.array([place.depth for place in self.places], np.int32),
            np.array([knowledge.holds_text(place) for place in self.places], np.uint8),
        )


class Table:
    """All that comparisons of some patterns with each other look up."""

    __slots__ = (
        *("_excluded", "_excluded_rows", "_names", "_opposed_kids", "_test_numbers", "_tests"),
        *("_text_numbers", "_texts", "accepted", "patterns", "places", "similarity", "steps"),
    )

    def __init__(self, similarity: Similarity, patterns: Sequence[TreePattern]) -> None:
        self.similarity = similarity
        self.patterns = patterns
        #: for each pattern the steps at the document
        self.steps = [similarity.steps(pattern) for pattern in patterns]
        height = max((_height(step) for steps in self.steps for step in steps), default=0)
        self.places = PlaceTable(similarity, EXPANSION_DEPTH_MAX + height + 1)
        self._test_numbers: dict[tuple[NameTest | None, bool], int] = {}
        self._names: dict[str, int] = {}
        for steps in self.steps:
            for step in steps:
                self._number_tests(step)
        self._tests: Final = list(self._test_numbers)
        self.accepted = self._accepted()
        #: rows of tests that certain kids rule out, by the place and its certain kids
        self._excluded_rows: dict[tuple[int, frozenset[int]], int] = {}
        self._excluded: list[NDArray[np.uint8]] = []
        #: by the known sets of a text
        self._text_numbers: dict[tuple[Texts, ...], int] = {(): 0}
        self._texts: list[tuple[Texts, ...]] = [()]

    def _number_tests(self, step: Step) -> None:
        self._test_numbers.setdefault((step.test, step.is_attribute), len(self._test_numbers))
        if step.test is not None and not step.is_attribute:
            self._names.setdefault(step.test.local, len(self._names))
        for below in step.steps:
            self._number_tests(below)

    def _accepted(self) -> NDArray[np.uint8]:
        found = np.zeros((max(len(self._tests), 1), len(self.places.places)), np.uint8)
        by_name: dict[str, list[int]] = {}
        for number, place in enumerate(self.places.places):
            by_name.setdefault(place.name, []).append(number)
        for row, (test, is_attribute) in enumerate(self._tests):
            step = Step(Axis.CHILD, test, is_attribute=is_attribute)
            for name, numbers in by_name.items():
                if step.accepts(Place(name)):
                    found[row, numbers] = 1
        found[:, 0] = 0
        return found

    def tile(self, patterns: Sequence[int]) -> Tile:
        """The patterns of some numbers as searched ones, but for the chances of their steps.

        The chances are to be filled in by `fill_chances`.
        """
        numbers: dict[Step, int] = {}
        roots, root_starts, orders, order_starts = list[Step](), [0], list[int](), [0]
        searched_texts: dict[tuple[Texts, ...], int] = {}
        for steps in map(self.steps.__getitem__, patterns):
            for step in steps:
                own: dict[int, None] = {}
                _ordered(step, numbers, own)
                orders += own
                order_starts.append(len(orders))
                roots.append(step)
            root_starts.append(len(roots))
        every = list(numbers)
        below_starts, below = [0], list[int]()
        for step in every:
            below += (numbers[one] for one in step.steps)
            below_starts.append(len(below))
            if step.texts:
                searched_texts.setdefault(step.texts, len(searched_texts))
        tests = [self._test_numbers[step.test, step.is_attribute] for step in every]
        doubt = self.similarity.constants.unknown_text
        names = [
            NONE if test is None or is_attribute else self._names[test.local]
            for test, is_attribute in self._tests
        ]
        arrays = StepArrays(
            np.array(tests, np.int32),
            np.array([step.axis is Axis.DESCENDANT for step in every], np.uint8),
            np.array([step.is_attribute for step in every], np.uint8),
            np.array([step.needs_text for step in every], np.uint8),
            np.array([searched_texts.get(step.texts, NONE) for step in every], np.int32),
            np.array([doubt ** len(step.texts) for step in every], np.float64),
            np.array(below_starts, np.int64),
            np.array(below, np.int32),
            np.array(names or [NONE], np.int32),
        )
        searched = SearchedArrays(
            np.array(root_starts, np.int64),
            np.array(order_starts, np.int64),
            np.array(orders, np.int32),
            np.zeros((len(every), len(self.places.places)), np.float64),
        )
        lengths = np.diff(order_starts)
        branches = max((len(step.steps) for step in every), default=0)
        return Tile(
            arrays,
            searched,
            len(patterns),
            int(lengths.max(initial=1)),
            branches,
            tuple(searched_texts),
        )

    def given(self, number: int) -> Given:
        """The pattern of a number as one to search in; raises `LimitError` as `Similarity`."""
        parts = tuple(
            (share, self._flat(root))
            for share, root in self.similarity.expanded(self.patterns[number])
        )
        return Given(parts, max((len(one.places) for _, one in parts), default=0))

    def tables(self, tile: Tile) -> TableArrays:
        """The tables for comparisons of a tile, once all `given` sides are there."""
        searched = tile.texts
        known = np.ones((len(self._texts), max(len(searched), 1)), np.float64)
        for row, there in enumerate(self._texts):
            for column, wanted in enumerate(searched):
                for one in wanted:
                    known[row, column] *= self.similarity.text(one, there)
        excluded = np.zeros((len(self._tests) or 1, max(len(self._excluded), 1)), np.uint8)
        for row, some in enumerate(self._excluded):
            excluded[:, row] = some
        return TableArrays(self.accepted, excluded, known)

    def _flat(self, root: Occurrence) -> GivenArrays:
        """An expansion in arrays, level by level."""
        nodes, firsts, ends, above = [root], list[int](), list[int](), [0]
        for at, node in enumerate(nodes):
            firsts.append(len(nodes))
            nodes += node.children
            above += [at] * len(node.children)
            ends.append(len(nodes))
        numbers = [self.places.numbers[node.place] for node in nodes]
        # As integers of any size, since many small steps in arrays take long.
        below = [0] * len(nodes)
        for at in range(len(nodes) - 1, 0, -1):
            place = nodes[at].place
            name = None if place.is_attribute else self._names.get(local_name(place.name))
            below[above[at]] |= below[at] if name is None else below[at] | 1 << name
        size = 8 * -(-max(len(self._names), 1) // 64)
        words = np.frombuffer(b"".join(one.to_bytes(size, "little") for one in below), "<u8")
        opposed = [self._row(number, node) for number, node in zip(numbers, nodes, strict=True)]
        pair_starts, pairs = [0], list[int]()
        for node in nodes:
            pairs += (one << 32 | other for one, other in sorted(node.opposed))
            pair_starts.append(len(pairs))
        return GivenArrays(
            np.array(firsts, np.int64),
            np.array(ends, np.int64),
            np.array(numbers, np.int32),
            np.array([node.number for node in nodes], np.int32),
            np.array([node.probability for node in nodes], np.float64),
            np.array([self._text(node.texts) for node in nodes], np.int32),
            np.array([node.place.is_attribute for node in nodes], np.uint8),
            words.astype(np.uint64).reshape(len(nodes), -1),
            np.array(opposed, np.int32),
            np.array(pair_starts, np.int64),
            np.array(pairs, np.int64),
        )

    def _text(self, texts: tuple[Texts, ...]) -> int:
        number = self._text_numbers.setdefault(texts, len(self._texts))
        if number == len(self._texts):
            self._texts.append(texts)
        return number

    def _row(self, place: int, node: Occurrence) -> int:
        """The row of tests that the certain kids of a node rule out; `NONE` where none are."""
        knowledge = self.similarity.knowledge
        if knowledge.dtd is None or not node.place.depth:
            return NONE
        certain = frozenset(
            self.places.numbers[one.place] for one in node.children if one.probability >= 1
        )
        if not certain:
            return NONE
        row = self._excluded_rows.get((place, certain))
        if row is None:
            arrays = self.places.arrays
            kids = arrays.kids[arrays.starts[place] : arrays.attributes[place]]
            there = [self.places.places[one] for one in certain]
            is_opposed = np.array(
                [
                    any(
                        knowledge.opposed(node.place, self.places.places[kid], one) for one in there
                    )
                    for kid in kids
                ],
                np.bool_,
            )
            row = NONE
            if is_opposed.any():
                passing = self.accepted[:, kids] > 0
                some = passing.any(axis=1) & ~(passing & ~is_opposed).any(axis=1)
                row = len(self._excluded)
                self._excluded.append(np.asarray(some, np.uint8))
            self._excluded_rows[place, certain] = row
        return row


def scratch_for(tile: Tile, nodes: int) -> Scratch:
    """Scratch arrays for comparisons of a tile with expansions of at most `nodes` nodes."""
    steps = tile.most
    options = max(nodes, 1) * max(tile.branches, 1)
    ways = 2 * tile.branches + 3 + 2 * options
    return Scratch(
        np.zeros((steps, nodes), np.uint8),
        np.empty((steps, nodes), np.float64),
        np.empty((steps, nodes), np.float64),
        np.zeros((steps, nodes), np.uint8),
        np.empty(steps * nodes + 1, np.int32),
        np.empty(steps * nodes + 1, np.int32),
        np.empty(max(len(tile.steps.tests), 1), np.int32),
        np.empty(ways, np.int64),
        np.empty(ways, np.float64),
        np.empty(SIMILARITY_COMBINATIONS_MAX + 1, np.float64),
    )


def _height(step: Step) -> int:
    return 1 + max(map(_height, step.steps), default=0)


def _ordered(step: Step, numbers: dict[Step, int], own: dict[int, None]) -> int:
    """Number a step after all below it; `own` gets the numbers of this pattern in this order."""
    for below in step.steps:
        _ordered(below, numbers, own)
    number = numbers.setdefault(step, len(numbers))
    own[number] = None
    return number
