"""Work beside the event loop, for coroutines that can wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias, TypeVar

from sapwood.errors import SapwoodError

T = TypeVar("T")

Begin: TypeAlias = Callable[[Callable[[], None], Callable[[], None]], None]
"""Does the first function beside the loop, which raises nothing; then calls the second in the loop.
"""


async def beside(begin: Begin, work: Callable[[], T]) -> T:
    """The result of work that may take long; raises its `SapwoodError`."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    found: list[T] = []
    errors: list[SapwoodError] = []

    def run() -> None:
        try:
            found.append(work())
        except SapwoodError as error:
            errors.append(error)

    def ready() -> None:
        if not done.done():  # the waiting task may be gone
            done.set_result(None)

    begin(run, ready)
    await done
    if errors:
        raise errors[0]
    return found[0]
