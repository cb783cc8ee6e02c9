from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import EnvironmentMissingError
from sapwood.model.publication import Publication
from sapwood.store.lines import bounds, read_lines
from sapwood.store.segments import segments
from sapwood.store.table_sizes import FOLDER, LATEST, TableSizes, size_files
from tests.store.journals import write_journal

SIZES = st.dictionaries(st.sampled_from(("local", "received")), st.integers(0, 3))


def lines(journal: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in size_files(journal) for line in file.open()]


def held(journal: Path) -> dict[str, int]:
    """The entries of each table, by the last line about it."""
    return {line["table"]: line["entries"] for line in lines(journal)}


def test_a_line_says_whose_table_held_how_many_entries_and_when(tmp_path: Path) -> None:
    sizes = TableSizes(tmp_path, "r1")
    sizes.write({"local": 3}, 1767225600.25)
    sizes.close()
    assert lines(tmp_path) == [
        {"broker": "r1", "table": "local", "at": "2026-01-01T00:00:00.250000Z", "entries": 3}
    ]


def test_only_what_has_changed_is_written(tmp_path: Path) -> None:
    sizes = TableSizes(tmp_path, "r1")
    for at, (local, received) in enumerate(((0, 0), (1, 0), (1, 0), (1, 2), (0, 2))):
        sizes.write({"local": local, "received": received}, float(at))
    written = [(line["at"][18], line["table"], line["entries"]) for line in lines(tmp_path)]
    assert written == [
        ("0", "local", 0),
        ("0", "received", 0),
        ("1", "local", 1),
        ("3", "received", 2),
        ("4", "local", 0),
    ]
    sizes.close()


def test_a_broker_that_begins_again_begins_with_all_tables(tmp_path: Path) -> None:
    for _ in range(2):
        sizes = TableSizes(tmp_path, "r1")
        sizes.write({"local": 0}, 0.0)
        sizes.close()
    assert [line["entries"] for line in lines(tmp_path)] == [0, 0]


def test_half_a_line_of_a_broken_run_is_cut_off(tmp_path: Path) -> None:
    TableSizes(tmp_path, "r1").write({"local": 1}, 0.0)
    with (tmp_path / FOLDER / LATEST).open("ab") as file:
        file.write(b'{"broker":"r1","tab')
    TableSizes(tmp_path, "r1").write({"local": 2}, 0.0)
    assert [line["entries"] for line in lines(tmp_path)] == [1, 2]


@given(written=st.lists(SIZES, min_size=1))
def test_what_is_kept_is_bounded_and_says_what_tables_hold(
    tmp_path_factory: pytest.TempPathFactory, written: list[dict[str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("sizes")
    sizes = TableSizes(folder, "r1", bytes_max=400)
    expected: dict[str, int] = {}
    for at, given_ in enumerate(written):
        # A router tells of all its tables each time.
        expected = {"local": 0, "received": 0, **given_}
        sizes.write(expected, float(at))
    sizes.close()
    assert held(folder) == expected
    # Two lines beyond the half at most are written at once.
    assert sum(file.stat().st_size for file in size_files(folder)) <= 2 * (200 + 200)


def test_a_disk_that_takes_half_a_line_is_left_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        """A file on a full disk."""

        def __init__(self, file: Any) -> None:
            self._file = file

        def write(self, data: bytes) -> int:
            written: int = self._file.write(data[:10])
            return written

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

    sizes = TableSizes(tmp_path, "r1")
    sizes.write({"local": 1}, 0.0)
    with monkeypatch.context() as patched:
        patched.setattr(sizes, "_file", Full(sizes._file))
        with pytest.raises(OSError, match="the disk is full"):
            sizes.write({"local": 2}, 1.0)
    sizes.write({"local": 2}, 2.0)
    assert [line["entries"] for line in lines(tmp_path)] == [1, 2]
    sizes.close()


def test_a_new_file_that_could_not_be_begun_is_begun_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    sizes = TableSizes(tmp_path, "r1", bytes_max=2)
    sizes.write({"local": 1}, 0.0)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", fails)
        with pytest.raises(OSError, match="No space"):
            sizes.write({"local": 2}, 1.0)
    sizes.write({"local": 3}, 2.0)
    assert [line["entries"] for line in lines(tmp_path)] == [1, 3]
    sizes.close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file")
    with pytest.raises(EnvironmentMissingError, match=r"table sizes in .* cannot be written"):
        TableSizes(tmp_path, "r1")


def test_a_journal_is_the_same_with_table_sizes_in_its_folder(tmp_path: Path) -> None:
    for number in range(2):
        write_journal(tmp_path, [Publication(f"p{number}", {})])
        sizes = TableSizes(tmp_path, "r1")
        sizes.write({"local": number}, 0.0)
        sizes.close()
        assert bounds(tmp_path) == (0, number + 1)
    (segment,) = segments(tmp_path)
    assert [line.offset for line in read_lines(segment, 0)] == [0, 1]


def test_a_journal_without_table_sizes_has_no_files_of_them(tmp_path: Path) -> None:
    assert size_files(tmp_path / "none") == []
