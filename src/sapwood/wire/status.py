"""The state of one broker, as clients request it: frames, and the values in them."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from sapwood.model.fields import Count, Name

Seconds = Annotated[float, Meta(ge=0)]


class StatusRequest(Struct, array_like=True, frozen=True, tag=74, gc=False):
    """A request for the broker's state; answered by one `StatusReply`."""


class LinkStatus(Struct, array_like=True, frozen=True, gc=False):
    """One link of a broker.

    `name` is the neighbor's, or, where a link is not `up`, the address to which the broker
    connects. The last message that came was under way for `delay_min_s` at least and `delay_max_s`
    at most, `None` where nothing is known of that. `waiting_bytes` have yet to be taken by the
    system. `unconfirmed` is the number of table entries that were sent and are not confirmed yet,
    `None` under protocols that do not record that link by link. `behind` is true while the neighbor
    does not have every entry yet.

    The neighbor may get at most `known` subscriptions and has got `told`, mergers among them, and
    has sent `heard` itself; `None` where there is no one tree for all sources. Since the link is
    up, `sent` publications went to it and `came` from it.
    """

    name: Name
    up: bool
    delay_min_s: Seconds | None = None
    delay_max_s: Seconds | None = None
    waiting_bytes: Count = 0
    unconfirmed: Count | None = None
    behind: bool = False
    known: Count | None = None
    told: Count | None = None
    heard: Count | None = None
    sent: Count = 0
    came: Count = 0


class StoreStatus(Struct, array_like=True, frozen=True, gc=False):
    """The store of a broker: publications from number `first` on, before `end`."""

    durability: str
    first: Count
    end: Count


class StatusReply(Struct, array_like=True, frozen=True, tag=75):
    """One broker's state: `tables` are its router's table sizes; counters are since its start.

    `engines` are those chosen for records and for documents; `kernels` are the sets of compiled
    ones at hand. `store` is `None` for a broker without a store.
    """

    broker: Name
    version: str
    routing: str
    uptime_s: Seconds
    clients: Count
    links: tuple[LinkStatus, ...]
    tables: dict[str, Count]
    events: dict[str, Count]
    routed: dict[str, Count]
    store: StoreStatus | None
    engines: tuple[str, str]
    kernels: tuple[str, ...]


def status_members(found: StatusReply) -> dict[str, Any]:
    """The state of a broker as a JSON object, with its links as an array of objects."""
    return {**_fields(found), "links": [_fields(link) for link in found.links]} | {
        "store": None if found.store is None else _fields(found.store),
        "engines": dict(zip(("records", "documents"), found.engines, strict=True)),
    }


def _fields(value: Struct) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__struct_fields__}
