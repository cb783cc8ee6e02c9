from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from sapwood.deadline_timer import DeadlineTimer


class Timer:
    """A call that the test makes come."""

    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self.at = at
        self.call = call
        self.is_cancelled = False

    def when(self) -> float:
        return self.at

    def cancel(self) -> None:
        self.is_cancelled = True


class Clock:
    """An event loop's timers, without its time."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []

    def call_at(self, when: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(when, call))
        return self.timers[-1]

    def to_come(self) -> list[Timer]:
        return [timer for timer in self.timers if not timer.is_cancelled]

    def ring(self) -> float:
        """Let the only timer ring; its time."""
        (timer,) = self.to_come()
        timer.is_cancelled = True
        timer.call()
        return timer.at


def test_an_alarm_rings_at_its_deadline_once() -> None:
    clock, rung = Clock(), [0]
    alarm = DeadlineTimer(clock.call_at, lambda: rung.append(1))
    alarm.set(5.0)
    assert clock.ring() == 5.0
    assert rung == [0, 1]
    assert not clock.to_come()


def test_an_alarm_leaves_an_early_timer_alone() -> None:
    clock = Clock()
    alarm = DeadlineTimer(clock.call_at, lambda: None)
    for deadline in (5.0, 6.0, None, 5.0):
        alarm.set(deadline)
    assert [timer.at for timer in clock.timers] == [5.0]


def test_a_stopped_alarm_does_not_ring_until_it_is_set_again() -> None:
    clock, rung = Clock(), [0]
    alarm = DeadlineTimer(clock.call_at, lambda: rung.append(1))
    alarm.set(5.0)
    alarm.stop()
    alarm.stop()
    assert not clock.to_come()
    alarm.set(7.0)
    assert clock.ring() == 7.0
    assert rung == [0, 1]


@given(st.lists(st.none() | st.floats(0, 100)))
def test_one_timer_is_to_come_and_none_too_late(deadlines: list[float | None]) -> None:
    clock = Clock()
    alarm = DeadlineTimer(clock.call_at, lambda: None)
    for deadline in deadlines:
        alarm.set(deadline)
    asked = [deadline for deadline in deadlines if deadline is not None]
    assert [timer.at for timer in clock.to_come()] == ([min(asked)] if asked else [])


def test_whoever_is_called_can_set_the_alarm_again() -> None:
    clock = Clock()
    alarm = DeadlineTimer(clock.call_at, lambda: alarm.set(9.0))
    alarm.set(5.0)
    assert (clock.ring(), clock.ring()) == (5.0, 9.0)
