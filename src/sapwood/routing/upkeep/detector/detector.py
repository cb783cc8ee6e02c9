"""A failure detector: which of the peers that are watched are suspected to have failed.

It is told what happens (`watch`, `heard`, `forget`) and says when to ask it (`next_deadline`) and
whom it suspects (`suspected`). It never sends anything: who watches sees to it that peers give
signs of life. It can be *misled*: made to suspect a peer until some time whatever it hears, so
that whoever relies on it can be tested with suspicions that are wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sapwood.errors import InputError, InvariantError
from sapwood.limits.failures import PHI_THRESHOLD, SUSPICION_TIMEOUT_S
from sapwood.routing.upkeep.detector.patience import AccruedPatience, FixedPatience, Patience

MakePatience: TypeAlias = Callable[[float], Patience]
"""Makes the patience with one peer, of whom there was a sign of life at a time."""


class Detector:
    """Watches peers by name.

    #: _patience is that with each peer that is watched
    #: _misled are peers, watched or not, and until when they are suspected for no reason
    """

    __slots__ = ("_make", "_misled", "_patience")

    def __init__(self, make: MakePatience = FixedPatience) -> None:
        self._make = make
        self._patience: dict[str, Patience] = {}
        self._misled: dict[str, float] = {}

    def watch(self, peer: str, now: float) -> None:
        """Begin with a peer afresh; that is a sign of life."""
        self._patience[peer] = self._make(now)

    def forget(self, peer: str) -> None:
        """Watch a peer no more; it is not suspected."""
        self._patience.pop(peer, None)

    def heard(self, peer: str, now: float) -> None:
        """A peer gave a sign of life; nothing follows if it is not watched."""
        patience = self._patience.get(peer)
        if patience is not None:
            patience.heard(now)

    def mislead(self, peer: str, until: float) -> None:
        """Suspect a peer until a time, whatever is heard of it."""
        self._misled[peer] = max(until, self._misled.get(peer, until))

    def suspects(self, peer: str, now: float) -> bool:
        """Whether a peer that is watched is suspected."""
        patience = self._patience.get(peer)
        if patience is None:
            return False
        return patience.deadline <= now or self._misled.get(peer, now) > now

    def suspected(self, now: float) -> tuple[str, ...]:
        """All that are suspected, in the order in which they were first watched."""
        return tuple(peer for peer in self._patience if self.suspects(peer, now))

    def next_deadline(self, now: float) -> float | None:
        """When a peer that is trusted becomes suspected, or a wrong suspicion ends."""
        deadlines = [
            patience.deadline
            for peer, patience in self._patience.items()
            if not self.suspects(peer, now)
        ]
        for peer, until in self._misled.items():
            if peer in self._patience and until > now:
                deadlines.append(until)
        return min(deadlines, default=None)

    def validate(self) -> None:
        """Check its own relations; raises `InvariantError`."""
        if not all(one.deadline < float("inf") for one in self._patience.values()):
            raise InvariantError("a peer that is silent for ever would never be suspected")


def detector_named(text: str) -> Callable[[], Detector]:
    """Makes detectors of a name: `timeout`, `timeout:SECONDS`, `phi` or `phi:THRESHOLD`.

    Raises `InputError` with what can be said.
    """
    make = patience_named(text)
    return lambda: Detector(make)


def patience_named(
    text: str, first_s: float = SUSPICION_TIMEOUT_S, shortest_s: float = 0.0
) -> MakePatience:
    """Makes the patience with one peer that a detector of this name has.

    One that learns is patient for `first_s` before, and learns of intervals from `shortest_s` on.
    Raises `InputError`.
    """
    name, _, argument = text.partition(":")
    defaults = {"timeout": SUSPICION_TIMEOUT_S, "phi": PHI_THRESHOLD}
    if name not in defaults:
        raise InputError(
            f"{text!r} is no failure detector: say timeout, timeout:SECONDS, phi or phi:THRESHOLD"
        )
    try:
        value = float(argument) if argument else defaults[name]
    except ValueError:
        raise InputError(f"behind {name}: goes a number, not {argument!r}") from None

    def patience(now: float) -> Patience:
        if name == "timeout":
            return FixedPatience(now, value)
        return AccruedPatience(now, value, first_s, shortest_s)

    patience(0.0)  # refuses what makes no sense
    return patience
