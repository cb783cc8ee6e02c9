"""Records in MessagePack are a sequence of records, and every engine takes them for one."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.columnar import ColumnarEngine
from sapwood.matching.encoded_records import HEADER_BYTES, EncodedRecords, header
from sapwood.matching.engines import ENGINES
from sapwood.matching.index import Index
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.strategies import filters, records

RECORDS = st.lists(records(), max_size=6)


def encoded(given: list[Record]) -> EncodedRecords:
    parts = [msgspec.msgpack.encode(record) for record in given]
    offsets = np.cumsum([HEADER_BYTES, *map(len, parts)])
    return EncodedRecords(b"".join((header(len(given)), *parts)), offsets)


def test_the_worked_example_is_right() -> None:
    example = encoded([{"a": 1}, {}])
    assert example.encoded.hex() == "dd00000002" + "81a16101" + "80"
    assert example.offsets.tolist() == [5, 9, 10]


@given(
    given=RECORDS,
    first=st.integers(-7, 7),
    last=st.integers(-7, 7),
    step=st.sampled_from((1, 2, -1)),
)
def test_records_are_a_sequence(given: list[Record], first: int, last: int, step: int) -> None:
    sequence = encoded(given)
    assert len(sequence) == len(given)
    assert list(sequence) == given
    assert [sequence[at] for at in range(-len(given), len(given))] == given + given
    part = sequence[first:last:step]
    assert list(part) == given[first:last:step]
    assert msgspec.msgpack.decode(part.encoded) == list(part)
    with pytest.raises(IndexError):
        sequence[len(given)]


@given(given=st.lists(records(), min_size=1, max_size=6), data=st.data())
def test_records_can_be_taken_out(given: list[Record], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(given) - 1)))
    assert list(encoded(given).take(np.array(places, np.int64))) == [given[at] for at in places]


@pytest.mark.parametrize("engine", ["reference", "counting", "columnar", "auto"])
@given(given=RECORDS, wanted=st.lists(filters(), max_size=8), most=st.sampled_from((1, 3, 1 << 62)))
@pytest.mark.one_in(2)
def test_engines_match_them_as_they_match_the_records(
    engine: str, given: list[Record], wanted: list[Filter], most: int
) -> None:
    index = Index(records=ENGINES[engine])
    for number, one in enumerate(wanted):
        index.add(str(number), one)
    for in_order in (True, False):
        found = index.match_slots(encoded(given), in_order=in_order, max_matches=most)
        expected = index.match_slots(given, in_order=in_order, max_matches=most)
        assert found.offsets.tolist() == expected.offsets.tolist()
        for first, last in zip(found.offsets[:-1], found.offsets[1:], strict=True):
            assert sorted(found.slots[first:last]) == sorted(expected.slots[first:last])


def test_a_segment_is_searched_without_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    from sapwood import parse_filter

    engine = ColumnarEngine()
    for slot in range(64):
        engine.add(slot, parse_filter(f"a = {slot}"))
    engine.fold()
    engine.match_slots([{"a": 1}] * 10_000)  # the sample is full
    given = encoded([{"a": 3}, {"a": 5}])
    monkeypatch.setattr(EncodedRecords, "__getitem__", _sliced_only)
    monkeypatch.setattr(EncodedRecords, "__iter__", None)
    assert engine.match_slots(given).slots.tolist() == [3, 5]


def _sliced_only(records: EncodedRecords, at: slice) -> EncodedRecords:
    assert at == slice(len(records))
    return records
