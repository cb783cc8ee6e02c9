"""Keep-alive in virtual time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

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
