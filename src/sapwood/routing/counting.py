"""Strategies that count what they do, for metrics."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Counting(Protocol):
    """A strategy that counts what it does or saves."""

    def counters(self) -> dict[str, int]:
        """What was counted since it was made, by names that no other strategy has."""
        ...
