"""The bridge and a real server of Kafka, killed in between.

`python benchmarks/peers/brokers/get.py kafka` fetches it; `SAPWOOD_PEERS` may name the folder.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

import sapwood
from tests.broker.helpers import running, settings, soon
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.long, pytest.mark.network]

PEERS = Path(os.environ.get("SAPWOOD_PEERS", Path.home() / ".cache" / "sapwood-peers"))
LIBRARIES = PEERS / "kafka" / "lib"
RECORDS = 20_000

PROPERTIES = """\
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{control}
log.dirs={folder}/log
num.partitions=3
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    """The library's threads end a while after its clients."""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not LIBRARIES.is_dir() or shutil.which("java") is None:
        pytest.skip("no Kafka: python benchmarks/peers/brokers/get.py kafka (needs Java and Maven)")
    folder = tmp_path_factory.mktemp("kafka")
    port, control = free_port(), free_port()
    file = folder / "server.properties"
    file.write_text(PROPERTIES.format(port=port, control=control, folder=folder), "utf-8")
    java = ("java", "-Xmx512m", "-cp", f"{LIBRARIES}/*")
    format_ = ("kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg")
    subprocess.run((*java, *format_, "-c", str(file)), check=True, capture_output=True)
    with (folder / "out").open("wb") as out:
        server = subprocess.Popen(
            (*java, "kafka.Kafka", str(file)), stdout=out, stderr=subprocess.STDOUT
        )
    try:
        end = time.monotonic() + PATIENCE_S
        while True:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            assert server.poll() is None, (folder / "out").read_text("utf-8")[-2000:]
            assert time.monotonic() < end
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def written(servers: str, topic: str) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "linger.ms": 20})
    for number in range(RECORDS):
        while True:
            try:
                producer.produce(topic, b'{"n": %d}' % number, b"%d" % (number % 7))
            except BufferError:
                producer.poll(0.1)
            else:
                break
    assert producer.flush(PATIENCE_S) == 0


async def bridge(*arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "sapwood", "kafka", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )


async def test_a_source_that_is_killed_again_and_again_publishes_each_record_once(
    kafka: str, tmp_path: Path
) -> None:
    await asyncio.to_thread(written, kafka, "in")
    async with (
        running(settings("hub", data=tmp_path / "data")) as hub,
        sapwood.connect(str(hub.address)) as client,
    ):
        every = await client.subscribe("exists n")
        arguments = (
            *("source", "--kafka", kafka, "--topic", "in", "--broker", str(hub.address)),
            *("--drain", "--json", "--rejected", str(tmp_path / "aside")),
            *("--property", "session.timeout.ms=6000"),
        )
        seen: list[int] = []

        async def take() -> None:
            while len(seen) < RECORDS:
                seen.extend(one.attributes["n"] for one in await every.take(1000))

        taking = asyncio.create_task(take())
        for number in range(1, 4):
            process = await bridge(*arguments)
            while len(seen) < number * RECORDS // 5 and process.returncode is None:
                await asyncio.sleep(0.01)
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
            await process.wait()
        process = await bridge(*arguments)
        out, _ = await asyncio.wait_for(process.communicate(), 4 * PATIENCE_S)
        assert process.returncode == 0, out
        await asyncio.wait_for(taking, PATIENCE_S)
        await client.publish({"n": -1})
        assert (await soon(anext(aiter(every)))).attributes["n"] == -1, "nothing came twice"
        assert sorted(seen) == list(range(RECORDS))
        assert not (tmp_path / "aside").exists()


async def test_a_sink_that_is_killed_loses_nothing(kafka: str, tmp_path: Path) -> None:
    async with (
        running(settings("hub", data=tmp_path)) as hub,
        sapwood.connect(str(hub.address)) as client,
    ):
        await client.unsubscribe(
            await client.subscribe("exists n", durable="out", acknowledge_within=2)
        )
        await client.publish_many({"n": number} for number in range(RECORDS))
        arguments = (
            *("sink", "--kafka", kafka, "--topic", "out", "--durable", "out"),
            *("--broker", str(hub.address)),
        )
        while (state := await client.durable("out")).waiting:
            process = await bridge(*arguments)
            goal = max(0, state.waiting - RECORDS // 3)
            while (await client.durable("out")).waiting > goal and process.returncode is None:
                await asyncio.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            await process.wait()
    found = await asyncio.to_thread(all_of, kafka, "out")
    assert {json.loads(one.value())["n"] for one in found} == set(range(RECORDS))
    ids = {dict(one.headers())["sapwood-id"] for one in found}
    assert len(ids) == RECORDS, "what is there twice has the same id"


def all_of(servers: str, topic: str) -> list[Any]:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "look",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
        }
    )
    try:
        consumer.subscribe([topic])
        found: list[Any] = []
        ended: set[Any] = set()
        while len(ended) < 3:
            for one in consumer.consume(1000, 0.2):
                if one.error() is None:
                    found.append(one)
                else:
                    ended.add(one.partition())
        return found
    finally:
        consumer.close()
