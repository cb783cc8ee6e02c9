"""Topics to a broker and back, against the servers that librdkafka has for tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import confluent_kafka
import pytest
from click.testing import CliRunner, Result

import sapwood
from sapwood.cli.main import main
from sapwood.errors import ConnectionLostError
from tests.broker.helpers import running, settings, soon
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.network


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    """The library's threads end a while after its clients."""


class Cluster(NamedTuple):
    """Servers of Kafka in this process, and a producer that talks to them."""

    servers: str
    producer: Any

    def put(self, topic: str, *values: bytes) -> None:
        """Write values into one partition, in their order."""
        for value in values:
            self.producer.produce(topic, value, b"k")
        assert self.producer.flush(PATIENCE_S) == 0

    def committed(self, place: str, group: str) -> int:
        """The offset that a group has committed, of a topic and partition as in `orders-3`."""
        topic, _, number = place.rpartition("-")
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self.servers, "group.id": group})
        try:
            asked = confluent_kafka.TopicPartition(topic, int(number))
            (found,) = consumer.committed([asked], PATIENCE_S)
            return int(found.offset)
        finally:
            consumer.close()

    def all_of(self, topic: str, count: int) -> list[Any]:
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": f"look-{topic}",
                "auto.offset.reset": "earliest",
            }
        )
        try:
            consumer.subscribe([topic])
            found: list[Any] = []
            while len(found) < count:
                found += [one for one in consumer.consume(10, 0.2) if one.error() is None]
            return found
        finally:
            consumer.close()


@contextmanager
def cluster() -> Iterator[Cluster]:
    producer = confluent_kafka.Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (server,) = producer.list_topics(timeout=PATIENCE_S).brokers.values()
    yield Cluster(f"{server.host}:{server.port}", producer)


async def ran(*arguments: str) -> Result:
    return await asyncio.to_thread(partial(CliRunner().invoke, main, ["kafka", *arguments]))


async def test_a_topic_is_published_once_and_bad_records_are_set_aside(tmp_path: Path) -> None:
    with cluster() as kafka:
        kafka.put("orders", b'{"price": 11}', b'{"price": 9}', b"{", b'{"price": 12}')
        async with (
            running(settings("hub", data=tmp_path / "data")) as hub,
            sapwood.connect(str(hub.address)) as client,
        ):
            dear = await client.subscribe("price > 10 and kafka.topic = 'orders'")
            aside = tmp_path / "aside"
            arguments = (
                *("source", "--kafka", kafka.servers, "--topic", "orders"),
                *("--broker", str(hub.address), "--drain", "--json", "--rejected", str(aside)),
            )
            first = await ran(*arguments)
            assert (first.exit_code, json.loads(first.stdout)) == (
                1,
                {"published": 3, "rejected": 1, "rejected_file": str(aside)},
            ), first.output
            row = json.loads(aside.read_text("utf-8"))
            assert (row["line"], row["text"]) == (2, "{")
            assert row["file"].startswith("orders-")
            found = [await soon(anext(aiter(dear))) for _ in range(2)]
            assert [one.attributes["price"] for one in found] == [11, 12]
            # So the next one of the group begins behind them, the bad one included.
            assert await asyncio.to_thread(kafka.committed, row["file"], "sapwood") == 4


async def test_what_was_in_doubt_is_published_once(tmp_path: Path) -> None:
    with cluster() as kafka:
        kafka.put("t", *(b'{"n": %d}' % number for number in range(5)))
        async with (
            running(settings("hub", data=tmp_path)) as hub,
            sapwood.connect(str(hub.address)) as client,
        ):
            taken = await client.subscribe("exists n")
            # What a bridge that is killed before its commit has done:
            async with sapwood.connect(str(hub.address), name="sapwood/9") as killed:
                await killed.publish({"n": 0, "by": "the one that was killed"}, id="t-0-0")
            done = await ran(
                *("source", "--kafka", kafka.servers, "--topic", "t", "--drain"),
                *("--broker", str(hub.address), "--json"),
                *("--rejected", str(tmp_path / "aside")),
            )
            assert done.exit_code == 0, done.output
            found = [await soon(anext(aiter(taken))) for _ in range(5)]
            ids = sorted(one.id for one in found)
            partitions = {one.id.split("-")[1] for one in found}
            assert len(ids) == len(set(ids)) == 5
            if partitions == {"0"}:
                assert hub.counters.publications == 5


async def test_a_filter_is_written_into_a_topic_and_acknowledged(tmp_path: Path) -> None:
    with cluster() as kafka:
        async with (
            running(settings("hub", data=tmp_path)) as hub,
            sapwood.connect(str(hub.address)) as client,
        ):
            await client.unsubscribe((await client.subscribe("price > 10", durable="out")).id)
            for price in (11, 9, 12):
                await client.publish({"price": price, "symbol": "S"}, id=f"p{price}")
            await client.publish({"price": 13}, id="p13", payload=b"\0\1")
            done = await ran(
                *("sink", "--kafka", kafka.servers, "--topic", "dear", "--key", "symbol"),
                *("--durable", "out", "--broker", str(hub.address), "--count", "3", "--json"),
            )
            assert (done.exit_code, json.loads(done.stdout)) == (0, {"written": 3}), done.output
            found = await asyncio.to_thread(kafka.all_of, "dear", 3)
            by_id = {dict(one.headers())["sapwood-id"]: one for one in found}
            assert json.loads(by_id[b"p11"].value()) == {"price": 11, "symbol": "S"}
            assert (by_id[b"p11"].key(), by_id[b"p13"].key()) == (b"S", None)
            assert by_id[b"p13"].value() == b"\0\1"
            assert (await client.durable("out")).waiting == 0


async def test_a_sink_that_cannot_write_acknowledges_nothing(tmp_path: Path) -> None:
    async with (
        running(settings("hub", data=tmp_path)) as hub,
        sapwood.connect(str(hub.address)) as client,
    ):
        await client.unsubscribe((await client.subscribe("true", durable="out")).id)
        await client.publish({"a": 1})
        done = await ran(
            *("sink", "--kafka", "127.0.0.1:1", "--topic", "t", "--durable", "out"),
            *("--broker", str(hub.address), "--property", "message.timeout.ms=50"),
            *("--property", "log_level=0"),
        )
        assert isinstance(done.exception, ConnectionLostError | SystemExit)
        assert done.exit_code == 2 or "Kafka" in str(done.exception)
        assert (await client.durable("out")).waiting == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("source", "--topic", "t", "--property", "a"), "name=value"),
        (("source", "--topic", "t", "--property", "no.such=1"), "no.such"),
        (("sink", "--topic", "t", "--durable", "d", "a > 1", "--xpath", "//a"), "not both"),
        (("sink", "--topic", "t", "--durable", "d", "--xpath", "//a", "--dialect", "jms"), "leave"),
    ],
)
async def test_wrong_arguments_are_told_before_anything_begins(
    arguments: tuple[str, ...], words: str
) -> None:
    done = await ran(*arguments, "--kafka", "127.0.0.1:1")
    assert done.exit_code != 0
    assert words in done.output + str(done.exception)
