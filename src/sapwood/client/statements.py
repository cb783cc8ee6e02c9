"""Who waits for what a client stated: that it is in force, or that it is withdrawn."""

from __future__ import annotations

import asyncio

from sapwood.errors import InputError


class Statements:
    """The subscriptions of a client, or its advertisements, that have yet to be answered.

    `noun` is what they are called in errors.
    """

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._stating: dict[str, asyncio.Future[None]] = {}
        self._withdrawing: dict[str, asyncio.Future[None]] = {}

    async def in_force(self, id: str) -> None:
        """Return when a new one is in force; raises what came instead."""
        answer = self._stating[id] = asyncio.get_running_loop().create_future()
        try:
            await answer
        finally:
            self._stating.pop(id, None)

    def begin_withdrawal(self, id: str) -> tuple[asyncio.Future[None], bool]:
        """What is done when one is withdrawn, and whether nobody asked for that before."""
        present = self._withdrawing.get(id)
        if present is not None:
            return present, False
        answer = self._withdrawing[id] = asyncio.get_running_loop().create_future()
        return answer, True

    def stated(self, id: str) -> None:
        """It is in force."""
        finish(self._stating.get(id), None)

    def refused(self, id: str, reason: str) -> InputError:
        """The broker refused; returns the error that those who wait get."""
        error = InputError(f"{self._noun} {id!r} was refused: {reason}")
        finish(self._stating.get(id), error)
        finish(self._withdrawing.pop(id, None), None)
        return error

    def withdrawn(self, id: str) -> None:
        """It is withdrawn."""
        error = InputError(f"{self._noun} {id!r} was withdrawn before it was in force")
        finish(self._stating.get(id), error)
        finish(self._withdrawing.pop(id, None), None)

    def fail(self, error: Exception) -> None:
        """No answer will come any more."""
        for future in self._stating.values():
            finish(future, error)
        for future in self._withdrawing.values():
            finish(future, None)  # withdrawn with the connection


def finish(future: asyncio.Future[None] | None, error: Exception | None) -> None:
    """Finish a future, if there is one and nobody has."""
    if future is None or future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
