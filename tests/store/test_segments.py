from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.errors import FileFormatError
from sapwood.store.layout import Damage, SegmentHeader, State, encode_commit, encode_segment_header
from sapwood.store.segments import (
    Segment,
    followed,
    is_journal,
    read_commits,
    read_header,
    segment_name,
    segments,
)

HEADER = encode_segment_header(SegmentHeader(0, 1, "r1"))
COMMITS = [encode_commit(number, 2 * number, 2, [State(b"")]) for number in range(1, 5)]


def written(folder: Path, *parts: bytes) -> Segment:
    path = folder / segment_name(0, 1)
    path.write_bytes(b"".join(parts))
    return Segment(path, 0, 1)


def numbers(segment: Segment, place: int = 0, byte: int | None = None) -> list[int | str]:
    return [
        "damage" if isinstance(one, Damage) else one.number
        for one in read_commits(segment, place, byte)
    ]


def test_segments_are_in_the_order_of_their_commits_those_with_lines_first(tmp_path: Path) -> None:
    names = [segment_name(10, 12), segment_name(9, 3), segment_name(10, 4), f"{7:020d}.jsonl"]
    for name in (*names, f"{0:020d}.jsonl"):
        (tmp_path / name).touch()
    found = segments(tmp_path)
    assert [(one.first, one.commit) for one in found] == [(0, 0), (7, 0), (9, 3), (10, 4), (10, 12)]
    assert [one.has_lines for one in found] == [True, True, False, False, False]
    assert followed(found[:2]) == [(found[0], found[1]), (found[1], None)]
    assert followed([]) == []
    assert is_journal(tmp_path)


@pytest.mark.parametrize("name", ["notes.jsonl", "1-2.segment", f"{0:020d}.segment"])
def test_other_files_of_these_kinds_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(FileFormatError, match="no segment"):
        segments(tmp_path)
    assert not is_journal(tmp_path)
    with pytest.raises(FileFormatError, match="no journal"):
        segments(tmp_path / "none")


def test_commits_are_read_from_the_one_with_a_place(tmp_path: Path) -> None:
    segment = written(tmp_path, HEADER, *COMMITS)
    assert numbers(segment) == [1, 2, 3, 4]
    assert numbers(segment, 4) == [2, 3, 4]
    assert numbers(segment, 5) == [2, 3, 4]
    assert numbers(segment, 6) == [3, 4]
    assert numbers(segment, 99) == []
    third = next(iter(read_commits(segment, 6)))
    assert numbers(segment, 6, third.begin) == [3, 4]
    assert third.begin == len(HEADER) + len(COMMITS[0]) + len(COMMITS[1])


def test_what_is_not_there_yet_is_not_read_and_damage_before_it_is_told(tmp_path: Path) -> None:
    assert numbers(written(tmp_path, HEADER, COMMITS[0], COMMITS[1][:-1])) == [1]
    assert numbers(written(tmp_path, HEADER, COMMITS[0], b"what", COMMITS[1])) == [1, "damage", 2]
    assert numbers(written(tmp_path, HEADER, COMMITS[0][:-1], COMMITS[1])) == ["damage", 2]
    assert numbers(written(tmp_path, HEADER[:-1], *COMMITS)) == ["damage", 1, 2, 3, 4]
    assert numbers(written(tmp_path)) == []


def test_a_header_says_whose_the_segment_is(tmp_path: Path) -> None:
    told = read_header(written(tmp_path, HEADER, *COMMITS).path)
    assert told == (SegmentHeader(0, 1, "r1"), len(HEADER))
    assert read_header(written(tmp_path, HEADER[:-1]).path) is None


def test_another_version_is_refused_with_the_remedy(tmp_path: Path) -> None:
    import struct
    import zlib

    rest = struct.pack(">8sII", b"SAPWOODJ", 2, 0)
    segment = written(tmp_path, rest, struct.pack(">I", zlib.crc32(rest)))
    with pytest.raises(FileFormatError, match=r"is of version 2.*use the Sapwood that wrote it"):
        read_header(segment.path)
