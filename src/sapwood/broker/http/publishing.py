"""`POST /publish`: one record or document, or a line for each of many; or CloudEvents.

A request is answered when the broker has accepted or refused its publications: with the same
answers that a client over TCP gets.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sapwood.broker.http.bodies import LINES_AT_ONCE, Hold, lines, whole
from sapwood.broker.http.cloud_events import (
    BATCH,
    FAMILY,
    PREFIX,
    STRUCTURED,
    enveloped_event,
    events_in,
    of_headers,
    of_json,
)
from sapwood.broker.http.contents import (
    Given,
    Read,
    is_xml,
    media_type,
    read_document,
    read_publication,
    read_record,
    records_by,
)
from sapwood.broker.http.envelopes import envelope_in
from sapwood.broker.http.gateway import Gateway
from sapwood.broker.http.publishers import Publisher, Tally
from sapwood.broker.http.refusals import Declined, Refusal, problem
from sapwood.errors import InputError, LimitError
from sapwood.limits import BODY_BYTES_AT_ONCE, LINE_BYTES_MAX
from sapwood.limits.gateway import GATEWAY_REFUSED_MAX
from sapwood.model.envelope import Envelope

_NDJSON: Final = ("application/x-ndjson", "application/ndjson", "application/jsonl")

_KNOWN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "id": "the id of the one publication",
        "id_member": "the member of each record that is its id",
        "lines": "what a line is: record or publication",
        "ttl": "for how many seconds it is worth being delivered",
    }
)
"""The parameters, with their meanings."""

_KEY: Final = "idempotency-key"
"""The header under which a request is published once, however often it comes."""


async def publish(gateway: Gateway, request: Request) -> Response:
    """Publish the contents of a request. Raises `Refusal`, and `NotAdmittedError`."""
    given = _parameters(request)
    try:
        kind = media_type(request.headers.get("content-type", ""))
    except InputError as error:
        raise Refusal(415, str(error)) from None
    try:
        envelope = envelope_in(request.headers, given.pop("ttl", None))
    except InputError as error:
        raise Refusal(400, str(error)) from None
    is_event = kind.startswith(FAMILY) or PREFIX + "specversion" in request.headers
    if is_event and given:
        raise Refusal(400, f"{min(given)} is for publications that are no events")
    is_one = not is_event and kind not in _NDJSON
    if _KEY in request.headers:
        given["id"] = _key(gateway, request, given.get("id"), is_one=is_one)
    with gateway.room.held() as hold:
        async with gateway.publisher(request) as publisher:
            call = _Call(gateway, publisher, request, envelope, hold)
            return await _published(call, kind, given, is_event=is_event)


async def _published(
    call: _Call, kind: str, given: Mapping[str, str], *, is_event: bool
) -> Response:
    """Publish a body of a kind, with the parameters that were given. Raises as `publish`."""
    if kind in _NDJSON and not is_event:
        return await call.many(_line_reader(given))
    if kind == BATCH:
        return await call.batch()
    if is_event:
        return await call.one(_event_reader(kind, call.request), None)
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
    return await call.one(read, given.get("id"))


def _key(gateway: Gateway, request: Request, id_: str | None, *, is_one: bool) -> str:
    """The id in the header, under which a journal takes a publication once.

    It may be quoted, as a string of structured fields is. Raises `Refusal`.
    """
    key = request.headers[_KEY].strip()
    if len(key) > 1 and key[0] == key[-1] == '"':
        key = key[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    if not is_one:
        reason = "lines and events have ids of their own, under which each is published once"
        raise Refusal(400, f"Idempotency-Key is for one publication; {reason}")
    if not key or (id_ is not None and id_ != key):
        raise Refusal(400, f"Idempotency-Key is the publication's id, which is {id_ or 'empty'!r}")
    if gateway.broker.store is None:
        raise Refusal(
            422,
            f"broker {gateway.broker.name} keeps no journal (it has no --data), and does not know "
            "what was published before; leave Idempotency-Key out",
        )
    return key


def _parameters(request: Request) -> dict[str, str]:
    """The query parameters. Raises `Refusal` for unknown ones."""
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
    """A reader of the event of a request. Raises `Refusal` for an unsupported format."""
    if kind == STRUCTURED:
        return read_event
    if kind.startswith(FAMILY):
        raise Refusal(415, f"{kind} is not read; send {STRUCTURED} or {BATCH}")
    headers = request.headers.items()

    def read(body: bytes, given: Given) -> tuple[str, bytes]:
        return given.encoded(enveloped_event(of_headers(headers, body), time.time()))

    return read


@dataclass(frozen=True, slots=True)
class _Call:
    """A request that publishes, with its session and the envelope of all its publications."""

    gateway: Gateway
    publisher: Publisher
    request: Request
    envelope: Envelope | None
    hold: Hold

    async def one(self, read: Read, id_: str | None) -> Response:
        """Publish the body."""
        publisher = self.publisher
        body = await whole(self.request, publisher.visit.frame_bytes_max, self.hold)
        try:
            id_, encoded = await self._read(read, body, id_ or publisher.new_id())
        except InputError as error:
            raise Refusal(413 if _is_too_long(error) else 400, str(error)) from None
        tally = Tally()
        await publisher.send(encoded, tally, 1)
        await tally.settled()
        if tally.lost is not None:
            raise Refusal.later(f"whether it was accepted is not known: {tally.lost}")
        if tally.refused:
            [(_, why)] = tally.refused
            raise Refusal(why.status, why.reason, why.headers)
        return JSONResponse({"id": id_})

    async def many(self, read: Read) -> Response:
        """Publish each line; one that is refused does not stop the others."""
        return await self._each(lines(self.request, LINE_BYTES_MAX, self.hold), read, "line")

    async def batch(self) -> Response:
        """Publish each event of a batch, as `many` does with lines."""
        body = await whole(self.request, self.publisher.visit.frame_bytes_max, self.hold)
        try:
            events = await self.gateway.beside(lambda: events_in(body))
        except InputError as error:
            raise Refusal(400, str(error)) from None

        async def numbered() -> AsyncIterator[tuple[int, bytes | None]]:
            for at, event in enumerate(events):
                if not (at + 1) % LINES_AT_ONCE:
                    await asyncio.sleep(0)
                yield at + 1, event

        return await self._each(numbered(), read_event, "event")

    async def _each(
        self, given: AsyncIterator[tuple[int, bytes | None]], read: Read, what: str
    ) -> Response:
        """Publish each of many numbered items; one that is too long is `None`."""
        publisher = self.publisher
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
                    _, encoded = await self._read(read, one, publisher.new_id())
                except InputError as error:
                    why = Declined(str(error), 413 if _is_too_long(error) else 400)
                    unread.refused.append((number, why))
                    continue
                await publisher.send(encoded, tally, number)
        except Refusal as refusal:  # the rest does not come
            stop = refusal
        await tally.settled()
        refused = sorted(tally.refused + unread.refused, key=lambda one: one[0])
        if tally.lost is not None:
            stop = Refusal.later(f"whether the others were accepted is not known: {tally.lost}")
        return _told(what, tally.accepted, refused, stop)

    async def _read(self, read: Read, body: bytes, id_: str) -> tuple[str, bytes]:
        """Parse a publication, beside the loop if it is long. Raises `InputError`."""
        given = Given(id_, self.publisher.visit.frame_bytes_max, self.envelope)
        if len(body) <= BODY_BYTES_AT_ONCE:
            return read(body, given)
        return await self.gateway.beside(lambda: read(body, given))


def _told(
    what: str, accepted: int, refused: list[tuple[int, Declined]], stop: Refusal | None
) -> Response:
    """The answer about many: the number of accepted ones, and the refused ones, in order.

    It is a problem where none was accepted, or the request was interrupted.
    """
    listed = [{what: number, "reason": why.reason, "status": why.status} for number, why in refused]
    answer: dict[str, Any] = {"accepted": accepted, "refused": listed}
    waits = [why.after_s for _, why in refused]
    headers = Declined("", after_s=max(waits, default=0.0)).headers
    if stop is not None:
        return problem(stop.status, stop.reason, {**headers, **stop.headers}, **answer)
    if not refused:
        return JSONResponse(answer)
    if accepted:
        return JSONResponse(answer, 207, headers)
    statuses = {why.status for _, why in refused}
    status = statuses.pop() if statuses in ({403}, {429}) else 422
    first = refused[0][1].reason
    detail = f"nothing is accepted; of {what} {refused[0][0]}: {first}"
    return problem(status, detail, headers, **answer)


def read_event(text: bytes, given: Given) -> tuple[str, bytes]:
    """An event in the JSON format."""
    return given.encoded(enveloped_event(of_json(text), time.time()))


def _is_too_long(error: InputError) -> bool:
    return isinstance(error, LimitError) and error.name in ("FRAME_BYTES_MAX", "LINE_BYTES_MAX")
