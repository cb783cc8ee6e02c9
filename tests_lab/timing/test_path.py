"""Delay bounds on paths: no violation in millions of messages, and planted bugs that are found."""

from __future__ import annotations

from typing import Final

import pytest

from sapwood.timing.drift import PER, Drift
from sapwood.timing.link_bounds import LinkBounds, Mark, Passage, Stamp, Weights
from sapwood_lab.timing.path import Conditions, HeavyTail, MakeBounds, Path, Spikes

ROUGH: Final = Conditions(loss=0.1, repeated=0.1, restart=0.01)
"""Much happens on few messages."""

EXACT: Final = Conditions(
    delay=HeavyTail(0, 5, 0.3), interval_ns=50, pause_ns=3, nodes=2, restart=0.0
)
"""Delays of some nanoseconds: bounds are as tight as clocks have steps."""

SLOW: Final = Conditions(
    delay=HeavyTail(0, 10**9, 0.2), interval_ns=10**9, pause_ns=10**8, nodes=2, restart=0.0
)
"""Delays of seconds: drift counts."""


def run(conditions: Conditions, messages: int, seed: int, make: MakeBounds = LinkBounds) -> Path:
    path = Path(conditions, seed, make)
    for _ in path.run(messages):
        pass
    return path


@pytest.mark.parametrize("conditions", [ROUGH, EXACT, SLOW, Conditions(delay=Spikes())])
def test_no_bound_is_wrong(conditions: Conditions) -> None:
    verdicts = run(conditions, 10_000, 1).verdicts
    assert verdicts.violations == 0
    assert verdicts.bounded > 8_000
    assert verdicts.ages > 7_000


@pytest.mark.long
@pytest.mark.parametrize(
    "conditions",
    [Conditions(), Conditions(delay=Spikes()), ROUGH, SLOW],
    ids=["tails", "spikes", "rough", "slow"],
)
def test_no_bound_is_wrong_in_ten_million_messages(conditions: Conditions) -> None:
    verdicts = run(conditions, 2_500_000, 2).verdicts
    assert verdicts.violations == 0
    assert verdicts.bounded > 2_000_000


# Planted bugs -----------------------------------------------------------------------------------


class WrongSide(LinkBounds):
    """The drift of the own clock counts as if it made intervals longer."""

    def __init__(self, own: Drift, theirs: Drift, epoch: int) -> None:
        super().__init__(own, theirs, epoch)
        self._upper = Weights.of(PER + own.ppm, PER + theirs.ppm)


class AsPrinted(LinkBounds):
    """6.4 and 6.5 to the letter: times (1 + rho), and times (1 - rho)."""

    def __init__(self, own: Drift, theirs: Drift, epoch: int) -> None:
        super().__init__(own, theirs, epoch)
        self._upper = Weights((PER + own.ppm) * PER, (PER - theirs.ppm) * PER, PER * PER)


class WithoutSteps(LinkBounds):
    """Clocks show real numbers."""

    def __init__(self, own: Drift, theirs: Drift, epoch: int) -> None:
        super().__init__(Drift(own.ppm, 0), Drift(theirs.ppm, 0), epoch)


class CutOff(LinkBounds):
    """The upper bound is handed on in whole microseconds, rounded down."""

    def arrived(self, stamp: Stamp, now: int, size: int = 0) -> Passage:
        upper, lower = super().arrived(stamp, now, size)
        return Passage(None if upper is None else upper // 1000 * 1000, lower)


class AnyLife(LinkBounds):
    """Marks that refer to another life of the own clock are used."""

    def arrived(self, stamp: Stamp, now: int, size: int = 0) -> Passage:
        of_mine = Stamp(stamp.epoch, self.epoch, stamp.sent, stamp.helper, stamp.echo, stamp.born)
        return super().arrived(of_mine, now, size)


class NeverForgets(LinkBounds):
    """Marks of an earlier life of the other clock are kept."""

    def _forget(self, epoch: int) -> None:
        self._known = epoch


class SameDirection(LinkBounds):
    """The lower bound is worked out as if the echo had gone the same way (6.9 misread)."""

    def _least(self, echo: Mark, sent: int, now: int) -> int:
        return super()._least(echo, sent, now) + 2 * echo.bound


class MostAsLeast(LinkBounds):
    """The helper is said to have taken at least what it took at most."""

    def _keep(self, sent: int, now: int, lower: int, upper: int | None) -> None:
        super()._keep(sent, now, lower if upper is None else upper, upper)


class WithoutResidence(Path):
    """The time that a message waits at a node does not count."""

    def _hold(self, node: int, step: int, created: int, born: int | None) -> None:
        super()._hold(node, step, created, None if born is None else born + 10_000_000)


def test_a_planted_bug_in_ages_is_found() -> None:
    path = WithoutResidence(Conditions(pause_ns=10_000_000), 1)
    for _ in path.run(4_000):
        pass
    assert path.verdicts.younger


PLANTED: Final = (
    (WrongSide, SLOW),
    (AsPrinted, SLOW),
    (WithoutSteps, EXACT),
    (CutOff, EXACT),
    (AnyLife, ROUGH),
    (NeverForgets, ROUGH),
    (SameDirection, Conditions()),
    (MostAsLeast, Conditions()),
)


@pytest.mark.parametrize(
    ("bug", "conditions"), PLANTED, ids=lambda one: getattr(one, "__name__", "")
)
@pytest.mark.one_in(2)
def test_a_planted_bug_is_found(bug: type[LinkBounds], conditions: Conditions) -> None:
    assert any(run(conditions, 4_000, seed, bug).verdicts.violations for seed in range(5))
