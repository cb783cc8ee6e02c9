"""Arrays and texts in a folder: plain `.npy` and JSON, mapped into memory when read.

This is the only module of the room that touches files. The others are handed a `Folder`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.errors import FileFormatError

Array: TypeAlias = npt.NDArray[Any]

PathName: TypeAlias = str | PathLike[str]
"""What names a place in the file system."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of named arrays, JSON documents and further folders."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def place(self, name: str) -> str:
        """How to call something in this folder in a message."""
        return str(self.path / name)

    def folder(self, name: str) -> Folder:
        """The folder of that name in this one; it need not exist."""
        return Folder(self.path / name)

    def make_folder(self, name: str) -> Folder:
        """A new folder in this one."""
        inner = self.path / name
        inner.mkdir()
        return Folder(inner)

    @property
    def exists(self) -> bool:
        """Whether there is such a folder."""
        return self.path.is_dir()

    def has_json(self, name: str) -> bool:
        """Whether there is a JSON document of that name."""
        return (self.path / f"{name}.json").is_file()

    def write_arrays(self, arrays: Mapping[str, Array]) -> None:
        """One `.npy` file for each array."""
        for name, array in arrays.items():
            np.save(self.path / f"{name}.npy", array, allow_pickle=False)

    def read_arrays(self, names: Iterable[str]) -> dict[str, Array]:
        """The named arrays, mapped into memory and read-only.

        Raises `FileFormatError` if one is missing or is not an array.
        """
        return {name: _mapped(self.path / f"{name}.npy") for name in names}

    def read_own_arrays(self, names: Iterable[str]) -> dict[str, Array]:
        """The named arrays, mapped into memory; what is written to one stays in this process.

        Errors as `read_arrays`.
        """
        return {name: _loaded(self.path / f"{name}.npy", "c") for name in names}

    def write_json(self, name: str, content: object) -> None:
        """One JSON document."""
        # Written as they are, lone surrogates stay what they were; escaped, two would become one.
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        (self.path / f"{name}.json").write_bytes(text.encode("utf-8", "surrogatepass"))

    def read_json(self, name: str) -> Any:
        """The JSON document that `write_json` wrote; raises `FileFormatError` for anything else."""
        path = self.path / f"{name}.json"
        try:
            return json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
        except OSError as error:
            raise FileFormatError(str(path), f"cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise FileFormatError(str(path), f"is not the JSON it should be: {error}") from None


def frozen(array: Array) -> Array:
    """The array as kernels take it: contiguous, of the base class, and read-only.

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

    `path` may hold nothing, an empty folder, or one with the JSON document `header`, which marks
    it as ours; anything else raises `FileFormatError`. Whoever has mapped files of the old folder
    keeps them. If the writing fails the old folder stays as it was.
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
    """Rename the folder `made` to `target`; what is there is `former` meanwhile, and removed then.

    If it cannot be put there, what was there stays. Raises `OSError`.
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
    """Remove a file, or a folder and all that is in it, if there is one."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _mapped(path: Path) -> Array:
    return frozen(_loaded(path, "r"))


def _loaded(path: Path, mode: Literal["r", "c"]) -> Array:
    try:
        # Not `np.load`, which takes an archive for an array and fails in its own way.
        loaded = np.lib.format.open_memmap(path, mode=mode)
        return np.ascontiguousarray(loaded).view(np.ndarray)
    except FileNotFoundError:
        raise FileFormatError(str(path), "is missing; save the index again") from None
    except (OSError, ValueError, EOFError) as error:
        raise FileFormatError(str(path), f"is not a readable array: {error}") from None
