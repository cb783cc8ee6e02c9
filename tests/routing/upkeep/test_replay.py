"""Replay follows the links and has no timers."""

from __future__ import annotations

from sapwood.routing.effects import Send
from sapwood.routing.inputs import DetachClient, LinkDown, LinkUp, Recalled, Receive, Restored
from sapwood.routing.messages import Unsubscribe
from sapwood.routing.router import Router
from sapwood.routing.upkeep.replay import Replay


def test_replay_lets_everything_pass_and_never_wakes() -> None:
    upkeep = Replay(Router("r1"))
    for link in (LinkUp("r2"), LinkUp("r2", inbound=False)):
        assert upkeep.link_up(link, 0.0) == (link,)
    assert upkeep.link_down(LinkDown("r2"), 1.0) == (LinkDown("r2"),)
    message = Unsubscribe("k")
    assert upkeep.arrived(Receive("r2", message), 0.0) == (Receive("r2", message),)
    assert upkeep.sent(Send("r2", message), 0.0) == (Send("r2", message),)
    assert upkeep.asked(DetachClient("c"), 0.0) == (DetachClient("c"),)
    assert upkeep.restored(Restored((DetachClient("c"),)), 0.0) == ()
    assert upkeep.recalled(Recalled((), ()), 0.0) == ()
    assert upkeep.closed(LinkDown("r2"), 0.0) == ()
    assert upkeep.tick(0.0) == ()
    assert upkeep.next_deadline() is None
    assert upkeep.is_passive
    assert upkeep.takes_batches
    assert upkeep.table_sizes() == {}
    upkeep.validate()
