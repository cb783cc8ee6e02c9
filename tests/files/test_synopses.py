"""Files of synopses: what was saved is loaded, and a damaged file is an error that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.errors import FileFormatError
from sapwood.files.synopses import load_synopsis, save_synopsis
from sapwood.similarity import Synopsis

SMALL = Synopsis(("", "a", "b"), (-1, 0, 1), (3, 2, 1))


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    path = str(tmp_path / "some.synopsis")
    save_synopsis(path, SMALL)
    save_synopsis(path, SMALL)
    assert load_synopsis(path) == SMALL
    assert [one.name for one in tmp_path.iterdir()] == ["some.synopsis"]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "some.synopsis"
    save_synopsis(str(path), SMALL)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FileFormatError, match=r"some\.synopsis.*checksum"):
        load_synopsis(str(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"none\.synopsis.*cannot be read"):
        load_synopsis(str(tmp_path / "none.synopsis"))
