"""A process's own clock, as those are given it who must not read one themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sapwood.timing.drift import Drift


@dataclass(frozen=True, slots=True)
class LocalClock:
    """What reads the clock, in nanoseconds from wherever it began, and its drift.

    `epoch` is a number that no other life of the process has.
    """

    read: Callable[[], int]
    drift: Drift = field(default_factory=Drift)
    epoch: int = 1
