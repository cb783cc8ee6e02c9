"""The store of one broker: its durable state, behind one interface.

::

   loop's thread                     the store's thread (`writer`)
   add, put, delete, release
        |  gathered                  commit: log -- durable? -- done
        +------ take --------------->        +- beside: state file, retention

Everything goes through one log (`layout`), in the order in which it was added. The result of `take`
is one commit, stored whole or not at all. The state file follows the log (`state`). So at any
instant the disk holds a beginning of everything added, and that is what comes back.

Places count the publications that were added; `next_place` is that of the next one.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from sapwood.errors import EnvironmentMissingError, InputError, InvariantError
from sapwood.limits.store import STORE_RESERVE_BYTES
from sapwood.matching.prepared import Prepared
from sapwood.routing.inputs import Checkpoint, Note, Record
from sapwood.store.checkpoints import opened_engines
from sapwood.store.disk import SYSTEM, Disk
from sapwood.store.layout import Released, Row
from sapwood.store.lines import Line
from sapwood.store.log import Log
from sapwood.store.opening import caught_up, check_owner, open_state, opened_checkpoint
from sapwood.store.publishers import Publishers
from sapwood.store.reading import Reader, Stored, last_published
from sapwood.store.records import entry_of, publications_of, readable, size_of, state_record
from sapwood.store.writer import Gathered, Later, Policy, Writer

JOURNAL: Final = "journal"
"""The folder of the log in a broker's folder."""

DEFAULT: Final = Policy()
NO_ORIGIN: Final = ("", 0)

_RESERVE_PART: Final = 20
"""On a small disk, at most one part in this number is kept free."""


class Store:
    """The store in a folder; `close` it.

    `name` is the broker's and `protocol` that of its router, whose upkeep `persists` or not: if
    not, the log has the publications of the broker's clients, and nothing is restored. `clock`
    returns seconds since 1970. `findings` are the damages found, a sentence each.

    All methods but those of `writer` are for the thread of the event loop, and touch no file but to
    read. Raises `EnvironmentMissingError` for a folder that cannot be used, that another broker
    holds, or that is another's; `FileFormatError` for files that are none of a store.

    #: done <= next_place; the publications between are gathered, or being committed
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        clock: Callable[[], float],
        protocol: str = "",
        persists: bool = False,
        policy: Policy = DEFAULT,
        disk: Disk = SYSTEM,
    ) -> None:
        self.folder = folder
        self.name = name
        self._clock = clock
        self._log = log = Log(
            folder / JOURNAL, name, segment_bytes_max=policy.segment_bytes_max, disk=disk
        )
        self.findings = log.findings
        try:
            state, found = open_state(folder, log)
            self.findings += found
            check_owner(folder, state, name, protocol, persists=persists)
            self.findings += caught_up(log, state, persists=persists)
            self._checkpoint, found = opened_checkpoint(folder, log, state)
            self.findings += found
            self._prepared: Prepared | None = None
            if self._checkpoint is not None:
                self._prepared, found = opened_engines(folder, state, self._checkpoint)
                self.findings += found
            state.set_meta(broker=name, protocol=protocol, persists=int(persists))
            self.publishers = Publishers()
            self.publishers.recall(last_published(log.segments, self.publishers.ids_max))
        except sqlite3.Error as error:
            log.close()
            reason = f"the state in {folder} cannot be used: {error}"
            raise EnvironmentMissingError(reason) from error
        except BaseException:
            log.close()
            raise
        self._state = state
        self.writer = Writer(log, state, policy, clock, persists=persists)
        self._reader = Reader(lambda: tuple(log.segments))
        #: the place behind the publications whose commits are done
        self.done = self.next_place = log.place
        #: the places of the record of publications that was added last
        self.places = range(self.done, self.done)
        #: functions that add records to the next commit, before it is taken
        self.adders: list[Callable[[], None]] = []
        #: functions that return the first place that must stay
        self.holders: list[Callable[[], int | None]] = []
        self._gathered = Gathered(self.done)
        #: the place before which routing has released publications, until it is added to a commit
        self._released: int | None = None

    # What is to survive ------------------------------------------------------------------------

    def add(self, record: Record, origin: tuple[str, int] = NO_ORIGIN) -> None:
        """Add a record.

        `origin` is the session of a client that publishes, and the number of the first publication
        in it. Raises `LimitError` for advertised content that is too long to be written.
        """
        gathered = self._gathered
        count = len(publications_of(record))
        if count:
            gathered.items.append(Later(record, self._clock(), origin))
            gathered.records += 1
            gathered.size += size_of(record)
            gathered.count += count
            self.places = range(self.next_place, self.next_place + count)
            self.next_place += count
        else:
            gathered.items.append(entry_of(record))

    def take_back(self) -> None:
        """Remove the record that was added last, of one publication: it was refused."""
        gathered = self._gathered
        last = gathered.items.pop() if gathered.items else None
        if not isinstance(last, Later):
            raise InvariantError("there is nothing to take back")
        count = len(publications_of(last.record))
        gathered.records -= 1
        gathered.count -= count
        self.next_place -= count
        self.places = range(self.next_place, self.next_place)

    def release(self, before: int) -> None:
        """Release the publications before this place for routing; goes with the next commit."""
        self._released = before

    def put(self, kind: str, name: str, number: int, value: bytes) -> None:
        """Add a row, replacing one under the same key."""
        self._gathered.items.append(Row(kind, name, number, value))

    def delete(self, kind: str, name: str, number: int) -> None:
        """Delete a row, if it exists."""
        self._gathered.items.append(Row(kind, name, number, None))

    @property
    def is_pending(self) -> bool:
        """True if anything was added since the last `take`."""
        return bool(self._gathered.items)

    @property
    def pending_bytes(self) -> int:
        """The bytes of publications that were added since the last `take`."""
        return self._gathered.size

    def take(self) -> Gathered:
        """Everything added, to be committed by `writer.commit`, in the order of these calls."""
        for add in self.adders:
            add()
        gathered, self._gathered = self._gathered, Gathered(self.next_place)
        gathered.hold = self.hold()
        if self._released is not None:
            gathered.items.append(Released(self._released))
            self._released = None
        return gathered

    def hold(self) -> int | None:
        """The first place that a holder needs."""
        held = [place for holder in self.holders if (place := holder()) is not None]
        return min(held, default=None)

    def committed(self, gathered: Gathered) -> None:
        """Take in that a commit is done: its publications may be read, and acknowledged."""
        self.done = gathered.place + gathered.count

    def has_room(self) -> bool:
        """True if the disk has room for more than the publications accepted already."""
        try:
            usage = shutil.disk_usage(self.folder)
        except OSError:
            return True  # writing will report the error
        return usage.free >= min(STORE_RESERVE_BYTES, usage.total // _RESERVE_PART)

    # What has survived -------------------------------------------------------------------------

    @property
    def state_bytes(self) -> int:
        """The bytes of the routing state at the start, publications aside."""
        checkpoint = self._checkpoint
        return self._state.log_bytes + (0 if checkpoint is None else checkpoint.size)

    def restored(self) -> tuple[Iterator[Record], int]:
        """The records stored before this start, and the place of the first publication among them.

        Notes come first, then the last checkpoint, if there is one; then the state records since
        and the publications that are not released, in the order in which they were added. Iterate
        before the first commit; records of another version raise `EnvironmentMissingError`.
        """
        first = int(self._state.meta("released") or 0)
        return readable(self._restored(first), self.folder), first

    def _restored(self, first: int) -> Iterator[Record]:
        yield from (Note(name, value) for name, value in self._state.notes())
        checkpoint, self._checkpoint = self._checkpoint, None
        prepared, self._prepared = self._prepared, None
        if checkpoint is not None:
            yield Checkpoint(checkpoint, prepared)
        before = self._state.checkpoints[-1] if checkpoint is not None else 0
        publications = self._reader.records(first, self.done)
        following = next(publications, None)
        for place, record in self._state.records(before):
            while following is not None and following.place < place:
                yield following.record
                following = next(publications, None)
            yield state_record(record)
        while following is not None:
            yield following.record
            following = next(publications, None)

    def rows(self, kind: str) -> Iterator[tuple[str, int, bytes]]:
        """The rows of a kind as they were at the start: name, number, value, in this order."""
        return self._state.rows(kind)

    # Reading -----------------------------------------------------------------------------------

    @property
    def bounds(self) -> tuple[int, int]:
        """The place of the oldest stored publication, and the one behind the last."""
        return min(self._log.first, self.done), self.done

    def read(self, first: int, end: int) -> Iterator[Stored]:
        """The publications from a place up to, and without, another, or the last one.

        Raises `InputError` for places that are no longer stored.
        """
        self._check_kept(first)
        return self._reader.publications(first, min(end, self.done))

    def read_places(self, places: Sequence[int]) -> Iterator[Stored]:
        """The publications at these places, in this order, as far as they are whole."""
        for place in places:
            yield from self.read(place, place + 1)

    def lines(self, start: int, end: int) -> Iterator[Line]:
        """The lines (`lines`) from an offset up to, and without, another, or the last one.

        Raises `InputError` for a start that is no longer stored.
        """
        self._check_kept(start)
        return self._reader.lines(start, min(end, self.done))

    def place_at(self, time: float) -> int:
        """The place of the first publication at or after a time, or the end of the log."""
        return self._reader.place_at(time, self.done)

    def places_of_id(self, id_: str) -> Iterator[int]:
        """The places of the stored publications with an id, the last one first."""
        return self._reader.places_of_id(id_, self.done)

    def _check_kept(self, place: int) -> None:
        first = self.bounds[0]
        if place < first:
            raise InputError(
                f"offset {place} is not kept any more; the journal begins with {first}"
            )

    def close(self) -> None:
        """Make every commit durable, and release the folder for another broker."""
        self.writer.close()
