"""Deliveries as JSON: the members of a publication as in files, each on one line."""

from __future__ import annotations

from typing import Any

import msgspec

from sapwood.errors import InputError
from sapwood.session.delivery import Delivery
from sapwood.xml.encodings import decode_text


def members_of(delivery: Delivery) -> dict[str, Any]:
    """The members of a delivery; a payload becomes base64, and an infinite number `null`."""
    members: dict[str, Any] = {"id": delivery.id}
    if delivery.has_record:
        members["attributes"] = delivery.attributes
    if delivery.document is not None:
        try:
            members["document"] = decode_text(delivery.document)
        except InputError:  # the broker of the publisher would have refused it
            members["document"] = delivery.document.decode("utf-8", "replace")
    if delivery.payload is not None:
        members["payload"] = delivery.payload
    envelope = {name: getattr(delivery, name) for name in ("ttl", "traceparent", "tracestate")}
    return members | {name: value for name, value in envelope.items() if value is not None}


def json_of(delivery: Delivery) -> bytes:
    """A delivery as one line of JSON, without its end."""
    return msgspec.json.encode(members_of(delivery))
