"""Engines for filters of records that are built ahead of time, and mapped when they are needed.

A client that comes back with a million filters needs an engine for them, which takes some
microseconds for each. A program that has the filters before builds the engine then, and saves it:

::

    FOLDER/prepared.json       the kind of file; of each engine the number of its filters, the
                               length of the list of filters and its fingerprint; of every other
                               file its length and checksum
    FOLDER/NAME/records/       the files of the columnar engine
    FOLDER/NAME/slots.npy      the slot of each filter in the list; equal filters have one

An engine is taken for the very list of filters that it was built of, by the *fingerprint*, or not
at all, wherever its folder comes from; and every byte is compared with its checksum (`storage`)
before anything is mapped.

The fingerprint is BLAKE2b, of 16 bytes, over pieces of 65,536 filters: first the lengths of these,
in four bytes each, little end first, and then they themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from sapwood.errors import FileFormatError
from sapwood.matching.columnar import ColumnarEngine
from sapwood.matching.protocol import Slots
from sapwood.matching.readiness import RECORDS
from sapwood.matching.storage import REMEDY, Folder, opened
from sapwood.model.kept import KeptFilters

ENGINE: Final = "columnar"
"""The engine that wrote these files."""

HEADER: Final = "prepared"

_FORMAT: Final = "sapwood prepared engines"
_VERSION: Final = 1
_RECORDS: Final = "records"
_SLOTS: Final = "slots"

_PIECE: Final = 1 << 16

_BUILT: Final = 1 << 17
"""Filters that are built at once: joining several parts takes less memory than building all."""


def fingerprint(filters: Sequence[bytes]) -> str:
    """The digest that identifies a list of packed filters."""
    digest = blake2b(digest_size=16)
    for first in range(0, len(filters), _PIECE):
        some = filters[first : first + _PIECE]
        digest.update(np.fromiter(map(len, some), "<u4", len(some)).tobytes())
        digest.update(b"".join(some))
    return digest.hexdigest()


class Engine(NamedTuple):
    """A saved engine: its folder, the number of its filters, the slot of each in the list."""

    folder: Folder
    filters: int
    slots: Slots


def prepare(path: Path, lists: Mapping[str, Sequence[bytes]]) -> int:
    """Build an engine for each list of packed filters, and write all of them into a new folder.

    Returns the total length of the lists, or 0 (and makes no folder) where compiled kernels are not
    kept for this machine: the reader of the folder would not have them either. Raises `OSError`.
    """
    count = sum(map(len, lists.values()))
    if not count or not RECORDS.is_cached():
        return 0
    path.mkdir(parents=True)
    folder = opened(path)
    engines = {name: _prepare(folder.make_folder(name), given) for name, given in lists.items()}
    folder.seal(HEADER, {"format": _FORMAT, "version": _VERSION, "engines": engines})
    return count


def _prepare(folder: Folder, given: Sequence[bytes]) -> list[int | str]:
    """Write one engine; returns its entry of the header."""
    by_slot = {one: slot for slot, one in enumerate(dict.fromkeys(given))}
    slots = np.fromiter(map(by_slot.__getitem__, given), np.int32, len(given))
    folder.write_arrays({_SLOTS: slots})
    filters = [*by_slot]
    del by_slot
    engine = ColumnarEngine()
    for first in range(0, len(filters), _BUILT):
        some = filters[first : first + _BUILT]
        engine.add_many(KeptFilters(range(first, first + len(some)), some))
    engine.save(folder.make_folder(_RECORDS).path)
    return [len(filters), len(given), fingerprint(given)]


class Prepared:
    """The engines in a folder, with every byte compared with its checksum.

    Raises `FileFormatError` for damaged or missing files, and for another version.
    """

    def __init__(self, path: Path) -> None:
        self._folder = folder = opened(path)
        if not folder.has_json(HEADER):
            raise FileFormatError(str(folder), f"is missing, or has no {HEADER}.json; {REMEDY}")
        header = folder.read_json(HEADER)
        place = folder.place(f"{HEADER}.json")
        if not isinstance(header, dict) or header.get("format") != _FORMAT:
            raise FileFormatError(place, f"does not describe engines; {REMEDY}")
        if header.get("version") != _VERSION:
            found = header.get("version")
            raise FileFormatError(place, f"has version {found!r}, not {_VERSION}; {REMEDY}")
        folder.check_seal(HEADER)
        self._engines: Mapping[str, Any] = header["engines"]

    def engine_of(self, given: Sequence[bytes]) -> Engine | None:
        """The engine that was built of exactly this list of filters, if this folder has it."""
        as_long = [name for name, (_, length, _) in self._engines.items() if length == len(given)]
        if not as_long:
            return None
        wanted = fingerprint(given)
        for name in as_long:
            filters, _, known = self._engines[name]
            if known == wanted:
                folder = self._folder.folder(name)
                return Engine(folder, filters, folder.read_arrays((_SLOTS,))[_SLOTS])
        return None
