"""Values to cells, compiled, against the plain twins."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.matching.columnar.batch import Encoder
from sapwood.matching.kernels import plain
from sapwood.matching.kernels.values import fill_cells, number_cell, text_cell
from sapwood.matching.keys import number_key
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.matching.columnar.made import made
from tests.strategies import filters, numbers, records, texts

EXTREMES = (math.inf, -math.inf, 1.7e308, -1.7e308, 5e-324, -5e-324, 0.0, -0.0, 2**63 - 1, -(2**63))


@settings(deadline=None)
@given(
    constants=st.lists(st.one_of(numbers(), st.sampled_from(EXTREMES)), max_size=9),
    value=st.one_of(numbers(), st.sampled_from(EXTREMES)),
)
def test_number_cell_is_its_twins(constants: list[float], value: float) -> None:
    keys = sorted({number_key(constant) for constant in constants})
    values = np.array([number for number, _ in keys])
    remainders = np.array([remainder for _, remainder in keys], np.int16)
    if not remainders.any():
        remainders = remainders[:0]
    for first in (0, len(keys) // 2):
        bounds = (first, len(keys), *number_key(value))
        found = number_cell(values, remainders, *bounds)
        assert found == plain.number_cell(values, remainders, *bounds)
    found = number_cell(values, remainders, 0, len(keys), *number_key(value))
    assert found % 2 == (value in constants)


@settings(deadline=None)
@given(
    constants=st.lists(texts(), min_size=1, max_size=9),
    head=st.sampled_from(("", "customer-", "1234567", "12345678")),
    value=texts(),
)
def test_text_cell_is_its_twins(constants: list[str], head: str, value: str) -> None:
    listed = ", ".join("'" + (head + text).replace("'", "''") + "'" for text in constants)
    segment = made([f"a in ({listed})"]).segment()
    data = np.frombuffer((head + value).encode(), np.uint8)
    last = int(segment.columns.text_start[1])
    found = text_cell(segment.image, 0, last, data)
    assert found == plain.text_cell(segment.image, 0, last, data)
    assert found % 2 == (value in constants)
    assert text_cell(segment.image, 0, 0, data) == 0


@settings(deadline=None)
@given(wanted=st.lists(filters(), max_size=5), asked=st.lists(records(), max_size=4))
def test_fill_cells_is_its_twins(wanted: list[Filter], asked: list[Record]) -> None:
    whole = made(wanted)
    image = whole.segment().image
    names = {**whole.attributes, "a": whole.attributes.get("a", 9), "late": 10}
    batch = Encoder(names).batch(asked)
    words, letters = np.frombuffer(batch.words, np.int64), np.frombuffer(batch.texts, np.uint8)
    at_text = at_twin = 0
    for record in range(len(asked)):
        found, twin = (np.zeros(len(whole.attributes) + 1, np.uint32) for _ in range(2))
        at_text = fill_cells(image, words, letters, at_text, record, found)
        at_twin = plain.fill_cells(image, words, letters, at_twin, record, twin)
        assert found.tolist() == twin.tolist()
        assert at_text == at_twin or record == len(asked) - 1
