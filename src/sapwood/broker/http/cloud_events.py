"""CloudEvents 1.0 as publications, and back (specification 1.0.2; its JSON format, HTTP binding).

An event's attributes are those of a record, extensions among them. Its data is

* the attribute `data` where it is JSON: of an object the members are `data.x` to filters;
* the document where it is XML, to which XPaths apply;
* the payload else, which is opaque.

An event is known by its source and its id, so both together, with a space between them, are the
publication's id. A publication that was not an event becomes one with all its contents in `data`.

Of the documented extensions two become part of the envelope, and stay attributes as well: an event
is delivered until its `expirytime`, and its `traceparent` names the span that it was published
under (Expiry Time, Distributed Tracing).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from math import ceil
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import msgspec

from sapwood.broker.http.contents import is_xml
from sapwood.broker.http.deliveries import members_of
from sapwood.broker.http.envelopes import trace_in
from sapwood.errors import InputError
from sapwood.limits import REASON_CHARS_MAX
from sapwood.limits.timing import TTL_MS_MAX
from sapwood.model.envelope import Envelope
from sapwood.model.json_objects import check_count, check_members, decode_object
from sapwood.model.publication import Publication
from sapwood.session.delivery import Delivery
from sapwood.xml.encodings import decode_text, encode_text

STRUCTURED: Final = "application/cloudevents+json"
BATCH: Final = "application/cloudevents-batch+json"
FAMILY: Final = "application/cloudevents"
"""The beginning of the media types of all formats of events."""

PREFIX: Final = "ce-"
"""The prefix of headers that are attributes of an event, in binary mode."""

_VERSION: Final = "1.0"
_REQUIRED: Final = ("id", "source", "specversion", "type")
_DATA: Final = ("data", "data_base64")
_TRACE: Final = ("traceparent", "tracestate")
_NAME: Final = re.compile(r"[a-z0-9]+")
_URI_REFERENCE: Final = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:.+")
_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:)(\d\d)(\.\d+)?([Zz]|[+\-]\d\d:\d\d)", re.ASCII
)
_MEDIA_TYPE: Final = re.compile(r"[\w!#$&^.+\-]+/[\w!#$&^.+\-]+(?:\s*;.*)?", re.ASCII)
_NO_TEXT: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_INTEGER_MAX: Final = 2**31 - 1
"""Integers of events have 32 bits, with sign."""


def of_headers(headers: Iterable[tuple[str, str]], body: bytes) -> Publication:
    """The event of a request in binary mode. Raises `InputError`."""
    attributes: dict[str, Any] = {}
    content_type: str | None = None
    for given, value in headers:
        header = given.lower()
        if header == "content-type":
            content_type = value
        elif header.startswith(PREFIX):
            name = header.removeprefix(PREFIX)
            if name in attributes:
                raise InputError(f"the header {header} stands there twice")
            attributes[name] = _header(header, value)
    if "datacontenttype" in attributes:
        raise InputError("what the data is stands in Content-Type, not in ce-datacontenttype")
    if content_type:
        attributes["datacontenttype"] = content_type
    _check(attributes)
    return _publication(attributes, body or None, content_type)


def of_json(text: bytes) -> Publication:
    """The event in the JSON format. Raises `InputError`."""
    check_count(text)
    members = decode_object(text, "event")
    check_members(text, members)
    attributes = {
        name: value for name, value in members.items() if name not in _DATA and value is not None
    }
    _check(attributes)
    data, written = members.get("data"), members.get("data_base64")
    kind = attributes.get("datacontenttype")
    if written is not None:
        if "data" in members:
            raise InputError("an event has data or data_base64, not both")
        return _publication(attributes, _bytes(written), kind)
    if data is None or kind is None or _is_json(kind):
        record = attributes if data is None else {**attributes, "data": data}
        return Publication(_id(attributes), record)
    if not isinstance(data, str):
        raise InputError(f"data of the type {kind} is a text; or put its bytes into data_base64")
    if is_xml(_plain(kind)):
        return Publication(_id(attributes), attributes, encode_text(data))
    return _publication(attributes, data.encode(), kind)


def enveloped_event(event: Publication, now_s: float) -> Publication:
    """An event in the envelope that its extensions make, at a time in seconds since 1970.

    Raises `InputError` for one that has expired.
    """
    attributes = event.attributes or {}
    ttl_ms, expiry = None, attributes.get("expirytime")
    if expiry is not None:
        left_s = _seconds(str(expiry)) - now_s
        if left_s <= 0:
            raise InputError(f"the event has expired {-left_s:.3f} s ago, by this broker's clock")
        ttl_ms = min(ceil(left_s * 1000), TTL_MS_MAX)
    told = [[str(attributes[name])] if name in attributes else [] for name in _TRACE]
    traceparent, tracestate = trace_in(*told)
    if ttl_ms is None and traceparent is None:
        return event
    return event.in_envelope(Envelope(ttl_ms, traceparent, tracestate))


def events_in(body: bytes) -> list[bytes]:
    """The events of a batch, undecoded. Raises `InputError` for a body that is no array."""
    try:
        return [bytes(one) for one in msgspec.json.decode(body, type=list[msgspec.Raw])]
    except (ValueError, RecursionError) as error:
        raise InputError(f"a batch is a JSON array of events: {error}") from None


def json_of_event(broker: str, delivery: Delivery) -> bytes:
    """A delivery as an event in the JSON format; `broker` is the source where it was no event."""
    record = delivery.attributes
    carried = (record.get("data"), delivery.document, delivery.payload)
    span = {"traceparent": delivery.traceparent, "tracestate": delivery.tracestate}
    spanned = {name: value for name, value in span.items() if value is not None}
    if not _is_event(record) or sum(one is not None for one in carried) > 1:
        members = members_of(delivery)
        for name in spanned:
            del members[name]
        event = {
            "specversion": _VERSION,
            "id": members.pop("id"),
            "source": f"/{broker}",
            "type": "sapwood.publication",
            "datacontenttype": "application/json",
            "data": members,
        }
        return msgspec.json.encode(event | spanned)
    # The event's own span is where it began (Distributed Tracing).
    event = dict(record) if "traceparent" in record else {**record, **spanned}
    if delivery.document is not None:
        event["data"] = decode_text(delivery.document)
    elif delivery.payload is not None:
        event["data_base64"] = delivery.payload
    return msgspec.json.encode(event)


def _is_event(record: Mapping[str, Any]) -> bool:
    """True if a record is that of an event."""
    try:
        _check({name: value for name, value in record.items() if name != "data"})
    except InputError:
        return False
    return True


def _publication(attributes: dict[str, Any], body: bytes | None, kind: str | None) -> Publication:
    """The publication of an event whose data are these bytes, of this media type."""
    id_ = _id(attributes)
    if body is None:
        return Publication(id_, attributes)
    if kind is not None and _is_json(kind):
        wrapped = b'{"data":%s}' % body
        record = decode_object(wrapped, "event")
        check_members(wrapped, record)
        if record.keys() != {"data"}:
            raise InputError("the data is no JSON")
        return Publication(id_, {**attributes, **record})
    if kind is not None and is_xml(_plain(kind)):
        return Publication(id_, attributes, body)
    return Publication(id_, attributes, payload=body)


def _id(attributes: Mapping[str, Any]) -> str:
    return f"{attributes['source']} {attributes['id']}"


def _plain(kind: str) -> str:
    return kind.partition(";")[0].strip().lower()


def _is_json(kind: str) -> bool:
    plain = _plain(kind)
    return plain in ("application/json", "text/json") or plain.endswith("+json")


def _bytes(written: object) -> bytes:
    try:
        if isinstance(written, str):
            return base64.b64decode(written, validate=True)
    except ValueError:
        pass
    raise InputError("data_base64 is no text in base64")


def _header(header: str, value: str) -> str:
    """The text that a header stands for (HTTP binding, 3.1.3.2). Raises `InputError`."""
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] == '"':
        value = re.sub(r"\\(.)", r"\1", value[1:-1])
    try:
        return unquote_to_bytes(value.encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise InputError(f"the header {header} is not UTF-8, percent-encoded") from None


def _check(attributes: Mapping[str, Any]) -> None:
    """Raise `InputError` for attributes that no event has."""
    missing = [name for name in _REQUIRED if name not in attributes]
    if missing:
        raise InputError(f"an event has {', '.join(_REQUIRED)}; there is no {', '.join(missing)}")
    for name, value in attributes.items():
        if not _NAME.fullmatch(name) or name == "data":
            raise InputError(
                f"{name[:REASON_CHARS_MAX]!r} is no name of an attribute: these are of small "
                "letters a to z and digits"
            )
        _check_value(name, value)
    if attributes["specversion"] != _VERSION:
        raise InputError(f"specversion is {attributes['specversion']!r}; {_VERSION} is read here")


def _check_value(name: str, value: object) -> None:
    if isinstance(value, bool):
        is_right = name not in _TEXTS
    elif isinstance(value, int):
        is_right = name not in _TEXTS and -_INTEGER_MAX - 1 <= value <= _INTEGER_MAX
    elif isinstance(value, str):
        is_right = not _NO_TEXT.search(value) and (name not in _TEXTS or _is_right(name, value))
    else:
        is_right = False
    if not is_right:
        what = _WHAT.get(name, "a text without control characters")
        if name not in _TEXTS:
            what = "a boolean, an integer of 32 bits, or a text without control characters"
        raise InputError(f"{name} is {what}, not {str(value)[:80]!r}")


_WHAT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "source": "a URI reference",
        "dataschema": "a URI with its scheme",
        "time": "a time as in RFC 3339",
        "expirytime": "a time as in RFC 3339",
        "datacontenttype": "a media type",
    }
)
_TEXTS: Final = frozenset((*_REQUIRED, "subject", *_WHAT))


def _is_right(name: str, value: str) -> bool:
    """True if an attribute of the specification may be this text."""
    match name:
        case "source":
            return _URI_REFERENCE.fullmatch(value) is not None
        case "dataschema":
            is_uri = _URI_REFERENCE.fullmatch(value) is not None
            return is_uri and _SCHEME.fullmatch(value) is not None
        case "datacontenttype":
            return _MEDIA_TYPE.fullmatch(value) is not None
        case "time" | "expirytime":
            return _is_time(value)
        case _:
            return bool(value)


def _is_time(value: str) -> bool:
    """True if a text is a time as in RFC 3339, which knows leap seconds."""
    if _TIME.fullmatch(value) is None:
        return False
    try:
        _seconds(value)
    except (ValueError, OverflowError):
        return False
    return True


def _seconds(value: str) -> float:
    """A time as in RFC 3339, in seconds since 1970; a leap second is the one before it."""
    found = _TIME.fullmatch(value)
    assert found is not None, "its form was checked"
    begin, second, fraction, zone = found.groups(default="")
    whole = datetime.fromisoformat(f"{begin}{'59' if second == '60' else second}{zone}".upper())
    return whole.timestamp() + float(f"0{fraction}")
