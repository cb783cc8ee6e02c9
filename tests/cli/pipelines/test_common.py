from __future__ import annotations

from sapwood.cli.pipelines.common import about_arrays, count_members, publication_members
from sapwood.pipeline.tables.summaries import Counts


def test_counts_have_the_same_members_everywhere() -> None:
    counts = Counts(5, 3, 2, 1)
    assert count_members(counts) == {"read": 5, "good": 3, "rejected": 2}
    assert publication_members(counts) == {**count_members(counts), "invisible_arrays": 1}
    assert about_arrays(counts) == ["1 array in publications carried, but not visible to filters"]
    assert about_arrays(Counts(1, 1, 0)) == []
