"""The column scan accepts exactly what filters accept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import strategies

from sapwood import parse_filter
from sapwood.errors import InvalidValueError
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from sapwood_lab.benchmarks.records.scan import ColumnScan
from sapwood_lab.workload.records import WORKLOADS, workload


def accepted(filters: list[Filter], record: Record) -> list[int]:
    return [place for place, wanted in enumerate(filters) if wanted.accepts(record)]


@given(st.lists(strategies.filters(), max_size=6), strategies.records())
def test_scan_agrees_with_the_filters_or_refuses_them(
    filters: list[Filter], record: Record
) -> None:
    try:
        found = ColumnScan(filters).match(record).tolist()
    except InvalidValueError:
        return
    assert found == accepted(filters, record)


TEXTS = (
    "a = 1",
    "a > 1 and a < 2 or a = 5",
    "a in (1, 'x', true) and b <> 3",
    "a like 'ab%' or a > 'y'",
    "a is null and exists b",
    "not b",
    "a between 'a' and 'ab' or b = 'z'",
    "a like '%b%' or a > 4",
    "a not like '%b' and lower(b) = 'z' or b is null",
)


@pytest.mark.parametrize("a", [None, 1, 1.5, 2, 5, "x", "ab", "abc", "b", "yy", True, False])
@pytest.mark.parametrize("b", [None, 3, 4.0, "z", True, False])
@pytest.mark.one_in(4)
def test_scan_agrees_with_the_filters_on_every_kind_of_constraint(a: object, b: object) -> None:
    filters = [parse_filter(text) for text in TEXTS]
    record = {name: value for name, value in (("a", a), ("b", b)) if value is not None}
    assert ColumnScan(filters).match(record).tolist() == accepted(filters, record)  # type: ignore[arg-type] # values are values


@pytest.mark.parametrize("name", sorted(WORKLOADS))
@pytest.mark.one_in(3)
def test_scan_agrees_with_the_filters_on_the_workloads(name: str) -> None:
    filters = [s.record_filter for s in workload(name).subscriptions(400, 9)]
    scan = ColumnScan(filters)
    for publication in workload(name).publications(25, 9):
        record = publication.record
        assert scan.match(record).tolist() == accepted(filters, record)
        assert scan.match_plainly(record).tolist() == accepted(filters, record)
        touched = scan.touched(record)
        assert len(accepted(filters, record)) <= touched.candidates <= touched.bytes


def test_scan_of_nothing_finds_nothing() -> None:
    assert ColumnScan([]).match({"a": 1}).tolist() == []
    assert ColumnScan([]).match_plainly({"a": 1}).tolist() == []
    assert ColumnScan([parse_filter("a = 1 and a = 2")]).match({"a": 1}).tolist() == []


def test_scan_counts_the_rows_whose_most_selective_test_holds() -> None:
    filters = [parse_filter(text) for text in ("a > 0 and b = 1", "b = 1", "a > 0 and b = 2")]
    scan = ColumnScan(filters)
    assert scan.touched({"a": -1, "b": 1}) == (2, 4 + 4 + 16)
    assert scan.bytes == 3 * 20


@pytest.mark.parametrize("text", ["a > 9007199254740993", "a < -9007199254740993"])
def test_scan_refuses_what_it_would_get_wrong(text: str) -> None:
    with pytest.raises(InvalidValueError):
        ColumnScan([parse_filter(text)])


def test_scan_refuses_a_record_with_a_number_that_no_float_holds() -> None:
    with pytest.raises(InvalidValueError, match="not exact"):
        ColumnScan([parse_filter("a > 1")]).match({"a": 2**53 + 1})
