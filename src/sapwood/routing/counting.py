"""Strategies that count what they do, for metrics."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Counting(Protocol):
    """A strategy with counters."""

    def counters(self) -> dict[str, int]:
        """The counts since it was made, by names that no other strategy uses."""
        ...
