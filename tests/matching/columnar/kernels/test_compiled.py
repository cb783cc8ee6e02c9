"""The compiled kernels against their plain twins: on nothing, on one, at the extremes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import ModuleType

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.matching.columnar.batch import UNREADABLE, SegmentMatches, encoded
from sapwood.matching.columnar.kernels import compiled, views
from sapwood.matching.columnar.searching import LazyKernels, Searcher
from sapwood.matching.columnar.segment import Segment
from sapwood.matching.protocol import ALL
from sapwood.matching.storage import Folder
from sapwood.matching.tables import Kind, RecordTable
from sapwood.model.filter import Filter
from sapwood.model.publication import ManyValued, Record, flatten
from tests.examples import examples
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.made import grids_everywhere, made, told
from tests.matching.tabled import Tabled, column_of, tables
from tests.strategies import filters, records, records_with_arrays


@settings(max_examples=examples(60))
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
        segment.remove(slot, plain)
    found = whole.found(compiled, segment, asked)
    twin = whole.found(plain, segment, asked)
    assert told(found, segment) == told(twin, segment)
    assert found.repeats == twin.repeats
    assert [array.dtype for array in found[:4]] == [array.dtype for array in twin[:4]]


@settings(max_examples=examples(100))
@given(
    wanted=st.lists(filters(), max_size=8),
    record=records_with_arrays(),
    removed=st.sets(st.integers(0, 7), max_size=3),
    limit=st.sampled_from((1, 3, ALL)),
)
def test_match_several_is_its_twin(
    wanted: list[Filter], record: Record, removed: set[int], limit: int
) -> None:
    whole = made(wanted)
    segment = whole.segment()
    for slot in removed:
        segment.remove(slot, plain)
    several = ManyValued(flatten(record).record)
    values = Searcher(whole.attributes, LazyKernels(plain)).values(several)
    given = segment.buffer, segment.marks, whole.names(), encoded(values)
    scratch = whole.scratch()
    found = SegmentMatches.of(compiled.match_several(*given, scratch, limit), 1)
    assert not scratch[: len(scratch) // 2].any()
    twin = SegmentMatches.of(plain.match_several(*given, scratch, ALL), 1)
    slots, expected = set(found.slots.tolist()), set(twin.slots.tolist())
    assert slots <= expected
    assert found.repeats >= twin.repeats or len(slots) < len(expected)
    if limit == ALL:
        assert slots == expected
        assert {*found.unverified.tolist()} == {*twin.unverified.tolist()}
        assert found.repeats or len(found.slots) == len(slots)
    else:
        assert len(found.slots) >= min(limit, len(expected))


@pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])
def test_match_several_tells_of_what_it_cannot_read(kernels: ModuleType) -> None:
    whole = made(["a = 1"])
    segment = whole.segment()
    scratch = whole.scratch()
    for values in ([{"a": 1}, {"a": None}], [{"a": 1 << 63}]):
        told = kernels.match_several(
            segment.buffer, segment.marks, whole.names(), msgspec.msgpack.encode(values), scratch,
            ALL,
        )  # fmt: skip
        assert told.tolist() == [UNREADABLE]
        assert not scratch[: len(scratch) // 2].any()


@pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])
def test_one_value_has_to_satisfy_what_is_derived_from_it(kernels: ModuleType) -> None:
    texts = ["a like '%x' and a < 'n'", "a like '%mm%' and a < 'n'", "a like '%x'", "a = 'q'"]
    whole = made(texts)
    segment = whole.segment()
    for record, slots in (
        ({"a": ("ax", "zz")}, [0, 2]),
        ({"a": ("a", "zx")}, [2]),
        ({"a": ("amm", "z")}, [1]),
        ({"a": ("omm", "a")}, []),
        ({"a": (3, "q", "omm", "ammx")}, [0, 1, 2, 3]),
    ):
        values = Searcher(whole.attributes, LazyKernels(plain)).values(ManyValued(record))
        told = kernels.match_several(
            segment.buffer, segment.marks, whole.names(), encoded(values), whole.scratch(), ALL
        )
        assert sorted({*SegmentMatches.of(told, 1).slots.tolist()}) == slots


@settings(max_examples=examples(60))
@given(
    wanted=st.lists(filters(), max_size=8),
    tabled=tables(),
    removed=st.sets(st.integers(0, 7), max_size=3),
    max_matches=st.sampled_from((1, 5, ALL)),
    join_threshold=st.sampled_from((1, 2, ALL)),
)
def test_match_table_is_its_twins_and_finds_what_match_batch_finds(
    wanted: list[Filter], tabled: Tabled, removed: set[int], max_matches: int, join_threshold: int
) -> None:
    whole, (table, records) = made(wanted), tabled
    segment = whole.segment()
    for slot in removed:
        segment.remove(slot, plain)
    numbers = np.array([whole.attributes.get(name, -1) for name in table.columns], np.int64)
    rows = (table.places, numbers, table.first, len(table))
    given = (segment.buffer, segment.marks, whole.names(), *rows, max_matches, join_threshold)
    ways = [
        SegmentMatches.of(kernels.match_table(*given), len(table)) for kernels in (compiled, plain)
    ]
    ways.append(
        whole.found(
            compiled, segment, records, max_matches=max_matches, join_threshold=join_threshold
        )
    )
    found, twin, other = ways
    if max_matches == ALL:
        assert found.repeats == twin.repeats == other.repeats
    assert told(found, segment) == told(twin, segment) == told(other, segment)
    assert found.offsets.tolist() == twin.offsets.tolist() == other.offsets.tolist()
    assert [array.dtype for array in found[:4]] == [array.dtype for array in twin[:4]]


@settings(max_examples=examples(60))
@given(
    wanted=st.lists(filters(), min_size=1, max_size=12),
    asked=st.lists(records(), min_size=1, max_size=5),
    order=st.lists(st.integers(0, 4), min_size=1, max_size=150),
    removed=st.sets(st.integers(0, 7), max_size=3),
    join_threshold=st.integers(1, 30),
    is_gridded=st.booleans(),
)
def test_records_that_share_entries_match_what_they_match_alone(
    wanted: list[Filter],
    asked: list[Record],
    order: list[int],
    removed: set[int],
    join_threshold: int,
    is_gridded: bool,
) -> None:
    whole = made(wanted)
    with grids_everywhere() if is_gridded else nullcontext():
        segment = whole.segment()
    for slot in removed:
        segment.remove(slot, plain)
    alone = told(whole.found(compiled, segment, asked), segment)
    many = [at % len(asked) for at in order]
    found = whole.found(
        compiled, segment, [asked[at] for at in many], join_threshold=join_threshold
    )
    assert told(found, segment) == [alone[at] for at in many]


@pytest.mark.parametrize("join_threshold", [1, 4, ALL])
@pytest.mark.parametrize("max_matches", [1, 299, 300, 301, 10**6])
@pytest.mark.one_in(3)
def test_matching_ends_when_there_are_enough_matches(max_matches: int, join_threshold: int) -> None:
    whole = made(["a > 0"] * 100 + ["a < 9"] * 50)
    segment = whole.segment()
    records: list[Record] = [{"a": at % 12} for at in range(100)]
    found = whole.found(
        compiled, segment, records, max_matches=max_matches, join_threshold=join_threshold
    )
    twin = whole.found(plain, segment, records, max_matches=max_matches)
    assert told(found, segment) == told(twin, segment)
    assert len(found.offsets) - 1 == {1: 1, 299: 3, 300: 3, 301: 3, 10**6: 100}[max_matches]


@pytest.mark.parametrize("join_threshold", [1, ALL])
@pytest.mark.parametrize("rows", [0, 1, 32, 33, 1000])
@pytest.mark.one_in(3)
def test_match_table_works_in_pieces(rows: int, join_threshold: int) -> None:
    # So many attributes that not all rows are ranks at a time.
    whole = made([f"a{number} = 1 and b > {number}" for number in range(1500)])
    segment = whole.segment()
    chosen = [number % 1500 for number in range(0, 7 * rows, 7)]
    columns = {"b": column_of(Kind.FLOAT, [float(number) for number in chosen])}
    for number in (0, 7, 7 * (rows - 1) % 1500 if rows else 1):
        columns[f"a{number}"] = column_of(
            Kind.INTEGER, [1 if number == other else None for other in chosen]
        )
    table = RecordTable.of({**columns, "unknown": column_of(Kind.TEXT, ["x"] * rows)}, rows)
    numbers = np.array([whole.attributes.get(name, -1) for name in table.columns], np.int64)
    given = (segment.buffer, segment.marks, whole.names(), table.places, numbers, 0, rows)
    found = SegmentMatches.of(compiled.match_table(*given, ALL, join_threshold), rows)
    records = whole.found(compiled, segment, list(table), join_threshold=join_threshold)
    assert told(found, segment) == told(records, segment)


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
    found = whole.found(compiled, segment, asked, limit)
    twin = whole.found(plain, segment, asked, limit)
    assert np.diff(found.offsets).tolist() == np.diff(twin.offsets).tolist()


@pytest.mark.parametrize("kernels", [compiled, plain], ids=["compiled", "plain"])
def test_match_batch_takes_many_matches_and_many_unverified(kernels: ModuleType) -> None:
    whole = made(["true"] * 300 + ["a not like '%x%'"] * 300)
    segment = whole.segment()
    found = whole.found(kernels, segment, [{"a": "y"}, {}, {"a": "x"}])
    assert np.diff(found.offsets).tolist() == [300, 300, 300]
    assert np.diff(found.unverified_offsets).tolist() == [300, 0, 300]


@pytest.mark.parametrize("kernels", [compiled, plain], ids=["compiled", "plain"])
@pytest.mark.parametrize("value", [2**63, 2**64 - 1, None, [1], {}])
def test_match_batch_tells_of_what_it_cannot_read(kernels: ModuleType, value: object) -> None:
    whole = made(["a = 1", "b = 1"])
    segment, scratch = whole.segment(), whole.scratch()
    records = msgspec.msgpack.encode([{"a": 1}, {"b": 1, "x": 0, "a": value}])
    given = (segment.buffer, segment.marks, whole.names(), records, scratch)
    for join_threshold in (1, ALL):
        told = kernels.match_batch(*given, ALL, ALL, join_threshold)
        assert told.tolist() == [UNREADABLE]
        assert not scratch[: len(scratch) // 2].any()


def test_kernel_is_compiled_for_one_kind_of_segment(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    whole = made(["a = 1", "b like '%x%'"])
    segment = whole.segment()
    folder = Folder(tmp_path_factory.mktemp("segment"))
    segment.save(folder)
    for one in (segment, Segment.load(folder), made([]).segment()):
        for asked in ([], [{"a": 1}], [{"b": "x"}, {}]):
            whole.found(compiled, one, asked, 1)
    assert len(compiled.match_batch.signatures) == 1  # type: ignore[attr-defined]


def test_compiled_does_without_a_cache_where_none_can_be_written() -> None:
    # What has no file has no place for a cache either.
    namespace: dict[str, Callable[[int], int]] = {}
    exec("def double(x):\n    return 2 * x", namespace)
    assert views.compiled(namespace["double"])(21) == 42
