"""The debug log of a broker: its router's inputs and effects."""

from __future__ import annotations

import io
import json
from typing import Any

from sapwood.broker.debug_log import SHOWN_MAX, DebugLog
from sapwood.broker.logs import make_log
from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.routing.effects import Refused, Subscribed
from sapwood.routing.inputs import (
    ClientSubscribe,
    ClientUnsubscribeMany,
    Receive,
    ReceiveMany,
    Tick,
)
from sapwood.routing.messages import PublishMany, Subscribe
from sapwood.wire.messages import AcceptedReply, PublishRequest, SubscribeRequest
from tests.broker.helpers import Raw, Story, body, running

SECRET = "nobody's business"


def written(*inputs: Any, effects: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
    """The entries that these inputs make, each with the same effects."""
    stream = io.StringIO()
    log = DebugLog.of(make_log("debug", stream))
    assert log is not None
    for one in inputs:
        log.handled(one, effects)
    entries = [json.loads(line) for line in stream.getvalue().splitlines()]
    for entry in entries:
        assert entry.pop("level") == "debug"
        del entry["timestamp"]
    return entries


def test_there_is_none_at_other_levels() -> None:
    assert DebugLog.of(make_log("info", io.StringIO())) is None


def test_an_input_and_its_effects_are_named_with_their_members() -> None:
    request = ClientSubscribe("c1", "s1", parse_filter("a > 1"))
    effects = (Subscribed("c1", "s1"), Refused("c1", "s2", "no"))
    assert written(request, Tick(), effects=effects)[:4] == [
        {"event": "client subscribe", "client": "c1", "subscription": "s1", "filter": "a > 1"},
        {"event": "subscribed", "client": "c1", "subscription": "s1"},
        {"event": "refused", "client": "c1", "subject": "s2", "reason": "no"},
        {"event": "tick"},
    ]


def test_a_message_is_named_with_its_members() -> None:
    message = Subscribe("k1", parse_filter("a > 1"), 3)
    (entry,) = written(Receive("r2", message))
    assert entry == {
        "event": "receive",
        "neighbor": "r2",
        "message": "Subscribe",
        "key": "k1",
        "filter": "a > 1",
        "sending": 3,
    }


def test_publications_that_came_together_are_written_down_one_by_one() -> None:
    batch = tuple(Publication(name, {"a": SECRET}) for name in ("p1", "p2"))
    entries = written(ReceiveMany("r2", PublishMany("r1", 2, batch, tree=("r1", 1))))
    assert [(one["message"], one["publication"]) for one in entries] == [
        ("Publish", "p1"),
        ("Publish", "p2"),
    ]
    assert SECRET not in str(entries)


def test_of_a_long_sequence_the_first_are_shown() -> None:
    ids = tuple(f"s{number}" for number in range(SHOWN_MAX + 1000))
    (entry,) = written(ClientUnsubscribeMany("c1", ids))
    assert entry["subscriptions"] == [*ids[:SHOWN_MAX], "and 1,000 more"]


async def test_a_broker_writes_publications_down_without_their_content() -> None:
    story = Story()
    async with running(story=story) as broker:
        raw = await Raw.client(broker.address)
        raw.say(
            SubscribeRequest("s1", "exists a"),
            *(PublishRequest(number, body(f"p{number}", a=SECRET)) for number in (1, 2, 3)),
        )
        await raw.until(AcceptedReply)
        await raw.close()
    debug = [entry for entry in story.entries if entry["level"] == "debug"]
    ids = {
        event: [entry["publication"] for entry in debug if entry["event"] == event]
        for event in ("client publish", "deliver", "accepted")
    }
    assert ids == {event: ["p1", "p2", "p3"] for event in ids}
    assert SECRET not in str(story.entries)
