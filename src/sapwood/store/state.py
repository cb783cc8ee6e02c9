"""What is looked up when a broker starts: state records, notes and rows, in one file of SQLite.

The file follows the log (`layout`): what a commit holds is applied to it after the log is durable,
in one transaction with the number of the commit, so it is never ahead of the log, and what it lacks
is in the log. Segments go only when what they hold is applied and this file is durable itself.

::

    meta        name, value            `applied`: commit; `place`: the place behind it;
                                       `released`, `checkpoint`: places; `broker`, `protocol`
    records     number, place, record  in the order in which they were persisted; `place` is that
                                       of the next publication
    checkpoint  number, record         parts
    notes       name, value
    rows        kind, name, number, value

Each value has its CRC-32 beside it: SQLite checks its pages' form, not what lies in them.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from sapwood.errors import EnvironmentMissingError, FileFormatError
from sapwood.store.layout import (
    Commit,
    Entry,
    Publications,
    Released,
    Remembered,
    Replaced,
    Row,
    State,
)

FILE: Final = "state.sqlite"
APPLICATION: Final = 0x53415057
"""SQLite's `application_id`, "SAPW": so `file` and others know whose it is."""

VERSION: Final = 1

_SCHEMA: Final = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "CREATE TABLE records (number INTEGER PRIMARY KEY, place INTEGER, record BLOB, crc INTEGER)",
    "CREATE TABLE checkpoint (number INTEGER PRIMARY KEY, record BLOB, crc INTEGER)",
    "CREATE TABLE notes (name TEXT PRIMARY KEY, value BLOB, crc INTEGER) WITHOUT ROWID",
    """CREATE TABLE rows (kind TEXT, name TEXT, number INTEGER, value BLOB, crc INTEGER,
    PRIMARY KEY (kind, name, number)) WITHOUT ROWID""",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


class Placed(NamedTuple):
    """A state record, and the place of the publication that comes next after it."""

    place: int
    record: bytes


class Change(NamedTuple):
    """What a commit changes: in `entries`, a number stands for so many publications."""

    number: int
    place: int
    entries: list[Entry | int]

    @classmethod
    def of(cls, commit: Commit) -> Change:
        """That of a commit that was read."""
        return cls.made(commit.number, commit.place, commit.entries())

    @classmethod
    def made(cls, number: int, place: int, entries: Iterable[Entry]) -> Change:
        """That of a commit with these entries."""
        return cls(
            number, place, [len(one) if isinstance(one, Publications) else one for one in entries]
        )


class StateFile:
    """The file, open. One thread at a time uses it.

    Raises `FileFormatError` for a damaged one, or one of another program; `EnvironmentMissingError`
    for one of another version, or that cannot be read.

    #: applied and place are what `meta` says
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = sqlite3.connect(
                path, timeout=0, isolation_level=None, check_same_thread=False
            )
        except sqlite3.OperationalError as error:
            raise EnvironmentMissingError(f"{path} cannot be opened: {error}") from error
        try:
            self._prepare()
        except sqlite3.OperationalError as error:  # locked, no room, no right to
            self._file.close()
            raise EnvironmentMissingError(f"{path} cannot be used: {error}") from error
        except sqlite3.DatabaseError as error:
            self._file.close()
            raise _unusable(path, error) from error
        except BaseException:
            self._file.close()
            raise
        self.applied = int(self.told("applied") or 0)
        self.place = int(self.told("place") or 0)

    def _prepare(self) -> None:
        file = self._file
        (is_new,) = file.execute("SELECT count(*) = 0 FROM sqlite_master").fetchone()
        (application,) = file.execute("PRAGMA application_id").fetchone()
        (version,) = file.execute("PRAGMA user_version").fetchone()
        if not is_new:
            if application != APPLICATION:
                raise FileFormatError(str(self.path), "is no state of a broker")
            if version != VERSION:
                raise EnvironmentMissingError(
                    f"{self.path} is of version {version}, and this is Sapwood with version "
                    f"{VERSION} of it; use the Sapwood that wrote it, or another folder"
                )
            (found,) = file.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise FileFormatError(str(self.path), f"is damaged: {found}")
        file.execute("PRAGMA journal_mode = WAL")
        file.execute("PRAGMA synchronous = NORMAL")
        if is_new:
            file.execute("BEGIN")
            for statement in _SCHEMA:
                file.execute(statement)
            file.execute("COMMIT")

    # Reading -----------------------------------------------------------------------------------

    def told(self, name: str) -> int | str | None:
        """A value of `meta`."""
        found = self._file.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if found is None else found[0]

    def records(self) -> Iterator[Placed]:
        """The state records since the checkpoint, in order. Raises `FileFormatError`."""
        query = "SELECT place, record, crc FROM records ORDER BY number"
        for place, record, crc in self._file.execute(query):
            self._check(record, crc)
            yield Placed(place, record)

    def checkpoint(self) -> list[bytes]:
        """The parts of the last checkpoint; none where there is none. Raises `FileFormatError`."""
        found = []
        for record, crc in self._file.execute("SELECT record, crc FROM checkpoint ORDER BY number"):
            self._check(record, crc)
            found.append(record)
        return found

    def notes(self) -> list[tuple[str, bytes]]:
        """All notes, by name. Raises `FileFormatError`."""
        found = self._file.execute("SELECT name, value, crc FROM notes ORDER BY name").fetchall()
        for _, value, crc in found:
            self._check(value, crc)
        return [(name, value) for name, value, _ in found]

    def rows(self, kind: str) -> Iterator[tuple[str, int, bytes]]:
        """The rows of a kind, by name and number. Raises `FileFormatError`."""
        query = "SELECT name, number, value, crc FROM rows WHERE kind = ? ORDER BY name, number"
        for name, number, value, crc in self._file.execute(query, (kind,)):
            self._check(value, crc)
            yield name, number, value

    def _check(self, value: bytes, crc: int) -> None:
        if zlib.crc32(value) != crc:
            raise FileFormatError(str(self.path), "is damaged: a value is not what was written")

    # Writing -----------------------------------------------------------------------------------

    def tell(self, **values: int | str) -> None:
        """Set values of `meta`."""
        self._file.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    def apply(self, changes: Iterable[Change], applied: int, place: int) -> None:
        """Apply what commits change, all or nothing, up to one and the place behind it.

        Raises `sqlite3.Error`.
        """
        self._file.execute("BEGIN IMMEDIATE")
        try:
            for change in changes:
                self._apply(change)
            self.tell(applied=applied, place=place)
            self._file.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._file.execute("ROLLBACK")
            raise
        self.applied, self.place = applied, place

    def _apply(self, change: Change) -> None:
        execute, place = self._file.execute, change.place
        records: list[tuple[int, bytes, int]] = []
        for entry in change.entries:
            match entry:
                case int():
                    place += entry
                case State(record):
                    records.append((place, record, zlib.crc32(record)))
                case Remembered(name, value):
                    row = (name, value, zlib.crc32(value))
                    execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", row)
                case Row(kind, name, number, None):
                    key = "DELETE FROM rows WHERE kind = ? AND name = ? AND number = ?"
                    execute(key, (kind, name, number))
                case Row(kind, name, number, value):
                    put = (kind, name, number, value, zlib.crc32(value or b""))
                    execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?)", put)
                case Released(before):
                    self.tell(released=before)
                case Replaced(parts):
                    records.clear()
                    execute("DELETE FROM records")
                    execute("DELETE FROM checkpoint")
                    insert = "INSERT INTO checkpoint (record, crc) VALUES (?, ?)"
                    self._file.executemany(insert, ((part, zlib.crc32(part)) for part in parts))
                    self.tell(checkpoint=place)
        insert = "INSERT INTO records (place, record, crc) VALUES (?, ?, ?)"
        self._file.executemany(insert, records)

    def forget(self, applied: int, place: int) -> None:
        """Begin again with nothing: state of which a part is lost is no state."""
        self._file.execute("BEGIN IMMEDIATE")
        for table in ("records", "checkpoint", "notes"):
            self._file.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours
        self._file.execute("DELETE FROM meta WHERE name = 'checkpoint'")
        self.tell(applied=applied, place=place, released=place)
        self._file.execute("COMMIT")
        self.applied, self.place = applied, place

    def sync(self) -> None:
        """Return when all that was applied is durable. Raises `sqlite3.Error`."""
        self._file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def _unusable(path: Path, error: sqlite3.DatabaseError) -> FileFormatError:
    return FileFormatError(str(path), f"is damaged: {error}")
