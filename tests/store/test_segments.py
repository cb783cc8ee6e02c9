from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.errors import FileFormatError
from sapwood.store.segments import (
    Line,
    Segment,
    end_of,
    is_journal,
    read_lines,
    segment_name,
    segments,
)


def test_segments_are_in_the_order_of_their_offsets(tmp_path: Path) -> None:
    for first in (10, 9, 0):
        (tmp_path / segment_name(first)).touch()
    assert [segment.first for segment in segments(tmp_path)] == [0, 9, 10]
    assert is_journal(tmp_path)
    (tmp_path / "notes.jsonl").touch()
    with pytest.raises(FileFormatError, match="no segment"):
        segments(tmp_path)
    assert not is_journal(tmp_path)
    with pytest.raises(FileFormatError, match="no journal"):
        segments(tmp_path / "none")


def test_lines_are_whole_and_numbered_from_the_name(tmp_path: Path) -> None:
    segment = Segment(tmp_path / segment_name(5), 5)
    segment.path.write_bytes(b"a\nbb\nc\nhalf")
    assert end_of(segment) == 8
    assert list(read_lines(segment, 6)) == [Line(6, b"bb", 5), Line(7, b"c", 7)]
    assert list(read_lines(segment, 7, 5)) == [Line(7, b"c", 7)]
    assert list(read_lines(segment, 8)) == []
