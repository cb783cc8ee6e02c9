"""Hard state follows its links and has no timers."""

from __future__ import annotations

from sapwood.routing.upkeep.replay import HardState
from sapwood.routing.upkeep.protocol import Action


def test_hard_state_replays_and_forgets_and_never_wakes() -> None:
    upkeep = HardState()
    assert upkeep.link_up("r2", 0.0) == (Action.REPLAY,)
    assert upkeep.link_down("r2", 1.0) == (Action.FORGET,)
    assert upkeep.next_deadline() is None
