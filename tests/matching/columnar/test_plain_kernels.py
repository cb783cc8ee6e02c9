"""The plain twins against the definition of what they compute."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.matching.columnar.batch import name_table
from sapwood.model.publication import Record
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.made import made


@pytest.mark.parametrize(
    ("number", "remainder", "rank"),
    [(0.0, 0, 0), (1.0, 0, 1), (1.0, 1, 2), (2.0, 0, 2), (3.0, -1, 3), (3.0, 0, 5), (9.0, 0, 6)],
)
def test_number_rank_counts_what_is_below(number: float, remainder: int, rank: int) -> None:
    numbers, remainders = np.array([1.0, 3.0, 3.0]), np.array([0, -1, 0], np.int16)
    assert plain.number_rank(numbers, remainders, 0, 3, number, remainder) == rank


@pytest.mark.parametrize(
    ("text", "rank"), [("", 0), ("a", 1), ("a\0", 2), ("b", 2), ("bb", 3), ("c", 4)]
)
def test_text_rank_counts_what_is_below(text: str, rank: int) -> None:
    columns = made(["a in ('bb', 'a')"]).segment().columns
    assert plain.text_rank(columns, 0, 2, text.encode()) == rank


def test_rank_record_writes_one_rank_for_each_value() -> None:
    whole = made(["a > 5 and b = 'x' and c"])
    ranks = np.zeros(3, np.uint32)
    names = name_table({**whole.attributes, "d": 3})
    record: plain.Readable = {"a": 5, "b": b"y", "c": False, "d": 1, "e": 1}
    plain.rank_record(whole.segment().columns, names, record, ranks)
    assert ranks.tolist() == [5, 8, 1]


def test_match_batch_finds_slots_unverified_and_repeats() -> None:
    whole = made(["a = 1", "a > 0 or b > 0", "a not like '%x%'", "a = 2"])
    segment = whole.segment()
    segment.remove(3, plain)
    asked: list[Record] = [{"a": 1}, {"a": "x"}, {"a": 2}, {}]
    found = whole.found(plain, segment, asked, 9)
    assert found.offsets.tolist() == [0, 2, 2, 3, 3]
    assert sorted(found.slots.tolist()[:2]) == [0, 1]
    assert found.unverified_offsets.tolist() == [0, 0, 1, 1, 1]
    assert segment.slots_of(found.unverified).tolist() == [2]
    assert found.repeats
    limited = whole.found(plain, segment, asked, 1)
    assert limited.offsets.tolist() == [0, 1, 1, 2, 2]
