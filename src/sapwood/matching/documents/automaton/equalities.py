"""Equalities by number, and which of them an element of a document satisfies: by hashing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from sapwood.matching.documents.automaton.access import Equality
from sapwood.matching.documents.automaton.encoding import Encoder
from sapwood.matching.documents.automaton.names import ANY, NONE, Names, Symbol
from sapwood.model.documents.comparison import Literal
from sapwood.model.documents.conditions import NameTest, StringValue, Text
from sapwood.xml import Document

TEXT_SUBJECT: Final = -1
VALUE_SUBJECT: Final = -2
"""What is compared, where it is no attribute."""

_Place: TypeAlias = tuple[int, int]
"""The test of the element's name and what is compared: a test of an attribute's name, or one of
the two subjects above."""


class _Tables(NamedTuple):
    """Literal to equality, apart for texts and numbers."""

    texts: tuple[dict[str, int], ...]
    numbers: tuple[dict[float, int], ...]


_NO_TABLES: Final = _Tables((), ())


class Equalities:
    """Equalities at elements of a certain name (see the module); they only ever grow."""

    def __init__(self, names: Names, encoder: Encoder) -> None:
        self._names = names
        self._encoder = encoder
        self._texts: dict[_Place, dict[str, int]] = {}
        self._numbers: dict[_Place, dict[float, int]] = {}
        #: equality -> the test of the element's name, what is compared, and the literal
        self._made: list[tuple[int, int, Literal]] = []
        #: what is compared, in all equalities
        self._subjects: set[int] = set()
        #: symbols of element and attribute, or of element and one of the two subjects, to tables;
        #: forgotten when there is a new place
        self._remembered: dict[tuple[int, int], _Tables] = {}

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
        """Number the equalities that `made` gave, in the same way."""
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
            self._remembered.clear()
        table = known
        number = table.get(literal)
        if number is None:
            number = table[literal] = len(self._made)
            self._made.append((element_test, subject, literal))
        return number

    def satisfied(self, document: Document, symbols: list[int]) -> list[tuple[int, int]]:
        """Pairs (element, equality); `symbols` are the numbers of the names' symbols."""
        content = document.whole
        found: list[tuple[int, int]] = []
        if any(subject > 0 for subject in self._subjects):
            starts, names = content.attribute_starts, content.attribute_names
            numbers, values = self._names.numbers(names), content.attribute_values
            for element, symbol in enumerate(symbols):
                for at in range(starts[element], starts[element + 1]):
                    if numbers[at]:
                        self._find(element, symbol, numbers[at], values[at], found)
        if TEXT_SUBJECT in self._subjects:
            for element, text in zip(content.owners, content.texts, strict=True):
                self._find(element, symbols[element], TEXT_SUBJECT, text, found)
        if VALUE_SUBJECT in self._subjects:
            for element, symbol in enumerate(symbols):
                if self._tables(symbol, VALUE_SUBJECT) != _NO_TABLES:
                    value = document.string_value(element)
                    self._find(element, symbol, VALUE_SUBJECT, value, found)
        return found

    def _subject(self, equality: Equality) -> int:
        subject = equality.subject
        if isinstance(subject, NameTest):
            return self._names.test(subject)
        return TEXT_SUBJECT if subject is Text else VALUE_SUBJECT

    def _find(
        self, element: int, symbol: int, subject: int, value: str, found: list[tuple[int, int]]
    ) -> None:
        """Add the equalities that a value of an element satisfies."""
        tables = self._remembered.get((symbol, subject)) or self._tables(symbol, subject)
        for texts in tables.texts:
            equality = texts.get(value)
            if equality is not None:
                found.append((element, equality))
        if tables.numbers:
            number = self._encoder.as_number(value)
            for numbers in tables.numbers:
                equality = numbers.get(number)
                if equality is not None:
                    found.append((element, equality))

    def _tables(self, element: int, attribute: int) -> _Tables:
        """The tables for an element's symbol and an attribute's, or one of the two subjects."""
        known = self._remembered.get((element, attribute))
        if known is None:
            symbols = self._names.symbols
            subjects = _passed(symbols[attribute]) if attribute > 0 else (attribute,)
            places = [
                (test, subject)
                for test in (ANY, *_passed(symbols[element]))
                for subject in subjects
            ]
            known = self._remembered[element, attribute] = _Tables(
                tuple(self._texts[place] for place in places if place in self._texts),
                tuple(self._numbers[place] for place in places if place in self._numbers),
            )
        return known


def _passed(symbol: Symbol) -> tuple[int, ...]:
    return tuple(test for test in symbol if test != NONE)
