"""The sizes of a broker's routing tables over time: figures for people, beside its journal.

They are in a folder within the journal's, so a copy of the journal has them. Offsets count
publications, so these lines cannot be among them; readers of publications open the journal's own
files only, and ignore the folder, those of earlier versions, too. JSON Lines, one line for each
table whose size differs from that of its line before::

   tables/latest.jsonl
       {"broker":"r1","table":"local","at":"2026-01-01T00:00:00.250000Z","entries":12}

A size holds until the next line of its table. `latest.jsonl` begins with all tables; when it is
full it becomes `earlier.jsonl`, in place of an older one.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

import msgspec

from sapwood.errors import EnvironmentMissingError
from sapwood.limits import TABLE_SIZES_BYTES_MAX
from sapwood.store.lines import mended

FOLDER: Final = "tables"
"""The folder of table sizes in a journal's folder."""

LATEST: Final = "latest.jsonl"
EARLIER: Final = "earlier.jsonl"


class _Line(msgspec.Struct):
    broker: str
    table: str
    at: str
    entries: int


def size_files(journal: Path) -> list[Path]:
    """The files with the table sizes of a journal, oldest first; none where it has none."""
    files = (journal / FOLDER / name for name in (EARLIER, LATEST))
    return [file for file in files if file.is_file()]


class TableSizes:
    """The writer of a broker's table sizes.

    `journal` is a folder that no other process writes to, `bytes_max` the bound of both files
    together, give or take one write. Nothing is made durable: a machine that fails loses figures,
    and no promise. Raises `EnvironmentMissingError` where the folder cannot be written.

    #: `_known` has the sizes in the lines of `_file`, which is `_size` bytes long
    """

    def __init__(
        self, journal: Path, broker: str, *, bytes_max: int = TABLE_SIZES_BYTES_MAX
    ) -> None:
        self._folder = journal / FOLDER
        self._broker = broker
        self._file_bytes_max = bytes_max // 2
        #: sizes of an earlier run do not count: tables are empty when a broker begins
        self._known: dict[str, int] = {}
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = (self._folder / LATEST).open("ab", buffering=0)
            self._size = mended(self._file, self._folder / LATEST)
        except OSError as error:
            raise EnvironmentMissingError(
                f"the table sizes in {self._folder} cannot be written: {error.strerror}"
            ) from error

    def write(self, sizes: Mapping[str, int], at: float) -> None:
        """Write the entries of each table at a time (seconds since 1970), where they changed.

        Raises `OSError` where the disk refuses them; nothing is written then.
        """
        if self._size >= self._file_bytes_max:
            self._begin_file()
        changed = {table: n for table, n in sizes.items() if self._known.get(table) != n}
        if not changed:
            return
        moment = datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")
        when = moment.replace("+00:00", "Z")
        lines = b"".join(
            msgspec.json.encode(_Line(self._broker, table, when, n)) + b"\n"
            for table, n in changed.items()
        )
        try:
            if self._file.write(lines) != len(lines):
                raise OSError(errno.ENOSPC, "the disk is full")
        except OSError:
            self._file.truncate(self._size)
            raise
        self._size += len(lines)
        self._known |= changed

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _begin_file(self) -> None:
        """Rename the present file as the earlier one; the new one begins with all tables."""
        latest = self._folder / LATEST
        with suppress(FileNotFoundError):  # where an earlier attempt was interrupted here
            latest.replace(self._folder / EARLIER)
        file = latest.open("xb", buffering=0)
        self._file.close()
        self._file, self._size, self._known = file, 0, {}
