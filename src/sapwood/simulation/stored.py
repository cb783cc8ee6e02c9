"""The state that survives a crash: the records of routers, and the wishes of clients.

A store writes the records and the deliveries of one input as a whole or not at all
(`effects.Persist`). Until that is written, the other effects of the input wait, and so do those of
later inputs. A crash discards waiting effects, and of unwritten inputs it leaves a part: whole
inputs, the first ones, and of the next one perhaps a torn piece, which the store sets aside.

::

    inputs since the last writing   1    2    3    4
    left by the crash               whole  whole  torn, set aside   gone
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from sapwood.errors import InvariantError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.compacting import compacted, mark_in
from sapwood.routing.effects import Deliver, Effect, Persist, Recall, Release
from sapwood.routing.inputs import (
    Checkpoint,
    ClientPublish,
    ClientPublishMany,
    Note,
    Recalled,
    Receive,
    Record,
    Restored,
)
from sapwood.routing.messages import Publish, carried
from sapwood.routing.records import is_state, publications_in, rest_of
from sapwood.routing.router import Router
from sapwood.routing.upkeep.recover.checkpoint import head_of


@dataclass(slots=True)
class Wishes:
    """The subscriptions and advertisements of a client, by its own ids."""

    subscriptions: dict[str, Interest] = field(default_factory=dict)
    advertisements: dict[str, AdvertisedContent] = field(default_factory=dict)


_BACKUP_EVERY: Final = 4
"""Inputs that are written between two backups: an older state lacks the last four to seven."""


class Tail(Enum):
    """The part of the unwritten inputs that a crash leaves."""

    LOST = "lost"
    """Nothing."""
    TORN = "torn"
    """The first half of the inputs, and a piece of the next one."""
    WHOLE = "whole"
    """All of it."""
    OLD = "old"
    """Nothing, and the last writings are gone as well: the disk has an older state."""


@dataclass(frozen=True, slots=True)
class Held:
    """An effect that waits, since a time; a message to be sent, for the life of the link then."""

    effect: Effect
    since: float
    session: int | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """The records and deliveries of one input, and the effects that wait for them, in order."""

    records: tuple[Record, ...]
    deliveries: tuple[Deliver, ...]
    waiting: list[Held]


def unit_of(effects: Sequence[Effect], held: Iterable[Held]) -> Unit:
    """The unit of an input: what has to be written, and the effects that wait for that."""
    return Unit(
        tuple(one.record for one in effects if isinstance(one, Persist)),
        tuple(one for one in effects if isinstance(one, Deliver)),
        [one for one in held if not isinstance(one.effect, Persist | Deliver)],
    )


@dataclass(slots=True)
class _Disk:
    """One router's store.

    #: log has the records in their order, publications with their places, without state records
    #: that all checkpoints stand for; `gone` is how many these are
    #: released publications are not there any more; torn pieces are at its end only, and not read
    #: checkpoints are two at most, the older one first
    """

    notes: dict[str, Note] = field(default_factory=dict)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    gone: int = 0
    returns: int = 0
    log: list[tuple[int, Record]] = field(default_factory=list)
    end: int = 0
    released: int = 0
    accepted: set[str] = field(default_factory=set)
    torn: int = 0
    #: inputs that were written since the last backup, and the last two backups
    since: int = 0
    backups: list[_Disk] = field(default_factory=list)

    def back_up(self) -> None:
        """Take a backup now and then."""
        self.since += 1
        if self.since == _BACKUP_EVERY:
            self.since = 0
            self.backups = [*self.backups[-1:], self.copied()]

    def copied(self) -> _Disk:
        """A copy of this state, on another disk."""
        return replace(
            self,
            notes=dict(self.notes),
            checkpoints=list(self.checkpoints),
            log=list(self.log),
            accepted=set(self.accepted),
            backups=[],
        )

    def write(self, record: Record) -> None:
        match record:
            case Note(name):
                self.notes[name] = record
                return
            case Checkpoint():
                self._take(record)
                return
            case ClientPublish(_, publication):
                self.accepted.add(publication.id)
            case ClientPublishMany(_, publications):
                self.accepted.update(one.id for one in publications)
            case _:
                pass
        self.log.append((self.end, record))
        self.end += publications_in(record)

    def release(self, before: int) -> None:
        if before <= self.released:
            return  # all these are gone
        self.released = before
        kept: list[tuple[int, Record]] = []
        for place, record in self.log:
            count = publications_in(record)
            if count == 0 or place >= before:
                kept.append((place, record))
            elif place + count > before:
                kept.append((before, rest_of(record, before - place)))
        self.log = kept

    def _take(self, checkpoint: Checkpoint) -> None:
        """Keep a new checkpoint and the one before, and drop the records that this covers."""
        self.checkpoints = [*self.checkpoints[-1:], checkpoint]
        if len(self.checkpoints) == 2:
            self.log = self._since(self.checkpoints[0])
            self.gone = head_of(self.checkpoints[0].parts).states

    def _since(self, checkpoint: Checkpoint | None) -> list[tuple[int, Record]]:
        """The log without the state records that a checkpoint stands for."""
        number, kept = self.gone, list[tuple[int, Record]]()
        covered = 0 if checkpoint is None else head_of(checkpoint.parts).states
        for one in self.log:
            number += is_state(one[1])
            if not is_state(one[1]) or number > covered:
                kept.append(one)
        return kept

    def compact(self, router: Router) -> None:
        """Take a checkpoint of what there is up to the mark."""
        notes = [*self.notes.values()]
        mark = mark_in(notes)
        before = self.checkpoints[-1] if self.checkpoints else None
        covered = 0 if before is None else head_of(before.parts).states
        if mark is None or mark.states <= covered:
            return
        records = [record for _, record in self._since(before) if is_state(record)]
        made = compacted(
            router.name, router.protocol, notes, before, records[: mark.states - covered]
        )
        if made is not None:
            self.write(made)

    def restored(self) -> Restored:
        """The persisted state; every second time the last checkpoint is damaged or missing."""
        self.returns += 1
        usable = self.checkpoints if self.returns % 2 else self.checkpoints[:1]
        if not self.gone and self.returns % 2 == 0 and len(self.checkpoints) == 1:
            usable = []
        log = self._since(usable[-1] if usable else None)
        first = next((place for place, one in log if publications_in(one)), self.end)
        records = (record for _, record in log)
        return Restored((*self.notes.values(), *usable[-1:], *records), first)


def _publication(record: Record) -> Publication:
    """The publication of a record; in a simulation they come one by one."""
    match record:
        case ClientPublish(_, publication):
            return publication
        case Receive(_, message):
            said = carried(message)
            assert isinstance(said, Publish), "what has a place is a publication"
            return said.publication
        case _:
            raise InvariantError("in a simulation publications come one by one")


class Stored:
    """The persisted state of each router of a world, by name."""

    __slots__ = ("_disks",)

    def __init__(self) -> None:
        self._disks: dict[str, _Disk] = {}

    def keep(self, router: str, unit: Unit) -> None:
        """Write the records of an input."""
        disk = self._disks.setdefault(router, _Disk())
        for record in unit.records:
            disk.write(record)
        disk.back_up()

    def go_back(self, router: str) -> bool:
        """Put an older state in the place of what a router has written; true if there is one."""
        disk = self._disks.get(router)
        if disk is None or not disk.backups:
            return False
        self._disks[router] = disk.backups[0].copied()
        return True

    def tear(self, router: str) -> None:
        """Leave a torn piece of a unit, as a crash does; it is never read."""
        self._disks.setdefault(router, _Disk()).torn += 1

    def release(self, router: str, release: Release) -> None:
        """A router needs no publication before a place any more."""
        self._disks.setdefault(router, _Disk()).release(release.before)

    def recalled(self, router: str, recall: Recall) -> Recalled:
        """Publications that a router has persisted, by their places; those that are there."""
        log = self._disks[router].log
        records = {place: record for place, record in log if publications_in(record)}
        found = [(one, _publication(records[one])) for one in recall.places if one in records]
        return Recalled(found, recall.places)

    def restored(self, router: str, machine: object = None) -> Restored | None:
        """The state that a router has persisted in all its lives; `None` if there is none.

        Before it crashed a checkpoint was made of what `machine`, the router that is to be
        restored, would have come to.
        """
        disk = self._disks.get(router)
        if disk is None:
            return None
        if isinstance(machine, Router):
            disk.compact(machine)
        return disk.restored()

    def has_accepted(self, router: str, publication: str) -> bool:
        """True if a router has persisted a publication of one of its clients."""
        disk = self._disks.get(router)
        return disk is not None and publication in disk.accepted

    def sizes(self) -> Iterator[tuple[str, int, int]]:
        """Each router with the state records and the publications that it keeps."""
        for router, disk in self._disks.items():
            counts = [publications_in(record) for _, record in disk.log]
            yield router, counts.count(0), sum(counts)

    def forget(self, router: str) -> None:
        """Forget a router that has left for good."""
        self._disks.pop(router, None)
