"""The inputs of a search for one document, besides the states."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.arrays import TwoDimensional
from sapwood.matching.automaton.columns import Column
from sapwood.matching.automaton.conditions import Conditions
from sapwood.matching.automaton.encoding import Encoded
from sapwood.matching.automaton.postings import Lists
from sapwood.matching.automaton.states import Held

_ROUND_MAX: Final = 2**31 - 2**20
"""Before round numbers leave 32 bits, marks begin anew."""


class Targets(NamedTuple):
    """The targets of patterns, each distinct one once.

    The node of the access path and of the longest required one, the condition that is left, and
    true where that is to be checked at the document.
    """

    nodes: npt.NDArray[np.int32]
    reaches: npt.NDArray[np.int32]
    conditions: npt.NDArray[np.int32]
    at_document: npt.NDArray[np.bool_]


class Patterns(NamedTuple):
    """The patterns as arrays.

    `plain` has for each node the match of the path alone: none (`postings.GAP`), one slot, or a
    target with several (`postings.FIRST_TARGET - target`). `slots` lists slots by target, `by_node`
    and `by_equality` the other targets. The data of the targets in `by_equality.values` lies side
    by side, so that memory is read in order: `equality_nodes` are their nodes, `equality_reaches`
    the nodes of their longest required paths, and `equality_checks` twice the condition that is
    left to check, and 1 more if at the document.
    """

    plain: npt.NDArray[np.int32]
    slots: Lists
    by_node: Lists
    by_equality: Lists
    equality_nodes: npt.NDArray[np.int32]
    equality_reaches: npt.NDArray[np.int32]
    equality_checks: npt.NDArray[np.int32]
    targets: Targets


class Reached(NamedTuple):
    """The states that a document has, each once, and the nodes they hold."""

    states: npt.NDArray[np.int32]
    held: Held


class Pairs(NamedTuple):
    """Equalities that elements satisfy: `elements[at]` satisfies `equalities[at]`."""

    elements: npt.NDArray[np.int32]
    equalities: npt.NDArray[np.int32]


class Groups(NamedTuple):
    """Groups of elements that patterns do not distinguish: of one state and one equality.

    The first groups are those of the states, in their order, without an equality (-1); the others
    follow in the order of their states (`states` holds places in the list of states). `bits` has a
    row of bits for each group: element `e` is bit `e + 1`.
    """

    states: npt.NDArray[np.int32]
    equalities: npt.NDArray[np.int32]
    bits: TwoDimensional[npt.NDArray[np.uint64]]


class Candidates(NamedTuple):
    """Targets to be checked, each at the elements of a group; `checks` are as in `Patterns`."""

    targets: npt.NDArray[np.int32]
    groups: npt.NDArray[np.int32]
    checks: npt.NDArray[np.int32]


class Asked(NamedTuple):
    """Conditions, and the document that they are evaluated on."""

    conditions: Conditions
    document: Encoded


class Marks(NamedTuple):
    """The marks of this round.

    `words` is a bit for each slot, `conditions` one for each condition, all clear between rounds;
    `reached` is a bit for each node that any state reaches. `targets` holds the round in which each
    target was last marked, `nodes` and `equalities` a number of its own for each state from
    `first_mark` on; `groups` is the group of each marked equality, and `rows` the row of each
    marked condition.
    """

    words: npt.NDArray[np.uint64]
    targets: npt.NDArray[np.int32]
    nodes: npt.NDArray[np.int32]
    equalities: npt.NDArray[np.int32]
    groups: npt.NDArray[np.int32]
    reached: npt.NDArray[np.uint64]
    conditions: npt.NDArray[np.uint64]
    rows: npt.NDArray[np.int32]
    round: int
    first_mark: int


class Sizes(NamedTuple):
    """The sizes of the arrays of marks, one for each kind of thing that can be marked."""

    slots: int
    targets: int
    nodes: int
    equalities: int
    conditions: int
    states: int


class MarkBook:
    """The arrays of `Marks`, kept from one document to the next."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._words, self._reached, self._conditions = (Column(np.uint64) for _ in range(3))
        self._targets, self._nodes, self._equalities = (Column(np.int32) for _ in range(3))
        self._groups, self._rows = Column(np.int32), Column(np.int32)
        self._round = 0
        self._next_mark = 1

    def begin(self, sizes: Sizes) -> Marks:
        """The marks for a new round, with room for `sizes` of each kind."""
        if max(self._round, self._next_mark + sizes.states) > _ROUND_MAX:
            self._clear()
        columns: tuple[tuple[Column, int], ...] = (
            (self._words, (sizes.slots >> 6) + 1),
            (self._targets, sizes.targets),
            (self._nodes, sizes.nodes),
            (self._equalities, sizes.equalities),
            (self._groups, sizes.equalities),
            (self._reached, (sizes.nodes >> 6) + 1),
            (self._conditions, (sizes.conditions >> 6) + 1),
            (self._rows, sizes.conditions),
        )
        for column, size in columns:
            column.resize(size)
        self._round += 1
        first = self._next_mark
        self._next_mark += sizes.states
        return Marks(
            *(self._words.view, self._targets.view, self._nodes.view, self._equalities.view),
            *(self._groups.view, self._reached.view, self._conditions.view, self._rows.view),
            *(self._round, first),
        )
