"""The subscriptions of a client, or its advertisements, and the calls that wait for answers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from sapwood.errors import DuplicateIdError, InputError, UnknownIdError
from sapwood.session.client_entries import (
    ClientEntries,
    EntriesConfirmed,
    EntriesEvent,
    EntriesWithdrawn,
    Entry,
    EntryChanged,
    EntryConfirmed,
    EntryEvent,
    EntryKept,
    EntryRefused,
)

F = TypeVar("F")
T = TypeVar("T")

SLICE_S: Final = 0.005
"""Seconds for which the event loop does nothing but read the filters to request."""

SLICE_LEAST: Final = 32
"""The number of filters that are read between two looks at the clock."""


@dataclass(slots=True, eq=False)
class Request(Generic[T]):
    """The application's side of one entry of the session.

    `value` is the application's. Calls wait for `confirmed` and `withdrawn`; the second is `None`
    as long as no call waits for a withdrawal.
    """

    value: T
    confirmed: asyncio.Future[None]
    withdrawn: asyncio.Future[None] | None = None

    def leave(self, id_: str) -> tuple[asyncio.Future[None], bool]:  # noqa: ARG002 - there is one
        """A future that is done when the entry is gone; true if no call waited for that before."""
        is_first = self.withdrawn is None
        if self.withdrawn is None:
            self.withdrawn = asyncio.get_running_loop().create_future()
        return self.withdrawn, is_first

    def in_force(self, entry: Entry[Any, Any]) -> None:  # noqa: ARG002 - there is one
        """Take in that an entry of the request is in force."""
        finish(self.confirmed, None)

    def refused(self, entry: Entry[Any, Any], reason: str) -> None:
        """Take in that the broker refuses an entry of the request; `gone` follows."""

    def gone(self, entry: Entry[Any, Any], unconfirmed: Exception | None) -> bool:  # noqa: ARG002
        """Take in that an entry of the request is gone; true if it was the last.

        A call that waits for it to be in force gets the error.
        """
        finish(self.confirmed, unconfirmed)
        finish(self.withdrawn, None)
        return True

    def fail(self, error: Exception) -> None:
        """Fail the calls that wait: no answer will come any more."""
        finish(self.confirmed, error)
        finish(self.withdrawn, None)  # withdrawn with the connection


@dataclass(slots=True, eq=False)
class GroupRequest(Request[T]):
    """The application's side of several entries that were requested together.

    `confirmed` waits until each was in force or is gone, `withdrawn` until all are gone.

    While it `is_reading` its future entries, it does not end when it has none.

    #: members are the ids of the entries that are not gone; unanswered is how many never were in
    #: force
    #: leaving has the futures of calls that withdraw single members
    """

    members: dict[str, None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    unanswered: int = 0
    is_reading: bool = False
    leaving: dict[str, asyncio.Future[None]] = field(default_factory=dict)
    #: done when the broker has answered about any entry
    answered: asyncio.Future[None] | None = None

    def enter(self, id_: str) -> None:
        """Add an entry."""
        self.members[id_] = None
        self.unanswered += 1

    async def each_answer(self) -> AsyncIterator[int]:
        """The number of answered entries, after each answer of the broker; ends with the last."""
        count = len(self.members)
        while not self.confirmed.done():
            self.answered = asyncio.get_running_loop().create_future()
            await asyncio.wait((self.answered, self.confirmed), return_when="FIRST_COMPLETED")
            yield count - self.unanswered

    def leave(self, id_: str) -> tuple[asyncio.Future[None], bool]:
        """A future that is done when that entry is gone; true if no call waited for that before."""
        is_first = id_ not in self.leaving
        if is_first:
            self.leaving[id_] = asyncio.get_running_loop().create_future()
        return self.leaving[id_], is_first

    def in_force(self, entry: Entry[Any, Any]) -> None:
        """Take in that an entry of the request is in force."""
        if not entry.was_in_force:
            entry.was_in_force = True
            self._answered()

    def refused(self, entry: Entry[Any, Any], reason: str) -> None:
        """Record that the broker refuses an entry of the request; the others are not affected."""
        self.reasons[entry.id] = reason

    def gone(self, entry: Entry[Any, Any], unconfirmed: Exception | None) -> bool:  # noqa: ARG002
        """Take in that an entry of the request is gone; true if it was the last."""
        del self.members[entry.id]
        finish(self.leaving.pop(entry.id, None), None)
        if not entry.was_in_force:
            self._answered()
        is_over = not (self.members or self.is_reading)
        if is_over:
            finish(self.withdrawn, None)
        return is_over

    def fail(self, error: Exception) -> None:
        """Fail the calls that wait: no answer will come any more."""
        finish(self.confirmed, error)
        for leaving in (self.withdrawn, *self.leaving.values()):
            finish(leaving, None)

    def _answered(self) -> None:
        self.unanswered -= 1
        finish(self.answered, None)
        if not (self.unanswered or self.is_reading):
            finish(self.confirmed, None)


@dataclass(frozen=True, slots=True)
class RequestingMany(Generic[F, T]):
    """The functions with which a client requests several entries at a time.

    `hold` makes an entry that `request` will request. `withdraw` returns the first entries that
    were gone without an answer of the broker, if there are any.
    """

    hold: Callable[[str, F, GroupRequest[T]], Entry[F, Any]]
    request: Callable[[deque[Entry[F, Any]]], None]
    withdraw: Callable[[Sequence[str]], EntriesWithdrawn | None]


@dataclass(frozen=True, slots=True)
class Requesting(Generic[F, T]):
    """The functions with which a client requests entries of one kind.

    `withdraw` returns `False` where the broker will not answer. `ended` is called with each value
    whose entries are gone, and the error that ended it. `many` is given where several entries can
    be requested together, `change` where an entry can get another filter.
    """

    request: Callable[[str, F, Request[T]], None]
    withdraw: Callable[[str], bool]
    flush: Callable[[], None]
    ended: Callable[[T, Exception | None], None]
    many: RequestingMany[F, T] | None = None
    change: Callable[[str, F], None] | None = None


class Requests(Generic[F, T]):
    """Requests entries of one kind and passes the broker's answers to the calls that wait.

    The session holds the entries; each has its `Request` as its owner.

    #: _requests are the owners of all entries, in the order in which they were requested first
    #: _changing has the future of an entry's change, by the entry's id
    """

    def __init__(self, entries: ClientEntries[F, Request[T]], requesting: Requesting[F, T]) -> None:
        self._entries = entries
        self._requesting = requesting
        self._requests: dict[Request[T], None] = {}
        self._changing: dict[str, asyncio.Future[None]] = {}
        self._failure: Exception | None = None

    def __contains__(self, id_: object) -> bool:
        return id_ in self._entries

    def __len__(self) -> int:
        """The number of entries."""
        return len(self._entries)

    def __iter__(self) -> Iterator[T]:
        """The values, each once."""
        return (request.value for request in self._requests)

    def get(self, id_: str) -> T | None:
        """The value of this id, or `None`."""
        entry = self._entries.get(id_)
        return None if entry is None else entry.owner.value

    # What the application asks for -------------------------------------------------------------

    async def add(self, id_: str, filter_: F, value: T) -> None:
        """Request an entry; returns when it is in force. Cancelled, it is withdrawn.

        Raises `DuplicateIdError`, and `InputError` with the broker's reason where it refuses.
        """
        if id_ in self._entries:
            raise DuplicateIdError(self._entries.kind.noun, id_)
        confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        request = Request(value, confirmed)
        self._requests[request] = None
        self._requesting.request(id_, filter_, request)
        self._requesting.flush()
        try:
            await confirmed
        except asyncio.CancelledError:
            entry = self._entries.get(id_)
            if entry is not None and entry.owner is request:
                self.withdraw(id_)
            raise

    async def add_many(
        self,
        wanted: Iterable[tuple[str, F]],
        request: GroupRequest[T],
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Request several entries for a group; returns when each is in force or refused.

        The event loop is free now and then while `wanted` is read, and `progress` is called with
        the number of answered entries. Cancelled, or when one of the two raises an error, it
        withdraws the entries. Raises `DuplicateIdError`, before any is requested.
        """
        assert self._requesting.many is not None, "there are no groups of this kind"
        self._requests[request] = None
        request.is_reading = True
        try:
            held = await self._held(wanted, request)
        except BaseException as error:
            request.is_reading = False
            await self._give_up(request, error)
            raise
        request.is_reading = False
        if not request.members:
            self._requests.pop(request, None)
            if held:  # all are withdrawn by now
                self._requesting.ended(request.value, None)
            return
        self._requesting.many.request(held)
        self._requesting.flush()
        try:
            if progress is not None:
                async for answered in request.each_answer():
                    progress(answered)
            await request.confirmed
        except BaseException as error:
            confirmed = request.confirmed
            has_failed = confirmed.done() and not confirmed.cancelled() and confirmed.exception()
            if not has_failed:
                await self._give_up(request, error)
            raise

    async def _held(
        self, wanted: Iterable[tuple[str, F]], request: GroupRequest[T]
    ) -> deque[Entry[F, Any]]:
        """The entries of a group, of which none is requested yet."""
        many, entries = self._requesting.many, self._entries
        assert many is not None
        held: deque[Entry[F, Any]] = deque()
        clock = asyncio.get_running_loop().time
        end = clock() + SLICE_S
        for number, (id_, filter_) in enumerate(wanted):
            if id_ in entries:
                raise DuplicateIdError(entries.kind.noun, id_)
            held.append(many.hold(id_, filter_, request))
            request.enter(id_)
            if not number % SLICE_LEAST and clock() >= end:
                await asyncio.sleep(0)
                end = clock() + SLICE_S
        return held

    async def _give_up(self, request: GroupRequest[T], error: BaseException) -> None:
        """Withdraw an abandoned group; a call that is not cancelled waits until that is done."""
        if not request.members:
            self._requests.pop(request, None)
            return
        gone, _ = Request.leave(request, "")
        self._withdraw_all(request)
        if not isinstance(error, asyncio.CancelledError):
            await asyncio.shield(gone)

    async def change(self, id_: str, filter_: F, value: T) -> None:
        """Change the filter of a value's entry; returns when the new one is in force.

        Changes of one entry follow each other. A cancelled call does not undo its change. Raises
        `UnknownIdError`, and `InputError` where the broker refuses: then the entry is as before.
        """
        assert self._requesting.change is not None, "entries of this kind are never changed"
        await asyncio.shield(self._owner_of(id_, value).confirmed)
        while (before := self._changing.get(id_)) is not None:
            await asyncio.wait((before,))
        if self._failure is not None:
            raise self._failure
        self._owner_of(id_, value)
        done = self._changing[id_] = asyncio.get_running_loop().create_future()
        done.add_done_callback(looked_at)
        self._requesting.change(id_, filter_)
        self._requesting.flush()
        await asyncio.shield(done)

    def _owner_of(self, id_: str, value: T) -> Request[T]:
        entry = self._entries.get(id_)
        if entry is None or entry.owner.value is not value or entry.is_leaving:
            raise UnknownIdError(self._entries.kind.noun, id_)
        return entry.owner

    async def remove(self, id_: str) -> None:
        """Withdraw an entry; returns when it is withdrawn. Raises `UnknownIdError`."""
        entry = self._entries.get(id_)
        if entry is None:
            raise UnknownIdError(self._entries.kind.noun, id_)
        answer, is_first = entry.owner.leave(id_)
        if is_first:
            if not self._requesting.withdraw(id_):
                self._withdrawn(entry)
            self._requesting.flush()
        await asyncio.shield(answer)

    async def remove_many(self, ids: Collection[str]) -> None:
        """Withdraw a group, whose ids these are; returns when it is withdrawn."""
        entry = self._entries.get(next(iter(ids), ""))
        if entry is not None and isinstance(entry.owner, GroupRequest):
            answer, is_first = Request.leave(entry.owner, "")
            if is_first:
                self._withdraw_all(entry.owner)
            await asyncio.shield(answer)

    def withdraw(self, id_: str) -> None:
        """Withdraw an entry, or its whole group, without waiting."""
        entry = self._entries.get(id_)
        if entry is not None and isinstance(entry.owner, GroupRequest):
            self._withdraw_all(entry.owner)
            return
        if not self._requesting.withdraw(id_) and entry is not None:
            self._withdrawn(entry)
        self._requesting.flush()

    # What the broker answers -------------------------------------------------------------------

    def answered(self, event: EntryEvent) -> None:
        """Pass the broker's answer about an entry to the calls that wait for it."""
        entry = event.entry
        if isinstance(event, EntryConfirmed):
            entry.owner.in_force(entry)
        elif isinstance(event, EntryChanged):
            finish(self._changing.pop(entry.id, None), None)
        elif isinstance(event, EntryKept):
            words = f"{entry.kind.noun} {entry.id!r} is not changed: {event.reason}"
            finish(self._changing.pop(entry.id, None), InputError(words))
        elif isinstance(event, EntryRefused):
            entry.owner.refused(entry, event.reason)
            error = InputError(f"{entry.kind.noun} {entry.id!r} was refused: {event.reason}")
            self._gone(entry, error, error)
        else:
            self._withdrawn(entry)

    def answered_many(self, event: EntriesEvent) -> None:
        """Pass the broker's answer about several entries to the calls that wait for them."""
        if isinstance(event, EntriesConfirmed):
            for entry in event.entries:
                entry.owner.in_force(entry)
        else:
            for entry in event.entries:
                self._withdrawn(entry)

    def fail(self, error: Exception) -> None:
        """End all waiting calls with an error, as no answer will come any more."""
        self._failure = error
        for request in self._requests:
            request.fail(error)
        for changing in self._changing.values():
            finish(changing, error)
        self._changing.clear()

    def _withdraw_all(self, request: GroupRequest[T]) -> None:
        """Withdraw all of a group."""
        assert self._requesting.many is not None, "there are no groups of this kind"
        event = self._requesting.many.withdraw(tuple(request.members))
        if event is not None:
            self.answered_many(event)
        self._requesting.flush()

    def _withdrawn(self, entry: Entry[F, Request[T]]) -> None:
        unconfirmed: InputError | None = None
        if not isinstance(entry.owner, GroupRequest):
            words = f"{entry.kind.noun} {entry.id!r} was withdrawn before it was in force"
            unconfirmed = InputError(words)
        self._gone(entry, None, unconfirmed)

    def _gone(
        self, entry: Entry[F, Request[T]], error: Exception | None, unconfirmed: InputError | None
    ) -> None:
        """Drop an entry; a call that waits for it to be in force gets the second error."""
        withdrawn = InputError(
            f"{entry.kind.noun} {entry.id!r} was withdrawn before it was changed"
        )
        finish(self._changing.pop(entry.id, None), error or withdrawn)
        if entry.owner.gone(entry, unconfirmed):
            self._requests.pop(entry.owner, None)
            self._requesting.ended(entry.owner.value, error)


def looked_at(done: asyncio.Future[Any]) -> None:
    """Mark the error of a future as retrieved, as no call may wait for it any more."""
    if not done.cancelled():
        done.exception()


def finish(future: asyncio.Future[None] | None, error: Exception | None) -> None:
    """Finish a future, if there is one that is not finished."""
    if future is None or future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
