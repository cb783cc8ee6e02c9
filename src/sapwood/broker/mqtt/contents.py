"""PUBLISH packets as publications, and deliveries as PUBLISH packets.

The record of a publication from MQTT has, in this order: the topic, the user properties, the other
properties that the standard requires to be passed on (as `mqtt.content_type` and so on), and, for a
payload that is a JSON object, its members. The payload itself travels beside it, or is the document
if it is XML. So filters apply to as much as possible, and the next client of MQTT gets what the
first one sent: the order shows which attributes were user properties. A property that occurs
several times is an array of its values.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sapwood.broker.mqtt.packets import Properties, Property, Publish
from sapwood.broker.mqtt.reasons import MqttError, Reason
from sapwood.broker.mqtt.topics import TOPIC, is_topic
from sapwood.broker.mqtt.writing import TEXT_BYTES_MAX
from sapwood.errors import InputError
from sapwood.limits.timing import TTL_MS_MAX
from sapwood.model.envelope import Envelope
from sapwood.model.json_objects import check_count, check_members, decode_object
from sapwood.model.publication import Publication
from sapwood.session.delivery import Delivery
from sapwood.wire.publications import encode_publication

PREFIX: Final = "mqtt."
CONTENT_TYPE: Final = "mqtt.content_type"
RESPONSE_TOPIC: Final = "mqtt.response_topic"
CORRELATION_DATA: Final = "mqtt.correlation_data"
IS_TEXT: Final = "mqtt.is_text"
QOS: Final = "mqtt.qos"
"""Attributes of a publication that came by MQTT; correlation data is in base64. The QoS is there
where it is 0: what has none counts as QoS 1."""

_JSON: Final = "application/json"
_XML: Final = "application/xml"


def publication_bytes(packet: Publish, id_: str, frame_bytes_max: int) -> bytes:
    """The bytes of the publication of a PUBLISH. Raises `MqttError`."""
    properties = packet.properties
    record: dict[str, Any] = {TOPIC: packet.topic}
    for name, value in properties.users:
        if not name or name == TOPIC or name.startswith(PREFIX):
            raise MqttError(
                Reason.IMPLEMENTATION_SPECIFIC,
                f"the user property {name!r} cannot be an attribute: it is empty, the topic's, or "
                f"begins with {PREFIX}; give it another name",
            )
        known = record.get(name)
        if known is None:
            record[name] = value
        elif isinstance(known, list):
            known.append(value)
        else:
            record[name] = [known, value]
    content_type = properties.text(Property.CONTENT_TYPE)
    if not packet.qos:
        record[QOS] = 0
    _keep_rest(record, properties)
    payload: bytes | None = packet.payload
    document: bytes | None = None
    kind = "" if content_type is None else content_type.partition(";")[0].strip().lower()
    if kind in (_XML, "text/xml") or kind.endswith("+xml"):
        payload, document = None, packet.payload
    elif kind == _JSON or kind.endswith("+json"):
        _add_members(record, packet.payload)
    try:
        made = Publication(id_, record, document, payload, envelope=_envelope_of(properties))
        return encode_publication(made, frame_bytes_max)
    except InputError as error:
        raise MqttError(Reason.PAYLOAD_FORMAT_INVALID, str(error)) from None


def _envelope_of(properties: Properties) -> Envelope | None:
    """The envelope with the message expiry interval, if there is one."""
    if Property.MESSAGE_EXPIRY_INTERVAL not in properties.values:
        return None
    seconds = properties.number(Property.MESSAGE_EXPIRY_INTERVAL, 0)
    return Envelope(ttl_ms=min(max(1, seconds * 1000), TTL_MS_MAX))


def _keep_rest(record: dict[str, Any], properties: Properties) -> None:
    """Add the properties that no filter needs and the next client has to get."""
    content_type = properties.text(Property.CONTENT_TYPE)
    if content_type is not None:
        record[CONTENT_TYPE] = content_type
    answer_to = properties.text(Property.RESPONSE_TOPIC)
    if answer_to is not None:
        if not is_topic(answer_to):
            raise MqttError(Reason.PROTOCOL_ERROR, f"the response topic {answer_to!r} is none")
        record[RESPONSE_TOPIC] = answer_to
    correlation = properties.binary(Property.CORRELATION_DATA)
    if correlation is not None:
        record[CORRELATION_DATA] = base64.b64encode(correlation).decode()
    if properties.number(Property.PAYLOAD_FORMAT_INDICATOR, 0):
        record[IS_TEXT] = True


def _add_members(record: dict[str, Any], payload: bytes) -> None:
    """Add the members of a payload that is a JSON object; other JSON has none."""
    if not payload.lstrip().startswith(b"{"):
        return
    try:
        check_count(payload)
        members = decode_object(payload, "record")
        check_members(payload, members)
    except InputError as error:
        raise MqttError(Reason.PAYLOAD_FORMAT_INVALID, f"the payload: {error}") from None
    for name, value in members.items():
        if name in record:
            raise MqttError(
                Reason.PAYLOAD_FORMAT_INVALID,
                f"the member {name!r} of the payload is the topic or a user property, too; rename "
                "one, or leave the content type out, and the payload is not looked into",
            )
        record[name] = value


class Received:
    """The part of a delivery that all its packets share.

    `topic` is `None` where it has none that a PUBLISH can carry; `qos` is that of the publication.
    """

    __slots__ = ("_attributes", "_delivery", "qos", "topic")

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery
        self._attributes = delivery.attributes
        topic = self._attributes.get(TOPIC)
        self.topic = topic if isinstance(topic, str) and is_topic(topic) else None
        self.qos = 0 if self._attributes.get(QOS) == 0 else 1

    def packet(self, qos: int, packet_id: int | None, identifiers: tuple[int, ...]) -> Publish:
        """The PUBLISH packet of the delivery."""
        assert self.topic is not None, "it is asked for where there is a topic"
        delivery = self._delivery
        values = _values_of(self._attributes)
        users: tuple[tuple[str, str], ...] = ()
        if delivery.payload is not None:
            payload = delivery.payload
            users = _users_of(self._attributes)
        elif delivery.document is not None:
            payload = delivery.document
            users = _users_of(self._attributes)
            values.setdefault(Property.CONTENT_TYPE, _XML)
        else:
            payload = _json_of(self._attributes)
            values[Property.CONTENT_TYPE] = _JSON
        left = _seconds_left(delivery)
        if left is not None:
            values[Property.MESSAGE_EXPIRY_INTERVAL] = left
        properties = Properties(values, users, identifiers)
        return Publish(self.topic, payload, qos, packet_id=packet_id, properties=properties)


def _values_of(attributes: Mapping[str, Any]) -> dict[Property, int | str | bytes]:
    """The properties of the original PUBLISH, or similar ones that a packet can carry."""
    values: dict[Property, int | str | bytes] = {}
    if attributes.get(IS_TEXT) is True:
        values[Property.PAYLOAD_FORMAT_INDICATOR] = 1
    content_type = attributes.get(CONTENT_TYPE)
    if isinstance(content_type, str) and _is_short(content_type):
        values[Property.CONTENT_TYPE] = content_type
    answer_to = attributes.get(RESPONSE_TOPIC)
    if isinstance(answer_to, str) and is_topic(answer_to):
        values[Property.RESPONSE_TOPIC] = answer_to
    correlation = attributes.get(CORRELATION_DATA)
    if isinstance(correlation, str):
        try:
            decoded = base64.b64decode(correlation, validate=True)
        except ValueError:
            decoded = None
        if decoded is not None and len(decoded) <= TEXT_BYTES_MAX:
            values[Property.CORRELATION_DATA] = decoded
    return values


def _users_of(attributes: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The user properties: attributes with texts or numbers before those of MQTT."""
    users: list[tuple[str, str]] = []
    for name, value in attributes.items():
        if name.startswith(PREFIX):
            break
        if name == TOPIC or not _is_short(name):
            continue
        for one in value if isinstance(value, list) else (value,):
            text = _text_of(one)
            if text is not None and _is_short(text):
                users.append((name, text))
    return tuple(users)


def _text_of(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else None


def _is_short(text: str) -> bool:
    return "\0" not in text and len(text.encode()) <= TEXT_BYTES_MAX


def _json_of(attributes: Mapping[str, Any]) -> bytes:
    """The record as JSON, without the attributes that the packet has as properties."""
    return msgspec.json.encode(
        {
            name: value
            for name, value in attributes.items()
            if name != TOPIC and not name.startswith(PREFIX)
        }
    )


def _seconds_left(delivery: Delivery) -> int | None:
    """The seconds until a delivery expires, if it does."""
    ttl = delivery.ttl
    if ttl is None:
        return None
    age = delivery.age_bound
    return max(1, math.ceil(ttl if age is None else ttl - age))
