"""Conditions as one table of numbers, each distinct one once, operands before what holds them."""

from __future__ import annotations

from typing import Final, NamedTuple, assert_never

import numpy as np
import numpy.typing as npt

from sapwood.matching.documents.automaton.columns import Column
from sapwood.matching.documents.automaton.names import Names
from sapwood.model.documents.comparison import Comparison, Relation
from sapwood.model.documents.conditions import (
    AllOf,
    AnyOf,
    Attribute,
    Axis,
    Below,
    Condition,
    StringValue,
    Text,
)

ALWAYS_ID: Final = 0
"""The condition that always holds; it needs no row."""

ALWAYS, CHILD, DESCENDANT, ATTRIBUTE, TEXT, VALUE, ALL_OF, ANY_OF = range(8)
"""Kinds of conditions."""

NO_RELATION, EQUAL, DIFFERENT, LESS, AT_MOST, GREATER, AT_LEAST = range(7)
"""Relations; the first one is no comparison at all."""

NO_TEXT: Final = -1
"""The number of a text that is no literal of any pattern, and of a literal that is a number."""

_RELATIONS: Final = (
    *((Relation.EQUAL, EQUAL), (Relation.DIFFERENT, DIFFERENT), (Relation.LESS, LESS)),
    *((Relation.AT_MOST, AT_MOST), (Relation.GREATER, GREATER), (Relation.AT_LEAST, AT_LEAST)),
)


class Conditions(NamedTuple):
    """The table as arrays; what `first` and `second` are depends on the kind.

    CHILD, DESCENDANT: the test of the name, the condition there. ATTRIBUTE: the test of the name.
    ALL_OF, ANY_OF: the operands `operands[first:second]`. ATTRIBUTE, TEXT, VALUE: the comparison is
    `relation` with the literal text number `text`, or with `number` if that is `NO_TEXT`.
    """

    kinds: npt.NDArray[np.uint8]
    first: npt.NDArray[np.int32]
    second: npt.NDArray[np.int32]
    relations: npt.NDArray[np.uint8]
    texts: npt.NDArray[np.int32]
    numbers: npt.NDArray[np.float64]
    operands: npt.NDArray[np.int32]


class _Row(NamedTuple):
    kind: int
    first: int = 0
    second: int = 0
    relation: int = NO_RELATION
    text: int = NO_TEXT
    number: float = 0.0


class ConditionTable:
    """Conditions by number (see the module); it only ever grows."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._columns = (
            *(Column(np.uint8), Column(np.int32), Column(np.int32)),
            *(Column(np.uint8), Column(np.int32), Column(np.float64)),
        )
        self._operands = Column(np.int32)
        #: row, or the operands of one, to its number
        self._numbers: dict[_Row | tuple[int, tuple[int, ...]], int] = {}
        #: literal text -> number
        self._literals: dict[str, int] = {}
        #: kinds of comparisons there are, and whether any is with a number
        self.kinds: set[int] = set()
        self.reads_numbers = False
        self._append(_Row(ALWAYS))

    def __len__(self) -> int:
        """The number of conditions."""
        return len(self._columns[0])

    @property
    def literals(self) -> dict[str, int]:
        """The number of each literal text."""
        return self._literals

    def number(self, condition: Condition) -> int:
        """The number of a condition."""
        match condition:
            case Below(axis=axis, test=test, condition=inner):
                kind = CHILD if axis is Axis.CHILD else DESCENDANT
                return self._known(_Row(kind, self._names.test(test), self.number(inner)))
            case Attribute(test=test, comparison=comparison):
                return self._compared(ATTRIBUTE, self._names.test(test), comparison)
            case Text(comparison=comparison):
                return self._compared(TEXT, 0, comparison)
            case StringValue(comparison=comparison):
                return self._compared(VALUE, 0, comparison)
            case AllOf(operands=operands):
                return self._joined(ALL_OF, operands) if operands else ALWAYS_ID
            case AnyOf(operands=operands):
                return self._joined(ANY_OF, operands)
            case _:
                assert_never(condition)

    def conditions(self) -> Conditions:
        """The arrays as they are now."""
        kinds, first, second, relations, texts, numbers = (c.view for c in self._columns)
        return Conditions(kinds, first, second, relations, texts, numbers, self._operands.view)

    def _compared(self, kind: int, test: int, comparison: Comparison | None) -> int:
        self.kinds.add(kind)
        if comparison is None:
            return self._known(_Row(kind, test))
        relation, literal = dict(_RELATIONS)[comparison.relation], comparison.literal
        if isinstance(literal, str):
            text = self._literals.setdefault(literal, len(self._literals))
            return self._known(_Row(kind, test, 0, relation, text))
        self.reads_numbers = True
        return self._known(_Row(kind, test, 0, relation, NO_TEXT, literal))

    def _joined(self, kind: int, operands: tuple[Condition, ...]) -> int:
        numbers = tuple(map(self.number, operands))
        known = self._numbers.get((kind, numbers))
        if known is None:
            first = len(self._operands)
            for number in numbers:
                self._operands.append(number)
            known = self._append(_Row(kind, first, len(self._operands)))
            self._numbers[kind, numbers] = known
        return known

    def _known(self, row: _Row) -> int:
        known = self._numbers.get(row)
        if known is None:
            known = self._numbers[row] = self._append(row)
        return known

    def _append(self, row: _Row) -> int:
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        return len(self) - 1
