"""The word `stabilize` and its arguments, as in `stabilize:5` and `stabilize:5:adaptive:2`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from sapwood.errors import InputError
from sapwood.limits.healing import STABILIZE_PERIOD_MIN_S, STABILIZE_PERIOD_S
from sapwood.routing.strategies import Rule, UpkeepStrategy
from sapwood.routing.upkeep.protocol import Kept
from sapwood.routing.upkeep.stabilize.adaptive import Adaptive
from sapwood.routing.upkeep.stabilize.stabilize import Stabilize
from sapwood.routing.upkeep.stabilize.timers import ADAPTIVE, STATIC, STRAWMAN, Timer

NAME: Final = "stabilize"

_EXCLUDES: Final = (
    Rule(
        frozenset({"mesh", "redundant"}),
        "what neighbors have told each other is compared on one tree, and under mesh and redundant "
        "each source has its own: leave out stabilize, or the word for membership",
    ),
    Rule(
        frozenset({"xroute"}),
        "XRoute tells neighbors how many subscriptions there are, which cannot be compared entry "
        "by entry: put stabilize behind another word for what travels",
    ),
)

_WAITS: Final = Rule(
    frozenset({"failover"}),
    "a router that goes to a backup lets go of the link that has failed, and static and adaptive "
    "wait for it: leave out failover, or what stands behind the seconds of stabilize",
)

_EXAMPLES: Final = (
    f"behind {NAME}: go the seconds between two comparisons, {STABILIZE_PERIOD_MIN_S:g} at least, "
    f"and what is done when a link fails, as in {NAME}:5, {NAME}:5:static, {NAME}:5:adaptive or, "
    f"with a threshold, {NAME}:5:adaptive:1.41"
)

_SUMMARIES: Final = MappingProxyType(
    {
        "": "neighbors compare their tables and correct them, whatever they hold",
        "strawman": "neighbors compare their tables; what came over a link that fails goes at once",
        "static": "neighbors compare their tables; what came over a link that fails goes in time",
        "adaptive": "neighbors compare their tables; what came over a link that fails goes when "
        "too much is sent there in vain",
    }
)


@dataclass(frozen=True, slots=True)
class MakeStabilize:
    """Makes the upkeep of a router that compares every `period_s` seconds."""

    period_s: float = STABILIZE_PERIOD_S
    timer: Timer = STRAWMAN

    def __call__(self, router: Kept) -> Stabilize:
        """The upkeep of one router."""
        make = Stabilize if self.timer.threshold is None else Adaptive
        return make(router, self.period_s, self.timer)


def _chosen(argument: str) -> UpkeepStrategy:
    """The strategy of an argument; raises `InputError` for an unknown one."""
    seconds, colon, words = argument.partition(":")
    period_s = _seconds(seconds, argument)
    timer = _timer(words, argument) if colon else STRAWMAN
    return UpkeepStrategy(
        name=f"{NAME}:{argument}",
        summary=_SUMMARIES[words.partition(":")[0]],
        excludes=(*_EXCLUDES, _WAITS) if timer.keeps else _EXCLUDES,
        make=MakeStabilize(period_s, timer),
        heals=True,
        calm_s=period_s if timer.keeps else 0.0,
    )


STABILIZE: Final = UpkeepStrategy(
    name=NAME,
    summary=_SUMMARIES[""],
    excludes=_EXCLUDES,
    make=MakeStabilize(),
    heals=True,
    choose=_chosen,
)


def _seconds(text: str, argument: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not STABILIZE_PERIOD_MIN_S <= seconds < float("inf"):
        raise InputError(f"{NAME}:{argument} says no time: {_EXAMPLES}")
    return seconds


def _timer(words: str, argument: str) -> Timer:
    word, colon, text = words.partition(":")
    match word:
        case "strawman" if not colon:
            return STRAWMAN
        case "static" if not colon:
            return STATIC
        case "adaptive" if not colon:
            return ADAPTIVE
        case "adaptive":
            try:
                threshold = float(text)
            except ValueError:
                threshold = -1.0
            if threshold >= 0:
                return replace(ADAPTIVE, threshold=threshold)
        case _:
            pass
    raise InputError(f"{NAME}:{argument} says no timer: {_EXAMPLES}")
