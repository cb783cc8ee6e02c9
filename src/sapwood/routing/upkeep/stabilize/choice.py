"""The word `stabilize`, and what may stand behind its colon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sapwood.errors import InputError
from sapwood.limits.healing import STABILIZE_PERIOD_MIN_S, STABILIZE_PERIOD_S
from sapwood.routing.strategies import Rule, UpkeepStrategy
from sapwood.routing.upkeep.protocol import Kept
from sapwood.routing.upkeep.stabilize.stabilize import Stabilize

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

_SUMMARY: Final = "neighbors compare their tables and correct them, whatever they hold"


@dataclass(frozen=True, slots=True)
class MakeStabilize:
    """Makes the upkeep of a router that compares every so many seconds."""

    period_s: float = STABILIZE_PERIOD_S

    def __call__(self, router: Kept) -> Stabilize:
        """The upkeep of one router."""
        return Stabilize(router, self.period_s)


def _timed(argument: str) -> UpkeepStrategy:
    """The strategy with a number of seconds; raises `InputError` for anything else."""
    return UpkeepStrategy(
        name=f"{NAME}:{argument}",
        summary=_SUMMARY,
        excludes=_EXCLUDES,
        make=MakeStabilize(_seconds(argument)),
    )


STABILIZE: Final = UpkeepStrategy(
    name=NAME,
    summary=_SUMMARY,
    excludes=_EXCLUDES,
    make=MakeStabilize(),
    choose=_timed,
)


def _seconds(argument: str) -> float:
    try:
        seconds = float(argument)
    except ValueError:
        seconds = 0.0
    if not STABILIZE_PERIOD_MIN_S <= seconds < float("inf"):
        raise InputError(
            f"{NAME}:{argument} says no time: behind {NAME}: go the seconds between two "
            f"comparisons, {STABILIZE_PERIOD_MIN_S:g} at least, as in {NAME}:5"
        )
    return seconds
