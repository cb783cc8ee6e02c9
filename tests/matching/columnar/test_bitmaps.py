"""Bitmaps, and the clusters and attributes that have them."""

from __future__ import annotations

import numpy as np

from tests.matching.columnar.made import made


def test_large_clusters_have_bitmaps_on_the_attributes_that_their_entries_constrain() -> None:
    texts = [f"a = 1 and b = {number} and c > {number}" for number in range(80)]
    texts += [f"a = 2 and b = {number}" for number in range(20)]
    whole = made([*texts, *(f"a = {number}" for number in range(3, 200))])
    columns = whole.segment().columns
    assert np.all(columns.partition_last - columns.partition_first >= 64)
    names = {number: name for name, number in whole.attributes.items()}
    partitions = {names[int(attribute)] for attribute in columns.bitmap_attribute}
    assert partitions <= {"b", "c"}


def test_entries_that_nothing_else_constrains_need_no_bitmaps() -> None:
    columns = made(["a = 1"] * 100).segment().columns
    assert len(columns.partition_first) == len(columns.bitmaps) == 0


def test_bins_are_fine_where_conjunctions_are_small_and_coarse_where_they_are_large() -> None:
    def slices(constraints: int) -> int:
        names = [f"x{at}" for at in range(constraints)]
        texts = [
            " and ".join(f"{name} between {number} and {number + 40.1}" for name in names)
            for number in range(400)
        ]
        columns = made(texts).segment().columns
        assert len(columns.partition_first)
        last_slice = (6 + 2 * 800) * columns.bin_scale[1] >> 32
        assert last_slice == columns.bins[0] - 2
        return int(columns.bins[0])

    assert slices(2) == 16
    assert slices(12) == 8
