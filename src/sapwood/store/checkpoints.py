"""The checkpoints of a store: files, each with the state after a number of state records.

::

    checkpoints/00000000000000262144.checkpoint     behind the state record 262,144

    0  mark "SAPWOODC"          then parts:  0  bytes of the part, 4
    8  version, 4 bytes                      4  CRC-32 of bytes 0 to 3 and of the part
                                             8  the part

The last part is empty, so a file that was cut off is recognized. All numbers are big-endian. The
empty part is 00 00 00 00  21 44 DF 1C.

    checkpoints/00000000000000262144.engines/       the engines of its filters (`matching.prepared`)

The engines are built of the filters in the checkpoint, and spare a start from it that work. They
are not made durable: after a loss of power their checksums may fail, and then they are built anew.
A checkpoint records whether it has engines; they are put in place before it, so a whole checkpoint
has them.

A file is written under another name, made durable and then renamed; the state file names the
checkpoints in use (`state`). Two are kept, and the state records since the older one: when the
newer one turns out to be damaged, the older one and the records since make the same state.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, overload

from sapwood.errors import FileFormatError
from sapwood.matching.prepared import Prepared
from sapwood.matching.storage import remove
from sapwood.routing.upkeep.recover.checkpoint import head_of
from sapwood.store.state import StateFile

FOLDER: Final = "checkpoints"
"""The folder in a broker's folder."""

MARK: Final = b"SAPWOODC"
VERSION: Final = 1

_HEAD: Final = struct.Struct(">8sI")
_PART: Final = struct.Struct(">II")
_END: Final = ".checkpoint"
_ENGINES: Final = ".engines"
_DAMAGED: Final = ".damaged"


def path_of(folder: Path, states: int) -> Path:
    """The file of the checkpoint after `states` state records, of the store in a folder."""
    return folder / FOLDER / f"{states:020}{_END}"


def engines_of(folder: Path, states: int) -> Path:
    """The folder of the engines that were prepared for the filters of a checkpoint."""
    return path_of(folder, states).with_suffix(_ENGINES)


def put_engines(made: Path, folder: Path, states: int) -> None:
    """Put a folder of engines beside the checkpoint that is written next. Raises `OSError`."""
    target = engines_of(folder, states)
    remove(target)  # left by a process that was killed before it wrote the checkpoint
    made.rename(target)


def opened_engines(
    folder: Path, state: StateFile, checkpoint: CheckpointParts
) -> tuple[Prepared | None, list[str]]:
    """The engines of the last checkpoint, if it has any; and a finding if they are damaged."""
    if not head_of(checkpoint).prepared:
        return None, []
    try:
        return Prepared(engines_of(folder, state.checkpoints[-1])), []
    except FileFormatError as error:
        return None, [f"{error}; until there is another one, every start builds what it needs"]


def write_checkpoint(folder: Path, states: int, parts: Iterable[bytes]) -> int:
    """Write a checkpoint; return its size in bytes when it is durable. Raises `OSError`."""
    path = path_of(folder, states)
    path.parent.mkdir(exist_ok=True)
    under_way = path.with_suffix(f".{os.getpid()}.part")
    with under_way.open("wb") as file:
        file.write(_HEAD.pack(MARK, VERSION))
        for part in (*parts, b""):
            length = len(part).to_bytes(4)
            file.write(_PART.pack(len(part), zlib.crc32(part, zlib.crc32(length))))
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    under_way.rename(path)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return size


class CheckpointParts(Sequence[bytes]):
    """The parts of a checkpoint whose checksums are checked; each is read when it is accessed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places = list(_parts(path))

    def __len__(self) -> int:
        return len(self._places)

    @property
    def size(self) -> int:
        """The bytes of all parts."""
        return sum(size for _, size in self._places)

    @overload
    def __getitem__(self, at: int) -> bytes: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[bytes]: ...

    def __getitem__(self, at: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(at, slice):
            return [self[one] for one in range(len(self))[at]]
        start, size = self._places[at]
        with self._path.open("rb") as file:
            file.seek(start)
            return file.read(size)


def _parts(path: Path) -> Iterator[tuple[int, int]]:
    """The start and size of each part of a checkpoint. Raises `FileFormatError`."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise FileFormatError(str(path), "is missing") from None
    with file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or _HEAD.unpack(head)[0] != MARK:
            raise FileFormatError(str(path), "is no checkpoint")
        version = _HEAD.unpack(head)[1]
        if version != VERSION:
            raise FileFormatError(str(path), f"is of version {version}, and not of {VERSION}")
        while True:
            told = file.read(_PART.size)
            if len(told) < _PART.size:
                raise FileFormatError(str(path), "is cut off")
            size, crc = _PART.unpack(told)
            start, part = file.tell(), file.read(size)
            if len(part) < size or zlib.crc32(part, zlib.crc32(told[:4])) != crc:
                raise FileFormatError(str(path), "is damaged: a part is not what was written")
            if not part:
                return
            yield start, size


def whole_checkpoint(folder: Path, state: StateFile) -> tuple[CheckpointParts | None, list[str]]:
    """The last checkpoint that is whole, and findings about the others.

    Raises `FileFormatError` where no state can be had without a damaged one.
    """
    findings: list[str] = []
    found: CheckpointParts | None = None
    for states in reversed(state.checkpoints):
        path = path_of(folder, states)
        try:
            found = CheckpointParts(path)
            break
        except FileFormatError as error:
            aside = path.with_suffix(_DAMAGED)
            with suppress(FileNotFoundError):
                path.rename(aside)
            findings.append(f"{error}; the one before it is used")
            state.damaged(states)
    if found is None and state.first_state > 1:
        raise FileFormatError(
            str(folder / FOLDER), f"has no whole checkpoint of the {state.first_state - 1} first"
        )
    return found, findings


def remove_others(folder: Path, state: StateFile) -> None:
    """Remove the files of checkpoints that are not in use, except those set aside."""
    kept = {of(folder, states) for states in state.checkpoints for of in (path_of, engines_of)}
    for path in (folder / FOLDER).glob("*"):
        if path not in kept and path.suffix != _DAMAGED:
            remove(path)
