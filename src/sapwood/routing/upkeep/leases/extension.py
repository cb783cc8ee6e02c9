"""The extension of a lease beyond the interval that its owner requested.

XSiena 7.2.3 and 7.2.4. A renewal was under way, and the next one may be for as much longer as this
one was shorter. The age of a renewal is known: at most that many nanoseconds have passed since its
owner made it, by bounds that need no common clock.

* *Conservative*: the age. The next renewal may take that long where this one took no time at all.
* *Uncertainty*: the largest minus the smallest age on the same path within a window. On a path with
  steady delays leases are hardly extended, however long the path is, so that renewals come late in
  the life of a lease and none is wasted.
* *None*: for comparison. Far from the owner, leases run out before they are renewed.

With intervals of 5 s, 2 s to the first router and 3 s from there to the second: the first leases
for 7 s and the second for 10 s (conservative), or both for 5 s (uncertainty, steady delays).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final, Protocol

from sapwood.limits.leases import (
    LEASE_EXTENSION_MAX_S,
    LEASE_PATHS_MAX,
    LEASE_WINDOW_SAMPLES_MAX,
)

EXTENSION_MAX_NS: Final = int(LEASE_EXTENSION_MAX_S * 1e9)


class Extension(Protocol):
    """Extends the leases of one router."""

    def of(self, path: str, age_ns: int | None, now: float) -> int:
        """The nanoseconds by which a renewal of this age extends a lease.

        `path` is the router that it comes from, however far. The age is `None` where it is not
        known.
        """
        ...


def capped(age_ns: int | None) -> int:
    """An age within the bound to which ages are believed, in nanoseconds."""
    return EXTENSION_MAX_NS if age_ns is None else min(max(age_ns, 0), EXTENSION_MAX_NS)


class Conservative:
    """Extension by the age."""

    __slots__ = ()

    def of(self, path: str, age_ns: int | None, now: float) -> int:  # noqa: ARG002
        """The age within its bound."""
        return capped(age_ns)


class Unextended:
    """No extension."""

    __slots__ = ()

    def of(self, path: str, age_ns: int | None, now: float) -> int:  # noqa: ARG002
        """Zero."""
        return 0


@dataclass(slots=True)
class _Window:
    """The ages of one path, in order of time, and those that could be the smallest or largest.

    Example: ages 5, 3, 4, 2, in this order. No later one is below the 2, which is the smallest, and
    `lows` is (2); `highs` is (5, 4, 2), since when the 5 leaves the window the 4 is the largest.

    #: lows ascend, highs descend; each is a part of samples, in their order
    """

    samples: deque[tuple[float, int]] = field(default_factory=deque)
    lows: deque[tuple[float, int]] = field(default_factory=deque)
    highs: deque[tuple[float, int]] = field(default_factory=deque)

    def add(self, now: float, age_ns: int) -> None:
        """Append an age."""
        sample = (now, age_ns)
        self.samples.append(sample)
        while self.lows and self.lows[-1][1] >= age_ns:
            self.lows.pop()
        self.lows.append(sample)
        while self.highs and self.highs[-1][1] <= age_ns:
            self.highs.pop()
        self.highs.append(sample)

    def drop_oldest(self) -> None:
        """Forget the oldest age."""
        oldest = self.samples.popleft()
        for kept in (self.lows, self.highs):
            if kept[0] is oldest:
                kept.popleft()


class Uncertainty:
    """Extension by the spread of a path's ages: those of a time, or a number of the last ones.

    #: _paths are in the order of their last renewals; none has an empty window
    """

    __slots__ = ("_paths", "_samples_max", "_window_s")

    def __init__(
        self, window_s: float | None = None, samples_max: int = LEASE_WINDOW_SAMPLES_MAX
    ) -> None:
        self._window_s = window_s
        self._samples_max = samples_max
        self._paths: dict[str, _Window] = {}

    def of(self, path: str, age_ns: int | None, now: float) -> int:
        """The spread of the path's ages; the age itself where it is the first one."""
        if age_ns is None:
            return EXTENSION_MAX_NS
        window = self._paths.pop(path, None) or _Window()
        self._paths[path] = window
        if len(self._paths) > LEASE_PATHS_MAX:
            del self._paths[next(iter(self._paths))]
        window.add(now, capped(age_ns))
        while len(window.samples) > self._samples_max or (
            self._window_s is not None and window.samples[0][0] < now - self._window_s
        ):
            window.drop_oldest()
        if len(window.samples) == 1:
            return capped(age_ns)
        return window.highs[0][1] - window.lows[0][1]
