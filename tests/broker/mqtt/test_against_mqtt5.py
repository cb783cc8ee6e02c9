"""The codec against another one, of which it shares no code: the package `mqtt5` (in Rust)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.broker.mqtt.packets import (
    Connack,
    Connect,
    Disconnect,
    FromClient,
    Pingresp,
    Properties,
    Property,
    Puback,
    Publish,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
)
from sapwood.broker.mqtt.reading import PacketReader
from sapwood.broker.mqtt.reasons import MqttError, Reason
from sapwood.broker.mqtt.writing import packet_bytes
from tests.broker.mqtt.helpers import connect
from tests.broker.mqtt.test_reading import SEEDS
from tests.examples import examples

mqtt5: Any = pytest.importorskip("mqtt5", reason="the package mqtt5 is not installed")

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9)
USERS = st.lists(st.tuples(TEXTS, TEXTS), max_size=3)
DATA = st.binary(max_size=9)
TOPICS = TEXTS.filter(lambda text: text and not {"+", "#"} & set(text))
NUMBERS = st.integers(1, 65_535)
MAYBE = {
    "content_type": st.none() | TEXTS,
    "response_topic": st.none() | TEXTS,
    "correlation_data": st.none() | DATA,
    "message_expiry_interval": st.none() | st.integers(0, 2**32 - 1),
    "payload_format_indicator": st.integers(0, 1),
    "user_properties": USERS,
}
FILTERS = st.lists(TOPICS, min_size=1, max_size=3)


def one(data: bytes, *, is_first: bool = False) -> FromClient:
    reader = PacketReader(10**6)
    reader.feed(data if is_first else connect() + data)
    packet = reader.next()
    if not is_first:
        packet = reader.next()
    assert packet is not None
    return packet


def same_message(ours: Publish, theirs: Any) -> None:
    told = ours.properties
    assert ours.topic == theirs.topic
    assert ours.payload == theirs.payload
    assert (ours.qos, ours.retain) == (theirs.qos, theirs.retain)
    assert told.text(Property.CONTENT_TYPE) == theirs.content_type
    assert told.text(Property.RESPONSE_TOPIC) == theirs.response_topic
    assert told.binary(Property.CORRELATION_DATA) == theirs.correlation_data
    assert told.values.get(Property.MESSAGE_EXPIRY_INTERVAL) == theirs.message_expiry_interval
    assert told.number(Property.PAYLOAD_FORMAT_INDICATOR, 0) == theirs.payload_format_indicator
    assert list(told.users) == theirs.user_properties


def same(ours: FromClient, theirs: Any) -> None:
    assert type(theirs).__name__.lower() == f"{type(ours).__name__}packet".lower()
    match ours:
        case Publish():
            same_message(ours, theirs)
            assert (ours.packet_id, ours.is_duplicate) == (theirs.packet_id, theirs.duplicate)
        case Connect():
            assert (ours.client_id, ours.user, ours.password) == (
                *(theirs.client_id, theirs.username, theirs.password),
            )
            assert (ours.is_clean_start, ours.keep_alive) == (theirs.clean_start, theirs.keep_alive)
            told = ours.properties
            assert told.number(Property.SESSION_EXPIRY_INTERVAL, 0) == (
                theirs.session_expiry_interval
            )
            assert told.number(Property.RECEIVE_MAXIMUM, 65_535) == theirs.receive_max
            assert (ours.will is None) is (theirs.will is None)
            if ours.will is not None:
                same_message(ours.will, theirs.will)
        case Subscribe():
            assert [(one.topic_filter, one.qos, one.no_local) for one in ours.filters] == [
                (one.pattern, one.max_qos, one.no_local) for one in theirs.topic_filters
            ]
            given = ours.properties.values.get(Property.SUBSCRIPTION_IDENTIFIER)
            assert given == theirs.subscription_id
        case Unsubscribe():
            assert list(ours.filters) == theirs.patterns
        case Puback():
            assert ours.packet_id == theirs.packet_id
        case Disconnect():
            assert (ours.code, ours.session_expiry) == (
                *(theirs.reason_code, theirs.session_expiry_interval),
            )


@given(TOPICS, DATA, st.booleans(), NUMBERS, st.fixed_dictionaries(MAYBE))
@settings(max_examples=examples(60))
def test_a_publish_of_theirs_is_read(
    topic: str, payload: bytes, is_sure: bool, number: int, more: dict[str, Any]
) -> None:
    sure = {"qos": mqtt5.QoS.AT_LEAST_ONCE, "packet_id": number} if is_sure else {}
    theirs = mqtt5.PublishPacket(topic, payload, **sure, **more)
    same(one(theirs.write()), theirs)


@given(TEXTS, st.none() | TEXTS, st.none() | DATA, st.none() | TOPICS, DATA, USERS, st.booleans())
@settings(max_examples=examples(60))
def test_a_connect_of_theirs_is_read(
    client_id: str,
    user: str | None,
    password: bytes | None,
    topic: str | None,
    payload: bytes,
    users: list[tuple[str, str]],
    is_clean: bool,
) -> None:
    will = None if topic is None else mqtt5.Will(topic, payload=payload, user_properties=users)
    theirs = mqtt5.ConnectPacket(
        client_id, username=user, password=password, will=will, clean_start=is_clean
    )
    same(one(theirs.write(), is_first=True), theirs)


@given(FILTERS, NUMBERS, st.none() | st.integers(1, 2**28 - 1), st.booleans())
@settings(max_examples=examples(40))
def test_requests_of_theirs_are_read(
    filters: list[str], number: int, identifier: int | None, no_local: bool
) -> None:
    asked = [mqtt5.TopicFilter(one, no_local=no_local) for one in filters]
    theirs = mqtt5.SubscribePacket(number, asked, subscription_id=identifier)
    same(one(theirs.write()), theirs)
    gone = mqtt5.UnsubscribePacket(number, filters)
    same(one(gone.write()), gone)


@given(st.sampled_from(SEEDS), st.data())
@settings(max_examples=examples(150))
def test_what_is_taken_here_is_read_alike_there(seed: bytes, data: st.DataObject) -> None:
    """Theirs takes more, and does not return from texts that are no UTF-8."""
    changed = bytearray(seed)
    for _ in range(data.draw(st.integers(0, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    reader, at, refusal = PacketReader(10**6), 0, "topic"
    reader.feed(bytes(changed))
    try:
        while (packet := reader.next()) is not None:
            try:
                theirs, size = mqtt5.read(memoryview(bytes(changed[at:])))
            except ValueError as error:
                refusal = str(error).lower()
                break
            same(packet, theirs)
            at += size
    except MqttError:
        pass
    # They judge topics, topic filters and reason codes when they read, the connection later.
    assert "topic" in refusal or "reason" in refusal


@given(TOPICS, DATA, st.integers(0, 1), NUMBERS, st.fixed_dictionaries(MAYBE), USERS)
@settings(max_examples=examples(60))
def test_a_publish_of_ours_is_read_there(
    topic: str,
    payload: bytes,
    qos: int,
    number: int,
    more: dict[str, Any],
    users: list[tuple[str, str]],
) -> None:
    values = {
        Property[key.upper()]: value
        for key, value in more.items()
        if key != "user_properties" and value is not None
    }
    told = Properties(values, tuple(users), (1, 200, 2**27))
    ours = Publish(topic, payload, qos, packet_id=number if qos else None, properties=told)
    theirs, _ = mqtt5.read(memoryview(packet_bytes(ours)))
    same(ours, theirs)
    assert theirs.subscription_ids == [1, 200, 2**27]


def test_answers_of_ours_are_read_there() -> None:
    told = Properties({Property.MAXIMUM_QOS: 1, Property.ASSIGNED_CLIENT_IDENTIFIER: "x"})
    connack, _ = mqtt5.read(memoryview(packet_bytes(Connack(Reason.SUCCESS, told))))
    assert (connack.max_qos, connack.assigned_client_id) == (1, "x")
    refused = Connack(Reason.BAD_USER_OR_PASSWORD, reason="no\0 " + "é" * 600)
    theirs, _ = mqtt5.read(memoryview(packet_bytes(refused)))
    assert (theirs.reason_code, theirs.reason_str) == (0x86, "no " + "é" * 510)
    puback, _ = mqtt5.read(memoryview(packet_bytes(Puback(7, Reason.QUOTA_EXCEEDED, "why"))))
    assert (puback.packet_id, puback.reason_code, puback.reason_str) == (7, 0x97, "why")
    plain, _ = mqtt5.read(memoryview(packet_bytes(Puback(7))))
    assert (plain.packet_id, plain.reason_code) == (7, 0)
    codes = (Reason.GRANTED_QOS_1, Reason.TOPIC_FILTER_INVALID)
    suback, _ = mqtt5.read(memoryview(packet_bytes(Suback(7, codes, "why"))))
    assert (suback.packet_id, suback.reason_codes) == (7, [1, 0x8F])
    gone = Unsuback(7, (Reason.SUCCESS, Reason.NO_SUBSCRIPTION_EXISTED))
    unsuback, _ = mqtt5.read(memoryview(packet_bytes(gone)))
    assert unsuback.reason_codes == [0, 0x11]
    end, _ = mqtt5.read(memoryview(packet_bytes(Disconnect(Reason.PACKET_TOO_LARGE, "long"))))
    assert (end.reason_code, end.reason_str) == (0x95, "long")
    assert isinstance(mqtt5.read(memoryview(packet_bytes(Pingresp())))[0], mqtt5.PingRespPacket)
