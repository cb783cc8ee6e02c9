"""Payloads over sockets: bytes for subscribers, which no broker reads, and what goes on blind."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from sapwood.broker.broker import Broker
from sapwood.client import connect
from sapwood.client.durable import DurableDelivery
from sapwood.errors import InputError
from sapwood.matching.readiness import RECORDS
from sapwood.model.publication import Publication
from sapwood.routing.effects import Effect
from sapwood.routing.forwarding.reuse.reuse import Reuse
from sapwood.routing.inputs import Input, Receive, ReceiveMany
from sapwood.routing.messages import Publish
from sapwood.routing.protocols import protocol
from sapwood.store.lines import read_lines
from sapwood.store.segments import segments
from sapwood.wire.publications import encode_publication
from sapwood.wire.runs import FRAMES
from tests.broker.helpers import line, running, settings, soon
from tests.routing.wiring import core_of

POISON: Final = b"\xc1\xff<d \xd9\xff\xcb\x7f\xf8\x00" * 3
"""No document, no text, no MessagePack: whoever reads it as anything fails."""

BLIND: Final = protocol("simple+reuse:always")


def came_over_links(broker: Broker) -> list[bytes]:
    """The bytes of the publications that neighbors send from now on."""
    handle, came = broker.router.handle, list[bytes]()

    def watched(input: Input, now: float) -> list[Effect]:
        if isinstance(input, ReceiveMany):
            came.extend(encode_publication(one) for one in input.publications.batch)
        elif isinstance(input, Receive) and isinstance(input.message, Publish):
            came.append(encode_publication(input.message.publication))
        return handle(input, now)

    broker.router.handle = watched  # type: ignore[method-assign]
    return came


@pytest.mark.parametrize("word", ["covering", "identity+bloom", "simple+prefix", BLIND.name])
async def test_a_payload_comes_as_it_was_published(word: str) -> None:
    for kernels in (FRAMES, RECORDS):
        kernels.load()
    async with (
        line("r1", "r2", "r3", protocol=protocol(word)) as brokers,
        connect(str(brokers["r1"].address)) as publisher,
        connect(str(brokers["r3"].address)) as subscriber,
    ):
        wanted = await subscriber.subscribe("a >= 1")
        sent = [Publication(f"p{n}", {"a": n}, payload=POISON[n:]) for n in range(4)]
        sent.append(Publication("d", {"a": 9}, b"<a/>", b""))
        published = await publisher.publish_many(sent)
        assert published.accepted == len(sent)
        await publisher.publish({"a": 2}, "alone", payload=POISON)
        got = [await soon(anext(wanted)) for _ in range(len(sent))]
        assert [one.publication() for one in got[:-1]] == sent[1:]
        assert (got[-1].id, got[-1].attributes, got[-1].payload) == ("alone", {"a": 2}, POISON)


async def test_what_is_blind_is_read_by_the_first_broker_and_by_no_other() -> None:
    async with (
        line("r1", "r2", "r3", protocol=BLIND) as brokers,
        connect(str(brokers["r1"].address)) as publisher,
        connect(str(brokers["r3"].address)) as subscriber,
    ):
        wanted = await subscriber.subscribe("patient = 'Ada'")
        others = await subscriber.subscribe("patient = 'Bob'")
        seen = [came_over_links(brokers[name]) for name in ("r2", "r3")]
        for number in range(3):
            await publisher.publish(
                {"patient": "Ada"}, f"p{number}", payload=POISON + b"%d" % number, blind=True
            )
        await publisher.publish({"patient": "Bob"}, "last")
        got = [await soon(anext(wanted)) for _ in range(3)]
        assert [(one.id, one.has_record) for one in got] == [(f"p{n}", False) for n in range(3)]
        assert [one.payload for one in got] == [POISON + b"%d" % n for n in range(3)]
        assert (await soon(anext(others))).attributes == {"patient": "Bob"}
        for came in seen:
            assert [b"patient" in one for one in came] == [False] * 3 + [True]
        for name in ("r2", "r3"):
            forwarding = core_of(brokers[name].router).forwarding
            assert isinstance(forwarding, Reuse)
            assert forwarding.content_matches == 0


async def test_a_client_of_the_first_broker_gets_what_is_blind_as_it_was_published() -> None:
    async with (
        line("r1", protocol=BLIND) as brokers,
        connect(str(brokers["r1"].address)) as client,
    ):
        wanted = await client.subscribe("a = 1")
        await client.publish({"a": 1}, payload=b"x", blind=True)
        got = await soon(anext(wanted))
        assert (got.attributes, got.payload) == ({"a": 1}, b"x")


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("covering", "have to look at content"),
        ("identity+bloom", "have to look at content"),
        ("simple+prefix", "have to look at content"),
        ("simple+reuse:partial:20", "have to look at content"),
        ("mesh+simple+reuse:always", "ask by content when trees change"),
    ],
)
async def test_a_protocol_that_reads_content_refuses_what_is_blind(word: str, reason: str) -> None:
    async with (
        line("r1", protocol=protocol(word)) as brokers,
        connect(str(brokers["r1"].address)) as client,
    ):
        with pytest.raises(InputError, match=f"no publication can be blind: .*{reason}"):
            await client.publish({"a": 1}, payload=b"x", blind=True)
        await client.publish({"a": 1}, payload=b"x")


async def test_a_payload_alone_is_refused_however_many_come() -> None:
    for kernels in (FRAMES, RECORDS):
        kernels.load()
    async with (
        line("r1") as brokers,
        connect(str(brokers["r1"].address)) as client,
    ):
        some = [Publication(f"p{n}", payload=b"x") for n in range(5)]
        published = await client.publish_many([*some, Publication("good", {"a": 1})])
        assert published.accepted == 1
        assert {one.id for one in published.refused} == {one.id for one in some}
        assert "nothing that anybody could ask for" in published.refused[0].reason


@pytest.mark.parametrize("word", [BLIND.name, f"{BLIND.name}+recover"])
async def test_mailboxes_and_journals_keep_payloads(word: str, tmp_path: Path) -> None:
    async def waiting(address: str) -> list[tuple[str, bool, bytes | None]]:
        async with connect(address, "reader") as reader:
            mailbox = await reader.subscribe("a = 1", durable="box")
            got = [await soon(anext(mailbox)) for _ in range(2)]
            for one in got:
                assert isinstance(one, DurableDelivery)
                one.acknowledge()
            return [(one.id, one.has_record, one.payload) for one in got]

    folders = {name: tmp_path / name for name in ("r1", "r2")}
    async with (
        running(settings("r1", protocol=protocol(word), data=folders["r1"])) as first,
        running(settings("r2", first.address, protocol=protocol(word), data=folders["r2"])) as last,
    ):
        await soon(first.until_linked("r2"))
        await soon(last.until_linked("r1"))
        address = str(last.address)
        async with connect(address, "reader") as reader:
            await reader.subscribe("a = 1", durable="box")
        async with connect(str(first.address)) as publisher:
            await publisher.publish({"a": 1}, "open", payload=POISON)
            await publisher.publish({"a": 1}, "blind", payload=POISON, blind=True)
        assert await waiting(address) == [("open", True, POISON), ("blind", False, POISON)]
    lines = {
        name: [entry.text for one in segments(folder / "journal") for entry in read_lines(one, 0)]
        for name, folder in folders.items()
    }
    assert [b'"payload":' in text for text in lines["r1"]] == [True, True]
    assert [b'"attributes":' in text for text in lines["r1"]] == [True, True]
    assert all(b'"attributes":' not in text for text in lines["r2"] if b'"id":"blind"' in text)
