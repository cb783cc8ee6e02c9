"""The event loop that processes run on."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a new event loop of the standard library.

    Not on uvloop's: with uvloop 0.23 a client of a busy broker heard nothing until keep-alive gave
    the broker up; on this loop the same run is complete. The cause is not known yet.
    """
    return asyncio.run(main)
