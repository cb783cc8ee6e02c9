"""Documents of several DTDs between brokers that keep a table for each."""

from __future__ import annotations

from sapwood import parse_advertisement, parse_xpath
from sapwood.client import connect
from sapwood.routing.forwarding.types.tables import TypedTables
from sapwood.routing.protocols import protocol
from tests.broker.helpers import line, soon
from tests.routing.wiring import core_of

NEWS, SONGS = map(parse_advertisement, ("/news/title|/news/p", "/songs/song/title"))


async def test_documents_come_to_whoever_wants_them_and_are_looked_up_by_type() -> None:
    async with (
        line("r1", "r2", "r3", protocol=protocol("advertisement+xroute+types")) as brokers,
        connect(str(brokers["r1"].address)) as publisher,
        connect(str(brokers["r3"].address)) as subscriber,
    ):
        titles = await subscriber.subscribe(parse_xpath("//title"))
        songs = await subscriber.subscribe(parse_xpath("/songs"))
        for content in (NEWS, SONGS):
            await publisher.advertise(content)
        await publisher.publish(b"<news><p/></news>", "n1")
        await publisher.publish(b"<news><title/></news>", "n2")
        await publisher.publish(b"<songs><song><title/></song></songs>", "s1")
        assert [(await soon(anext(titles))).id for _ in range(2)] == ["n2", "s1"]
        assert (await soon(anext(songs))).id == "s1"
        for broker in brokers.values():
            forwarding = core_of(broker.router).forwarding
            assert isinstance(forwarding, TypedTables)
            assert {one.content for one in forwarding._tables.values()} == {NEWS, SONGS}
            assert forwarding.digests_unread == 0
