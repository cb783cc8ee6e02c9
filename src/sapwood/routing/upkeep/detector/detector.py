"""A failure detector: the watched peers that are suspected to have failed.

The caller reports what happens (`watch`, `heard`, `forget`) and gets the time of the next check
(`next_deadline`) and the suspected peers (`suspected`). The detector never sends anything: the
caller sees to it that peers give signs of life. It can be *misled*: made to suspect a peer until
some time whatever it sends, to test with wrong suspicions the code that relies on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sapwood.errors import InputError, InvariantError
from sapwood.limits.failures import PHI_THRESHOLD, SUSPICION_TIMEOUT_S
from sapwood.routing.upkeep.detector.patience import AccruedPatience, FixedPatience, Patience

MakePatience: TypeAlias = Callable[[float], Patience]
"""Makes the patience with one peer, given the time of its first sign of life."""


class Detector:
    """Watches peers by name.

    #: _patience is that with each peer that is watched
    #: _misled are peers, watched or not, and until when they are suspected without cause
    """

    __slots__ = ("_make", "_misled", "_patience")

    def __init__(self, make: MakePatience = FixedPatience) -> None:
        self._make = make
        self._patience: dict[str, Patience] = {}
        self._misled: dict[str, float] = {}

    def watch(self, peer: str, now: float) -> None:
        """Begin to watch a peer afresh; that counts as a sign of life."""
        self._patience[peer] = self._make(now)

    def forget(self, peer: str) -> None:
        """Watch a peer no more; it is not suspected."""
        self._patience.pop(peer, None)

    def heard(self, peer: str, now: float) -> None:
        """Record a sign of life of a peer; no effect if it is not watched."""
        patience = self._patience.get(peer)
        if patience is not None:
            patience.heard(now)

    def mislead(self, peer: str, until: float) -> None:
        """Suspect a peer until a time, whatever signs of life come from it."""
        self._misled[peer] = max(until, self._misled.get(peer, until))

    def suspects(self, peer: str, now: float) -> bool:
        """True if a peer is watched and suspected."""
        patience = self._patience.get(peer)
        if patience is None:
            return False
        return patience.deadline <= now or self._misled.get(peer, now) > now

    def suspected(self, now: float) -> tuple[str, ...]:
        """All suspected peers, in the order in which they were first watched."""
        return tuple(peer for peer in self._patience if self.suspects(peer, now))

    def next_deadline(self, now: float) -> float | None:
        """The time at which a trusted peer becomes suspected, or a wrong suspicion ends."""
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
        """Check the detector's relations; raises `InvariantError`."""
        if not all(one.deadline < float("inf") for one in self._patience.values()):
            raise InvariantError("a peer that is silent for ever would never be suspected")


def detector_named(text: str) -> Callable[[], Detector]:
    """Makes detectors of a name: `timeout`, `timeout:SECONDS`, `phi` or `phi:THRESHOLD`.

    Raises `InputError` with the valid forms.
    """
    make = patience_named(text)
    return lambda: Detector(make)


def patience_named(
    text: str, first_s: float = SUSPICION_TIMEOUT_S, shortest_s: float = 0.0
) -> MakePatience:
    """Make the patience with one peer, from the name of a detector.

    A patience that learns is fixed at `first_s` before, and learns from intervals of at least
    `shortest_s`. Raises `InputError`.
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

    patience(0.0)  # refuses invalid values
    return patience
