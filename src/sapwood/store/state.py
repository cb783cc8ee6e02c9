"""The state that a broker reads at its start: state records, notes and rows, in one SQLite file.

The file follows the log (`layout`): a commit is applied to it after the log is durable, in one
transaction with the number of the commit, so it is never ahead of the log, and the log has what it
lacks. Segments go only when their commits are applied and this file is durable itself.

::

   meta        name, value            `applied`: commit; `place`: the place behind it;
                                      `released`: place; `broker`, `protocol`
                                      `states`: state records ever; `checkpoints`: the numbers of
                                      state records before each of them (`checkpoints`)
   records     number, place, record  in the order in which they were persisted, from 1; `place` is
                                      that of the next publication; since the older checkpoint
   checkpoint                         of an earlier Sapwood; empty
   notes       name, value
   rows        kind, name, number, value

Each value has its CRC-32 beside it: SQLite checks the form of its pages, not their contents.
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
    Row,
    State,
)

FILE: Final = "state.sqlite"
APPLICATION: Final = 0x53415057
"""SQLite's `application_id`, "SAPW": so that `file` and other tools recognize the file."""

VERSION: Final = 1

_ALL: Final = 2**63 - 1
_SOME: Final = 1024
"""The number of records that are read at a time."""

_PATIENCE_S: Final = 60.0
"""Seconds that a reader waits for a writer."""

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
    """A state record, and the place of the next publication after it."""

    place: int
    record: bytes


class Change(NamedTuple):
    """The changes of a commit: in `entries`, a number stands for that number of publications."""

    number: int
    place: int
    entries: list[Entry | int]

    @classmethod
    def of(cls, commit: Commit) -> Change:
        """The change of a commit that was read."""
        return cls.made(commit.number, commit.place, commit.entries())

    @classmethod
    def made(cls, number: int, place: int, entries: Iterable[Entry]) -> Change:
        """The change of a commit with these entries."""
        return cls(
            number, place, [len(one) if isinstance(one, Publications) else one for one in entries]
        )


class StateFile:
    """The file, open. One thread at a time uses it.

    Raises `FileFormatError` for a damaged file, or one of another program;
    `EnvironmentMissingError` for one of another version, or that cannot be read.

    `is_read`: opened by another process, which changes nothing.

    #: applied and place are those of `meta`, checkpoints those named there, the older one first
    #: states counts the state records that were ever applied
    #: log_bytes are those of the records since the last checkpoint
    """

    def __init__(self, path: Path, *, is_read: bool = False) -> None:
        self.path = path
        try:
            self._file = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=ro" if is_read else path,
                timeout=_PATIENCE_S if is_read else 0,
                isolation_level=None,
                check_same_thread=False,
                uri=is_read,
            )
        except sqlite3.OperationalError as error:
            raise EnvironmentMissingError(f"{path} cannot be opened: {error}") from error
        try:
            self._prepare(is_read=is_read)
        except sqlite3.OperationalError as error:  # locked, no room, no right to
            self._file.close()
            raise EnvironmentMissingError(f"{path} cannot be used: {error}") from error
        except sqlite3.DatabaseError as error:
            self._file.close()
            raise _unusable(path, error) from error
        except BaseException:
            self._file.close()
            raise
        self.applied = int(self.meta("applied") or 0)
        self.place = int(self.meta("place") or 0)
        self.checkpoints = tuple(map(int, str(self.meta("checkpoints") or "").split()))
        (number,) = self._file.execute("SELECT coalesce(max(number), 0) FROM records").fetchone()
        self.states = max(int(self.meta("states") or 0), number)
        self.log_bytes = 0 if is_read else self._log_bytes()

    def _log_bytes(self) -> int:
        since = self.checkpoints[-1] if self.checkpoints else 0
        query = "SELECT coalesce(sum(length(record)), 0) FROM records WHERE number > ?"
        (size,) = self._file.execute(query, (since,)).fetchone()
        return int(size)

    def _prepare(self, *, is_read: bool) -> None:
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
            if is_read:
                return
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

    def meta(self, name: str) -> int | str | None:
        """The value of a name in `meta`, or `None`."""
        found = self._file.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if found is None else found[0]

    def records(self, after: int = 0, end: int = _ALL) -> Iterator[Placed]:
        """The state records after one number up to another, in order. Raises `FileFormatError`.

        A number of them is read at a time, so that a writer does not wait.
        """
        query = """SELECT number, place, record, crc FROM records
            WHERE number > ? AND number <= ? ORDER BY number LIMIT ?"""
        while found := self._file.execute(query, (after, end, _SOME)).fetchall():
            for number, place, record, crc in found:
                if number != after + 1:
                    raise FileFormatError(str(self.path), f"lacks the record {after + 1}")
                self._check(record, crc)
                yield Placed(place, record)
                after = number

    @property
    def first_state(self) -> int:
        """The number of the first state record that is there, or will be."""
        query = "SELECT coalesce(min(number), ?) FROM records"
        (number,) = self._file.execute(query, (self.states + 1,)).fetchone()
        return int(number)

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

    def set_meta(self, **values: int | str) -> None:
        """Set values of `meta`."""
        self._file.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    def apply(self, changes: Iterable[Change], applied: int, place: int) -> None:
        """Apply the changes of commits, all or nothing, up to one and the place behind it.

        Raises `sqlite3.Error`.
        """
        before = self.states, self.log_bytes
        self._file.execute("BEGIN IMMEDIATE")
        try:
            for change in changes:
                self._apply(change)
            self.set_meta(applied=applied, place=place)
            self._file.execute("COMMIT")
        except BaseException:
            self.states, self.log_bytes = before
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
                    self.set_meta(released=before)
        if records:
            insert = "INSERT INTO records (number, place, record, crc) VALUES (?, ?, ?, ?)"
            numbered = enumerate(records, self.states + 1)
            self._file.executemany(insert, ((number, *record) for number, record in numbered))
            self.states += len(records)
            self.log_bytes += sum(len(record) for _, record, _ in records)

    def forget(self, applied: int, place: int) -> None:
        """Begin again with an empty state: a state of which a part is lost is invalid."""
        self._file.execute("BEGIN IMMEDIATE")
        for table in ("records", "checkpoint", "notes"):
            self._file.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours
        self.set_meta(applied=applied, place=place, released=place, states=0, checkpoints="")
        self._file.execute("COMMIT")
        self.applied, self.place = applied, place
        self.checkpoints, self.states, self.log_bytes = (), 0, 0

    def checkpointed(self, states: int) -> None:
        """Record a checkpoint after `states` state records; those before the last one may go.

        Raises `sqlite3.Error`.
        """
        before = self.checkpoints[-1:]
        self._note_checkpoints((*before, states), before[0] if before else 0)

    def damaged(self, states: int) -> None:
        """Drop a damaged checkpoint; the state begins with an earlier one, or the first record."""
        self._note_checkpoints(tuple(one for one in self.checkpoints if one != states), 0)

    def _note_checkpoints(self, checkpoints: tuple[int, ...], before: int) -> None:
        self._file.execute("BEGIN IMMEDIATE")
        try:
            self._file.execute("DELETE FROM records WHERE number <= ?", (before,))
            self.set_meta(checkpoints=" ".join(map(str, checkpoints)), states=self.states)
            self._file.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._file.execute("ROLLBACK")
            raise
        self.checkpoints = checkpoints
        self.log_bytes = self._log_bytes()

    def sync(self) -> None:
        """Return when every applied change is durable. Raises `sqlite3.Error`."""
        self._file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _unusable(path: Path, error: sqlite3.DatabaseError) -> FileFormatError:
    return FileFormatError(str(path), f"is damaged: {error}")
