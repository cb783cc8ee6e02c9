"""Clients of MQTT at a running broker: what they publish, get, and are told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import sapwood
from sapwood.limits.mqtt import MQTT_RECEIVE_MAX
from tests.broker.access.test_doorkeeper import ANN, FEED, identities
from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import LARGE, soon
from tests.broker.mqtt.helpers import (
    CONNACK,
    DISCONNECT,
    PINGRESP,
    PUBACK,
    PUBLISH,
    SUBACK,
    UNSUBACK,
    Client,
    Packet,
    connect,
    frame,
    listening,
    puback,
    publish,
    subscribe,
    unsubscribe,
)

__all__ = ("nothing_is_left",)

PINGREQ = frame(0xC0, b"")
GOODBYE = frame(0xE0, b"")


async def until(client: Client, kind: int) -> list[Packet]:
    """The packets up to the first of a kind."""
    heard: list[Packet] = []
    while not heard or heard[-1].kind != kind:
        packet = await client.hear()
        assert packet is not None, heard
        heard.append(packet)
    return heard


async def both(client: Client, *kinds: int) -> list[Packet]:
    """Packets of these kinds, which may come in any order."""
    heard = [packet for _ in kinds if (packet := await client.hear()) is not None]
    assert sorted(one.kind for one in heard) == sorted(kinds), heard
    return sorted(heard, key=lambda one: kinds.index(one.kind))


async def test_a_client_subscribes_publishes_and_unsubscribes() -> None:
    async with listening() as host, host.client() as client:
        assert await client.subscribed("a/+") == (0,)
        client.say(publish("a/b", b"\0\xff", qos=1, id=5), publish("b", b"no"))
        answer, delivered = await both(client, PUBACK, PUBLISH)
        assert (delivered.topic, delivered.payload, delivered.flags) == ("a/b", b"\0\xff", 0)
        assert (answer.id, answer.codes) == (5, (0,))
        client.say(unsubscribe(8, "a/+", "never/was"))
        assert (await client.heard(UNSUBACK)).codes == (0, 0x11)
        assert await client.published("a/b", b"x") == 0
        client.say(PINGREQ)
        await client.heard(PINGRESP)
        client.say(GOODBYE)
        assert await client.hear() is None


async def test_a_client_is_told_what_the_broker_has() -> None:
    async with listening() as host, host.raw() as client:
        client.say(connect("", (17, 3600)))
        told = await client.heard(CONNACK)
        assert told.codes == (0,)
        assigned = told.properties[18]
        assert assigned.startswith("auto-")
        assert told.properties == {
            17: 0,
            18: assigned,
            33: MQTT_RECEIVE_MAX,
            34: 0,
            36: 1,
            37: 0,
            39: 2_097_152,
            42: 0,
        }


async def test_all_that_the_standard_wants_passed_on_is() -> None:
    properties = [(1, 1), (3, "text/plain"), (8, "answers/me"), (9, b"\0\1")]
    users = [(38, ("unit", "C")), (38, ("unit", "F")), (38, ("site", "é"))]
    async with listening() as host, host.client() as client:
        assert await client.subscribed("#") == (0,)
        client.say(publish("a", b"21", (2, 1000), *properties, *users))
        delivered = await client.heard(PUBLISH)
        left = delivered.properties[2]
        assert delivered.properties == {1: 1, 2: left, 3: "text/plain", 8: "answers/me", 9: b"\0\1"}
        assert left in (999, 1000)
        assert delivered.users == (("unit", "C"), ("unit", "F"), ("site", "é"))


async def test_user_properties_and_json_are_attributes_for_everybody() -> None:
    async with (
        listening() as host,
        host.client() as client,
        sapwood.connect(str(host.broker.address)) as other,
    ):
        found = await other.subscribe("site = 'roof' and of.deep > 1 and topic like 'a/%'")
        payload = b'{"t": 21.5, "of": {"deep": 2}, "list": [1]}'
        json = (3, "application/json; charset=utf-8")
        assert await client.published("a/b", payload, json, (38, ("site", "roof"))) == 0
        delivery = await soon(anext(aiter(found)))
        assert delivery.payload == payload
        assert delivery.attributes == {
            "topic": "a/b",
            "site": "roof",
            "t": 21.5,
            "of": {"deep": 2},
            "list": [1],
            "mqtt.content_type": "application/json; charset=utf-8",
        }
        assert await client.subscribed("a/+", pairs=[(38, ("filter", "t > 21"))]) == (0,)
        client.say(publish("a/b", b'{"t": 21}', json), publish("a/b", payload, json))
        delivered = await client.heard(PUBLISH)
        assert (delivered.payload, delivered.users) == (payload, ())


async def test_what_others_publish_is_delivered_as_json_xml_or_payload() -> None:
    async with (
        listening() as host,
        host.client() as client,
        sapwood.connect(str(host.broker.address)) as other,
    ):
        assert await client.subscribed("a") == (0,)
        await other.publish({"topic": "a", "n": 1, "of": {"b": True}})
        told = await client.heard(PUBLISH)
        assert (told.payload, told.properties) == (
            b'{"n":1,"of":{"b":true}}',
            {3: "application/json"},
        )
        await other.publish({"topic": "a", "n": 1, "f": 2.5, "b": True}, payload=b"x")
        told = await client.heard(PUBLISH)
        assert (told.payload, told.users) == (b"x", (("n", "1"), ("f", "2.5"), ("b", "true")))
        await other.publish(sapwood.Publication("p", {"topic": "a", "k": "v"}, b"<x/>"))
        told = await client.heard(PUBLISH)
        assert (told.payload, told.users) == (b"<x/>", (("k", "v"),))
        assert told.properties == {3: "application/xml"}


async def test_topics_that_no_publish_carries_are_not_delivered() -> None:
    async with (
        listening() as host,
        host.client() as client,
        sapwood.connect(str(host.broker.address)) as other,
    ):
        assert await client.subscribed("#") == (0,)
        for topic in ("", "a/+", "a\0", "x" * 70_000, 7, "right"):
            await other.publish({"topic": topic})
        assert (await client.heard(PUBLISH)).topic == "right"


async def test_xml_is_a_document_for_everybody() -> None:
    async with (
        listening() as host,
        host.client() as client,
        sapwood.connect(str(host.broker.address)) as other,
    ):
        found = await other.subscribe(sapwood.parse_xpath("//b[c > 1]"))
        xml = (3, "application/atom+xml")
        assert await client.published("a", b"<a><b><c>2</c></b></a>", xml) == 0
        delivery = await soon(anext(aiter(found)))
        assert delivery.document == b"<a><b><c>2</c></b></a>"
        client.say(publish("a", b"<a>", xml, qos=1, id=3))
        told = await client.heard(PUBACK)
        assert (told.id, told.codes) == (3, (0x83,))
        assert "line 1" in told.reason


async def test_publications_that_cannot_be_are_answered_in_their_order() -> None:
    json = (3, "application/json")
    wrong = [
        (publish("t", b"{", json, qos=1, id=2), 0x99, "not JSON"),
        (publish("t", b'{"topic": 1}', json, qos=1, id=3), 0x99, "'topic'"),
        (publish("t", b'{"a": 1, "a": 2}', json, qos=1, id=4), 0x99, "twice"),
        (publish("t", b"", (38, ("topic", "u")), qos=1, id=5), 0x83, "another name"),
        (publish("t", b"", (38, ("mqtt.x", "u")), qos=1, id=6), 0x83, "another name"),
        (publish("t", b"", (38, ("", "u")), qos=1, id=7), 0x83, "another name"),
    ]
    async with listening() as host, host.client() as client:
        client.say(publish("t", b"", qos=1, id=1), *[one for one, _, _ in wrong])
        client.say(publish("t", b"[1]", json, qos=1, id=8), publish("t", b"{", json))
        told = [await client.heard(PUBACK) for _ in range(8)]
        assert [one.id for one in told] == list(range(1, 9))
        assert [one.codes[0] for one in told] == [0, *(code for _, code, _ in wrong), 0]
        for answer, (_, _, reason) in zip(told[1:], wrong, strict=False):
            assert reason in answer.reason
        client.say(PINGREQ)
        await client.heard(PINGRESP)
    async with listening() as host, host.client("c", (23, 0)) as client:
        client.say(wrong[0][0])
        told_once = await client.heard(PUBACK)
        assert (told_once.codes, told_once.properties) == ((0x99,), {})


async def test_what_is_not_there_ends_the_connection_with_its_code() -> None:
    for packet, code in (
        (publish("a", b"", qos=2), 0x9B),
        (b"\x31" + publish("a", b"")[1:], 0x9A),
        (publish("a", b"", (35, 1)), 0x94),
        (publish("", b"", (35, 1)), 0x94),
        (publish("a/+", b""), 0x90),
        (publish("", b""), 0x90),
        (connect(), 0x82),
        (publish(b"\xff", b""), 0x81),
        (b"\x30\xff\xff\xff\x7f", 0x95),
        (frame(0xE0, b"\0\5\x11\0\0\0\1"), 0x82),
    ):
        async with listening() as host, host.client() as client:
            client.say(packet)
            assert (await client.heard(DISCONNECT)).codes == (code,)
            assert await client.hear() is None


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (connect(version=4), b"\x20\x02\x00\x01"),
        (connect(version=9), b"\x20\x03\x00\x84\x00"),
        (b"GET / HTTP/1.1\r\n\r\n", b""),
        (PINGREQ, b""),
    ],
)
async def test_another_version_is_told_so(data: bytes, answer: bytes) -> None:
    async with listening() as host, host.raw() as client:
        client.say(data)
        assert await soon(client.reader.read()) == answer


async def test_a_connect_may_be_refused() -> None:
    async with listening() as host:
        for data, code in (
            (connect("c", (21, "SCRAM")), 0x8C),
            (connect(user="u"), 0x86),
            (connect(password=b"\xff"), 0x86),
            (connect(will=("w", b""), will_flags=0x10), 0x9B),
            (connect(will=("w", b""), will_flags=0x20), 0x9A),
            (connect(will=("w/#", b"")), 0x90),
            (connect(will=("w", b"{"), will_pairs=[(3, "application/json")]), 0x99),
            (connect("c", (33, 0)), 0x82),
        ):
            async with host.raw() as client:
                client.say(data)
                assert (await client.heard(CONNACK)).codes == (code,)
                assert await client.hear() is None


async def test_identities_grants_and_quotas_are_those_of_clients(tmp_path: Path) -> None:
    grant = '[[grant]]\nto = ["ann"]\nsubscribe = "topic like \'a/%\'"\npublish = "n > 0"\n'
    quota = '[[quota]]\nto = ["ann"]\nsubscriptions = 1\n'
    path = identities(tmp_path, ANN, FEED, grant, quota)
    async with listening(identities=path) as host:
        async with host.client(user="ann", password=b"secret") as client:
            json = (3, "application/json")
            assert await client.subscribed("#") == (0,)
            assert await client.published("b", b'{"n": 1}', json) == 0
            assert await client.published("a/b", b'{"n": 0}', json) == 0x83
            client.say(publish("a/b", b'{"n": 2}', json))
            assert (await client.heard(PUBLISH)).topic == "a/b"
            client.say(subscribe(2, "a/x"))
            refused = await client.heard(SUBACK)
            assert (refused.codes, "subscriptions" in refused.reason) == ((0x83,), True)
            assert any(name.startswith("ann/mqtt/") for name in host.broker.connections.clients)
            path.write_text(FEED)
            host.broker.reload()
            ended = await client.heard(DISCONNECT)
            assert (ended.codes, "has changed" in ended.reason) == ((0x87,), True)
        async with host.client(password=b"a token"):
            pass
        for shown, code in (
            ({}, 0x87),
            ({"password": b"another"}, 0x86),
            ({"user": "ann", "password": b"secret"}, 0x86),
        ):
            async with host.raw() as client:
                client.say(connect(**shown))
                assert (await client.heard(CONNACK)).codes == (code,)


async def test_qos_1_goes_on_as_the_client_acknowledges() -> None:
    async with (
        listening() as host,
        host.client("c", (33, 2)) as client,
        host.client("d") as other,
    ):
        assert await client.subscribed(("a", 1), ("+", 0), ("b", 2)) == (1, 0, 1)
        for number in range(5):
            other.say(publish("a", b"%d" % number, qos=1, id=number + 1))
        first = [await client.heard(PUBLISH) for _ in range(2)]
        client.say(PINGREQ)
        await client.heard(PINGRESP)  # and no third delivery before it
        taken = []
        for _ in range(5):
            one = first.pop(0)
            taken.append(one.payload)
            assert one.flags == 2
            client.say(puback(one.id), puback(one.id))  # the second one is of nothing
            if len(taken) < 4:
                first.append(await client.heard(PUBLISH))
        assert taken == [b"0", b"1", b"2", b"3", b"4"]


async def test_a_delivery_has_the_lower_qos_of_the_two() -> None:
    async with (
        listening() as host,
        host.client() as client,
        host.client("d") as other,
        sapwood.connect(str(host.broker.address)) as publisher,
    ):
        assert await client.subscribed(("a", 1), ("b", 0)) == (1, 0)
        other.say(publish("a", b"0"), publish("a", b"1", qos=1, id=1))
        other.say(publish("b", b"2", qos=1, id=2))
        told = [await client.heard(PUBLISH) for _ in range(3)]
        assert [(one.payload, one.flags) for one in told] == [(b"0", 0), (b"1", 2), (b"2", 0)]
        await publisher.publish({"topic": "a"}, payload=b"3")
        assert (await client.heard(PUBLISH)).flags == 2


async def test_answers_go_on_while_deliveries_wait_for_room() -> None:
    async with listening() as host, host.client("c", (33, 1)) as client:
        assert await client.subscribed(("a", 1)) == (1,)
        client.say(*(publish("a", b"%d" % number, qos=1, id=number) for number in (1, 2, 3)))
        told = [packet for _ in range(4) if (packet := await client.hear()) is not None]
        assert sorted(one.kind for one in told) == sorted([PUBACK] * 3 + [PUBLISH])
        (first,) = (one for one in told if one.kind == PUBLISH)
        client.say(subscribe(9, "b"))
        assert (await client.heard(SUBACK)).codes == (0,)
        client.say(puback(first.id))
        second = await client.heard(PUBLISH)
        assert (first.payload, second.payload) == (b"1", b"2")
        client.say(unsubscribe(10, "a"), puback(second.id), PINGREQ)
        heard = await until(client, PINGRESP)
        assert {one.kind for one in heard} <= {UNSUBACK, PINGRESP, PUBLISH}


async def test_what_waits_for_room_has_a_bound() -> None:
    async with (
        listening(outgoing_bytes_max=2**21) as host,
        host.client("c", (33, 1)) as client,
        sapwood.connect(str(host.broker.address)) as publisher,
    ):
        assert await client.subscribed(("a", 1)) == (1,)
        for _ in range(2**21 // LARGE + 2):
            await publisher.publish({"topic": "a"}, payload=b"x" * LARGE)
        ended = (await until(client, DISCONNECT))[-1]
        assert ended.codes == (0x97,)
        assert "outgoing-bytes-max" in ended.reason


async def test_more_than_the_receive_maximum_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.broker.mqtt.connection.MQTT_RECEIVE_MAX", 3)
    async with listening() as host, host.client() as client:
        assert await client.published("a", b"") == 0
        client.say(b"".join(publish("a", b"", qos=1, id=number) for number in range(1, 60)))
        ended = (await until(client, DISCONNECT))[-1]
        assert ended.codes == (0x93,)


async def test_subscription_identifiers_options_and_overlaps() -> None:
    async with listening() as host, host.client() as client, host.client("d") as other:
        assert await client.subscribed("a/#", pairs=[(11, 7)]) == (0,)
        assert await client.subscribed(("a/+", 1), "+/b/#", pairs=[(11, 300)]) == (1, 0)
        other.say(publish("a/b", b"", qos=1, id=1), publish("c/b/d", b""), publish("c/d/b", b""))
        other.say(publish("a", b""))
        told = [await client.heard(PUBLISH) for _ in range(3)]
        assert [(one.topic, one.flags, one.identifiers) for one in told] == [
            ("a/b", 2, (7, 300)),
            ("c/b/d", 0, (300,)),
            ("a", 0, (7,)),
        ]
        assert await client.subscribed(("a/#", 4)) == (0,)  # now without what it publishes
        client.say(unsubscribe(3, "a/+", "+/b/#"))
        assert (await client.heard(UNSUBACK)).codes == (0, 0)
        assert await client.published("a/b", b"own") == 0
        other.say(publish("a/b", b"other"))
        told_last = await client.heard(PUBLISH)
        assert (told_last.payload, told_last.identifiers) == (b"other", ())


async def test_a_filter_takes_the_place_of_another_without_a_gap() -> None:
    async with listening() as host, host.client() as client:
        assert await client.subscribed("a", pairs=[(38, ("filter", "u = 'x'"))]) == (0,)
        client.say(
            subscribe(2, "a", pairs=[(38, ("filter", "u = 'y'"))]),
            subscribe(3, "a", pairs=[(38, ("filter", "u ="))]),
            subscribe(4, "a", pairs=[(38, ("filter", "true")), (38, ("filter", "true"))]),
            subscribe(5, "$share/g/a", "a#", "/".join("a" * 200)),
        )
        told = {one.id: one for one in [await client.heard(SUBACK) for _ in range(4)]}
        assert {id_: one.codes for id_, one in told.items()} == {
            2: (0,),
            3: (0x83,),
            4: (0x83,),
            5: (0x9E, 0x8F, 0x97),
        }
        assert "position" in told[3].reason
        for value in ("x", "y"):
            client.say(publish("a", value.encode(), (38, ("u", value))))
        assert (await client.heard(PUBLISH)).payload == b"y"
        client.say(subscribe(6, "a", pairs=[(38, ("filter", "u > 1 and u < 0"))]))
        assert "exclude" in (await client.heard(SUBACK)).reason
        client.say(unsubscribe(7, "a"))
        assert (await client.heard(UNSUBACK)).codes == (0,)
        assert await client.published("a", b"", (38, ("u", "y"))) == 0


async def test_a_filter_may_be_in_another_language() -> None:
    async with listening() as host, host.client() as client:
        jms = [(38, ("filter", "u BETWEEN 'b' AND 'c'")), (38, ("dialect", "jms"))]
        sns = [(38, ("filter", '{"u": [{"prefix": "x"}]}')), (38, ("dialect", "sns"))]
        assert await client.subscribed("a", pairs=sns) == (0,)
        client.say(subscribe(2, "b", pairs=jms), subscribe(3, "b", pairs=jms[1:]))
        told = [await client.heard(SUBACK) for _ in range(2)]
        assert [one.codes for one in told] == [(0x83,), (0x83,)]
        assert "text" in told[0].reason
        assert "of a filter" in told[1].reason
        for value in ("y", "xy"):
            client.say(publish("a", value.encode(), (38, ("u", value))))
        assert (await client.heard(PUBLISH)).payload == b"xy"


async def test_subscriptions_that_wait_are_answered_however_they_end() -> None:
    async with listening(strict=True) as host, host.client() as client:
        never = [(38, ("filter", "u > 1 and u < 0"))]
        client.say(
            subscribe(1, "a"),
            subscribe(2, "a", pairs=[(38, ("filter", "u = 'y'"))]),
            subscribe(3, "a", pairs=never),
            subscribe(4, "a", pairs=[(38, ("filter", "u = 'z'"))]),
            subscribe(5, "a", pairs=never),
        )
        told = {one.id: one.codes for one in [await client.heard(SUBACK) for _ in range(5)]}
        assert told == {1: (0,), 2: (0,), 3: (0x83,), 4: (0,), 5: (0x83,)}
        for value in ("y", "z"):
            client.say(publish("a", value.encode(), (38, ("u", value))))
        assert (await client.heard(PUBLISH)).payload == b"z"
        client.say(subscribe(6, "b"), unsubscribe(7, "b", "b"), subscribe(8, "b"))
        heard = [await client.hear() for _ in range(3)]
        assert {(one.kind, one.id, one.codes) for one in heard if one is not None} == {
            *((SUBACK, 6, (0,)), (SUBACK, 8, (0,))),
            (UNSUBACK, 7, (0, 0x11)),
        }


async def test_too_many_filters_without_an_answer_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.broker.mqtt.subscriptions.MQTT_UNANSWERED_MAX", 3)
    async with listening() as host, host.client() as client:
        client.say(subscribe(1, "a", "b", "c"))
        assert (await client.heard(SUBACK)).codes == (0, 0, 0)
        client.say(subscribe(1, "d", "e", "f", "g"))
        assert (await until(client, DISCONNECT))[-1].codes == (0x97,)


async def test_a_second_connection_of_a_client_ends_the_first() -> None:
    async with (
        listening() as host,
        host.client("c", will=("gone", b"c")) as first,
        host.client("d") as watcher,
    ):
        assert await watcher.subscribed("gone") == (0,)
        async with host.client("c"):
            assert (await first.heard(DISCONNECT)).codes == (0x8E,)
            assert (await watcher.heard(PUBLISH)).payload == b"c"


async def test_a_will_is_published_unless_the_client_says_goodbye() -> None:
    async with listening() as host, host.client("d") as watcher:
        assert await watcher.subscribed(("wills/#", 1)) == (1,)
        for number, last in enumerate((GOODBYE, b"", frame(0xE0, b"\4"), b"\0", PINGREQ)):
            will = (f"wills/{number}", b"gone")
            async with host.client(
                "c", will=will, will_pairs=[(38, ("k", "v")), (24, 9)]
            ) as client:
                client.say(last)
                if last == PINGREQ:
                    client.writer.transport.abort()
        told = {(await watcher.heard(PUBLISH)).topic for _ in range(4)}
        assert told == {"wills/1", "wills/2", "wills/3", "wills/4"}


async def test_silence_beyond_the_keep_alive_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.broker.mqtt.connection._PATIENCE", 0.01)
    async with listening() as host, host.client(keep_alive=5) as client:
        assert (await client.heard(DISCONNECT)).codes == (0x8D,)


async def test_connect_is_awaited_for_a_while_only_and_connections_have_a_bound() -> None:
    async with listening(greeting_s=0.05, mqtt_connections_max=1) as host, host.raw() as client:
        client.say(connect()[:5])
        async with host.raw() as other:
            assert await other.hear() is None
        assert await client.hear() is None


async def test_clients_are_told_when_the_broker_stops() -> None:
    async with listening() as host:
        reader, writer = await asyncio.open_connection(host.host, host.port)
        silent = Client(*await asyncio.open_connection(host.host, host.port))
        client = Client(reader, writer)
        client.say(connect(will=("w", b"x")))
        await client.heard(CONNACK)
    assert (await client.heard(DISCONNECT)).codes == (0x8B,)
    assert await silent.hear() is None
    await client.close()
    await silent.close()


async def test_packets_larger_than_the_client_takes_are_not_sent() -> None:
    async with listening() as host, host.client("c", (39, 40)) as client:
        assert await client.subscribed(("a", 1)) == (1,)
        client.say(publish("a", b"x" * 100), publish("a", b"short"))
        assert (await client.heard(PUBLISH)).payload == b"short"
        client.say(publish("a", b"{", (3, "application/json"), qos=1, id=4))
        told = await client.heard(PUBACK)
        assert (told.codes, told.reason) == ((0x99,), "")


async def test_who_does_not_read_is_disconnected_and_the_rest_goes_on() -> None:
    async with (
        listening(outgoing_bytes_max=2**21) as host,
        host.client("slow") as slow,
        host.client("well") as well,
        sapwood.connect(str(host.broker.address)) as publisher,
    ):
        assert await slow.subscribed(("#", 1)) == (1,)
        assert await well.subscribed("ok") == (0,)
        published = 0
        while not host.broker.counters.slow_consumers:
            await publisher.publish({"topic": "a"}, payload=b"x" * LARGE)
            published += 1
            assert published < 5000
        await publisher.publish({"topic": "ok"})
        assert (await well.heard(PUBLISH)).topic == "ok"
        heard = await until(slow, DISCONNECT)
        assert heard[-1].codes == (0x97,)


async def test_who_takes_nothing_at_all_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.broker.mqtt.connection.MQTT_UNREAD_S", 0.1)
    monkeypatch.setattr("sapwood.broker.mqtt.connection.GOODBYE_S", 0.1)
    async with (
        listening() as host,
        host.client() as client,
        sapwood.connect(str(host.broker.address)) as publisher,
    ):
        assert await client.subscribed("#") == (0,)
        door = host.broker._doors[0]
        while door._tasks:  # type: ignore[attr-defined]
            await publisher.publish({"topic": "a"}, payload=b"x" * LARGE)


async def test_durable_subscriptions_keep_what_was_not_acknowledged(tmp_path: Path) -> None:
    durable = [(38, ("durable", "d"))]
    async with listening(data=tmp_path) as host:
        async with host.client() as client:
            assert await client.subscribed(("a/#", 1), pairs=durable) == (1,)
            client.say(publish("a/1", b"1"), publish("a/2", b"2"))
            one, two = [await client.heard(PUBLISH) for _ in range(2)]
            assert (one.payload, two.payload) == (b"1", b"2")
            client.say(puback(one.id), PINGREQ)
            await client.heard(PINGRESP)
        async with host.client() as client:
            assert await client.published("a/3", b"3") == 0
            assert await client.subscribed(("a/#", 1), pairs=durable) == (1,)
            told = [await client.heard(PUBLISH) for _ in range(2)]
            assert sorted(one.payload for one in told) == [b"2", b"3"]
        async with host.client() as client:
            assert await client.subscribed("a", pairs=[(38, ("durable", "d d"))]) == (0x83,)


async def test_long_payloads_are_read_beside_the_loop() -> None:
    async with listening() as host, host.client() as client:
        assert await client.subscribed("a", pairs=[(38, ("filter", "n > 1"))]) == (0,)
        payload = b'{"n": 2, "text": "%s"}' % (b"x" * 100_000)
        client.say(publish("a", payload, (3, "application/json"), qos=1, id=3))
        answer, delivered = await both(client, PUBACK, PUBLISH)
        assert answer.codes == (0,)
        assert delivered.payload == payload
