"""Lookups, compiled, against the plain twins."""

from __future__ import annotations

from contextlib import nullcontext
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.kernels.entries import find_candidate_ranges, first_beyond
from tests.matching.columnar.made import grids_everywhere, made
from tests.strategies import filters, records


@settings(deadline=None)
@given(wanted=st.lists(filters(), max_size=8), asked=records())
def test_find_candidate_ranges_finds_those_of_its_twin(wanted: list[Filter], asked: Record) -> None:
    whole = made(wanted)
    for everywhere in (nullcontext(), grids_everywhere()):
        with everywhere:
            segment = whole.segment()
        ranks = np.zeros(max(1, len(whole.attributes)), np.uint32)
        plain.rank_record(segment.columns, whole.names(), cast("plain.Readable", asked), ranks)
        known = [whole.attributes[name] for name in asked if name in whole.attributes]
        present = np.array([*known, 0], np.uint32)
        twin = sorted(
            pair
            for pair in plain.find_candidate_ranges(segment.columns, ranks)
            if pair[0] < pair[1]
        )
        found, room, count = np.zeros(2, np.int64), 1, -1
        for _ in range(100):
            count = find_candidate_ranges(segment.buffer, ranks, present, len(known), found, room)
            if count >= 0:
                break
            assert -count > room
            room = -count
            found = np.zeros(2 * room, np.int64)
        assert sorted(map(tuple, found[: 2 * count].reshape(-1, 2).tolist())) == twin


@pytest.mark.parametrize(("key", "place"), [(0, 1), (1, 1), (4, 3), (6, 4), (9, 5)])
def test_first_beyond_is_within_its_bounds(key: int, place: int) -> None:
    keys = np.array([9, 3, 4, 5, 8, 1], np.uint32)
    assert first_beyond(keys, 1, 5, key) == place
