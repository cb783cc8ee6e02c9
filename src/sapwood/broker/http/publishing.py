"""`POST /publish`: one record or document, or a line for each of many; or CloudEvents.

A request is answered when the broker has accepted what it brings, or refused it: the same answers
that a client gets which publishes over TCP.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sapwood.broker.http.bodies import LINES_AT_ONCE, lines, whole
from sapwood.broker.http.cloud_events import (
    BATCH,
    FAMILY,
    PREFIX,
    STRUCTURED,
    encoded_event,
    events_in,
    of_headers,
    of_json,
)
from sapwood.broker.http.contents import (
    Read,
    is_xml,
    media_type,
    read_document,
    read_publication,
    read_record,
    records_by,
)
from sapwood.broker.http.gateway import Gateway
from sapwood.broker.http.publishers import Publisher, Tally
from sapwood.broker.http.refusals import Refusal
from sapwood.errors import InputError, LimitError
from sapwood.limits import BODY_BYTES_AT_ONCE, LINE_BYTES_MAX
from sapwood.limits.gateway import GATEWAY_REFUSED_MAX

_NDJSON: Final = ("application/x-ndjson", "application/ndjson", "application/jsonl")

_KNOWN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "id": "the id of the one publication",
        "id_member": "the member of each record that is its id",
        "lines": "what a line is: record or publication",
    }
)
"""The parameters, and what they are."""


async def publish(gateway: Gateway, request: Request) -> Response:
    """Publish what a request brings. Raises `Refusal`, and `NotAdmittedError`."""
    given = _parameters(request)
    try:
        kind = media_type(request.headers.get("content-type", ""))
    except InputError as error:
        raise Refusal(415, str(error)) from None
    is_event = kind.startswith(FAMILY) or PREFIX + "specversion" in request.headers
    if is_event and given:
        raise Refusal(400, f"{min(given)} is for publications that are no events")
    async with gateway.publisher(request) as publisher:
        if kind in _NDJSON and not is_event:
            return await _many(gateway, publisher, request, _line_reader(given))
        if kind == BATCH:
            return await _batch(gateway, publisher, request)
        if is_event:
            return await _one(gateway, publisher, request, _event_reader(kind, request))
        if kind == "application/json":
            read = read_record
        elif is_xml(kind):
            read = read_document
        else:
            raise Refusal(
                415,
                f"{kind or 'a body without a Content-Type'} is not read; send application/json, "
                "application/x-ndjson or application/xml",
            )
        if extra := given.keys() - {"id"}:
            raise Refusal(400, f"{min(extra)} is for application/x-ndjson")
        return await _one(gateway, publisher, request, read)


def _parameters(request: Request) -> dict[str, str]:
    """What stands behind the question mark. Raises `Refusal` for what nobody knows."""
    given: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in _KNOWN or name in given or not value:
            known = ", ".join(f"{name} ({what})" for name, what in _KNOWN.items())
            raise Refusal(400, f"{name!r} is unknown, empty or there twice; there are {known}")
        given[name] = value
    return given


def _line_reader(given: Mapping[str, str]) -> Read:
    form = given.get("lines", "record")
    if "id" in given:
        raise Refusal(400, "id is for one publication; id_member names the member that has it")
    if form == "publication" and "id_member" not in given:
        return read_publication
    if form != "record":
        reason = "lines is record, or publication; publications have their ids themselves"
        raise Refusal(400, reason)
    return records_by(given["id_member"]) if "id_member" in given else read_record


def _event_reader(kind: str, request: Request) -> Read:
    """Reads the event of a request. Raises `Refusal` for a format that is not read."""
    if kind == STRUCTURED:
        return read_event
    if kind.startswith(FAMILY):
        raise Refusal(415, f"{kind} is not read; send {STRUCTURED} or {BATCH}")
    headers = request.headers.items()

    def read(body: bytes, _: str, frame_bytes_max: int) -> tuple[str, bytes]:
        return encoded_event(of_headers(headers, body), frame_bytes_max)

    return read


async def _one(gateway: Gateway, publisher: Publisher, request: Request, read: Read) -> Response:
    """Publish the body."""
    body = await whole(request, publisher.visit.frame_bytes_max)
    id_ = request.query_params.get("id") or publisher.new_id()
    try:
        id_, encoded = await _read(gateway, publisher, read, body, id_)
    except InputError as error:
        raise Refusal(413 if _is_too_long(error) else 400, str(error)) from None
    tally = Tally()
    await publisher.send(encoded, tally, 1)
    await tally.settled()
    if tally.lost is not None:
        raise Refusal.later(f"whether it was accepted is not known: {tally.lost}")
    if tally.refused:
        raise Refusal(422, tally.refused[0][1])
    return JSONResponse({"id": id_})


async def _many(gateway: Gateway, publisher: Publisher, request: Request, read: Read) -> Response:
    """Publish each line; one that cannot be does not stop the others."""
    return await _each(gateway, publisher, lines(request, LINE_BYTES_MAX), read, "line")


async def _batch(gateway: Gateway, publisher: Publisher, request: Request) -> Response:
    """Publish each event of a batch, as `_many` does with lines."""
    body = await whole(request, publisher.visit.frame_bytes_max)
    try:
        events = await gateway.beside(lambda: events_in(body))
    except InputError as error:
        raise Refusal(400, str(error)) from None

    async def numbered() -> AsyncIterator[tuple[int, bytes | None]]:
        for at, event in enumerate(events):
            if not (at + 1) % LINES_AT_ONCE:
                await asyncio.sleep(0)
            yield at + 1, event

    return await _each(gateway, publisher, numbered(), read_event, "event")


async def _each(
    gateway: Gateway,
    publisher: Publisher,
    given: AsyncIterator[tuple[int, bytes | None]],
    read: Read,
    what: str,
) -> Response:
    """Publish each of many, which are counted; of one that is too long there is nothing."""
    tally, unread = Tally(), Tally()
    stop: Refusal | None = None
    try:
        async for number, one in given:
            if len(tally.refused) + len(unread.refused) >= GATEWAY_REFUSED_MAX:
                reason = f"too many are refused: from {what} {number} on nothing was read"
                stop = Refusal(422, reason)
                break
            try:
                if one is None:
                    subject = "the length of the line in bytes"
                    raise LimitError("LINE_BYTES_MAX", LINE_BYTES_MAX, None, subject)
                _, encoded = await _read(gateway, publisher, read, one, publisher.new_id())
            except InputError as error:
                unread.refused.append((number, str(error)))
                continue
            await publisher.send(encoded, tally, number)
    except Refusal as refusal:  # the rest does not come
        stop = refusal
    await tally.settled()
    refused = sorted(tally.refused + unread.refused)
    answer: dict[str, Any] = {
        "accepted": tally.accepted,
        "refused": [{what: number, "reason": reason} for number, reason in refused],
    }
    if tally.lost is not None:
        answer["error"] = f"whether the others were accepted is not known: {tally.lost}"
        return JSONResponse(answer, 503)
    if stop is not None:
        answer["error"] = stop.reason
        return JSONResponse(answer, stop.status, stop.headers)
    if not refused:
        return JSONResponse(answer)
    return JSONResponse(answer, 207 if tally.accepted else 422)


async def _read(
    gateway: Gateway, publisher: Publisher, read: Read, body: bytes, id_: str
) -> tuple[str, bytes]:
    """Read what is published, beside the loop if it is long. Raises `InputError`."""
    bytes_max = publisher.visit.frame_bytes_max
    if len(body) <= BODY_BYTES_AT_ONCE:
        return read(body, id_, bytes_max)
    return await gateway.beside(lambda: read(body, id_, bytes_max))


def read_event(text: bytes, _: str, frame_bytes_max: int) -> tuple[str, bytes]:
    """An event in the JSON format."""
    return encoded_event(of_json(text), frame_bytes_max)


def _is_too_long(error: InputError) -> bool:
    return isinstance(error, LimitError) and error.name in ("FRAME_BYTES_MAX", "LINE_BYTES_MAX")
