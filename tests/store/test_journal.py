from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import EnvironmentMissingError, FileFormatError, InputError
from sapwood.files.lines import decode_publication
from sapwood.model.publication import Publication
from sapwood.store.journal import Bounds, Journal


def publication(number: int) -> Publication:
    return Publication(f"p{number}", {"x": number})


def ids(journal: Journal, start: int = 0, end: int = 1 << 60) -> list[str]:
    return [decode_publication(line.text).publication.id for line in journal.read(start, end)]


def fill(journal: Journal, numbers: range) -> None:
    for number in numbers:
        assert journal.append(publication(number), float(number))
        journal.sync()


def test_what_was_appended_and_synced_is_read_by_offset(tmp_path: Path) -> None:
    with Journal(tmp_path / "deep" / "j", home="r1") as journal:
        fill(journal, range(3))
        lines = list(journal.read(1, 3))
        assert [line.offset for line in lines] == [1, 2]
        assert json.loads(lines[0].text) == {
            "offset": 1,
            "published_at": 1.0,
            "id": "p1",
            "attributes": {"x": 1},
            "home": "r1",
        }
        assert journal.bounds == Bounds(0, 3)


def test_what_is_not_durable_is_not_read(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append(publication(0), 0.0)
        assert (ids(journal), journal.bounds) == ([], Bounds(0, 0))
        journal.sync()
        assert (ids(journal), journal.bounds) == (["p0"], Bounds(0, 1))


def test_retract_takes_back_the_last_that_is_not_durable(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append(publication(0), 0.0)
        journal.append(publication(1), 1.0)
        journal.retract()
        with pytest.raises(InputError, match="nothing to retract"):
            journal.retract()
        assert journal.append(publication(1), 2.0)
        journal.sync()
        with pytest.raises(InputError, match="nothing to retract"):
            journal.retract()
        assert ids(journal) == ["p0", "p1"]


def test_an_id_is_taken_once_after_a_restart_too(tmp_path: Path) -> None:
    with Journal(tmp_path, ids_max=2) as journal:
        fill(journal, range(3))
        assert not journal.append(publication(1), 9.0)
    with Journal(tmp_path, ids_max=2) as journal:
        assert not journal.append(publication(2), 9.0)
        assert not journal.append(publication(1), 9.0)
        assert journal.append(publication(0), 9.0)  # forgotten
        journal.sync()
        assert ids(journal) == ["p0", "p1", "p2", "p0"]


def test_a_journal_goes_on_after_a_line_that_was_cut_short(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        fill(journal, range(2))
    (segment,) = tmp_path.glob("*.jsonl")
    whole = segment.read_bytes()
    segment.write_bytes(whole + b'{"offset":2,"id"' + b"x" * 70_000)
    with Journal(tmp_path) as journal:
        assert segment.read_bytes() == whole
        fill(journal, range(2, 3))
        assert ids(journal) == ["p0", "p1", "p2"]


@given(
    st.integers(60, 400),
    st.lists(st.integers(0, 4), max_size=12),
    st.integers(0, 30),
    st.integers(0, 30),
)
def test_reading_is_the_same_however_the_files_are_cut(
    segment_bytes: int, runs: list[int], start: int, length: int
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        total = 0
        for run in runs:
            with Journal(Path(folder), segment_bytes_max=segment_bytes) as journal:
                fill(journal, range(total, total + run))
                total += run
        with Journal(Path(folder), segment_bytes_max=segment_bytes) as journal:
            expected = [f"p{number}" for number in range(total)]
            assert journal.bounds == Bounds(0, total)
            for _ in range(2):
                assert ids(journal, start, start + length) == expected[start : start + length]
            assert ids(journal, start + length) == expected[start + length :]


def test_the_oldest_files_go_when_the_journal_is_full(tmp_path: Path) -> None:
    with Journal(tmp_path, segment_bytes_max=200, bytes_max=1000) as journal:
        fill(journal, range(100))
        first, end = journal.bounds
        assert 0 < first < end == 100
        assert ids(journal, first) == [f"p{number}" for number in range(first, 100)]
        with pytest.raises(InputError, match=f"begins with {first}"):
            ids(journal)
    assert sum(path.stat().st_size for path in tmp_path.glob("*.jsonl")) <= 1000


def test_two_writers_are_refused(tmp_path: Path) -> None:
    with Journal(tmp_path), pytest.raises(EnvironmentMissingError, match="another broker"):
        Journal(tmp_path)
    with Journal(tmp_path):
        pass


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").touch()
    with pytest.raises(FileFormatError, match="no segment"):
        Journal(tmp_path)
    with pytest.raises(EnvironmentMissingError, match="cannot be written"):
        Journal(tmp_path / "other.jsonl")


def test_damaged_lines_are_refused(tmp_path: Path) -> None:
    (tmp_path / f"{0:020d}.jsonl").write_bytes(b'{"offset":0}\n')
    with pytest.raises(FileFormatError, match="line 1 is damaged"):
        Journal(tmp_path)


def test_what_json_cannot_say_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        with pytest.raises(InputError, match="cannot be written as JSON"):
            journal.append(Publication("p", {"x": float("inf")}), 0.0)
        fill(journal, range(1))
        assert ids(journal) == ["p0"]


class FullDisk:
    """A file that takes a part of what is written, or nothing."""

    def __init__(self, file: Any, takes: int) -> None:
        self.file, self.takes = file, takes

    def write(self, data: bytes) -> int:
        if not self.takes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(self.file.write(data[: self.takes]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


@pytest.mark.parametrize("takes", [0, 7])
def test_a_full_disk_leaves_no_half_line(tmp_path: Path, takes: int) -> None:
    with Journal(tmp_path) as journal:
        fill(journal, range(1))
        file = journal._file
        journal._file = FullDisk(file, takes)  # type: ignore[assignment]
        with pytest.raises(OSError, match=r"disk|space"):
            journal.append(publication(1), 1.0)
        journal._file = file
        fill(journal, range(1, 2))
        assert ids(journal) == ["p0", "p1"]
