"""The compiled kernels against their plain twins: on nothing, on one, at the extremes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.matching.columnar.batch import Found, encode
from sapwood.matching.columnar.segment import Segment
from sapwood.matching.kernels import compiled, plain
from sapwood.matching.keys import number_key
from sapwood.matching.storage import Folder
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
    found = compiled.number_cell(values, remainders, *number_key(value))
    assert found == plain.number_cell(values, remainders, *number_key(value))
    assert found % 2 == (value in constants)


@settings(deadline=None)
@given(
    constants=st.lists(texts(), min_size=1, max_size=9),
    head=st.sampled_from(("", "customer-", "1234567", "12345678")),
    value=texts(),
)
def test_text_cell_is_its_twins(constants: list[str], head: str, value: str) -> None:
    listed = ", ".join("'" + (head + text).replace("'", "''") + "'" for text in constants)
    columns = made([f"a in ({listed})"]).segment().columns
    data = np.frombuffer((head + value).encode(), np.uint8)
    last = int(columns.text_start[1])
    found = compiled.text_cell(columns, 0, last, data)
    assert found == plain.text_cell(columns, 0, last, data)
    assert found % 2 == (value in constants)
    assert compiled.text_cell(columns, 0, 0, data) == 0


@settings(deadline=None)
@given(wanted=st.lists(filters(), max_size=5), asked=st.lists(records(), max_size=4))
def test_fill_cells_is_its_twins(wanted: list[Filter], asked: list[Record]) -> None:
    whole = made(wanted)
    columns = whole.segment().columns
    names = {**whole.attributes, "a": whole.attributes.get("a", 9), "late": 10}
    batch = encode(asked, names)
    for record in range(len(asked)):
        found, twin = (np.zeros(len(whole.attributes) + 1, np.uint32) for _ in range(2))
        compiled.fill_cells(columns, batch, record, found)
        plain.fill_cells(columns, batch, record, twin)
        assert found.tolist() == twin.tolist()


def told(found: Found, segment: Segment) -> list[tuple[list[int], list[int]]]:
    """Slots and doubtful conjunctions of each record, sorted; repetitions stay."""
    return [
        (
            sorted(found.slots[found.offsets[at] : found.offsets[at + 1]].tolist()),
            sorted(found.doubts[found.doubt_offsets[at] : found.doubt_offsets[at + 1]].tolist()),
        )
        for at in range(len(found.offsets) - 1)
    ]


@settings(deadline=None, max_examples=200)
@given(
    wanted=st.lists(filters(), max_size=8),
    asked=st.lists(records(), max_size=4),
    removed=st.sets(st.integers(0, 7), max_size=3),
)
def test_match_batch_is_its_twins(
    wanted: list[Filter], asked: list[Record], removed: set[int]
) -> None:
    whole = made(wanted)
    segment = whole.segment()
    for slot in removed:
        segment.remove(slot)
    batch = encode(asked, whole.attributes)
    found = Found(*compiled.match_batch(segment.columns, segment.marks, batch, 1 << 62))
    twin = plain.match_batch(segment.columns, segment.marks, batch, 1 << 62)
    assert told(found, segment) == told(twin, segment)
    assert found.repeats == twin.repeats
    assert [array.dtype for array in found[:4]] == [array.dtype for array in twin[:4]]


@settings(deadline=None)
@given(
    wanted=st.lists(filters(patterns=False), max_size=8),
    asked=st.lists(records(), max_size=4),
    limit=st.integers(1, 3),
)
def test_match_batch_stops_at_the_limit_like_its_twin(
    wanted: list[Filter], asked: list[Record], limit: int
) -> None:
    whole = made(wanted)
    segment = whole.segment()
    batch = encode(asked, whole.attributes)
    found = compiled.match_batch(segment.columns, segment.marks, batch, limit)
    twin = plain.match_batch(segment.columns, segment.marks, batch, limit)
    assert np.diff(found.offsets).tolist() == np.diff(twin.offsets).tolist()


@pytest.mark.parametrize("kernels", [compiled, plain], ids=["compiled", "plain"])
def test_match_batch_takes_many_matches_and_many_doubts(kernels: object) -> None:
    whole = made(["true"] * 300 + ["a like '%x%'"] * 300)
    segment = whole.segment()
    batch = encode([{"a": "y"}, {}, {"a": "x"}], whole.attributes)
    found = kernels.match_batch(  # type: ignore[attr-defined]
        segment.columns, segment.marks, batch, 1 << 62
    )
    assert np.diff(found.offsets).tolist() == [300, 300, 300]
    assert np.diff(found.doubt_offsets).tolist() == [300, 0, 300]


def test_kernel_is_compiled_for_one_kind_of_segment(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    whole = made(["a = 1", "b like '%x%'"])
    segment = whole.segment()
    folder = Folder(tmp_path_factory.mktemp("segment"))
    segment.save(folder)
    for one in (segment, Segment.load(folder), made([]).segment()):
        for asked in ([], [{"a": 1}], [{"b": "x"}, {}]):
            batch = encode(asked, whole.attributes)
            compiled.match_batch(one.columns, one.marks, batch, 1)
    assert len(compiled.match_batch.signatures) == 1  # type: ignore[attr-defined]


def test_compiled_does_without_a_cache_where_none_can_be_written() -> None:
    # What has no file has no place for a cache either.
    namespace: dict[str, Callable[[int], int]] = {}
    exec("def double(x):\n    return 2 * x", namespace)
    assert compiled.compiled(namespace["double"])(21) == 42
