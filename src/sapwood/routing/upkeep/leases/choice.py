"""The word `leases` and its arguments, as in `leases:20` and `leases:20:uncertainty=200`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from sapwood.errors import InputError
from sapwood.limits.leases import (
    LEASE_INTERVAL_MAX_S,
    LEASE_INTERVAL_MIN_S,
    LEASE_RENEWALS,
    LEASE_WINDOW_S,
    LEASE_WINDOW_SAMPLES_MAX,
)
from sapwood.routing.strategies import Rule, UpkeepStrategy
from sapwood.routing.upkeep.leases.extension import (
    Conservative,
    Extension,
    Uncertainty,
    Unextended,
)
from sapwood.routing.upkeep.leases.leases import Leases
from sapwood.routing.upkeep.leases.terms import Terms
from sapwood.routing.upkeep.protocol import Kept

NAME: Final = "leases"

_EXAMPLES: Final = (
    f"behind {NAME}: go the seconds that an entry is valid, and what leases are extended by if "
    f"that is not conservative, as in {NAME}:20 or {NAME}:20:uncertainty; uncertainty=30s has a "
    "window of 30 seconds, uncertainty=200 one of 200 renewals"
)

_SUMMARY: Final = "what is known runs out, unless it is renewed from where it began"


@dataclass(frozen=True, slots=True)
class MakeLeases:
    """Makes the leases of a router."""

    terms: Terms = field(default_factory=Terms)

    def __call__(self, router: Kept) -> Leases:
        """The leases of one router."""
        return Leases(router, self.terms)


def leases_on(terms: Terms, name: str = NAME) -> UpkeepStrategy:
    """Leases on given terms, under a name of its own."""
    return UpkeepStrategy(
        name=name,
        summary=_SUMMARY,
        excludes=_EXCLUDED,
        make=MakeLeases(terms),
        choose=_chosen,
        allows_loss=True,
        heals=True,
        calm_s=terms.healed_s,
    )


def _chosen(argument: str) -> UpkeepStrategy:
    """Leases by an argument; raises `InputError` for an unknown one."""
    seconds, _, extension = argument.partition(":")
    interval_s = _interval(seconds, argument)
    terms = Terms(interval_s, interval_s / LEASE_RENEWALS, _extension(extension, argument))
    return leases_on(terms, f"{NAME}:{argument}")


def _interval(text: str, argument: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not LEASE_INTERVAL_MIN_S <= seconds <= LEASE_INTERVAL_MAX_S:
        raise InputError(
            f"{NAME}:{argument} says no interval from {LEASE_INTERVAL_MIN_S:g} to "
            f"{LEASE_INTERVAL_MAX_S:g} seconds: {_EXAMPLES}"
        )
    return seconds


def _extension(text: str, argument: str) -> Callable[[], Extension]:
    word, _, window = text.partition("=")
    if text in ("", "conservative"):
        return Conservative
    if text == "none":
        return Unextended
    if word == "uncertainty" and window == "":
        return partial(Uncertainty, LEASE_WINDOW_S)
    if word == "uncertainty" and window.isdecimal():
        samples = int(window)
        if 2 <= samples <= LEASE_WINDOW_SAMPLES_MAX:
            return partial(Uncertainty, None, samples)
    elif word == "uncertainty" and window.endswith("s"):
        try:
            return partial(Uncertainty, _interval(window[:-1], argument))
        except InputError:
            pass
    raise InputError(f"{NAME}:{argument} says no extension: {_EXAMPLES}")


_EXCLUDED: Final = (
    Rule(
        frozenset({"mesh", "redundant"}),
        "leases are renewed along one tree, from where an entry began; where links form circles "
        "every tree is made afresh when something fails: leave out leases, or the other word",
    ),
    Rule(
        frozenset({"xroute"}),
        "XRoute's counts say how many subscriptions there are and not which, so none of them can "
        "be renewed: take covering in the place of xroute",
    ),
    Rule(
        frozenset({"failover"}),
        "a router that goes to a backup must be sure that what was known of it is gone, and what "
        "leases know is gone when they run out: leave out failover, or leases",
    ),
)

LEASES: Final = leases_on(Terms())
