"""How much memory something holds."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from sys import getsizeof
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np

_SHARED: Final = (type, ModuleType, FunctionType, BuiltinFunctionType, CodeType)
"""What belongs to the program and not to whoever uses it."""


@runtime_checkable
class Weighed(Protocol):
    """Whoever knows what takes how much of its memory."""

    def memory(self) -> Mapping[str, int]:
        """Bytes by part. Arrays that are mapped from files count like all others."""


def memory_of(thing: object) -> Mapping[str, int]:
    """Bytes by part: what `thing` says itself, or what it holds, object by object."""
    return thing.memory() if isinstance(thing, Weighed) else {"objects": held_bytes(thing)}


def own_bytes(thing: object) -> int:
    """Bytes of one object without what it refers to."""
    return getsizeof(thing)


def held_bytes(*roots: object) -> int:
    """Bytes of all objects that are reachable from some, each counted once.

    Takes about a microsecond for each. What other holders share counts in full; the program's own
    types, modules and functions do not count.
    """
    seen: set[int] = set()
    waiting: list[object] = list(roots)
    total = 0
    while waiting:
        thing: Any = waiting.pop()
        if isinstance(thing, np.ndarray):
            # A view keeps all of what it is a view of.
            while isinstance(thing.base, np.ndarray):
                thing = thing.base
        if id(thing) in seen or isinstance(thing, _SHARED):
            continue
        seen.add(id(thing))
        total += own_bytes(thing)
        if isinstance(thing, np.ndarray) and thing.base is not None:
            total += thing.nbytes
        waiting += gc.get_referents(thing)
    return total
