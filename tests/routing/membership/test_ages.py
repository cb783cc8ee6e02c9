"""Ages of messages: on a tree, or on one of several paths, a message keeps the age that it had."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sapwood.routing.core import RoutingCore
from sapwood.routing.effects import Effect, Send
from sapwood.routing.inputs import Input
from sapwood.routing.messages import OnPlane, OnTree
from tests.routing.wiring import Wiring

AGE_NS = 7


@pytest.mark.parametrize("protocol", ["mesh+covering", "redundant:2+covering"])
def test_a_message_that_gets_a_tree_or_a_path_keeps_its_age(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = RoutingCore.handle

    def aged(core: RoutingCore, input: Input, now: float) -> list[Effect]:
        return [
            replace(effect, age_ns=AGE_NS) if isinstance(effect, Send) else effect
            for effect in handle(core, input, now)
        ]

    monkeypatch.setattr(RoutingCore, "handle", aged)
    overlay = Wiring(protocol, [("r1", "r2"), ("r2", "r3")])
    overlay.settle()
    overlay.attach("r3", "ann")
    overlay.attach("r1", "ben")
    overlay.subscribe("r3", "ann", "s", "x > 1")
    overlay.publish("r1", "ben", "p", x=2)
    assert overlay.deliveries() == [("p", "ann", "s")]
    ages = [
        effect.age_ns
        for _, effect in overlay.log
        if isinstance(effect, Send)
        for message in [effect.message]
        if isinstance(message.message if isinstance(message, OnPlane) else message, OnTree)
    ]
    assert len(ages) > 2
    assert set(ages) == {AGE_NS}
