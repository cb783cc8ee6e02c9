"""The subscriptions of a client, or its advertisements, and the callers that wait for answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sapwood.errors import DuplicateIdError, InputError, UnknownIdError
from sapwood.session.client_entries import (
    ClientEntries,
    Entry,
    EntryConfirmed,
    EntryEvent,
    EntryRefused,
)

F = TypeVar("F")
T = TypeVar("T")


@dataclass(slots=True)
class Request(Generic[T]):
    """The application's side of one entry of the session.

    `value` is the application's. `confirmed` and `withdrawn` are waited for; the second is `None`
    as long as nobody waits for a withdrawal.
    """

    value: T
    confirmed: asyncio.Future[None]
    withdrawn: asyncio.Future[None] | None = None

    def leave(self, id_: str) -> tuple[asyncio.Future[None], bool]:  # noqa: ARG002 - there is one
        """What is done when the entry is gone; whether nobody has waited for that before."""
        is_first = self.withdrawn is None
        if self.withdrawn is None:
            self.withdrawn = asyncio.get_running_loop().create_future()
        return self.withdrawn, is_first

    def in_force(self, entry: Entry[Any, Any]) -> None:  # noqa: ARG002 - there is one
        """An entry of the request is in force."""
        finish(self.confirmed, None)

    def refused(self, entry: Entry[Any, Any], reason: str) -> None:
        """The broker refuses an entry of the request; `gone` follows."""

    def gone(self, entry: Entry[Any, Any], unconfirmed: Exception) -> bool:  # noqa: ARG002
        """An entry of the request is gone; whether none is left.

        A call that waits for it to be in force gets the error.
        """
        finish(self.confirmed, unconfirmed)
        finish(self.withdrawn, None)
        return True

    def fail(self, error: Exception) -> None:
        """No answer will come any more."""
        finish(self.confirmed, error)
        finish(self.withdrawn, None)  # withdrawn with the connection


@dataclass(slots=True)
class GroupRequest(Request[T]):
    """The application's side of several entries that were requested together.

    `confirmed` waits until each was in force or is gone, `withdrawn` until all are gone.

    #: members are the ids of the entries that are not gone; unanswered of them never were in force
    #: leaving are waited for by those who withdraw single members
    """

    members: dict[str, None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    unanswered: int = 0
    leaving: dict[str, asyncio.Future[None]] = field(default_factory=dict)

    def leave(self, id_: str) -> tuple[asyncio.Future[None], bool]:
        """What is done when that entry is gone; whether nobody has waited for that before."""
        is_first = id_ not in self.leaving
        if is_first:
            self.leaving[id_] = asyncio.get_running_loop().create_future()
        return self.leaving[id_], is_first

    def in_force(self, entry: Entry[Any, Any]) -> None:
        """An entry of the request is in force."""
        if not entry.was_in_force:
            entry.was_in_force = True
            self._answered()

    def refused(self, entry: Entry[Any, Any], reason: str) -> None:
        """The broker refuses an entry of the request, which hurts no other."""
        self.reasons[entry.id] = reason

    def gone(self, entry: Entry[Any, Any], unconfirmed: Exception) -> bool:  # noqa: ARG002
        """An entry of the request is gone; whether none is left."""
        del self.members[entry.id]
        finish(self.leaving.pop(entry.id, None), None)
        if not entry.was_in_force:
            self._answered()
        if not self.members:
            finish(self.withdrawn, None)
        return not self.members

    def fail(self, error: Exception) -> None:
        """No answer will come any more."""
        finish(self.confirmed, error)
        for leaving in (self.withdrawn, *self.leaving.values()):
            finish(leaving, None)

    def _answered(self) -> None:
        self.unanswered -= 1
        if not self.unanswered:
            finish(self.confirmed, None)


@dataclass(frozen=True, slots=True)
class Requesting(Generic[F, T]):
    """How a client requests entries of one kind.

    `withdraw` returns `False` where the broker has nothing to answer. `ended` is called with each
    value whose entries are gone, and the error that it went by. `request_many` and `withdraw_many`
    do the same with several entries, where that is possible; the latter returns the entries about
    which the broker has nothing to answer.
    """

    request: Callable[[str, F, Request[T]], None]
    withdraw: Callable[[str], bool]
    flush: Callable[[], None]
    ended: Callable[[T, Exception | None], None]
    request_many: Callable[[Iterable[tuple[str, F]], GroupRequest[T]], None] | None = None
    withdraw_many: Callable[[Iterable[str]], list[Entry[F, Any]]] | None = None


class Requests(Generic[F, T]):
    """Requests entries of one kind and hands the broker's answers to the calls that wait.

    The session holds the entries; each has its `Request` as its owner.
    """

    def __init__(self, entries: ClientEntries[F, Request[T]], requesting: Requesting[F, T]) -> None:
        self._entries = entries
        self._requesting = requesting

    def __contains__(self, id_: object) -> bool:
        return id_ in self._entries

    def __iter__(self) -> Iterator[T]:
        return (entry.owner.value for entry in self._entries)

    def get(self, id_: str) -> T | None:
        """The value of this id, if there is one."""
        entry = self._entries.get(id_)
        return None if entry is None else entry.owner.value

    # What the application asks for -------------------------------------------------------------

    async def add(self, id_: str, filter_: F, value: T) -> None:
        """Request one more; returns when it is in force. Cancelled, it is withdrawn.

        Raises `DuplicateIdError`, and `InputError` with the broker's reason where it refuses.
        """
        if id_ in self._entries:
            raise DuplicateIdError(self._entries.kind.noun, id_)
        confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        request = Request(value, confirmed)
        self._requesting.request(id_, filter_, request)
        self._requesting.flush()
        try:
            await confirmed
        except asyncio.CancelledError:
            entry = self._entries.get(id_)
            if entry is not None and entry.owner is request:
                self.withdraw(id_)
            raise

    async def add_many(self, wanted: Mapping[str, F], request: GroupRequest[T]) -> None:
        """Request several for a group; returns when each is in force or refused.

        Cancelled, it withdraws them. Raises `DuplicateIdError`, before any is requested.
        """
        for id_ in wanted:
            if id_ in self._entries:
                raise DuplicateIdError(self._entries.kind.noun, id_)
        assert self._requesting.request_many is not None, "there are no groups of this kind"
        if not wanted:
            return
        request.members.update(dict.fromkeys(wanted))
        request.unanswered += len(wanted)
        self._requesting.request_many(wanted.items(), request)
        self._requesting.flush()
        try:
            await request.confirmed
        except asyncio.CancelledError:
            self._withdraw_all(request)
            raise

    async def remove(self, id_: str) -> None:
        """Withdraw one; returns when it is. Raises `UnknownIdError`."""
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
        """Withdraw all of a group, which these are; returns when they are withdrawn."""
        entry = self._entries.get(next(iter(ids), ""))
        if entry is not None and isinstance(entry.owner, GroupRequest):
            answer, is_first = Request.leave(entry.owner, "")
            if is_first:
                self._withdraw_all(entry.owner)
            await asyncio.shield(answer)

    def withdraw(self, id_: str) -> None:
        """Withdraw one, or all of its group, and do not wait."""
        entry = self._entries.get(id_)
        if entry is not None and isinstance(entry.owner, GroupRequest):
            self._withdraw_all(entry.owner)
            return
        if not self._requesting.withdraw(id_) and entry is not None:
            self._withdrawn(entry)
        self._requesting.flush()

    # What the broker answers -------------------------------------------------------------------

    def answered(self, event: EntryEvent) -> None:
        """Hand the broker's answer about an entry to the calls that wait for it."""
        entry = event.entry
        if isinstance(event, EntryConfirmed):
            entry.owner.in_force(entry)
        elif isinstance(event, EntryRefused):
            entry.owner.refused(entry, event.reason)
            error = InputError(f"{entry.kind.noun} {entry.id!r} was refused: {event.reason}")
            self._gone(entry, error, error)
        else:
            self._withdrawn(entry)

    def fail(self, error: Exception) -> None:
        """End all waiting calls with an error, as no answer will come any more."""
        for entry in self._entries:
            entry.owner.fail(error)

    def _withdraw_all(self, request: GroupRequest[T]) -> None:
        """Withdraw all of a group."""
        assert self._requesting.withdraw_many is not None, "there are no groups of this kind"
        for entry in self._requesting.withdraw_many(tuple(request.members)):
            self._withdrawn(entry)
        self._requesting.flush()

    def _withdrawn(self, entry: Entry[F, Request[T]]) -> None:
        words = f"{entry.kind.noun} {entry.id!r} was withdrawn before it was in force"
        self._gone(entry, None, InputError(words))

    def _gone(
        self, entry: Entry[F, Request[T]], error: Exception | None, unconfirmed: InputError
    ) -> None:
        """Drop an entry; a call that waits for it to be in force gets the second error."""
        if entry.owner.gone(entry, unconfirmed):
            self._requesting.ended(entry.owner.value, error)


def finish(future: asyncio.Future[None] | None, error: Exception | None) -> None:
    """Finish a future, if there is one that is not finished."""
    if future is None or future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
