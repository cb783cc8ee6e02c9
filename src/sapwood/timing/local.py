"""A process's own clock, as a value for code that must not read clocks itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sapwood.timing.drift import Drift


@dataclass(frozen=True, slots=True)
class LocalClock:
    """A function that reads the clock, in nanoseconds from an arbitrary origin, and its drift.

    `epoch` is a number that no other run of the process has.
    """

    read: Callable[[], int]
    drift: Drift = field(default_factory=Drift)
    epoch: int = 1
