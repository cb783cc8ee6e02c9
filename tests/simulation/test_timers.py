"""Deadlines, one a router, and when ticks have changed nothing for long enough."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.simulation.timers import Timers

ANSWERS = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.sampled_from((0.5, 1.0, 2.0))))


def popped(timers: Timers) -> list[tuple[float | None, str]]:
    found = []
    while len(timers):
        found.append((timers.next_due, timers.pop()))
    return found


@given(ANSWERS)
def test_the_latest_answer_of_each_router_counts_and_no_other(
    answers: list[tuple[str, float | None]],
) -> None:
    timers = Timers()
    for router, at in answers:
        timers.set(router, at)
    last = {router: at for router, at in dict(answers).items() if at is not None}
    assert sorted(popped(timers)) == sorted((at, router) for router, at in last.items())
    assert timers.next_due is None


def test_deadlines_come_in_the_order_of_time_and_equal_ones_as_they_were_set() -> None:
    timers = Timers()
    for router, at in (("a", 2.0), ("b", 1.0), ("c", 2.0), ("b", 1.0), ("a", 2.0)):
        timers.set(router, at)
    assert popped(timers) == [(1.0, "b"), (2.0, "a"), (2.0, "c")]


def test_a_router_that_is_forgotten_has_no_deadline() -> None:
    timers = Timers()
    timers.set("a", 1.0)
    timers.forget("a")
    timers.forget("b")
    assert timers.next_due is None
    timers.set("a", 3.0)
    assert popped(timers) == [(3.0, "a")]


def test_without_deadlines_all_is_calm_at_once() -> None:
    timers = Timers(calm_s=5.0)
    timers.changed(1.0)
    assert timers.is_calm(1.0)


def test_every_router_has_to_tick_often_enough_since_the_last_change() -> None:
    timers = Timers(rounds=2)
    for router in "ab":
        timers.set(router, 1.0)
    for router in "aab":
        assert not timers.is_calm(1.0)
        timers.ticked(router)
    assert not timers.is_calm(1.0)
    timers.ticked("b")
    assert timers.is_calm(1.0)
    timers.changed(1.0)
    assert not timers.is_calm(1.0)


def test_a_router_without_a_deadline_is_not_waited_for() -> None:
    timers = Timers(rounds=1)
    timers.set("a", 1.0)
    timers.set("b", 1.0)
    timers.ticked("a")
    assert not timers.is_calm(1.0)
    timers.set("b", None)
    assert timers.is_calm(1.0)


def test_it_is_calm_only_when_the_seconds_have_passed_as_well() -> None:
    timers = Timers(calm_s=3.0, rounds=0)
    timers.set("a", 1.0)
    timers.changed(2.0)
    assert not timers.is_calm(4.9)
    assert timers.is_calm(5.0)
