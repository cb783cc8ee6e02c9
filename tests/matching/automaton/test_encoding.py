"""Documents as arrays."""

from __future__ import annotations

import math

import numpy as np

from sapwood.language.xpath import parse_xpath
from sapwood.limits import NUMBERS_REMEMBERED_MAX
from sapwood.matching.automaton.conditions import NO_TEXT, ConditionTable
from sapwood.matching.automaton.encoding import Encoded, Encoder
from sapwood.matching.automaton.names import Names
from sapwood.xml import read_document

DATA = b"<a x='u' y='v'>t<b z='7'>2</b></a>"


def encoded(expression: str) -> Encoded:
    names = Names()
    table = ConditionTable(names)
    table.number(parse_xpath(expression).root)
    document = read_document(DATA)
    return Encoder(names, table).encode(document, names.numbers(document.names))


def test_document_is_encoded_as_far_as_conditions_ask() -> None:
    bare = encoded("/a/b")
    assert bare.parents.tolist() == [-1, 0]
    assert bare.locals.tolist() == [1, 2] or bare.locals.tolist() == [2, 1]
    assert all(len(column) == 0 for column in bare[3:])


def test_attributes_are_those_that_are_tested() -> None:
    arrays = encoded("/a[@x = 'u' and @z = 'other']")
    assert arrays.attribute_elements.tolist() == [0, 1]
    assert arrays.attribute_texts.tolist()[1] == NO_TEXT
    assert arrays.attribute_texts[0] != NO_TEXT
    assert np.isnan(arrays.attribute_numbers).all()


def test_texts_and_string_values_are_read_as_numbers_where_that_is_asked() -> None:
    arrays = encoded("/a[text() = 'x' or . > 5]")
    assert arrays.text_elements.tolist() == [0, 1]
    assert arrays.text_texts.tolist() == [NO_TEXT, NO_TEXT]
    assert math.isnan(arrays.value_numbers[0])
    assert arrays.value_numbers[1] == 2.0


def test_numbers_are_forgotten_before_they_are_too_many() -> None:
    names = Names()
    encoder = Encoder(names, ConditionTable(names))
    for at in range(NUMBERS_REMEMBERED_MAX + 3):
        assert encoder.as_number(str(at)) == at
    assert len(encoder._remembered) <= NUMBERS_REMEMBERED_MAX
