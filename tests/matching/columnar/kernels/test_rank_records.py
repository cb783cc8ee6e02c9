"""Values to ranks, compiled, against the plain twins."""

from __future__ import annotations

import math
from typing import cast

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sapwood.matching.columnar.batch import encoded, name_table
from sapwood.matching.columnar.bucket_hints import bucket_hints
from sapwood.matching.columnar.kernels.derivations import FOLDED_BYTES
from sapwood.matching.columnar.kernels.rank_records import (
    NUMBERS_BEYOND,
)
from sapwood.matching.columnar.ranking import Domains
from sapwood.matching.keys import number_key
from sapwood.matching.texts import unpacked
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.examples import examples
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.kernels.entries import rank_of, rank_record, text_rank
from tests.matching.columnar.made import made
from tests.strategies import filters, numbers, records, texts

EXTREMES = (math.inf, -math.inf, 1.7e308, -1.7e308, 5e-324, -5e-324, 0.0, -0.0, 2**63 - 1, -(2**63))


TEXTLESS = (np.array([0, 0]), np.zeros(0, np.uint32), ())


CONSTANTS = st.one_of(numbers(), st.sampled_from(EXTREMES), st.integers(-50, 50))


@settings(max_examples=examples(60))
@given(
    constants=st.lists(CONSTANTS, max_size=9)
    | st.lists(CONSTANTS, min_size=30, max_size=90)
    | st.lists(st.integers(0, 10**6).map(lambda whole: whole / 7), min_size=30, max_size=90),
    asked=st.lists(CONSTANTS, max_size=5),
)
@example(constants=[2.0**53], asked=[2**53 + 1])  # above a constant, and of one float with it
@example(constants=[*range(40), math.inf], asked=[3.5, 1e308])
@example(constants=[1e308, -1e308, *range(40)], asked=[3.5, 1e307])
@example(constants=[at * 5e-324 for at in range(40)], asked=[3e-323])
def test_number_rank_is_its_twins(constants: list[float], asked: list[float]) -> None:
    keys = sorted({number_key(constant) for constant in constants})
    values = np.array([number for number, _ in keys])
    remainders = np.array([remainder for _, remainder in keys], np.int16)
    found = bucket_hints(Domains(np.array([0, len(keys)]), values, remainders, *TEXTLESS))
    hint = (found.places.astype(np.uint32), max(0, len(found.places) - 1), found.scale[0])
    if not remainders.any():
        remainders = remainders[:0]
    for value in (*constants, *asked):
        bounds = (0, len(keys)), number_key(value)
        beyond = np.concatenate((values, np.full(NUMBERS_BEYOND, -math.inf)))
        rank = rank_of(beyond, remainders, *bounds[0], hint, *bounds[1], len(remainders))
        assert rank == plain.number_rank(values, remainders, *bounds[0], *bounds[1])
        assert rank % 2 == (value in constants)


@settings(deadline=None)
@given(
    constants=st.lists(texts(), min_size=1, max_size=9),
    head=st.sampled_from(("", "customer-", "1234567", "12345678")),
    value=texts(),
)
def test_text_rank_is_its_twins(constants: list[str], head: str, value: str) -> None:
    listed = ", ".join("'" + (head + text).replace("'", "''") + "'" for text in constants)
    segment = made([f"a in ({listed})"]).segment()
    data = (head + value).encode()
    letters = np.frombuffer(bytearray(b"<" + data + b">"), np.uint8)
    last, bounds = int(segment.columns.text_start[1]), (1, 1 + len(data))
    found = text_rank(segment.buffer, 0, last, letters, *bounds)
    assert found == plain.text_rank(segment.columns, 0, last, data)
    # Texts with nothing in between, as "" and "\0", are one range, and only its ends are constants.
    columns = segment.columns
    assert found % 2 == (data in unpacked(columns.text_offsets, columns.text_bytes))
    assert text_rank(segment.buffer, 0, 0, letters, *bounds) == 0


@settings(deadline=None)
@given(wanted=st.lists(filters(), max_size=5), asked=st.lists(records(), max_size=4))
def test_rank_record_is_its_twins(wanted: list[Filter], asked: list[Record]) -> None:
    whole = made(wanted)
    buffer, columns = whole.segment().buffer, whole.segment().columns
    names = name_table({**whole.attributes, "late": 10})
    count = int(names[0])
    letters = np.frombuffer(bytearray(encoded(asked)), np.uint8)
    present = np.arange(count, dtype=np.uint32)
    texts, folded = np.array([-1]), np.empty(FOLDED_BYTES, np.uint8)
    at = 1
    for record in asked:
        found, twin = (np.zeros(count, np.uint32) for _ in range(2))
        at, size = rank_record(buffer, names, letters, at, found, present, texts, folded)
        plain.rank_record(columns, names, cast("plain.Readable", record), twin)
        assert found.tolist() == twin.tolist()
        known = [*whole.attributes, "late"]
        own = [name for name in (known[number] for number in present[:size]) if name in record]
        assert own == [name for name in record if name in known]
        assert sorted(present[:size].tolist()) == sorted(
            set(np.flatnonzero(found)) | {known.index(name) for name in own}
        )
    assert at == len(letters)
