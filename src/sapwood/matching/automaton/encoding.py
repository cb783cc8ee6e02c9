"""A document's content as arrays, in the numbers of one engine."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.limits import NUMBERS_REMEMBERED_MAX, VALUE_REMEMBERED_CHARS_MAX
from sapwood.matching.automaton.conditions import (
    ATTRIBUTE,
    NO_TEXT,
    TEXT,
    VALUE,
    ConditionTable,
)
from sapwood.matching.automaton.names import Names, Symbol
from sapwood.model.patterns.comparison import number
from sapwood.xml import Document

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


class Encoded(NamedTuple):
    """The elements of a document, and the content that conditions compare.

    `parents`, `locals` and `expanded` (the numbers of the name's symbol) have one entry for each
    element. Each attribute has its element, its symbol, the number of its value among the literals
    (`NO_TEXT` if it is none) and its value as a number (NaN if it is none); text nodes and the
    string-values of elements likewise. Content that no condition compares is left out.
    """

    parents: Ints
    locals: Ints
    expanded: Ints
    attribute_elements: Ints
    attribute_locals: Ints
    attribute_expanded: Ints
    attribute_texts: Ints
    attribute_numbers: Floats
    text_elements: Ints
    text_texts: Ints
    text_numbers: Floats
    value_texts: Ints
    value_numbers: Floats


class Encoder:
    """Turns documents into arrays, for the conditions of one table."""

    def __init__(self, names: Names, table: ConditionTable) -> None:
        self._names = names
        self._table = table
        #: text -> its value by `number()`
        self._remembered: dict[str, float] = {}

    def encode(self, document: Document, symbols: list[int]) -> Encoded:
        """The arrays of a document; `symbols` are the numbers of its names' symbols.

        A document that was read without its content has none here: conditions of removed patterns
        may still compare some, those of present ones do not.
        """
        attributes: list[tuple[int, Symbol, str]] = []
        texts: list[tuple[int, str]] = []
        values: list[str] = []
        content = document.content
        if content is not None and ATTRIBUTE in self._table.kinds:
            attributes = self._attributes(document)
        if content is not None and TEXT in self._table.kinds:
            texts = list(zip(content.owners, content.texts, strict=True))
        if content is not None and VALUE in self._table.kinds:
            values = [document.string_value(element) for element in range(len(document))]
        attribute_values = [value for _, _, value in attributes]
        text_values = [text for _, text in texts]
        return Encoded(
            np.array(document.parents, np.int32),
            *self._names.tests_of(symbols),
            np.array([element for element, _, _ in attributes], np.int32),
            np.array([symbol.local for _, symbol, _ in attributes], np.int32),
            np.array([symbol.expanded for _, symbol, _ in attributes], np.int32),
            *self._compared(attribute_values),
            np.array([element for element, _ in texts], np.int32),
            *self._compared(text_values),
            *self._compared(values),
        )

    def _attributes(self, document: Document) -> list[tuple[int, Symbol, str]]:
        """Element, symbol and value of each attribute whose name some pattern tests."""
        content, names = document.whole, self._names
        starts = content.attribute_starts
        found: list[tuple[int, Symbol, str]] = []
        for element in range(len(document)):
            for at in range(starts[element], starts[element + 1]):
                number = names.number(content.attribute_names[at])
                if number:
                    found.append((element, names.symbols[number], content.attribute_values[at]))
        return found

    def _compared(self, values: list[str]) -> tuple[Ints, Floats]:
        """The number of each value among the literals, and each value as a number."""
        literals = self._table.literals
        texts = np.array([literals.get(value, NO_TEXT) for value in values], np.int32)
        if not self._table.reads_numbers:
            return texts, np.full(len(values), math.nan)
        return texts, np.array([self.as_number(value) for value in values], np.float64)

    def as_number(self, value: str) -> float:
        """The value of a text by `number()`, cached unless the text is long."""
        if len(value) > VALUE_REMEMBERED_CHARS_MAX:
            return number(value)
        known = self._remembered.get(value)
        if known is None:
            if len(self._remembered) >= NUMBERS_REMEMBERED_MAX:
                self._remembered.clear()
            known = self._remembered[value] = number(value)
        return known
