"""Segments searched by kernels."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.errors import InvalidValueError
from sapwood.matching.columnar.batch import SegmentMatches, encoded
from sapwood.matching.columnar.searching import Kernels, LazyKernels, Searcher
from sapwood.matching.tables import Kind, RecordTable
from sapwood.model.publication import Record
from tests.matching.columnar import plain_kernels
from tests.matching.columnar.made import made
from tests.matching.tabled import column_of

GIVEN = pytest.mark.parametrize("kernels", [None, plain_kernels], ids=["compiled", "plain"])

ASKED: list[Record] = [{"a": 1, "b": 3}, {"b": 1}, {}]


@GIVEN
def test_names_that_come_later_need_a_searcher_that_grew(kernels: Kernels | None) -> None:
    whole = made(["a = 1", "b = 1 or b = 3"])
    attributes = dict(whole.attributes)
    searcher = Searcher(attributes, LazyKernels(kernels))
    segment, batch = whole.segment(), encoded(ASKED)
    before = searcher.search(segment, ASKED, batch).tolist()
    found = SegmentMatches.of(np.array(before, np.int32), 3)
    assert found.offsets.tolist() == [0, 2, 3, 3]
    assert searcher.looked_up(segment, ASKED) == 3
    assert searcher.touched([segment, segment], ASKED) == 2 * searcher.touched([segment], ASKED)
    assert searcher.touched([segment], ASKED) > 0
    assert searcher.grown(attributes) is searcher
    attributes["c"] = 2
    assert searcher.numbers == {"a": 0, "b": 1}
    grown = searcher.grown(attributes)
    assert grown.search(segment, ASKED, batch).tolist() == before
    assert grown.held > searcher.held
    later = made(["a = 1", "b = 1 or b = 3", "c = 1"]).segment()
    asked = ({"c": 1},)
    assert SegmentMatches.of(grown.search(later, asked, encoded(asked)), 1).slots == [2]
    assert searcher.search(segment, ASKED, batch).tolist() == before


@GIVEN
def test_search_refuses_what_no_record_may_hold(kernels: Kernels | None) -> None:
    whole = made(["a = 1"])
    searcher = Searcher(whole.attributes, LazyKernels(kernels))
    odd: list[Record] = [{"a": 1}, {"b": 2**63}]
    with pytest.raises(InvalidValueError, match="'b'"):
        searcher.search(whole.segment(), odd, encoded(odd))
    assert searcher.search(whole.segment(), ASKED, encoded(ASKED))[0] == 0


@GIVEN
def test_search_finds_in_columns_what_it_finds_in_records(kernels: Kernels | None) -> None:
    whole = made(["a = 1", "b = 1 or b = 3"])
    searcher, segment = Searcher(whole.attributes, LazyKernels(kernels)), whole.segment()
    names = ("z", "b", "a")
    columns = {
        name: column_of(Kind.INTEGER, [record.get(name) for record in ASKED]) for name in names
    }
    table = RecordTable.of(columns, len(ASKED))
    numbers = searcher.prepared(table)
    assert list(numbers) == [-1, whole.attributes["b"], whole.attributes["a"]]
    assert searcher.prepared(ASKED) == encoded(ASKED)
    told = searcher.search(segment, table, numbers).tolist()
    assert told[:7] == searcher.search(segment, ASKED, encoded(ASKED)).tolist()[:7]
    later = searcher.search(segment, table[1:], numbers)
    assert SegmentMatches.of(later, 2).slots.tolist() == [1]
