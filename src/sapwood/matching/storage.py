"""Arrays and texts in a folder: plain `.npy` and JSON, mapped into memory when read.

This is the only module of the room that touches files. The others use a `Folder`.

Compiled code trusts the content of arrays, so what is read must be what was written. A folder is
*sealed* when all of it is there: its header then has the length and checksum of every other file,
and its own checksum, computed without that. `check_seal` reads every byte once, before anything is
mapped. That finds accidents: flipped bits, truncated copies, files of two folders in one. It does
not find changes by an attacker who computes checksums, too, nor changes after a file is mapped: a
folder is trusted, and is replaced as a whole.

The checksum is that of zlib, CRC-32: 2 GB/s here, where SHA-256 does 0.9 and BLAKE2b 0.5, so
0.06 s for the 120 MB of a million filters. Any burst of up to 32 damaged bits changes it, and
anything else does but for one time in four billion.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.errors import FileFormatError

Array: TypeAlias = npt.NDArray[Any]

PathName: TypeAlias = str | PathLike[str]
"""The name of a place in the file system."""

REMEDY: Final = "build the index again"
"""The remedy for an index that cannot be read."""

_READ_BYTES: Final = 1 << 18
"""Bytes of a file that are read at a time for its checksum: few enough to stay in the caches."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of named arrays, JSON documents and further folders."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def place(self, name: str) -> str:
        """The name of a member of this folder in messages."""
        return str(self.path / name)

    def folder(self, name: str) -> Folder:
        """The folder `name` in this one; it need not exist."""
        return Folder(self.path / name)

    def make_folder(self, name: str) -> Folder:
        """Make a new folder in this one."""
        inner = self.path / name
        inner.mkdir()
        return Folder(inner)

    @property
    def exists(self) -> bool:
        """True if the folder exists."""
        return self.path.is_dir()

    def has_json(self, name: str) -> bool:
        """True if there is a JSON document of that name."""
        return (self.path / f"{name}.json").is_file()

    def write_arrays(self, arrays: Mapping[str, Array]) -> None:
        """Write one `.npy` file for each array."""
        for name, array in arrays.items():
            np.save(self.path / f"{name}.npy", array, allow_pickle=False)

    def read_arrays(self, names: Iterable[str]) -> dict[str, Array]:
        """The named arrays, mapped into memory and read-only.

        Raises `FileFormatError` if one is missing or is not an array.
        """
        return {name: _mapped(self.path / f"{name}.npy") for name in names}

    def read_own_arrays(self, names: Iterable[str]) -> dict[str, Array]:
        """The named arrays, mapped into memory; changes to an array stay in this process.

        Errors as `read_arrays`.
        """
        return {name: _loaded(self.path / f"{name}.npy", "c") for name in names}

    def write_json(self, name: str, content: object) -> None:
        """Write one JSON document."""
        (self.path / f"{name}.json").write_bytes(_json_bytes(content))

    def read_json(self, name: str) -> Any:
        """The JSON document that `write_json` wrote; raises `FileFormatError` for anything else."""
        path = self.path / f"{name}.json"
        try:
            return json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
        except OSError as error:
            raise FileFormatError(str(path), f"cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise FileFormatError(
                str(path), f"is not the JSON it should be: {error}; {REMEDY}"
            ) from None

    def seal(self, name: str, content: Mapping[str, object]) -> None:
        """Write the JSON document `name`, which also has the lengths and checksums of all files.

        Nothing may be written into the folder from then on. In a folder with an empty array of
        bytes, `a.npy`, the document `{"version": 4}` becomes

            {"version": 4, "files": {"a.npy": [128, "9ef54200"]}, "crc32": "bddcf036"}

        where the last checksum is that of the document without it, as `write_json` writes it.
        """
        sums = {place: _size_and_sum(path) for place, path in self._files(name).items()}
        self.write_json(name, _with_sum({**content, "files": sums}))

    def check_seal(self, name: str) -> None:
        """Read every file below once, and compare it with the header `name` that `seal` wrote.

        Files whose names begin with a dot are ignored, as file systems and tools leave some. Raises
        `FileFormatError`, with the name of the file and a remedy, unless all files are unchanged.
        """
        content = self.read_json(name)
        header = self.path / f"{name}.json"
        files = content.get("files") if isinstance(content, dict) else None
        if not isinstance(files, dict) or header.read_bytes() != _json_bytes(_with_sum(content)):
            raise _damaged(header, "has not the checksum that it was saved with")
        there = self._files(name)
        for place in sorted(files.keys() | there.keys()):
            path = self.path / place
            if place not in there:
                raise _damaged(path, "is missing")
            if place not in files:
                raise _damaged(path, "was not saved with this index")
            size, checksum = files[place]
            found = path.stat().st_size
            if found != size:
                raise _damaged(path, f"has {found} bytes, but {size} were saved")
            if _size_and_sum(path) != (size, checksum):
                raise _damaged(path, "has not the checksum that it was saved with")

    def _files(self, but: str) -> dict[str, Path]:
        """All files below but one JSON document and hidden files, by relative path."""
        found = {path.relative_to(self.path): path for path in self.path.rglob("*")}
        return {
            place.as_posix(): path
            for place, path in sorted(found.items())
            if path.is_file()
            and place != Path(f"{but}.json")
            and not any(part.startswith(".") for part in place.parts)
        }


def _json_bytes(content: object) -> bytes:
    # Unescaped, lone surrogates stay as they were; escaped, two would become one character.
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "surrogatepass")


def _with_sum(content: Mapping[str, object]) -> dict[str, object]:
    """The document with its checksum as the last member, computed over the others."""
    rest = {name: value for name, value in content.items() if name != "crc32"}
    return {**rest, "crc32": f"{zlib.crc32(_json_bytes(rest)):08x}"}


def _size_and_sum(path: Path) -> tuple[int, str]:
    """The length and the checksum of a file; raises `FileFormatError` if it cannot be read."""
    size, checksum = 0, 0
    piece = memoryview(bytearray(_READ_BYTES))
    try:
        with path.open("rb", buffering=0) as file:
            while count := file.readinto(piece):
                size += count
                checksum = zlib.crc32(piece[:count], checksum)
    except OSError as error:
        raise FileFormatError(str(path), f"cannot be read: {error.strerror}") from None
    return size, f"{checksum:08x}"


def _damaged(path: Path, what: str) -> FileFormatError:
    return FileFormatError(str(path), f"{what}; {REMEDY}, or copy it from where it is whole")


def frozen(array: Array) -> Array:
    """The array in the form that kernels take: contiguous, of the base class, and read-only.

    Compiled code is made for one type of array, and being writable is part of the type. Mapped
    arrays are read-only, hence all are.
    """
    plain = np.ascontiguousarray(array).view(np.ndarray)
    plain.flags.writeable = False
    return plain


def opened(path: PathName) -> Folder:
    """The folder at `path`; it need not exist."""
    return Folder(Path(path))


@contextmanager
def replaced(path: PathName, header: str) -> Iterator[Folder]:
    """A new folder to write into that takes the place of `path` once all is written.

    `path` may hold nothing, an empty folder, or one with the JSON document `header`, which marks it
    as ours; anything else raises `FileFormatError`. Processes that have mapped files of the old
    folder keep them. If the writing fails the old folder stays as it was.
    """
    target = Path(path)
    if target.exists() and not (
        target.is_dir() and (Folder(target).has_json(header) or not any(target.iterdir()))
    ):
        raise FileFormatError(str(target), "exists and was not written here; choose another path")
    partial = target.with_name(target.name + ".partial")
    former = target.with_name(target.name + ".former")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield Folder(partial)
        put_in_place(partial, target, former)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def put_in_place(made: Path, target: Path, former: Path) -> None:
    """Rename the folder `made` to `target`; the old `target` is `former` meanwhile, then removed.

    If `made` cannot be renamed, the old folder stays. Raises `OSError`.
    """
    if target.exists():
        remove(former)
        target.rename(former)
        try:
            made.rename(target)
        except OSError:
            former.rename(target)
            raise
    else:
        made.rename(target)
    remove(former)


def remove(path: Path) -> None:
    """Remove a file, or a folder with all its content, if it exists."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _mapped(path: Path) -> Array:
    return frozen(_loaded(path, "r"))


def _loaded(path: Path, mode: Literal["r", "c"]) -> Array:
    try:
        # Not `np.load`, which accepts archives too and raises other errors.
        loaded = np.lib.format.open_memmap(path, mode=mode)
        return np.ascontiguousarray(loaded).view(np.ndarray)
    except FileNotFoundError:
        raise FileFormatError(str(path), f"is missing; {REMEDY}") from None
    except (OSError, ValueError, EOFError) as error:
        raise FileFormatError(str(path), f"is not a readable array: {error}; {REMEDY}") from None
