"""TOML files."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError, InputError
from sapwood.files.toml import read_toml


def refuse(document: Mapping[str, Any]) -> None:
    raise InputError(f"nobody wants {sorted(document)}")


def test_read_toml_gives_what_the_document_is_read_as(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("x = 1\n[[y]]\nz = 'ä'\n", encoding="utf-8")
    assert read_toml(str(path), dict) == {"x": 1, "y": [{"z": "ä"}]}


def test_read_toml_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x = 1")))
    assert read_toml("-", dict) == {"x": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"x = = 1", "Invalid value"), (b"\xe4", "decode"), (b"x = 1", "nobody wants")],
)
def test_read_toml_names_the_file_in_which_something_is_wrong(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_toml(str(path), refuse)
    assert caught.value.path == str(path)


def test_read_toml_names_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = str(tmp_path / "none.toml")
    with pytest.raises(FileFormatError, match=r"none\.toml: there is no such file$"):
        read_toml(path, dict)
