"""Folders of arrays and JSON: mapped when read, replaced as a whole, clear about what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapwood.errors import FileFormatError
from sapwood.matching.storage import Folder, frozen, opened, replaced


@pytest.mark.parametrize(
    "array", [np.arange(5), np.zeros(0, np.uint32), np.ones((2, 3)), np.array([True, False])]
)
def test_arrays_are_read_as_they_were_written(tmp_path: Path, array: np.ndarray) -> None:
    folder = Folder(tmp_path)
    folder.write_arrays({"a": array})
    read = folder.read_arrays(("a",))["a"]
    assert read.dtype == array.dtype
    assert np.array_equal(read, array)
    assert not read.flags.writeable
    assert type(read) is np.ndarray


def test_arrays_are_mapped_and_not_read(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write_arrays({"a": np.arange(1000)})
    read = folder.read_arrays(("a",))["a"]
    base = read
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        assert base.base is not None, "the array holds its own memory"
        base = base.base
    assert isinstance(base, np.memmap)


def test_own_arrays_can_be_written_to_without_changing_the_file(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write_arrays({"a": np.arange(5), "empty": np.zeros(0, np.int32)})
    own = folder.read_own_arrays(("a", "empty"))
    own["a"][0] = 7
    assert own["a"].tolist() == [7, 1, 2, 3, 4]
    assert type(own["a"]) is np.ndarray
    assert own["empty"].shape == (0,)
    assert folder.read_arrays(("a",))["a"].tolist() == [0, 1, 2, 3, 4]


def test_archive_in_place_of_an_array_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "a.npy").open("wb") as file:
        np.savez(file, a=np.arange(5))
    for read in (Folder(tmp_path).read_arrays, Folder(tmp_path).read_own_arrays):
        with pytest.raises(FileFormatError, match="not a readable array"):
            read(("a",))


def test_frozen_array_is_what_kernels_take() -> None:
    plain = frozen(np.arange(10)[::2])
    assert plain.flags.c_contiguous
    assert not plain.flags.writeable
    assert plain.tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("content", [None, b"", b"not an array", b"\x93NUMPY\x01\x00"])
def test_unreadable_array_is_named(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(FileFormatError, match=r"a\.npy"):
        Folder(tmp_path).read_arrays(("a",))


def test_array_of_objects_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(FileFormatError, match=r"a\.npy"):
        Folder(tmp_path).read_arrays(("a",))


def test_json_is_read_as_it_was_written(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    content = {"a": [1, "\U0001f600", "\ud83d\ude00", "\udc00", None]}
    folder.write_json("x", content)
    assert folder.read_json("x") == content
    assert folder.has_json("x")
    assert not folder.has_json("y")


@pytest.mark.parametrize("content", [None, b"{", b"\xff"])
def test_unreadable_json_is_named(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(FileFormatError, match=r"x\.json"):
        Folder(tmp_path).read_json("x")


def test_folder_names_its_parts(tmp_path: Path) -> None:
    folder = opened(str(tmp_path))
    inner = folder.make_folder("inner")
    assert inner.exists
    assert folder.folder("inner") == inner
    assert not folder.folder("other").exists
    assert folder.place("x") == str(tmp_path / "x")
    assert str(folder) == str(tmp_path)


def write(path: Path, content: object) -> None:
    with replaced(path, "header") as folder:
        folder.write_json("header", content)


def test_replaced_makes_the_folder_and_its_parents(tmp_path: Path) -> None:
    write(tmp_path / "a" / "b", 1)
    assert Folder(tmp_path / "a" / "b").read_json("header") == 1


def test_replaced_takes_the_place_of_an_empty_or_an_own_folder(tmp_path: Path) -> None:
    target = tmp_path / "x"
    target.mkdir()
    write(target, 1)
    write(target, 2)
    assert Folder(target).read_json("header") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_replaced_refuses_what_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat").write_text("precious")
    (tmp_path / "file").write_text("precious")
    for name in ("photos", "file"):
        with pytest.raises(FileFormatError, match="choose another path"):
            write(tmp_path / name, 1)
    assert (tmp_path / "photos" / "cat").read_text() == "precious"
    assert (tmp_path / "file").read_text() == "precious"


def test_replaced_keeps_the_old_folder_when_writing_fails(tmp_path: Path) -> None:
    write(tmp_path / "x", 1)
    with pytest.raises(TypeError):
        write(tmp_path / "x", object())
    assert Folder(tmp_path / "x").read_json("header") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_replaced_puts_the_old_folder_back_when_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "x", 1)
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if self.name.endswith(".partial"):
            raise PermissionError(13, "no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(PermissionError):
        write(tmp_path / "x", 2)
    assert Folder(tmp_path / "x").read_json("header") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_what_an_interrupted_replacement_has_left_goes_with_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "x.former").mkdir()
    (tmp_path / "x.partial").mkdir()
    write(tmp_path / "x", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_mapped_arrays_survive_their_replacement(tmp_path: Path) -> None:
    with replaced(tmp_path / "x", "header") as folder:
        folder.write_json("header", 1)
        folder.write_arrays({"a": np.arange(3)})
    before = Folder(tmp_path / "x").read_arrays(("a",))["a"]
    with replaced(tmp_path / "x", "header") as folder:
        folder.write_json("header", 2)
        folder.write_arrays({"a": np.arange(7)})
    assert before.tolist() == [0, 1, 2]


def sealed(path: Path) -> Folder:
    """A folder with something in it and in a folder in it."""
    folder = Folder(path)
    folder.write_arrays({"a": np.zeros(0, np.uint8)})
    folder.make_folder("inner").write_json("names", ["x"])
    folder.seal("index", {"version": 4})
    return folder


def test_seal_says_what_every_file_holds(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write_arrays({"a": np.zeros(0, np.uint8)})
    folder.seal("index", {"version": 4})
    folder.check_seal("index")
    assert folder.read_json("index") == {
        "version": 4,
        "files": {"a.npy": [128, "9ef54200"]},
        "crc32": "bddcf036",
    }


def test_files_that_are_hidden_are_overlooked(tmp_path: Path) -> None:
    folder = sealed(tmp_path)
    (tmp_path / ".a.npy.crc").write_text("x")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "x").write_text("x")
    folder.check_seal("index")


@pytest.mark.parametrize(
    ("place", "content", "message"),
    [
        ("a.npy", None, r"a\.npy: is missing; build the index again"),
        ("inner/names.json", None, "is missing"),
        ("inner/names.json", b"[]", "has 2 bytes, but 9 were saved; build the index again"),
        ("inner/names.json", b'[\n "y"\n]\n', r"names\.json: has not the checksum"),
        ("inner/more.npy", b"", r"more\.npy: was not saved with this index"),
        ("index.json", b"{}", r"index\.json: has not the checksum"),
        ("index.json", b"[]", r"index\.json: has not the checksum"),
        ("index.json", b"{", r"index\.json: is not the JSON it should be"),
        ("index.json", b'{"files": {}, "crc32": "00000000"}', r"index\.json: has not the checksum"),
    ],
)
def test_whatever_is_not_as_it_was_saved_is_refused_by_name(
    tmp_path: Path, place: str, content: bytes | None, message: str
) -> None:
    folder = sealed(tmp_path)
    folder.check_seal("index")
    if content is None:
        (tmp_path / place).unlink()
    else:
        (tmp_path / place).write_bytes(content)
    with pytest.raises(FileFormatError, match=message):
        folder.check_seal("index")


def test_every_byte_of_the_header_counts(tmp_path: Path) -> None:
    folder = sealed(tmp_path)
    written = (tmp_path / "index.json").read_bytes()
    for at in range(len(written)):
        for bit in (1, 16):
            harmed = bytearray(written)
            harmed[at] ^= bit
            (tmp_path / "index.json").write_bytes(harmed)
            with pytest.raises(FileFormatError, match=r"index\.json"):
                folder.check_seal("index")


def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    folder = sealed(tmp_path)
    (tmp_path / "a.npy").unlink()
    (tmp_path / "a.npy").mkdir()
    with pytest.raises(FileFormatError, match="is missing"):
        folder.check_seal("index")


def test_a_file_that_cannot_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = sealed(tmp_path)

    whole = Path.open

    def refuse(path: Path, *args: Any, **options: Any) -> Any:
        if path.name == "a.npy":
            raise PermissionError(13, "Permission denied")
        return whole(path, *args, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(FileFormatError, match=r"a\.npy: cannot be read: Permission denied"):
        folder.check_seal("index")
