"""Every client gets exactly what its topic filters and conditions say, over two brokers."""

from __future__ import annotations

import random
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import ANY_PORT, Story, running, settings, soon
from tests.broker.mqtt.helpers import PUBLISH, Client, Listening, publish
from tests.broker.mqtt.test_topics import expected
from tests.examples import examples

__all__ = ("nothing_is_left",)

LEVELS = ["", "a", "b", "%", "_", "$a", "'", "\\"]
CONDITIONS: list[tuple[str, Any]] = [
    ("k = 'x'", lambda k: k == "x"),
    ("k <> 'x'", lambda k: k != "x"),
    ("exists k or topic = 'a'", lambda k: True),
]


def drawn_filter(draw: random.Random) -> str:
    levels = draw.choices([*LEVELS, "+", "+", "+"], k=draw.randint(1, 3))
    return "/".join([*levels, "#"] if draw.random() < 0.4 else levels) or "#"


@pytest.mark.parametrize("seed", range(examples(16)))
async def test_deliveries_are_those_that_the_standard_says(seed: int) -> None:
    draw = random.Random(seed)
    async with AsyncExitStack() as stack:
        story = Story()
        first = await stack.enter_async_context(running(settings("r1", mqtt=ANY_PORT), story))
        host = Listening(first, story)
        story = Story()
        beyond = settings("r2", first.address, mqtt=ANY_PORT)
        second = await stack.enter_async_context(running(beyond, story))
        await soon(second.until_linked("r1"))
        other = Listening(second, story)
        clients: list[tuple[Client, list[tuple[str, Any]]]] = []
        for number in range(6):
            at = other if number % 2 else host
            client = await stack.enter_async_context(at.client(f"c{number}"))
            wanted: list[tuple[str, Any]] = []
            for topic_filter in {drawn_filter(draw) for _ in range(3)}:
                text, holds = draw.choice(CONDITIONS)
                codes = await client.subscribed(topic_filter, pairs=[(38, ("filter", text))])
                assert codes == (0,)
                wanted.append((topic_filter, holds))
            assert await client.subscribed("end") == (0,)
            clients.append((client, wanted))
        published: list[tuple[str, str]] = []
        source = await stack.enter_async_context(host.client("source"))
        for number in range(60):
            topic = "/".join(draw.choices(LEVELS, k=draw.randint(1, 4))) or "a"
            value = draw.choice("xy")
            published.append((topic, value))
            source.say(publish(topic, b"%d" % number, (38, ("k", value))))
        source.say(publish("end", b"", (38, ("k", "z"))))
        found = 0
        for client, wanted in clients:
            told: list[int] = []
            while (packet := await client.heard(PUBLISH)).topic != "end":
                told.append(int(packet.payload))
            assert told == [
                number
                for number, (topic, value) in enumerate(published)
                if any(expected(one, topic) and holds(value) for one, holds in wanted)
            ]
            found += len(told)
        assert found
