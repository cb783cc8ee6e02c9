"""Workloads come from the benchmark's files where they are, and are left out with a reason."""

from __future__ import annotations

from pathlib import Path

from sapwood.cli.benchmarks.documents.sources import sources
from tests.cli.benchmarks.documents.folder import write_benchmark


def test_sources_read_the_benchmark_in_the_order_of_its_files(tmp_path: Path) -> None:
    there, left_out = sources(write_benchmark(tmp_path))
    by_name = {source.name: source for source in there}
    assert left_out == {}
    distinct, duplicates = by_name["yfilter distinct"], by_name["yfilter duplicates"]
    assert list(distinct.expressions(9)) == ["/a/b", "//c", "/a/*"]
    assert list(distinct.expressions(2)) == ["/a/b", "//c"]
    assert list(duplicates.expressions(9)) == ["/a/b", "//c", "/a/b"]
    assert distinct.documents() == (b"<a x='5'><b/></a>", b"<a><c>7</c></a>")
    assert distinct.published[10_000] == "768.496"


def test_sources_give_the_reason_for_what_they_leave_out(tmp_path: Path) -> None:
    there, left_out = sources(None)
    assert [source.name for source in there] == ["news paths", "news twigs", "proteins paths"]
    assert set(left_out.values()) == {"no folder with the YFilter benchmark was given"}
    assert set(sources(tmp_path)[1].values()) == {f"{tmp_path} has no queries-153928-d.txt.gz"}


def test_sizes_are_cut_to_what_there_is() -> None:
    first = sources(None)[0][0]
    assert first.sizes((30, 10, 10**9)) == (10, 30, first.available)
