"""Reading a log: publications by place, by time, by id; as lines; the last of each publisher."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sapwood.errors import InputError
from sapwood.limits import JOURNAL_PLACES_REMEMBERED_MAX
from sapwood.routing.inputs import Record
from sapwood.store.batches import ids_in
from sapwood.store.layout import Commit, Damage, Publications
from sapwood.store.lines import Line, read_lines
from sapwood.store.publishers import Published
from sapwood.store.records import bodies_of, record_of
from sapwood.store.segments import Segment, followed, read_commits


class Stored(NamedTuple):
    """A publication of a log; `is_ours` where a client of the broker has published it.

    `published_at` is in seconds since 1970, and `encoded` the bytes as they came.
    """

    place: int
    published_at: float
    encoded: bytes
    is_ours: bool


class PlacedRecord(NamedTuple):
    """A record of publications, and the place of its first one."""

    place: int
    record: Record


class Reader:
    """Reads a log that is being written; `segments` returns its segments.

    A reader that continues where an earlier one has stopped needs no search.
    """

    def __init__(self, segments: Callable[[], Sequence[Segment]]) -> None:
        self._segments = segments
        #: the place at which a reader stopped -> its segment, and the byte from which to search
        self._places: dict[int, tuple[Segment, int]] = {}

    def publications(self, start: int, end: int) -> Iterator[Stored]:
        """The publications from a place up to, and without, another."""
        for commit in self._commits(start, end):
            for place, entry in _entries(commit):
                for at, body in enumerate(bodies_of(entry), place):
                    if start <= at < end:
                        yield Stored(at, entry.at, body, entry.is_ours)

    def records(self, start: int, end: int) -> Iterator[PlacedRecord]:
        """The records of the publications from a place up to another, cut at `start`."""
        for commit in self._commits(start, end):
            for place, entry in _entries(commit):
                if start < place + len(entry) and place < end:
                    skipped = max(0, start - place)
                    yield PlacedRecord(place + skipped, record_of(entry, skipped))

    def lines(self, start: int, end: int) -> Iterator[Line]:
        """The lines (`lines`) of publications from a place up to another."""
        for segment, following in followed(self._segments()):
            if start >= end or (following is not None and following.first <= start):
                continue
            byte = self._byte(segment, start)
            stopped: int | None = None
            try:
                for line in read_lines(segment, start, byte):
                    if line.offset >= end:
                        stopped = stopped or line.after
                        break
                    start, stopped = line.offset + 1, line.after
                    yield line
            except FileNotFoundError:
                raise _gone(start) from None
            if stopped is not None:
                self._remember(start, segment, stopped)
            if following is not None:
                start = max(start, following.first)

    def place_at(self, time: float, end: int) -> int:
        """The place of the first publication at or after a time; `end` if there is none."""
        found = [one for one in self._segments() if not one.has_lines]
        for segment in found:
            for commit in read_commits(segment):
                if isinstance(commit, Damage):
                    continue
                for place, entry in _entries(commit):
                    if entry.at >= time:
                        return place
        return end

    def places_of_id(self, id_: str, end: int) -> Iterator[int]:
        """The places of the stored publications with an id, the last one first."""
        encoded = id_.encode()
        for segment in reversed(tuple(self._segments())):
            if segment.has_lines:
                continue
            found: list[int] = []
            for commit in read_commits(segment):
                if isinstance(commit, Damage):
                    continue
                for place, entry in _entries(commit):
                    found += (at for at, one in enumerate(_ids(entry), place) if one == encoded)
            yield from (one for one in reversed(found) if one < end)

    def _commits(self, start: int, end: int) -> Iterator[Commit]:
        """The commits with a publication between two places."""
        reached = start
        for segment, following in followed(self._segments()):
            if reached >= end or (following is not None and following.first <= reached):
                continue
            if segment.has_lines:
                continue
            try:
                for commit in read_commits(segment, reached, self._byte(segment, reached)):
                    if isinstance(commit, Damage) or not commit.count:
                        continue
                    if commit.place >= end:
                        self._remember(reached, segment, commit.begin)
                        return
                    yield commit
                    reached = min(end, commit.place + commit.count)
                    is_through = reached == commit.place + commit.count
                    self._remember(reached, segment, commit.end if is_through else commit.begin)
                    if reached >= end:
                        return
            except FileNotFoundError:
                raise _gone(reached) from None

    def _byte(self, segment: Segment, place: int) -> int | None:
        known = self._places.pop(place, None)
        return known[1] if known is not None and known[0] == segment else None

    def _remember(self, place: int, segment: Segment, byte: int) -> None:
        self._places[place] = segment, byte
        if len(self._places) > JOURNAL_PLACES_REMEMBERED_MAX:
            del self._places[next(iter(self._places))]


def last_published(segments: Sequence[Segment], ids_max: int) -> list[Published]:
    """The last publications of clients, in order.

    They have at least `ids_max` ids, if the log has, and at most a segment's more.
    """
    kept: list[list[Published]] = []
    missing = ids_max
    for segment in reversed(segments):
        if missing <= 0:
            break
        found = list(_published(segment))
        kept.append(found)
        missing -= sum(len(one.ids) for one in found)
    return [one for found in reversed(kept) for one in found]


def _published(segment: Segment) -> Iterator[Published]:
    if segment.has_lines:  # lines have no publishers
        return
    for commit in read_commits(segment):
        if isinstance(commit, Damage) or not commit.count:
            continue
        for entry in commit.entries():
            if isinstance(entry, Publications) and not isinstance(entry.origin, bytes):
                session, first = entry.origin
                yield Published(entry.owner, session, first, _ids(entry))


def _ids(entry: Publications) -> list[bytes]:
    ends = entry.ends()
    return ids_in(entry.bodies, np.concatenate((np.zeros(1, np.int64), ends))[:-1])


def _entries(commit: Commit) -> Iterator[tuple[int, Publications]]:
    """The entries of publications of a commit, each with the place of its first one."""
    place = commit.place
    for entry in commit.entries():
        if isinstance(entry, Publications):
            yield place, entry
            place += len(entry)


def _gone(place: int) -> InputError:
    return InputError(f"offset {place} is not kept any more")
