"""Bloom forwarding over sockets: one content match, and exact deliveries at the other end."""

from __future__ import annotations

import pytest

from sapwood.client import connect
from sapwood.language.xpath import parse_xpath
from sapwood.matching.readiness import RECORDS
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.bloom.bloom import Bloom
from sapwood.routing.protocols import protocol
from sapwood.wire.runs import FRAMES
from tests.broker.helpers import line, soon
from tests.routing.wiring import core_of

COUNT = 40


@pytest.mark.parametrize("word", ["identity+bloom", "identity+bloom:64:1"])
async def test_bits_cross_brokers_in_batches_and_save_them_the_match(word: str) -> None:
    for kernels in (FRAMES, RECORDS):
        kernels.load()
    async with (
        line("r1", "r2", "r3", protocol=protocol(word)) as brokers,
        connect(str(brokers["r1"].address)) as publisher,
        connect(str(brokers["r3"].address)) as subscriber,
    ):
        wanted = await subscriber.subscribe("a >= 20")
        documents = await subscriber.subscribe(parse_xpath("//b"))
        some = [Publication(f"p{number}", {"a": number}) for number in range(COUNT)]
        await publisher.publish_many([*some, Publication("d", document=b"<a><b/></a>")])
        got = [(await soon(anext(wanted))).id for _ in range(COUNT // 2)]
        assert got == [f"p{number}" for number in range(20, COUNT)]
        assert (await soon(anext(documents))).id == "d"
        matches = {}
        for name, broker in brokers.items():
            forwarding = core_of(broker.router).forwarding
            assert isinstance(forwarding, Bloom)
            matches[name] = forwarding.content_matches
        assert matches == {"r1": 2 * (COUNT + 1), "r2": 0, "r3": COUNT // 2 + 1}
