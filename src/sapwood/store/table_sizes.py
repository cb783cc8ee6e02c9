"""How large a broker's routing tables were, and when: figures for people, beside its journal.

They lie in a folder within the journal's, so whoever has the journal has them. Offsets count
publications, so these lines cannot stand among them; readers of publications look at the journal's
own files only, and pass the folder over, those of earlier versions, too. JSON Lines, one line for
each table whose size is not what the line before said::

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
    """Where a broker writes down how large its tables are.

    `journal` is a folder that nobody else writes to, `bytes_max` what both files together may take,
    give or take what is written at once. Nothing is made durable: what a machine that fails takes
    with it are figures, and no promise. Raises `EnvironmentMissingError` where the folder cannot be
    written.

    #: `_known` is what the lines of `_file` say, which is `_size` bytes long
    """

    def __init__(
        self, journal: Path, broker: str, *, bytes_max: int = TABLE_SIZES_BYTES_MAX
    ) -> None:
        self._folder = journal / FOLDER
        self._broker = broker
        self._file_bytes_max = bytes_max // 2
        #: nothing is known of what an earlier run held: tables are empty when a broker begins
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
        """Write down the entries of each table at a time (seconds since 1970), where they changed.

        Raises `OSError` where the disk does not take it; nothing is written then.
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
        """Let go of the file."""
        self._file.close()

    def _begin_file(self) -> None:
        """Keep what there is as the earlier file; the new one begins with all tables."""
        latest = self._folder / LATEST
        with suppress(FileNotFoundError):  # where an earlier attempt came as far as this
            latest.replace(self._folder / EARLIER)
        file = latest.open("xb", buffering=0)
        self._file.close()
        self._file, self._size, self._known = file, 0, {}
