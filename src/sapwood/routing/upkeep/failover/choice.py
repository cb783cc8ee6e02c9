"""The word `failover`, its patience, and the plans of an overlay's routers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from sapwood.errors import InputError
from sapwood.limits.failures import SUSPICION_TIMEOUT_S
from sapwood.routing.strategies import Protocol, Rule, Strategy, UpkeepStrategy
from sapwood.routing.upkeep.detector.detector import Detector, detector_named
from sapwood.routing.upkeep.failover.failover import Failover
from sapwood.routing.upkeep.failover.plans import NO_PLAN, Plan
from sapwood.routing.upkeep.protocol import Kept

NAME: Final = "failover"

_TREES: Final = Rule(
    frozenset({"mesh", "redundant"}),
    "a backup takes the place of the one way there is on a tree; where links form circles, other "
    "ways are found without: leave out failover, and give the overlay more links",
)


@dataclass(frozen=True, slots=True)
class MakeFailover:
    """Makes the failover of a router, in front of another upkeep, by the plan for its name."""

    inner: UpkeepStrategy
    detector: Callable[[], Detector]
    plans: Mapping[str, Plan] = field(default_factory=dict)

    def __call__(self, router: Kept) -> Failover:
        """The failover of one router."""
        plan = self.plans.get(router.name, NO_PLAN)
        inner, persists = self.inner.make(router), self.inner.persists
        return Failover(router, plan, self.detector(), inner, persists=persists)


_SUMMARY: Final = "who has lost its upstream for long attaches to a backup"


def _timed(argument: str) -> Strategy:
    """The word with a number of seconds; raises `InputError` for anything else."""
    _seconds(argument)
    return Strategy(name=f"{NAME}:{argument}", summary=_SUMMARY, excludes=(_TREES,))


FAILOVER: Final = Strategy(
    name=NAME,
    summary=_SUMMARY,
    excludes=(_TREES,),
    choose=_timed,
)


def failover_over(
    inner: UpkeepStrategy, argument: str | None, *, is_default: bool
) -> UpkeepStrategy:
    """Failover in front of an upkeep, with the seconds of patience in the argument.

    `is_default`: the inner upkeep is the default, and is left out of the name. Raises `InputError`
    for an argument that is no number of seconds, and where the inner upkeep excludes failover.
    """
    for rule in inner.excludes:
        if NAME in rule.words:
            raise InputError(f"{inner.name}+{NAME}: {rule.reason}")
    seconds = SUSPICION_TIMEOUT_S if argument is None else _seconds(argument)
    word = NAME if argument is None else f"{NAME}:{argument}"
    return UpkeepStrategy(
        name=word if is_default else f"{inner.name}+{word}",
        summary=f"{FAILOVER.summary}, after {seconds:g} s; until then, {inner.summary}",
        requires=inner.requires,
        excludes=(*inner.excludes, _TREES),
        make=MakeFailover(inner, detector_named(f"timeout:{seconds!r}")),
        persists=inner.persists,
    )


def planned(protocol: Protocol, plans: Mapping[str, Plan]) -> Protocol:
    """A protocol like the given one, with plans for its routers if its upkeep uses plans."""
    make = protocol.upkeep.make
    if not isinstance(make, MakeFailover):
        return protocol
    return replace(protocol, upkeep=replace(protocol.upkeep, make=replace(make, plans=plans)))


def has_plans(protocol: Protocol) -> bool:
    """True if a protocol has the plans of its routers."""
    make = protocol.upkeep.make
    return isinstance(make, MakeFailover) and bool(make.plans)


def is_planned(protocol: Protocol) -> bool:
    """True if the upkeep of a protocol uses plans."""
    return isinstance(protocol.upkeep.make, MakeFailover)


def _seconds(argument: str) -> float:
    try:
        detector_named(f"timeout:{argument}")
    except InputError:
        raise InputError(
            f"{NAME}:{argument} says no time: behind {NAME}: go the seconds after which a router "
            f"attaches to a backup, as in {NAME}:5"
        ) from None
    return float(argument)
