"""Effects of the router reach the clients and neighbors that they concern."""

from __future__ import annotations

from dataclasses import fields

from sapwood.broker.counters import Counters
from sapwood.model.publication import Publication
from sapwood.routing.messages import Publish
from sapwood.wire.greetings import Refusal, RefusalCode
from sapwood.wire.messages import (
    AcceptedReply,
    Delivery,
    GoodbyeCode,
    PublicationRefused,
    PublishRequest,
    SubscribedReply,
    SubscribeRequest,
    SubscriptionRefused,
    UnsubscribeRequest,
)
from tests.broker.helpers import Raw, Story, body, link_hello, running, soon


async def test_a_refusal_harms_only_what_was_refused() -> None:
    async with running() as broker:
        raw = await Raw.client(broker.address)
        raw.say(
            SubscribeRequest("bad", "a >"),
            SubscribeRequest("s1", "a = 1"),
            SubscribeRequest("s1", "a = 2"),
            UnsubscribeRequest("never"),
            PublishRequest(1, b"\xc0"),
            PublishRequest(2, body("p2")),
        )
        refused, in_force, changed, unknown, no_publication = await raw.until_accepted(2)
        assert (type(refused), refused.id) == (SubscriptionRefused, "bad")
        assert in_force == SubscribedReply("s1")
        assert changed == SubscribedReply("s1")
        assert "no subscription with id 'never'" in unknown.reason
        assert (type(no_publication), no_publication.sequence) == (PublicationRefused, 1)
        await raw.close()


async def test_a_publisher_hears_its_own_publications_if_it_wants_them() -> None:
    async with running() as broker:
        raw = await Raw.client(broker.address)
        raw.say(SubscribeRequest("s1", "exists a"), PublishRequest(1, body("p1", a=1)))
        heard = await raw.until(AcceptedReply)
        assert heard == [
            SubscribedReply("s1"),
            Delivery(("s1",), body("p1", a=1)),
            AcceptedReply(1),
        ]
        assert (broker.counters.publications, broker.counters.deliveries) == (1, 1)
        await raw.close()


async def test_a_neighbor_that_breaks_a_rule_of_routing_is_not_linked_again() -> None:
    story = Story()
    async with running(story=story) as broker:
        bad = await Raw.neighbor(broker, "bad")
        bad.say(Publish("r1", 1, Publication("p1", {})))
        goodbye = await bad.goodbye()
        assert goodbye.code is GoodbyeCode.BARRED
        assert "cycle" in goodbye.reason
        await bad.close()
        raw, answer = await Raw.greet(broker.address, link_hello(broker, "bad"))
        assert isinstance(answer, Refusal)
        assert answer.code is RefusalCode.BARRED
        await raw.close()
        again = await Raw.neighbor(broker, "bad", "another run")
        await again.close()
    assert len(story.reasons("link closed for good")) == 1


async def test_a_broker_s_last_word_is_what_it_has_counted() -> None:
    story = Story()
    async with running(story=story) as broker:
        raw = await Raw.client(broker.address)
        await raw.close()
        await soon(broker.connections.until(lambda: not broker.connections.all))
    last = story.entries[-1]
    assert last["event"] == "stopped"
    assert {field.name for field in fields(Counters)} <= last.keys()
    assert (last["connections"], last["publications"]) == (1, 0)
