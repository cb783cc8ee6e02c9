from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood import parse_filter
from sapwood.language.forms import encode_form
from sapwood.matching.index import Index
from sapwood.pipeline.matching import segments as module
from sapwood.pipeline.matching.segments import (
    SEGMENTS,
    BuildSegments,
    segment_heads,
    segment_home,
    segment_id,
    segments,
    unpack_segments,
    write_texts,
)
from sapwood.pipeline.results.output import stored_table

pa = pytest.importorskip("pyarrow")


def test_ids_in_segments_hold_the_home_whatever_it_is_called() -> None:
    for home in ("r1", "r@2", "@", "a@b@c"):
        assert segment_home(segment_id("00ff", home)) == home


def batch(rows: list[tuple[int, str, str, str]]) -> Any:
    names = ["segment", "home", "key", "form"]
    columns = list(zip(*rows, strict=True))
    forms = [encode_form(parse_filter(text)) for text in columns[3]]
    arrays = [pa.array(columns[0], pa.int32()), *(pa.array(c) for c in columns[1:3])]
    return pa.RecordBatch.from_arrays([*arrays, pa.array(forms, pa.binary())], names=names)


def test_segments_are_cut_into_chunks_and_equal_for_equal_filters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SEGMENT_CHUNK_BYTES", 1000)
    rows = [(0, "r1", "a", "x > 1"), (0, "r1", "b", "y"), (3, "r2", "a", "x > 1")]
    whole = [r for b in BuildSegments("counting")(iter([batch(rows)])) for r in b.to_pylist()]
    parts = [batch(rows[:1]), batch(rows[1:])]
    cut = [r for b in BuildSegments("counting")(iter(parts)) for r in b.to_pylist()]
    assert whole == cut
    heads = {(r["segment"], r["filters"], *r["attributes"]) for r in whole}
    assert heads == {(0, 2, "x", "y"), (3, 1, "x")}
    for segment in (0, 3):
        chunks = [r for r in whole if r["segment"] == segment]
        assert [r["chunk"] for r in chunks] == list(range(len(chunks)))
        assert len(chunks) > 1
        assert all(len(r["bytes"]) <= 1000 for r in chunks)


def test_texts_are_canonical() -> None:
    named = ["segment", "home", "key", "form"]
    (written,) = write_texts(iter([batch([(0, "r1", "a", "not x <= 1")]).rename_columns(named)]))
    assert written.to_pylist() == [
        {
            "segment": 0,
            "home": "r1",
            "key": "a",
            "filter": "x > 1",
            "xpath": None,
            "namespaces": None,
        }
    ]


@pytest.mark.spark
def test_unpacked_segments_are_indexes(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SEGMENT_FILTERS_MAX", 4)
    rows = [("r1", f"{n:02x}", bytearray(encode_form(parse_filter(f"x = {n}")))) for n in range(9)]
    entries = spark.createDataFrame(rows, "home STRING, key STRING, form BINARY")
    (tmp_path / "index" / "left").mkdir(parents=True)
    made = segments(entries, len(rows), engine="counting")
    stored = stored_table(made, str(tmp_path / "segments"))
    heads = segment_heads(stored)
    folders = unpack_segments(stored, heads, tmp_path / "index")
    assert sorted((tmp_path / "index").iterdir()) == list(folders)
    assert len(folders) > 1
    indexes = [Index.load(folder) for folder in folders]
    assert sorted(id_ for index in indexes for id_ in index) == [f"{n:02x}@r1" for n in range(9)]
    assert [id_ for index in indexes for id_ in index.match({"x": 5})] == ["05@r1"]
    assert [f"segment-{head.segment:05d}" for head in heads] == [path.name for path in folders]
    assert [head.filters for head in heads] == [len(index) for index in indexes]
    assert {head.attributes for head in heads} == {("x",)}
    nothing = segments(entries.limit(0), 0, engine="counting")
    stored = stored_table(nothing, str(tmp_path / "nothing"))
    assert unpack_segments(stored, segment_heads(stored), tmp_path / "none") == ()


@pytest.mark.spark
def test_segments_are_unpacked_whatever_files_hold_their_chunks(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SEGMENT_CHUNK_BYTES", 1000)
    rows = [(0, "r1", "a", "x > 1"), (0, "r1", "b", "y"), (3, "r2", "a", "x > 1")]
    made = [r for b in BuildSegments("counting")(iter([batch(rows)])) for r in b.to_pylist()]
    table = spark.createDataFrame([tuple(row.values()) for row in made[::-1]], SEGMENTS)
    # As a session may cut files, below a folder whose name is none of a plain URI.
    cut = {"maxRecordsPerFile": "1"}
    stored = stored_table(table.coalesce(1), str(tmp_path / "a b%20c"), cut)
    heads = segment_heads(stored)
    assert [head[:3] for head in heads] == [(0, 2, ("x", "y")), (3, 1, ("x",))]
    assert sum(len(head.files) for head in heads) == len(made) > len(heads)
    folders = unpack_segments(stored, heads, tmp_path / "index")
    assert [list(Index.load(folder)) for folder in folders] == [["a@r1", "b@r1"], ["a@r2"]]
