"""The file of rejected lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sapwood.errors import FileFormatError
from sapwood.files.rejections import RejectedFile, StrictRejections, rejected_path


def test_rejected_file_holds_one_object_a_line(tmp_path: Path) -> None:
    path = tmp_path / "out.rejected"
    with RejectedFile(str(path)) as rejected:
        rejected.reject("subs.jsonl", 3, "no good", '{"é"\n')
        rejected.reject("pubs.jsonl", 1, "no better", "")
    assert rejected.count == 2
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == [
        {"file": "subs.jsonl", "line": 3, "reason": "no good", "text": '{"é"\n'},
        {"file": "pubs.jsonl", "line": 1, "reason": "no better", "text": ""},
    ]


def test_rejected_file_is_not_made_when_nothing_is_rejected(tmp_path: Path) -> None:
    with RejectedFile(str(tmp_path / "out.rejected")) as rejected:
        pass
    assert rejected.count == 0
    assert list(tmp_path.iterdir()) == []


def test_rejected_file_of_an_earlier_run_goes_when_nothing_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "out.rejected"
    path.write_text("old", encoding="utf-8")
    with RejectedFile(str(path)):
        assert path.read_text(encoding="utf-8") == "old"
    assert not path.exists()


@pytest.mark.parametrize("rejecting", [False, True])
def test_rejected_file_stays_as_it_was_when_the_run_fails(
    tmp_path: Path, *, rejecting: bool
) -> None:
    path = tmp_path / "out.rejected"
    path.write_text("old", encoding="utf-8")
    rejected = RejectedFile(str(path))
    with pytest.raises(ZeroDivisionError), rejected:  # noqa: PT012 - the block is what is tested
        if rejecting:
            rejected.reject("subs.jsonl", 1, "no good", "")
        raise ZeroDivisionError
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_takes_the_place_of_none_and_stays_when_the_run_fails(tmp_path: Path) -> None:
    path = tmp_path / "out.rejected"
    path.write_text("old", encoding="utf-8")
    with RejectedFile(str(path), new=True) as nothing:
        pass
    assert (nothing.path, list(tmp_path.iterdir())) == (str(path), [path])
    rejected = RejectedFile(str(path), new=True)
    with pytest.raises(ZeroDivisionError), rejected:  # noqa: PT012 - the block is what is tested
        rejected.reject("-", 1, "no good", "{")
        raise ZeroDivisionError
    assert rejected.path == f"{path}.2"
    assert path.read_text(encoding="utf-8") == "old"
    assert json.loads(Path(rejected.path).read_text(encoding="utf-8"))["text"] == "{"


def test_a_new_file_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    rejected = RejectedFile(str(tmp_path / "none" / "out"), new=True)
    with rejected, pytest.raises(FileFormatError, match="cannot be written: No such file"):
        rejected.reject("-", 1, "no good", "{")


def test_strict_rejections_raise_with_the_place() -> None:
    with pytest.raises(FileFormatError) as caught:
        StrictRejections().reject("subs.jsonl", 3, "no good", "{")
    assert str(caught.value) == "subs.jsonl, line 3: no good"


def test_rejected_path_is_beside_the_deliveries_if_those_go_to_a_file(tmp_path: Path) -> None:
    new, old = str(tmp_path / "new"), tmp_path / "old"
    old.touch()
    assert rejected_path("s", "p", new) == f"{new}.rejected"
    assert rejected_path("s", "p", str(old)) == f"{old}.rejected"


@pytest.mark.parametrize("out", [None, "/dev/null"])
def test_rejected_path_is_beside_an_input_otherwise(out: str | None) -> None:
    assert rejected_path("s", "p", out) == "p.rejected"
    assert rejected_path("s", "-", out) == "s.rejected"
