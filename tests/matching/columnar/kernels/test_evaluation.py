"""Candidates, evaluated by compiled code."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from sapwood.model.publication import Record
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.kernels.entries import evaluate, grown
from tests.matching.columnar.made import ALIKE, DIFFERENT, made


@pytest.mark.parametrize("filters", [ALIKE, DIFFERENT, ["true", "true"]])
@pytest.mark.parametrize("record", [{"a": 1, "b": 3, "c": 1}, {"a": 3, "b": 4}, {"a": 1}, {}])
@pytest.mark.one_in(6)
def test_evaluate_keeps_what_holds(filters: list[str], record: Record) -> None:
    whole = made(filters)
    segment = whole.segment()
    segment.remove(0, plain)
    ranks = np.zeros(max(1, len(whole.attributes)), np.uint32)
    plain.rank_record(segment.columns, whole.names(), cast("plain.Readable", record), ranks)
    # What the lookup implies is not evaluated: only what is found by it may be asked about.
    found = [
        entry
        for pair in plain.find_candidate_ranges(segment.columns, ranks)
        for entry in range(*pair)
    ]
    size = len(found)
    candidates, unverified = np.array([*found, 0], np.uint32), np.empty(size, np.int32)
    told = np.zeros(1 + size, np.int32)
    count, unverified_count = evaluate(
        segment.buffer, segment.marks, ranks, candidates, size, 1000, told, 1, unverified, 0
    )
    twin = whole.found(plain, segment, [record])
    assert sorted(told[1:count].tolist()) == sorted(twin.slots.tolist())
    assert sorted(unverified[:unverified_count].tolist()) == sorted(twin.unverified.tolist())
    assert bool(told[0]) == twin.repeats


def test_grown_keeps_what_there_is() -> None:
    array = np.arange(3)
    assert grown(array, 3) is array
    assert grown(array, 4)[:3].tolist() == [0, 1, 2]
    assert len(grown(array, 100)) == 100
