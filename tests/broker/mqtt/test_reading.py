"""Bytes of clients: every malformed packet has its reason code, and nothing else is raised."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.broker.mqtt.packets import (
    Asked,
    Connect,
    Disconnect,
    FromClient,
    Pingreq,
    Property,
    Puback,
    Publish,
    Subscribe,
    Unsubscribe,
)
from sapwood.broker.mqtt.reading import OtherVersionError, PacketReader
from sapwood.broker.mqtt.reasons import MqttError, Reason
from sapwood.limits.mqtt import (
    MQTT_CONNECT_BYTES_MAX,
    MQTT_FILTERS_MAX,
    MQTT_USER_PROPERTIES_MAX,
)
from tests.broker.mqtt.helpers import (
    connect,
    frame,
    properties,
    puback,
    publish,
    subscribe,
    text,
    unsubscribe,
)
from tests.examples import examples

BYTES_MAX = 100_000
CONNECTED = connect()

SEEDS = [
    connect("c", (17, 5), (33, 9), (39, 500), (38, ("a", "b")), user="u", password=b"p"),
    connect("c", will=("w", b"x"), will_flags=8, will_pairs=[(24, 5), (3, "t")], keep_alive=9),
    CONNECTED + publish("a/b", b"x", (1, 1), (2, 9), (3, "t"), (8, "r"), (9, b"c"), qos=1),
    CONNECTED + publish("a", b"", (38, ("k", "v")), (38, ("k", "w")), (35, 1)),
    CONNECTED + subscribe(3, "a/+", ("b/#", 0x2D), pairs=[(11, 300), (38, ("a", "b"))]),
    CONNECTED + unsubscribe(3, "a", "b") + puback(4) + frame(0xC0, b""),
    CONNECTED + frame(0x40, b"\0\4\x10" + properties((31, "why"))),
    CONNECTED + frame(0xE0, b"\4" + properties((17, 5), (31, "bye"))),
]


def read(data: bytes, sizes: list[int] | None = None) -> tuple[list[FromClient], Reason | None]:
    """The packets in bytes that come in pieces, and how it ends."""
    reader, packets = PacketReader(BYTES_MAX), []
    pieces = [data]
    for size in sizes or ():
        pieces[-1:] = [pieces[-1][:size], pieces[-1][size:]]
    for piece in pieces:
        reader.feed(piece)
        try:
            while (packet := reader.next()) is not None:
                packets.append(packet)
        except MqttError as error:
            return packets, error.code
    return packets, None


def code_of(*packets: bytes) -> Reason | None:
    return read(CONNECTED + b"".join(packets))[1]


def test_packets_are_read_as_they_were_made() -> None:
    packets, end = read(
        b"".join([CONNECTED, *(seed.removeprefix(CONNECTED) for seed in SEEDS[2:])])
    )
    assert end is None
    first, long, short, asked, gone, taken, ping, answered, parting = packets
    assert isinstance(first, Connect)
    assert isinstance(long, Publish)
    assert (long.topic, long.payload, long.qos, long.packet_id) == ("a/b", b"x", 1, 1)
    assert long.properties.values == {
        Property.PAYLOAD_FORMAT_INDICATOR: 1,
        Property.MESSAGE_EXPIRY_INTERVAL: 9,
        Property.CONTENT_TYPE: "t",
        Property.RESPONSE_TOPIC: "r",
        Property.CORRELATION_DATA: b"c",
    }
    assert isinstance(short, Publish)
    assert short.properties.users == (("k", "v"), ("k", "w"))
    assert isinstance(asked, Subscribe)
    assert asked.filters == (Asked("a/+", 0), Asked("b/#", 1, no_local=True))
    assert asked.properties.number(Property.SUBSCRIPTION_IDENTIFIER, 0) == 300
    assert gone == Unsubscribe(3, ("a", "b"))
    assert (taken, answered) == (Puback(4), Puback(4))
    assert ping == Pingreq()
    assert parting == Disconnect(4, session_expiry=5)


def test_a_connect_has_a_user_and_a_will() -> None:
    (known,), _ = read(SEEDS[0])
    assert isinstance(known, Connect)
    assert (known.client_id, known.user, known.password) == ("c", "u", b"p")
    assert known.properties.number(Property.RECEIVE_MAXIMUM, 0) == 9
    (last,), _ = read(SEEDS[1])
    assert isinstance(last, Connect)
    assert last.keep_alive == 9
    assert last.will is not None
    assert (last.will.topic, last.will.payload, last.will.qos) == ("w", b"x", 1)


@given(st.sampled_from(SEEDS), st.data())
@settings(max_examples=examples(150))
def test_any_bytes_in_any_pieces_are_packets_or_an_error(seed: bytes, data: st.DataObject) -> None:
    changed = bytearray(seed)
    for _ in range(data.draw(st.integers(0, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(changed[: data.draw(st.integers(0, len(changed)))])
    sizes = data.draw(st.lists(st.integers(0, 9), max_size=12))
    assert read(cut) == read(cut, sizes)


@given(st.binary(max_size=80))
@settings(max_examples=examples(150))
def test_noise_behind_a_connect_is_refused_or_waited_for(noise: bytes) -> None:
    assert read(CONNECTED + noise) == read(CONNECTED + noise, [1] * (len(noise) + 9))


UTF8 = [b"\xff", b"\xed\xa0\x80", b"\xc3", b"a\0"]
MALFORMED = {
    "a length that is too long": b"\x30\x80\x80\x80\x80\x01",
    "a length with a needless byte": b"\x30\x83\x00\0\1a\0",
    "QoS 3": frame(0x36, text("a") + b"\0\1\0"),
    "a duplicate at QoS 0": frame(0x38, text("a") + b"\0"),
    "no properties": frame(0x30, text("a")),
    "properties beyond the packet": frame(0x30, text("a") + b"\x09"),
    "a property beyond its properties": frame(0x30, text("a") + b"\x01\x26" + text("k") * 2),
    "a property of another packet": publish("a", b"", (11, 1)),
    "an unknown property": frame(0x30, text("a") + b"\2\x04\0"),
    "options of a subscription": subscribe(1, ("a", 0x40)),
    "QoS 3 of a subscription": subscribe(1, ("a", 3)),
    "retain handling 3": subscribe(1, ("a", 0x30)),
    "flags of SUBSCRIBE": frame(0x80, subscribe(1, "a")[2:]),
    "flags of PINGREQ": frame(0xC1, b""),
    "a PINGREQ with a body": frame(0xC0, b"\0"),
    "a PUBACK without a number": frame(0x40, b"\0"),
    "a SUBSCRIBE that ends early": frame(0x82, b"\0\1\0\0\4ab"),
    **{f"text {one!r} as topic": publish(one, b"") for one in UTF8},
    **{f"text {one!r} as property": publish("a", b"", (38, ("k", one))) for one in UTF8},
    **{f"text {one!r} as filter": frame(0x82, b"\0\1\0" + text(one) + b"\0") for one in UTF8},
}
WRONG = {
    "packet id 0": publish("a", b"", qos=1, id=0),
    "a property twice": publish("a", b"", (2, 1), (2, 1)),
    "a flag of 2": publish("a", b"", (1, 2)),
    "topic alias 0": publish("a", b"", (35, 0)),
    "subscription identifier 0": subscribe(1, "a", pairs=[(11, 0)]),
    "no topic filter": frame(0x82, b"\0\1\0"),
    "nothing to unsubscribe": frame(0xA2, b"\0\1\0"),
    "a second CONNECT": CONNECTED,
    "PUBREC": frame(0x50, b"\0\1"),
    "CONNACK of a client": frame(0x20, b"\0\0\0"),
    "AUTH": frame(0xF0, b""),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_packets_are_told_so(name: str) -> None:
    assert code_of(MALFORMED[name]) is Reason.MALFORMED_PACKET


@pytest.mark.parametrize("name", WRONG)
def test_protocol_errors_are_told_so(name: str) -> None:
    assert code_of(WRONG[name]) is Reason.PROTOCOL_ERROR


def with_flags(flags: int) -> bytes:
    return CONNECTED[:9] + bytes([flags]) + CONNECTED[10:]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (with_flags(1), Reason.MALFORMED_PACKET),
        (with_flags(8), Reason.MALFORMED_PACKET),
        (with_flags(0x20), Reason.MALFORMED_PACKET),
        (connect(will=("w", b""), will_flags=0x18), Reason.MALFORMED_PACKET),
        (connect("c", (33, 0)), Reason.PROTOCOL_ERROR),
        (connect("c", (39, 0)), Reason.PROTOCOL_ERROR),
        (connect("c", (22, b"x")), Reason.PROTOCOL_ERROR),
        (connect("c", (24, 1)), Reason.MALFORMED_PACKET),
        (connect() + b"\x10", Reason.PROTOCOL_ERROR),
        (b"\x10\xff\xff\xff\x7f", Reason.PACKET_TOO_LARGE),
    ],
)
def test_a_connect_that_is_none_is_told_so(data: bytes, code: Reason) -> None:
    assert read(data)[1] is code


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (connect(version=4), b"\x20\x02\x00\x01"),
        (frame(0x10, text("MQIsdp") + b"\3\2\0\0" + text("c")), b"\x20\x02\x00\x01"),
        (frame(0x10, text("MQTT") + b"\x84\2\0\0" + text("c")), b"\x20\x02\x00\x01"),
        (connect(version=6), b"\x20\x03\x00\x84\x00"),
        (frame(0x10, text("HTTP") + b"\5\2\0\0"), b""),
        (b"GET / HTTP/1.1\r\n", b""),
    ],
)
def test_another_version_is_answered_in_that_version(data: bytes, answer: bytes) -> None:
    reader = PacketReader(BYTES_MAX)
    reader.feed(data)
    with pytest.raises(OtherVersionError) as refused:
        reader.next()
    assert refused.value.answer == answer


def test_bounds_are_exact() -> None:
    assert code_of(publish("a", b"x" * (BYTES_MAX - 8))) is None
    assert code_of(publish("a", b"x" * (BYTES_MAX - 7))) is Reason.PACKET_TOO_LARGE
    users = [(38, ("a", "b"))] * MQTT_USER_PROPERTIES_MAX
    assert code_of(publish("a", b"", *users)) is None
    assert code_of(publish("a", b"", *users, users[0])) is Reason.QUOTA_EXCEEDED
    filters = ["a"] * MQTT_FILTERS_MAX
    assert code_of(subscribe(1, *filters), unsubscribe(1, *filters)) is None
    assert code_of(subscribe(1, *filters, "a")) is Reason.QUOTA_EXCEEDED
    assert code_of(unsubscribe(1, *filters, "a")) is Reason.QUOTA_EXCEEDED
    size = MQTT_CONNECT_BYTES_MAX.to_bytes(3, "big")
    assert size == b"\4\0\0"
    assert read(b"\x10\x80\x80\x10")[1] is Reason.PACKET_TOO_LARGE
    assert read(b"\x10\xfb\xff\x0f")[1] is None
