"""Detours where links form circles: in front of an upkeep that continues its conversations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sapwood.routing.strategies import UpkeepStrategy
from sapwood.routing.upkeep.detour.detour import Conversing, Detour
from sapwood.routing.upkeep.protocol import Kept


@dataclass(frozen=True, slots=True)
class MakeDetour:
    """Makes the detours of a router, in front of another upkeep."""

    inner: Callable[[Kept], Conversing]

    def __call__(self, router: Kept) -> Detour:
        """The detours of one router."""
        return Detour(router, self.inner(router))


def with_detours(strategy: UpkeepStrategy, inner: Callable[[Kept], Conversing]) -> UpkeepStrategy:
    """An upkeep strategy like the given one, made by `inner`, with detours in front."""
    return replace(strategy, make=MakeDetour(inner))
