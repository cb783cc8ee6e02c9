"""The subscriptions of a client, or its advertisements, and the callers that wait for answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

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


@dataclass(frozen=True, slots=True)
class Requesting(Generic[F, T]):
    """How a client requests entries of one kind.

    `withdraw` returns `False` where the broker has nothing to answer. `ended` is called with each
    value whose entry is gone, and the error that it went by.
    """

    request: Callable[[str, F, Request[T]], None]
    withdraw: Callable[[str], bool]
    flush: Callable[[], None]
    ended: Callable[[T, Exception | None], None]


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

    async def remove(self, id_: str) -> None:
        """Withdraw one; returns when it is. Raises `UnknownIdError`."""
        entry = self._entries.get(id_)
        if entry is None:
            raise UnknownIdError(self._entries.kind.noun, id_)
        answer = entry.owner.withdrawn
        if answer is None:
            answer = entry.owner.withdrawn = asyncio.get_running_loop().create_future()
            self.withdraw(id_)
        await asyncio.shield(answer)

    def withdraw(self, id_: str) -> None:
        """Withdraw one, and do not wait."""
        entry = self._entries.get(id_)
        if not self._requesting.withdraw(id_) and entry is not None:
            self._withdrawn(entry)
        self._requesting.flush()

    # What the broker answers -------------------------------------------------------------------

    def answered(self, event: EntryEvent) -> None:
        """Hand the broker's answer about an entry to the calls that wait for it."""
        entry = event.entry
        if isinstance(event, EntryConfirmed):
            finish(entry.owner.confirmed, None)
        elif isinstance(event, EntryRefused):
            error = InputError(f"{entry.kind.noun} {entry.id!r} was refused: {event.reason}")
            self._gone(entry, error, error)
        else:
            self._withdrawn(entry)

    def fail(self, error: Exception) -> None:
        """End all waiting calls with an error, as no answer will come any more."""
        for entry in self._entries:
            finish(entry.owner.confirmed, error)
            finish(entry.owner.withdrawn, None)  # withdrawn with the connection

    def _withdrawn(self, entry: Entry[F, Request[T]]) -> None:
        words = f"{entry.kind.noun} {entry.id!r} was withdrawn before it was in force"
        self._gone(entry, None, InputError(words))

    def _gone(
        self, entry: Entry[F, Request[T]], error: Exception | None, unconfirmed: InputError
    ) -> None:
        """Drop an entry; a call that waits for it to be in force gets the second error."""
        self._requesting.ended(entry.owner.value, error)
        finish(entry.owner.confirmed, unconfirmed)
        finish(entry.owner.withdrawn, None)


def finish(future: asyncio.Future[None] | None, error: Exception | None) -> None:
    """Finish a future, if there is one that is not finished."""
    if future is None or future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
