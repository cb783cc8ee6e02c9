"""Which clusters and attributes have bit rows."""

from __future__ import annotations

import numpy as np

from tests.matching.columnar.made import made


def test_large_clusters_have_rows_on_the_attributes_that_their_entries_constrain() -> None:
    texts = [f"a = 1 and b = {number} and c > {number}" for number in range(80)]
    texts += [f"a = 2 and b = {number}" for number in range(20)]
    whole = made([*texts, *(f"a = {number}" for number in range(3, 200))])
    columns = whole.segment().columns
    assert np.all(columns.region_last - columns.region_first >= 64)
    names = {number: name for name, number in whole.attributes.items()}
    planned = {names[int(attribute)] for attribute in columns.plan_attribute}
    assert planned <= {"b", "c"}


def test_entries_that_nothing_else_constrains_need_no_rows() -> None:
    columns = made(["a = 1"] * 100).segment().columns
    assert len(columns.region_first) == len(columns.rows) == 0


def test_slices_are_fine_where_conjunctions_are_small_and_coarse_where_they_are_large() -> None:
    def slices(constraints: int) -> int:
        names = [f"x{at}" for at in range(constraints)]
        texts = [
            " and ".join(f"{name} between {number} and {number + 40.1}" for name in names)
            for number in range(400)
        ]
        columns = made(texts).segment().columns
        assert len(columns.region_first)
        last_slice = (6 + 2 * 800) * columns.bucket_scale[1] >> 32
        assert last_slice == columns.slices[0] - 2
        return int(columns.slices[0])

    assert slices(2) == 16
    assert slices(12) == 8
