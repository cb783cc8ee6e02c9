"""The clocks and time bounds of a world's routers, checked against the truth.

Each router has a clock, each end of a link its bounds (`sapwood.timing`), and a router's bound of a
publication's age is kept here, by its id, as brokers keep it beside the publication. The world
knows when everything really happened, in whole nanoseconds: a bound that is wrong is counted, as
long as the clocks that it rests on are within their drift.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from msgspec.structs import replace

from sapwood.limits.timing import DRIFT_PPM
from sapwood.simulation.clocks import NS, DriftingClock, SetClock, right_clock
from sapwood.timing.drift import Drift
from sapwood.timing.link_bounds import LinkBounds, Mark, Stamp

DRIFT: Final = Drift(DRIFT_PPM)
"""The drift that all routers assume of their clocks."""


def exact(time: float) -> int:
    """A virtual time in whole nanoseconds."""
    return round(time * NS)


@dataclass(slots=True)
class Bounds:
    """Bounds compared with the truth; errors in nanoseconds.

    `wrong` are those of links and `wrong_ages` those of deliveries that were below the truth (or
    above, for lower bounds). `unknown` messages had none, `unbounded` deliveries neither.
    """

    messages: int = 0
    unknown: int = 0
    wrong: int = 0
    deliveries: int = 0
    unbounded: int = 0
    wrong_ages: int = 0
    error_max_ns: int = 0
    error_sum_ns: int = 0


class Timekeeping:
    """The clocks of all routers and their bounds of time.

    `draw` gives numbers from 0 up to 1.

    #: _clocks has the routers whose clocks are not simply right
    #: _born has, by router and publication, the router's bound of when it was made
    """

    __slots__ = ("_born", "_bounds", "_clocks", "_draw", "_lives", "_made", "bounds")

    def __init__(self, draw: Callable[[], float]) -> None:
        self.bounds = Bounds()
        self._draw = draw
        self._clocks: dict[str, DriftingClock] = {}
        self._lives = 0
        self._bounds: dict[str, dict[str, LinkBounds]] = {}
        self._born: dict[str, dict[str, int | None]] = {}
        self._made: dict[str, int] = {}

    # Clocks ------------------------------------------------------------------------------------

    def shown(self, router: str, time: float) -> float:
        """The reading of a router's clock at a time, in seconds."""
        clock = self._clocks.get(router)
        return time if clock is None else clock.read(exact(time)) / NS

    def when(self, router: str, shown: float) -> float | None:
        """The time when a router's clock shows a reading; `None` where it stands still before."""
        clock = self._clocks.get(router)
        if clock is None:
            return shown
        reading = exact(shown)
        while reading / NS < shown:
            reading += 1
        at = clock.when(reading)
        if at is None:
            return None
        time = at / NS
        while clock.read(exact(time)) / NS < shown:
            at += 1
            time = at / NS
        return time

    def read(self, router: str, time: float) -> int:
        """The reading of a router's clock at a time, in nanoseconds."""
        clock = self._clocks.get(router)
        return exact(time) if clock is None else clock.read(exact(time))

    def change(self, router: str, change: SetClock, now: float) -> None:
        """Let the clock of a router go differently."""
        clock = self._clocks.setdefault(router, right_clock())
        drift = change.drift_ppm
        if change.is_drawn:
            drift = int((2 * self._draw() - 1) * DRIFT_PPM)
        if drift is not None:
            clock.set_rate(exact(now), drift)
        if change.jump_s:
            clock.jump(exact(now), exact(change.jump_s))

    def is_right(self, *routers: str) -> bool:
        """True if the clocks of some routers, or all, have always been within their drift."""
        clocks = map(self._clocks.get, routers) if routers else self._clocks.values()
        return all(clock is None or clock.is_right for clock in clocks)

    # Links -------------------------------------------------------------------------------------

    def stamp(self, source: str, target: str, born: int | None, now: float) -> Stamp:
        """The stamp of a message sent now, which was made when the router's clock showed `born`."""
        return self._end(source, target).stamp(self.read(source, now), born)

    def arrived(
        self, source: str, target: str, stamp: Stamp, sent: float, now: float
    ) -> int | None:
        """The upper bound of an arrival's age; `sent` is the true time when it left."""
        upper, lower = self._end(target, source).arrived(stamp, self.read(target, now))
        told, took = self.bounds, exact(now) - exact(sent)
        told.messages += 1
        if upper is None:
            told.unknown += 1
        elif self.is_right(source, target):
            told.wrong += not lower <= took <= upper
            told.error_sum_ns += upper - took
            told.error_max_ns = max(told.error_max_ns, upper - took)
        before = DRIFT.age_ns(stamp.born, stamp.sent)
        return None if upper is None or before is None else upper + before

    def _end(self, router: str, neighbor: str) -> LinkBounds:
        ends = self._bounds.setdefault(router, {})
        end = ends.get(neighbor)
        if end is None:
            self._lives += 1
            end = ends[neighbor] = LinkBounds(DRIFT, DRIFT, self._lives)
        return end

    def spoil(self, router: str, generator: Random, share: float) -> None:
        """Damage a router's records of its links: marks, their keys, their owners."""
        for end in self._bounds.get(router, {}).values():
            if generator.random() >= share:
                continue
            field = generator.choice(("_helper", "_echo", "_helper_key", "_echo_key", "_known"))
            kept = getattr(end, field)
            if isinstance(kept, Mark):
                part = generator.choice(("sent", "received", "bound"))
                kept = replace(kept, **{part: getattr(kept, part) + _error_ns(generator)})
            elif kept is not None:
                kept += _error_ns(generator)
            setattr(end, field, kept)

    # Publications ------------------------------------------------------------------------------

    def published(self, router: str, publication: str, now: float) -> None:
        """A client of a router publishes."""
        self._made[publication] = exact(now)
        self._born.setdefault(router, {})[publication] = self.read(router, now)

    def received(self, router: str, publication: str, age_ns: int | None, now: float) -> None:
        """A publication that is at most so old arrives at a router, maybe again."""
        born = self._born.setdefault(router, {})
        if age_ns is not None:
            told, known = self.read(router, now) - age_ns, born.get(publication)
            born[publication] = told if known is None else max(told, known)

    def born(self, router: str, publication: str) -> int | None:
        """The time when a publication was made, as a router bounds it by its clock."""
        return self._born.get(router, {}).get(publication)

    def delivered(self, router: str, publication: str, now: float) -> None:
        """A client of a router gets a publication."""
        made = self._made.get(publication)
        if made is None:
            return
        told = self.bounds
        told.deliveries += 1
        age = DRIFT.age_ns(self.born(router, publication), self.read(router, now))
        if age is None:
            told.unbounded += 1
        elif self.is_right():
            told.wrong_ages += age < exact(now) - made

    def forget(self, router: str) -> None:
        """Forget all that a stopped router knew."""
        self._bounds.pop(router, None)
        self._born.pop(router, None)


def _error_ns(generator: Random) -> int:
    """The error of a damaged mark of time: from a millisecond to an hour."""
    return generator.choice((-1, 1)) * (1 << generator.randrange(20, 42))
