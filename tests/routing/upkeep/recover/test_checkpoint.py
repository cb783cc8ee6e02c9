"""What a checkpoint has of subscriptions that are being changed."""

from __future__ import annotations

import pytest

from sapwood import parse_filter
from sapwood.model.publication import Publication
from sapwood.routing.effects import Deliver, Send, Subscribed
from sapwood.routing.inputs import (
    AttachClient,
    ClientPublish,
    ClientSubscribe,
    LinkUp,
    Receive,
)
from sapwood.routing.messages import Confirm, Message, Subscribe, Unsubscribe
from sapwood.routing.router import Router
from sapwood.routing.upkeep.recover.checkpoint import FORMS, refill
from sapwood.routing.upkeep.recover.image import Writer
from tests.routing.wiring import core_of


def changing() -> tuple[Router, Subscribe, Subscribe]:
    """A router with a subscription that is being changed, and what it has told its neighbor."""
    router = Router("r1", "simple")
    router.handle(LinkUp("r2"), 0.0)
    router.handle(AttachClient("c"), 0.0)
    told: list[Subscribe] = []
    for text in ("x = 1", "y = 1"):
        for message in said(router, ClientSubscribe("c", "s", parse_filter(text))):
            assert isinstance(message, Subscribe)
            told.append(message)
        if len(told) == 1:
            router.handle(Receive("r2", Confirm(told[0].key, told[0].sending)), 0.0)
    former, later = told
    return router, former, later


def said(router: Router, entered: ClientSubscribe | Receive) -> list[Message]:
    """What comes of an input that goes to neighbors."""
    effects = router.handle(entered, 0.0)
    return [effect.message for effect in effects if isinstance(effect, Send)]


@pytest.mark.parametrize("is_restored", [False, True])
def test_the_former_filter_is_there_until_the_other_is_confirmed(*, is_restored: bool) -> None:
    router, former, later = changing()
    parts = list(Writer(FORMS).parts(router.membership))
    if is_restored:
        router = Router("r1", "simple")
        assert refill(router.membership, [b"", *parts]) == ("c",)
        assert list(Writer(FORMS).parts(router.membership)) == parts
    router.validate()
    entries = core_of(router).subscriptions.entries
    [[aside]] = entries.aside.values()
    assert (aside.key, entries.by_client["c"]["s"].key) == (former.key, later.key)
    both = Publication("p", {"x": 1, "y": 1})
    assert Deliver("c", ("s",), both) in router.handle(ClientPublish("c", both), 0.0)
    effects = router.handle(Receive("r2", Confirm(later.key, later.sending)), 0.0)
    assert effects == [Subscribed("c", "s"), Send("r2", Unsubscribe(former.key))]
    router.validate()
    assert not entries.aside
