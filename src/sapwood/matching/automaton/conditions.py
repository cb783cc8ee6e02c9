"""Conditions as one table of numbers, each distinct one once, operands before their users."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final, NamedTuple, assert_never

import numpy as np
import numpy.typing as npt

from sapwood.matching.automaton.columns import Array, Column
from sapwood.matching.automaton.names import ANY, Names
from sapwood.model.patterns.comparison import Comparison, Relation
from sapwood.model.patterns.conditions import ALWAYS as NOTHING_ASKED
from sapwood.model.patterns.conditions import (
    AllOf,
    AnyOf,
    Attribute,
    Axis,
    Below,
    Condition,
    NameTest,
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
_BY_NUMBER: Final = MappingProxyType({number: relation for relation, number in _RELATIONS})


class Conditions(NamedTuple):
    """The table as arrays; `first` and `second` depend on the kind.

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

    @property
    def rows(self) -> tuple[Array, ...]:
        """The arrays with an entry for each condition: all but the operands."""
        return self[:-1]


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
        self._columns: tuple[Column, ...] = (
            *(Column(np.uint8), Column(np.int32), Column(np.int32)),
            *(Column(np.uint8), Column(np.int32), Column(np.float64)),
        )
        self._operands = Column(np.int32)
        #: row, or the operands of one, to its number; `None` in a restored table until a condition
        #: is added
        self._numbers: dict[_Row | tuple[int, tuple[int, ...]], int] | None = {}
        #: literal text -> number
        self._literals: dict[str, int] = {}
        #: the kinds of comparisons in the table; true if any is with a number
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

    @classmethod
    def of(cls, names: Names, conditions: Conditions, literals: Iterable[str]) -> ConditionTable:
        """The table with these arrays, which it takes over."""
        table = cls(names)
        table._columns = tuple(Column.of(array) for array in conditions.rows)
        table._operands = Column.of(conditions.operands)
        table._literals = {text: number for number, text in enumerate(literals)}
        table._numbers = None
        compared = np.unique(conditions.kinds).tolist()
        table.kinds = {kind for kind in compared if kind in (ATTRIBUTE, TEXT, VALUE)}
        by_number = (conditions.relations != NO_RELATION) & (conditions.texts == NO_TEXT)
        table.reads_numbers = bool(by_number.any())
        return table

    def condition(self, number: int) -> Condition:
        """The condition of a number: the inverse of `number`."""
        kind, first, second, relation, text, value = self._row(number)
        if kind in (CHILD, DESCENDANT):
            axis = Axis.CHILD if kind == CHILD else Axis.DESCENDANT
            return Below(axis, self._test(first), self.condition(second))
        if kind in (ALL_OF, ANY_OF):
            operands = tuple(map(self.condition, self._operands.view[first:second].tolist()))
            return AllOf(operands) if kind == ALL_OF else AnyOf(operands)
        comparison = None
        if relation != NO_RELATION:
            literal = value if text == NO_TEXT else list(self._literals)[text]
            comparison = Comparison(_BY_NUMBER[relation], literal)
        if kind == ATTRIBUTE:
            test = self._test(first)
            assert test is not None, "an attribute always has a name"
            return Attribute(test, comparison)
        if kind == TEXT:
            return Text(comparison)
        if kind == VALUE:
            assert comparison is not None, "a string-value is always compared"
            return StringValue(comparison)
        return NOTHING_ASKED

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
        every = self._known_numbers()
        known = every.get((kind, numbers))
        if known is None:
            first = len(self._operands)
            for number in numbers:
                self._operands.append(number)
            known = self._append(_Row(kind, first, len(self._operands)))
            every[kind, numbers] = known
        return known

    def _known(self, row: _Row) -> int:
        numbers = self._known_numbers()
        known = numbers.get(row)
        if known is None:
            known = numbers[row] = self._append(row)
        return known

    def _known_numbers(self) -> dict[_Row | tuple[int, tuple[int, ...]], int]:
        if self._numbers is None:
            self._numbers = {}
            for number in range(len(self)):
                row = self._row(number)
                if row.kind in (ALL_OF, ANY_OF):
                    operands = tuple(self._operands.view[row.first : row.second].tolist())
                    self._numbers[row.kind, operands] = number
                elif row.kind != ALWAYS:
                    self._numbers[row] = number
        return self._numbers

    def _row(self, number: int) -> _Row:
        return _Row(*(column.view[number].item() for column in self._columns))

    def _test(self, number: int) -> NameTest | None:
        return None if number == ANY else self._names.tests[number - 1]

    def _append(self, row: _Row) -> int:
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        return len(self) - 1
