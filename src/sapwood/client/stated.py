"""What a client has stated until it withdraws it: its subscriptions, or its advertisements."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from sapwood.client.statements import Statements
from sapwood.errors import DuplicateIdError, UnknownIdError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Saying(Generic[T]):
    """How one kind is stated: what it is called, what the session says of it, and its end.

    `withdraw` returns `False` where the broker has nothing to answer. `end` is told of each that is
    gone, with the error that it went by.
    """

    noun: str
    state: Callable[[str, T], None]
    withdraw: Callable[[str], bool]
    flush: Callable[[], None]
    end: Callable[[T, Exception | None], None]


class Stated(Generic[T]):
    """All of one kind that a client holds, by id.

    #: the ids are those that the session wants or is withdrawing
    """

    def __init__(self, saying: Saying[T]) -> None:
        self._saying = saying
        self._held: dict[str, T] = {}
        self._statements = Statements(saying.noun)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._held

    def __iter__(self) -> Iterator[T]:
        return iter(self._held.values())

    def get(self, id_: str) -> T | None:
        """The one of this id, if there is one."""
        return self._held.get(id_)

    # What the application does -----------------------------------------------------------------

    async def add(self, id_: str, one: T) -> None:
        """State one more; returns when it is in force. Cancelled, it is withdrawn.

        Raises `DuplicateIdError`, and `InputError` with the broker's reason where it refuses.
        """
        if id_ in self._held:
            raise DuplicateIdError(self._saying.noun, id_)
        self._saying.state(id_, one)
        self._held[id_] = one
        self._saying.flush()
        try:
            await self._statements.in_force(id_)
        except asyncio.CancelledError:
            if id_ in self._held:
                self.withdraw(id_)
            raise

    async def remove(self, id_: str) -> None:
        """Withdraw one; returns when it is. Raises `UnknownIdError`."""
        if id_ not in self._held:
            raise UnknownIdError(self._saying.noun, id_)
        answer, is_new = self._statements.begin_withdrawal(id_)
        if is_new:
            self.withdraw(id_)
        await asyncio.shield(answer)

    def withdraw(self, id_: str) -> None:
        """Withdraw one, and do not wait."""
        if not self._saying.withdraw(id_):
            self.withdrawn(id_)
        self._saying.flush()

    # What the broker says ----------------------------------------------------------------------

    def in_force(self, id_: str) -> None:
        """It is in force."""
        self._statements.stated(id_)

    def refused(self, id_: str, reason: str) -> None:
        """It will not be."""
        self._gone(id_, self._statements.refused(id_, reason))

    def withdrawn(self, id_: str) -> None:
        """It is no more."""
        self._gone(id_, None)
        self._statements.withdrawn(id_)

    def fail(self, error: Exception) -> None:
        """No answer will come any more: those who wait get the error."""
        self._statements.fail(error)

    def _gone(self, id_: str, error: Exception | None) -> None:
        one = self._held.pop(id_, None)
        if one is not None:
            self._saying.end(one, error)
