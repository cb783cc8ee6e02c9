"""The comparison of the tour finds what one side has alone, and what came twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.cli.tour.comparison import compare, read_json_lines, read_parquet
from sapwood.files import DeliveryWriter


def test_compare_finds_equal_bags_equal_in_any_order() -> None:
    result = compare([("p1", "a"), ("p2", "b")], [("p2", "b"), ("p1", "a")])
    assert result.equal
    assert result.by_subscription == {"a": 1, "b": 1}


def test_compare_names_the_pairs_that_one_side_has_alone() -> None:
    result = compare([("p1", "a"), ("p2", "b")], [("p1", "a"), ("p3", "c")])
    assert not result.equal
    assert result.only_left == (("p2", "b"),)
    assert result.only_right == (("p3", "c"),)


def test_compare_does_not_call_a_doubled_pair_equal() -> None:
    result = compare([("p1", "a"), ("p1", "a")], [("p1", "a")])
    assert result.duplicated == 1
    assert not result.equal


def test_read_json_lines_gives_back_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "deliveries.jsonl"
    with path.open("wb") as out:
        DeliveryWriter(out).write('p"1', ["a", "é"])
    assert list(read_json_lines(path)) == [('p"1', "a"), ('p"1', "é")]


def test_read_parquet_gives_back_what_was_written(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="comes with the spark extra")
    import pyarrow.parquet as parquet

    table = pyarrow.table({"publication": ["p1", "p2"], "subscription": ["a", "b"]})
    parquet.write_table(table, tmp_path / "part-0.parquet")
    (tmp_path / "_SUCCESS").touch()
    assert list(read_parquet(tmp_path)) == [("p1", "a"), ("p2", "b")]
