"""Workloads come from the benchmark's files where they are, and are left out with a reason."""

from __future__ import annotations

from pathlib import Path

from sapwood_lab.benchmarks.documents.sources import sources
from tests_lab.benchmarks.documents.folder import NITF, write_benchmark

KINDS = ("distinct", "duplicates", "valued")


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
    assert [source.name for source in there] == [
        *("news paths", "news twigs", "proteins paths", "proteins twigs")
    ]
    assert set(left_out.values()) == {
        "no folder with the YFilter benchmark was given",
        "no folder with the DTD of NITF was given",
    }
    assert set(sources(tmp_path)[1].values()) == {
        f"{tmp_path} has no queries-153928-d.txt.gz",
        f"{tmp_path} has no nitf-2-5.dtd",
    }


def test_sources_have_what_either_file_is_there_for(tmp_path: Path) -> None:
    (tmp_path / "nitf-2-5.dtd").write_bytes(NITF)
    there, left_out = sources(tmp_path)
    made = {source.name: source for source in there}
    assert set(left_out) == {f"yfilter {kind}" for kind in KINDS}
    assert all(b"<nitf>" in document for document in made["nitf paths"].documents())
    assert len(list(made["nitf twigs"].expressions(7))) == 7


def test_sizes_are_cut_to_what_there_is() -> None:
    first = sources(None)[0][0]
    assert first.sizes((30, 10, 10**9)) == (10, 30, first.available)
