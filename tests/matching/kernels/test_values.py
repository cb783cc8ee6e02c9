"""Values to cells, compiled, against the plain twins."""

from __future__ import annotations

import math
from typing import cast

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sapwood.matching.columnar.batch import encoded
from sapwood.matching.columnar.naming import names_image
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
@example(constants=[2.0**53], value=2**53 + 1)  # above a constant, and of one float with it
def test_number_cell_is_its_twins(constants: list[float], value: float) -> None:
    keys = sorted({number_key(constant) for constant in constants})
    values = np.array([number for number, _ in keys])
    remainders = np.array([remainder for _, remainder in keys], np.int16)
    if not remainders.any():
        remainders = remainders[:0]
    for first in (0, len(keys) // 2):
        bounds = (first, len(keys), *number_key(value))
        found = number_cell(values, remainders, *bounds, len(remainders))
        assert found == plain.number_cell(values, remainders, *bounds)
    bounds = (0, len(keys), *number_key(value))
    found = number_cell(values, remainders, *bounds, len(remainders))
    assert found % 2 == (value in constants)


@settings(deadline=None)
@given(
    constants=st.lists(st.integers(-50, 50) | st.sampled_from(EXTREMES), max_size=60),
    value=st.integers(-60, 60) | st.floats(-60, 60) | st.sampled_from(EXTREMES),
)
def test_number_cell_finds_its_way_from_any_guess(constants: list[float], value: float) -> None:
    numbers = np.array(sorted({float(constant) for constant in constants}))
    none, bounds = np.zeros(0, np.int16), (0, len(numbers), float(value), 0)
    assert number_cell(numbers, none, *bounds, 0) == plain.number_cell(numbers, none, *bounds)


@settings(deadline=None)
@given(
    constants=st.lists(texts(), min_size=1, max_size=9),
    head=st.sampled_from(("", "customer-", "1234567", "12345678")),
    value=texts(),
)
def test_text_cell_is_its_twins(constants: list[str], head: str, value: str) -> None:
    listed = ", ".join("'" + (head + text).replace("'", "''") + "'" for text in constants)
    segment = made([f"a in ({listed})"]).segment()
    data = (head + value).encode()
    letters = np.frombuffer(b"<" + data + b">", np.uint8)
    last, bounds = int(segment.columns.text_start[1]), (1, 1 + len(data))
    found = text_cell(segment.image, 0, last, letters, *bounds)
    assert found == plain.text_cell(segment.columns, 0, last, data)
    assert found % 2 == (value in constants)
    assert text_cell(segment.image, 0, 0, letters, *bounds) == 0


@settings(deadline=None)
@given(wanted=st.lists(filters(), max_size=5), asked=st.lists(records(), max_size=4))
def test_fill_cells_is_its_twins(wanted: list[Filter], asked: list[Record]) -> None:
    whole = made(wanted)
    image, columns = whole.segment().image, whole.segment().columns
    names = names_image({**whole.attributes, "late": 10})
    count = int(names[0])
    letters = np.frombuffer(encoded(asked), np.uint8)
    present = np.arange(count, dtype=np.uint32)
    at = 1
    for record in asked:
        found, twin = (np.zeros(count, np.uint32) for _ in range(2))
        at, size = fill_cells(image, names, letters, at, found, present)
        plain.fill_cells(columns, names, cast("plain.Readable", record), twin)
        assert found.tolist() == twin.tolist()
        known = [*whole.attributes, "late"]
        assert [known[number] for number in present[:size]] == [n for n in record if n in known]
    assert at == len(letters)
