"""The event loop that processes run on."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a new event loop of the standard library.

    Not on uvloop's: under load, a transport of uvloop 0.23 that had paused its writer did not
    resume it, and the peer went silent until keep-alive gave it up.
    """
    return asyncio.run(main)
