"""Keep-alive in virtual time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.routing.upkeep.detector.detector import patience_named
from sapwood.session.keepalive import Due, KeepAlive


def test_a_silent_peer_is_pinged_and_then_dead() -> None:
    keepalive = KeepAlive(100.0, idle_s=10.0, missed_max=2)
    assert keepalive.next_deadline() == 110.0
    assert keepalive.due(109.9) is Due.NOTHING
    assert keepalive.due(110.0) is Due.PING
    assert keepalive.due(110.0) is Due.NOTHING
    assert keepalive.due(120.0) is Due.PING
    assert keepalive.next_deadline() == 130.0
    assert keepalive.due(129.9) is Due.NOTHING
    assert keepalive.due(130.0) is Due.DEAD


def test_a_sign_of_life_begins_anew() -> None:
    keepalive = KeepAlive(0.0, idle_s=10.0, missed_max=1)
    assert keepalive.due(10.0) is Due.PING
    keepalive.received(19.9)
    assert keepalive.next_deadline() == 29.9
    assert keepalive.due(29.9) is Due.PING
    assert keepalive.due(39.9) is Due.DEAD


def test_a_peer_that_is_not_read_is_pinged_and_never_dead() -> None:
    keepalive = KeepAlive(0.0, idle_s=10.0, missed_max=1)
    keepalive.suspend()
    assert [keepalive.due(10.0 * n) for n in range(1, 20)] == [Due.PING] * 19
    keepalive.resume(200.0)
    assert keepalive.next_deadline() == 210.0
    assert keepalive.due(210.0) is Due.PING
    assert keepalive.due(220.0) is Due.DEAD


@given(st.lists(st.floats(0.01, 9.99), max_size=30))
def test_a_peer_that_speaks_often_enough_is_never_pinged(gaps: list[float]) -> None:
    keepalive = KeepAlive(0.0, idle_s=10.0, missed_max=1)
    now = 0.0
    for gap in gaps:
        now += gap
        assert keepalive.due(now) is Due.NOTHING
        keepalive.received(now)


def test_a_failure_detector_decides_when_a_neighbor_is_dead() -> None:
    keepalive = KeepAlive(0.0, idle_s=10.0, missed_max=1)
    keepalive.received(5.0)
    keepalive.leave_to(patience_named("timeout:35"))
    assert [keepalive.due(5.0 + 10.0 * n) for n in (1, 2, 3)] == [Due.PING] * 3
    assert keepalive.next_deadline() == 40.0
    assert keepalive.due(39.9) is Due.NOTHING
    assert keepalive.due(40.0) is Due.DEAD
    keepalive.received(40.0)
    assert keepalive.next_deadline() == 50.0


def test_one_that_learns_is_no_shorter_with_a_neighbor_that_says_much() -> None:
    """The neighbor answers pings after 0.1 s, and later has something to say all the time."""
    keepalive = KeepAlive(0.0, idle_s=10.0, missed_max=2)
    keepalive.leave_to(patience_named("phi:8", 30.0, 10.0))
    now = 0.0
    for _ in range(5):
        assert keepalive.due(now + 10.0) is Due.PING
        keepalive.received(now := now + 10.1)
    for _ in range(1000):
        keepalive.received(now := now + 0.01)
    assert keepalive.due(now + 10.0) is Due.PING
    assert now + 10.5 < keepalive.next_deadline() < now + 11.0
    assert keepalive.due(now + 11.0) is Due.DEAD


def test_how_long_a_neighbor_was_not_read_teaches_nothing() -> None:
    keepalive = KeepAlive(0.0, idle_s=10.0, missed_max=2)
    keepalive.leave_to(patience_named("phi:8", 30.0, 10.0))
    keepalive.suspend()
    assert [keepalive.due(1000.0 * n) for n in (1, 2)] == [Due.PING] * 2
    keepalive.resume(3000.0)
    for silent in (10.0, 20.0):
        assert keepalive.due(3000.0 + silent) is Due.PING
    assert keepalive.due(3030.0) is Due.DEAD


def test_who_has_stood_still_asks_before_it_gives_a_neighbor_up() -> None:
    keepalive = KeepAlive(0.0, idle_s=10.0, missed_max=2)
    keepalive.leave_to(patience_named("timeout:20"))
    assert keepalive.due(500.0) is Due.PING
    keepalive.received(500.0)
    assert keepalive.due(500.0) is Due.NOTHING
