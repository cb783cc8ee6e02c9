"""Results of kernels, put together piece by piece."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.matching.columnar.batch import HEAD, SegmentMatches
from sapwood.matching.columnar.kernels import compiled
from sapwood.matching.protocol import ALL
from sapwood.model.publication import Record
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.kernels.entries import finish, new_result_buffer
from tests.matching.columnar.made import made, told


def test_nothing_is_told_at_first_and_what_is_doubtful_comes_last() -> None:
    nothing = new_result_buffer(2)
    assert (nothing.matches_end, nothing.unverified_end) == (HEAD + 4, 0)
    nothing.matches[1 : HEAD + 5] = [2, 1, 0, 0, 1, 7]
    nothing.unverified[0] = 5
    found = SegmentMatches.of(finish(nothing._replace(matches_end=HEAD + 5, unverified_end=1)), 2)
    assert [each.tolist() for each in found[:4]] == [[0, 1, 1], [7], [0, 0, 1], [5]]
    many = np.arange(5000, dtype=np.int32)
    several = nothing._replace(unverified=many, unverified_end=5000)
    assert finish(several)[HEAD + 4 :].tolist() == many.tolist()


@pytest.mark.parametrize("join_threshold", [1, 10, ALL])
@pytest.mark.parametrize("max_matches", [1, 20_000, ALL])
@pytest.mark.one_in(6)
def test_records_with_many_matches_of_all_sorts_are_told_whole(
    join_threshold: int, max_matches: int
) -> None:
    # Some candidate ranges are shared by all records and some by one; there are unverified matches,
    # and slots twice.
    texts = ["a > 0"] * 700 + ["a > 0 and b like '%x%'"] * 700 + ["a = 3 or c = 3"] * 20
    texts += [f"d = {at} and a > 0" for at in range(40)]
    whole = made(texts)
    segment = whole.segment()
    records: list[Record] = [{"a": at % 5, "b": "x", "c": 3, "d": at} for at in range(40)]
    found = whole.found(
        compiled, segment, records, max_matches=max_matches, join_threshold=join_threshold
    )
    twin = whole.found(plain, segment, records, max_matches=max_matches)
    assert told(found, segment) == told(twin, segment)
    assert found.repeats == twin.repeats
