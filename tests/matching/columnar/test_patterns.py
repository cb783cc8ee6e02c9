"""Patterns and readings: the engine finds what the model accepts, however it finds it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.matching.columnar import ColumnarEngine
from sapwood.matching.columnar.columns import CHECKED
from sapwood.matching.columnar.compaction import CompactionPolicy
from sapwood.matching.columnar.saving import save_filters
from sapwood.matching.protocol import SlotBatch
from sapwood.matching.storage import Folder
from sapwood.matching.tables import Kind, RecordTable
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.examples import examples
from tests.matching.columnar.patterned import conditions, pattern_texts
from tests.matching.tabled import column_of

FEW = CompactionPolicy(memtable_max=0, frozen_max=2, compaction_cost=0, bulk_min=1)
"""Segments as soon as there is anything, and of everything."""


def rows_of(found: SlotBatch) -> list[list[int]]:
    return [found.slots[first:last].tolist() for first, last in pairwise(found.offsets.tolist())]


def accepting(filters: Sequence[Filter], record: Record) -> list[int]:
    return [slot for slot, one in enumerate(filters) if one.accepts(record)]


@settings(max_examples=examples(200))
@given(
    texts=st.lists(conditions() | conditions("b"), min_size=1, max_size=8),
    values=st.lists(
        st.tuples(pattern_texts() | st.integers(-9, 99), st.none() | pattern_texts()),
        min_size=1,
        max_size=6,
    ),
)
def test_engine_finds_what_the_model_accepts(
    texts: list[str], values: list[tuple[str | int, str | None]]
) -> None:
    filters = [parse_filter(text) for text in texts]
    records: list[Record] = [{"a": a} if b is None else {"a": a, "b": b} for a, b in values]
    expected = [accepting(filters, record) for record in records]
    engine = ColumnarEngine(FEW)
    for slot, one in enumerate(filters):
        engine.add(slot, one)
    assert [engine.match(record) for record in records] == expected
    assert [engine.match(record) for record in records] == expected  # from segments by now
    engine.fold()
    engine.validate()
    found = engine.match_slots(records * 20)
    assert rows_of(found) == expected * 20
    assert [engine.match_any(record) for record in records] == [bool(one) for one in expected]
    assert [engine.filter(slot) for slot in range(len(filters))] == filters
    only_texts = [record for record in records if isinstance(record["a"], str)]
    table = RecordTable.of(
        {
            "b": column_of(Kind.LONG_TEXT, [record.get("b") for record in only_texts]),
            "a": column_of(Kind.TEXT, [record["a"] for record in only_texts], 1),
        },
        len(only_texts),
    )
    in_table = engine.match_slots(table)
    assert rows_of(in_table) == [accepting(filters, r) for r in only_texts]


@settings(max_examples=examples(40))
@given(texts=st.lists(conditions(), min_size=1, max_size=6), asked=st.lists(pattern_texts()))
def test_saved_engine_finds_the_same(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], asked: list[str]
) -> None:
    filters = list(enumerate(map(parse_filter, texts)))
    folder = tmp_path_factory.mktemp("saved")
    for name in ("engine", "filters"):
        (folder / name).mkdir()
    engine = ColumnarEngine()
    engine.add_many(filters)
    engine.save(folder / "engine")
    with_kernels = ColumnarEngine()
    with_kernels.load(folder / "engine", filters)
    save_filters(Folder(folder / "filters"), filters)
    without = ColumnarEngine()
    without.load(folder / "filters", filters)
    for text in asked:
        expected = accepting([one for _, one in filters], {"a": text})
        assert with_kernels.match({"a": text}) == without.match({"a": text}) == expected
    for loaded in (with_kernels, without):
        loaded.validate()
        assert [loaded.filter(slot) for slot, _ in filters] == [one for _, one in filters]
        loaded.add(len(filters), parse_filter("a like '%later%' and lower(b) = 'x'"))
        loaded.fold()
        assert len(filters) in loaded.match({"a": "and later on", "b": "X"})


def test_what_is_implied_is_not_tried_again() -> None:
    texts = [
        *("a like '%word'", "a like '%word%'", "lower(a) = 'word'", "integer(a) < 5"),
        *("lower(a) like '%word%'", "integer(a) is null", "a not like '%word'"),
    ]
    engine = engine_of(texts)
    (entry,) = engine._state.segments
    assert not (entry.segment.marks & CHECKED).any()
    checked = engine_of(["a like '%wo%rd%'", "a not like '%word%'", "lower(a) not like '%x%'"])
    (entry,) = checked._state.segments
    assert (entry.segment.marks & CHECKED).all()


def test_each_literal_leads_to_its_own_filters_alone() -> None:
    words = [f"w{number}x" for number in range(300)]
    engine = engine_of([f"a like '%{word}%'" for word in words])
    (entry,) = engine._state.segments
    searcher = engine._searcher
    assert searcher.looked_up(entry.segment, [{"a": "no such word"}]) == 0
    assert searcher.looked_up(entry.segment, [{"a": "w17x and w4x"}]) == 2
    assert engine.match({"a": "w17x and w4x"}) == [4, 17]


@pytest.mark.parametrize("size", [1, 1000, 300_000])
def test_long_text_of_one_letter_leads_to_each_literal_once(size: int) -> None:
    engine = engine_of([f"a like '%{'a' * length}%'" for length in range(1, 200)])
    found = engine.match_slots([{"a": "a" * size}] * 2)
    expected = list(range(min(size, 199)))
    assert rows_of(found) == [expected] * 2
    (entry,) = engine._state.segments
    assert engine._searcher.looked_up(entry.segment, [{"a": "a" * size}]) == len(expected)


def test_text_may_hold_more_literals_than_there_is_room_for_at_first() -> None:
    count = 5000
    engine = engine_of([f"a like '%<{number}>%'" for number in range(count)])
    text = "".join(f"<{number}>" for number in range(0, count, 2))
    assert engine.match({"a": text, "b": 1}) == list(range(0, count, 2))
    both = engine.match_slots([{"a": text}, {"a": "<7>"}, {"b": text}, {"a": text}])
    assert [len(each) for each in rows_of(both)] == [count // 2, 1, 0, count // 2]


def test_clusters_of_literals_may_be_large_enough_for_bitmaps() -> None:
    texts = [f"a like '%word%' and b between {at % 7} and {at % 7 + 1}" for at in range(400)]
    engine = engine_of(texts)
    (entry,) = engine._state.segments
    assert len(entry.segment.columns.partition_first) > 0
    assert len(entry.segment.columns.literal_next) == 1
    filters = [parse_filter(text) for text in texts]
    for b in range(9):
        record: Record = {"a": "my word", "b": b}
        assert engine.match(record) == accepting(filters, record)
    assert engine.match({"a": "nothing", "b": 3}) == []


def engine_of(texts: Sequence[str]) -> ColumnarEngine:
    engine = ColumnarEngine()
    engine.add_many([(slot, parse_filter(text)) for slot, text in enumerate(texts)])
    engine.fold()
    return engine
