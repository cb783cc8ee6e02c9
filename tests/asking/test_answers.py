"""Words about what brokers have answered."""

from __future__ import annotations

from sapwood.asking.answers import is_full
from sapwood.wire.durable import DurableState, Policy


def test_a_mailbox_is_full_when_either_bound_is_reached() -> None:
    def state(waiting: int, size: int, policy: Policy) -> DurableState:
        return DurableState("d", "g", "true", policy, waiting, size, 0, (), 0, 0.0, 0.0, "")

    bounds = Policy(count_max=2, bytes_max=100)
    assert not is_full(state(1, 99, bounds))
    assert is_full(state(2, 0, bounds))
    assert is_full(state(1, 100, bounds))
    assert not is_full(state(9, 999, Policy()))
