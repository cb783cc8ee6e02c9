"""The conditions of a scenario: the state of all links, clocks and routers from the beginning.

Faults (`faults`) happen at a time, and to some; conditions hold for all, until a fault changes
them. `sapwood simulate` takes them as options.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from sapwood.errors import InputError, UnknownNameError
from sapwood.simulation.channels import CALM, DELAYS, LONGEST_DEFAULT_S, Channel, SetChannel
from sapwood.simulation.clocks import SetClock
from sapwood.simulation.network import NOMINAL, Timing
from sapwood.simulation.scenario import Scenario, Step

DRAWN: Final = "drawn"
"""In the place of a drift: each router has its own."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The channel of all links, the deviation from nominal times, and the drift of clocks."""

    channel: Channel = CALM
    timing: Timing = NOMINAL
    clock: SetClock | None = None

    def of(self, scenario: Scenario) -> Scenario:
        """The same scenario under these conditions; those that are not given stay as they were."""
        if self == PERFECT:
            return scenario
        timing = scenario.timing if self.timing == NOMINAL else self.timing
        return replace(scenario, steps=(*self._steps(), *scenario.steps), timing=timing)

    def _steps(self) -> Iterator[Step]:
        if self.channel != CALM:
            yield Step(SetChannel(self.channel))
        if self.clock is not None:
            yield Step(self.clock)


PERFECT: Final = Conditions()
"""Links lose and delay nothing, clocks are right, routers take no time."""


def parse_delay(text: str) -> Channel:
    """`pareto:0.002` or `pareto:0.002:0.5`: a distribution, its scale, the longest; in seconds.

    Raises `UnknownNameError` or `InputError`.
    """
    name, *times = text.split(":")
    known = [one for one in DELAYS if one != CALM.delay]
    if name not in known:
        raise UnknownNameError("distribution of delays", name, known)
    seconds = [_seconds(time) for time in times]
    if len(seconds) not in {1, 2} or None in seconds:
        raise InputError(
            f"{text!r} is not like pareto:0.002 or pareto:0.002:0.5: a distribution, the seconds "
            "of its scale, and those of the longest delay"
        )
    scale, longest = seconds[0], seconds[-1] if len(seconds) == 2 else LONGEST_DEFAULT_S
    assert scale is not None
    assert longest is not None
    return Channel(delay=name, scale_s=scale, longest_s=longest)


def parse_drift(text: str) -> SetClock:
    """`drawn`, or how far all clocks are off, in millionths; raises `InputError`."""
    if text == DRAWN:
        return SetClock(is_drawn=True)
    digits = text.removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdigit()) or len(text) - len(digits) > 1:
        raise InputError(f"{text!r} is neither `drawn` nor a whole number of millionths")
    return SetClock(drift_ppm=int(text))


def _seconds(text: str) -> float | None:
    """A number of seconds, if the text is one."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
