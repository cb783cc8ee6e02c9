from __future__ import annotations

from dataclasses import fields

from sapwood.broker.counters import Counters
from tests.broker.helpers import Raw, Story, running, soon


async def test_a_broker_s_last_word_is_what_it_has_counted() -> None:
    story = Story()
    async with running(story=story) as broker:
        raw = await Raw.client(broker.address)
        await raw.close()
        await soon(broker.roster.until(lambda: not broker.roster.peers))
    last = story.entries[-1]
    assert last["event"] == "stopped"
    assert {field.name for field in fields(Counters)} <= last.keys()
    assert (last["connections"], last["publications"]) == (1, 0)
