"""Equalities by number, and the ones that an element of a document satisfies: by hashing."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, count, repeat
from operator import sub
from typing import Final, NamedTuple, TypeAlias

from sapwood.limits import EQUALITIES_REMEMBERED_MAX, VALUE_REMEMBERED_CHARS_MAX
from sapwood.matching.automaton.access import Equality
from sapwood.matching.automaton.encoding import Encoder
from sapwood.matching.automaton.names import ANY, NONE, Names, Symbol
from sapwood.model.patterns.comparison import Literal
from sapwood.model.patterns.conditions import NameTest, StringValue, Text
from sapwood.xml import Document

TEXT_SUBJECT: Final = -1
VALUE_SUBJECT: Final = -2
"""The compared subject where it is not an attribute: a text node, or all text of an element."""

_Place: TypeAlias = tuple[int, int]
"""The test of the element's name and the compared subject: a test of an attribute's name, or one of
the two subjects above."""


class _Tables(NamedTuple):
    """Literal to equality, in separate tables for texts and numbers."""

    texts: tuple[dict[str, int], ...]
    numbers: tuple[dict[float, int], ...]


_NO_TABLES: Final = _Tables((), ())
_SUBJECT_BITS: Final = 32
_SUBJECT_MASK: Final = (1 << _SUBJECT_BITS) - 1


def _at(symbol: int, subject: int) -> int:
    """The place of a value as one number: the element's symbol, and the compared subject."""
    return symbol << _SUBJECT_BITS | (subject - VALUE_SUBJECT)


class Equalities:
    """Equalities at elements of a certain name (see the module); they only ever grow."""

    def __init__(self, names: Names, encoder: Encoder) -> None:
        self._names = names
        self._encoder = encoder
        self._texts: dict[_Place, dict[str, int]] = {}
        self._numbers: dict[_Place, dict[float, int]] = {}
        #: equality -> the test of the element's name, the compared subject, and the literal
        self._made: list[tuple[int, int, Literal]] = []
        #: the compared subjects of all equalities
        self._subjects: set[int] = set()
        #: symbols of element and attribute, or of element and one of the two subjects, to tables;
        #: dropped when there is a new place
        self._of_symbols: dict[tuple[int, int], _Tables] = {}
        #: value and its place (`_at`) -> the equalities that it satisfies; a value is dropped when
        #: it is compared anew, all are when there is a new place or a new number
        self._remembered: dict[str, dict[int, tuple[int, ...]]] = {}
        #: the number of entries in `_remembered`
        self._count = 0

    def __len__(self) -> int:
        """The number of equalities."""
        return len(self._made)

    @property
    def made(self) -> list[tuple[int, int, Literal]]:
        """Equalities by number, as `restore` takes them.

        The test of the element's name, a test of an attribute's name or a number below 0 for one of
        the two other subjects, and the literal.
        """
        return self._made

    def restore(self, made: Iterable[tuple[int, int, Literal]]) -> None:
        """Add the equalities of `made` again, with the same numbers."""
        for element_test, subject, literal in made:
            self._number(element_test, subject, literal)

    def equality(self, number: int) -> Equality:
        """The equality of a number, without the element's name."""
        _, subject, literal = self._made[number]
        if subject > 0:
            return Equality(self._names.tests[subject - 1], literal)
        return Equality(Text if subject == TEXT_SUBJECT else StringValue, literal)

    def number(self, element_test: int, equality: Equality) -> int:
        """The number of an equality at elements whose name passes a test."""
        return self._number(element_test, self._subject(equality), equality.literal)

    def _number(self, element_test: int, subject: int, literal: Literal) -> int:
        place = (element_test, subject)
        self._subjects.add(subject)
        table: dict[Literal, int]
        tables: dict[_Place, dict[Literal, int]]
        tables = self._texts if isinstance(literal, str) else self._numbers  # type: ignore[assignment]
        known = tables.get(place)
        if known is None:
            known = tables[place] = {}
            self._of_symbols.clear()
            self._forget()
        table = known
        number = table.get(literal)
        if number is None:
            number = table[literal] = len(self._made)
            self._made.append((element_test, subject, literal))
            self._forget(literal if isinstance(literal, str) else None)
        return number

    def satisfied(self, document: Document, symbols: list[int]) -> tuple[list[int], list[int]]:
        """Pairs of element and equality, as two lists; `symbols` are those of the names."""
        remembered = self._remembered
        elements: list[int] = []
        equalities: list[int] = []
        for element, at, value in self._compared(document, symbols):
            try:
                found = remembered[value][at]
            except KeyError:
                found = self._found(at, value)
            if found:
                elements.extend(repeat(element, len(found)))
                equalities.extend(found)
        return elements, equalities

    def _compared(self, document: Document, symbols: list[int]) -> Iterable[tuple[int, int, str]]:
        """The values of a document to compare: element, place (`_at`), and value."""
        content = document.whole
        every: list[Iterable[tuple[int, int, str]]] = []
        if any(subject > 0 for subject in self._subjects):
            starts, numbers = content.attribute_starts, self._names.numbers(content.attribute_names)
            owners = chain.from_iterable(map(repeat, count(), map(sub, starts[1:], starts)))
            every.append(
                [
                    (element, _at(symbols[element], number), value)
                    for element, number, value in zip(
                        owners, numbers, content.attribute_values, strict=True
                    )
                    if number
                ]
            )
        if TEXT_SUBJECT in self._subjects:
            places = [_at(symbols[element], TEXT_SUBJECT) for element in content.owners]
            every.append(zip(content.owners, places, content.texts, strict=True))
        if VALUE_SUBJECT in self._subjects:
            every.append(
                (element, _at(symbol, VALUE_SUBJECT), document.string_value(element))
                for element, symbol in enumerate(symbols)
                if self._tables(symbol, VALUE_SUBJECT) != _NO_TABLES
            )
        return chain.from_iterable(every)

    def _subject(self, equality: Equality) -> int:
        subject = equality.subject
        if isinstance(subject, NameTest):
            return self._names.test(subject)
        return TEXT_SUBJECT if subject is Text else VALUE_SUBJECT

    def _found(self, at: int, value: str) -> tuple[int, ...]:
        """The equalities that a value satisfies at its place, cached unless it is long."""
        tables = self._tables(at >> _SUBJECT_BITS, (at & _SUBJECT_MASK) + VALUE_SUBJECT)
        found = [texts[value] for texts in tables.texts if value in texts]
        if tables.numbers:
            number = self._encoder.as_number(value)
            found += [numbers[number] for numbers in tables.numbers if number in numbers]
        equalities = tuple(found)
        if len(value) <= VALUE_REMEMBERED_CHARS_MAX:
            if self._count >= EQUALITIES_REMEMBERED_MAX:
                self._forget()
            self._remembered.setdefault(value, {})[at] = equalities
            self._count += 1
        return equalities

    def _forget(self, value: str | None = None) -> None:
        """Drop the cached equalities of a value, or of all values."""
        if value is None:
            self._remembered.clear()
            self._count = 0
        else:
            self._count -= len(self._remembered.pop(value, {}))

    def _tables(self, element: int, attribute: int) -> _Tables:
        """The tables for an element's symbol and an attribute's, or one of the two subjects."""
        known = self._of_symbols.get((element, attribute))
        if known is None:
            symbols = self._names.symbols
            subjects = _passed(symbols[attribute]) if attribute > 0 else (attribute,)
            places = [
                (test, subject)
                for test in (ANY, *_passed(symbols[element]))
                for subject in subjects
            ]
            known = self._of_symbols[element, attribute] = _Tables(
                tuple(self._texts[place] for place in places if place in self._texts),
                tuple(self._numbers[place] for place in places if place in self._numbers),
            )
        return known


def _passed(symbol: Symbol) -> tuple[int, ...]:
    return tuple(test for test in symbol if test != NONE)
