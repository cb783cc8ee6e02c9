"""`GET /subscribe`: a subscription as a stream of events (Server-Sent Events, HTML 9.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, MutableMapping
from functools import partial
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sapwood.broker.answered import answered
from sapwood.broker.http.callers import caller_of
from sapwood.broker.http.cloud_events import json_of_event
from sapwood.broker.http.deliveries import json_of
from sapwood.broker.http.gateway import Gateway
from sapwood.broker.http.inside import NotAdmittedError, Visit
from sapwood.broker.http.refusals import Refusal
from sapwood.broker.http.wishes import (
    Confirmed,
    SubscriptionRefusedError,
    Wish,
    ask,
    confirmed,
    filter_text,
    mark_of,
    wish_of,
)
from sapwood.errors import InputError
from sapwood.limits.gateway import GATEWAY_HEARTBEAT_S
from sapwood.session.client_session import ClientEvent, SupplyEvent
from sapwood.session.delivery import Delivery
from sapwood.session.durable.consuming import Arrived, Dropped

_ID: Final = "s"
"""The id of the subscription of a stream, at the broker."""

_HEADERS: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)

_SINGLE: Final = ("filter", "dialect", "xpath", "since", "last_event_id", "as", "replay")

_FORMS: Final = ("publication", "cloudevents")


def subscribe(gateway: Gateway, request: Request) -> Response:
    """The answer to a request for a stream. Raises `Refusal`."""
    try:
        wish = _wish(request)
        form = request.query_params.get("as", _FORMS[0])
        if form not in _FORMS:
            raise InputError(f"as is {' or '.join(_FORMS)}, not {form!r}")
        return EventStream(gateway, request, wish, as_events=form == "cloudevents")
    except InputError as error:
        raise Refusal(400, str(error)) from None


def _wish(request: Request) -> Wish:
    """The wish in a request. Raises `InputError`."""
    given: dict[str, str] = {}
    namespaces: dict[str, str] = {}
    by: list[str] = []
    for name, value in request.query_params.multi_items():
        if name == "namespace":
            prefix, _, namespace = value.partition("=")
            if not prefix or not namespace or prefix in namespaces:
                raise InputError("a namespace is prefix=namespace, once for each prefix")
            namespaces[prefix] = namespace
        elif name == "by" and value:
            by.append(value)
        elif name not in _SINGLE or name in given or not value:
            known = ", ".join((*_SINGLE, "by", "namespace"))
            raise InputError(f"{name!r} is unknown, empty or there twice; there are {known}")
        else:
            given[name] = value
    mark = request.headers.get("last-event-id") or given.get("last_event_id")
    filter_ = filter_text(given.get("filter"), given.get("dialect"))
    wish = wish_of(filter_, given.get("xpath"), namespaces, given.get("since"), mark)
    return wish.lastly(given.get("replay"), by)


class EventStream(Response):
    """An answer that goes on until either end closes it."""

    def __init__(self, gateway: Gateway, request: Request, wish: Wish, *, as_events: bool) -> None:
        super().__init__()
        self._render = partial(json_of_event, gateway.broker.name) if as_events else json_of
        self._gateway = gateway
        self._request = request
        self._wish = wish

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, as an ASGI application."""
        try:
            await self._answer(receive, send)
        except NotAdmittedError as error:
            await Refusal.of(answered(error)).response()(scope, receive, send)
        except Refusal as refusal:
            await answered(refusal).response()(scope, receive, send)

    async def _answer(self, receive: Receive, send: Send) -> None:
        caller = caller_of(self._request)
        async with self._gateway.stream(caller) as visit:
            try:
                ask(self._gateway.broker, visit, _ID, self._wish)
                answer, events = await confirmed(visit, _ID)
            except SubscriptionRefusedError as error:
                raise Refusal(error.status, str(error)) from None
            except InputError as error:
                raise Refusal(422, str(error)) from None
            await send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
            tasks = (
                asyncio.create_task(
                    self._pump(visit, answer, events, send, caller.transport), name="event stream"
                ),
                asyncio.create_task(_gone(receive), name="event stream's end"),
            )
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                self._gateway.left(caller.transport)
            if tasks[0].done() and not tasks[0].cancelled():
                tasks[0].result()

    async def _pump(
        self,
        visit: Visit,
        answer: Confirmed,
        events: list[ClientEvent],
        send: Send,
        transport: asyncio.Transport | None,
    ) -> None:
        """Send events as they come; acknowledge those of a journal once they are sent."""
        begin = [b": subscribed\n\n"]
        if answer.never is not None:
            begin.append(_named("never", {"reason": answer.never}))
        await send(_part(b"".join(begin)))
        while True:
            await self._gateway.unread.room()
            body = b"".join(part for event in events for part in self._parts(event))
            if body:
                await send(_part(body))
                visit.done_with(events)
                body, events = b"", []
                await self._gateway.flushed(transport)
            if visit.ending is not None:
                end = _named("end", {"reason": visit.ending.reason})
                await send({"type": "http.response.body", "body": end, "more_body": False})
                return
            try:
                async with asyncio.timeout(GATEWAY_HEARTBEAT_S):
                    events = await visit.events()
            except TimeoutError:
                events = []
                await send(_part(b":\n\n"))

    def _parts(self, event: ClientEvent) -> Iterator[bytes]:
        """The parts of the stream for an event."""
        broker = self._gateway.broker
        match event:
            case Delivery():
                if not event.has_expired:
                    yield b"data: %s\n\n" % self._render(event)
            case Arrived(_, deliveries):
                for _, _, place, encoded in deliveries:
                    data = self._render(Delivery.of(encoded, (_ID,)))
                    yield b"id: %s\ndata: %s\n\n" % (mark_of(broker, place).encode(), data)
            case Dropped(_, dropped, reason):
                yield _named("dropped", {"dropped": dropped, "reason": reason})
            case SupplyEvent(_, is_there):
                yield _named("advertised", {"advertised": is_there})


def _named(event: str, data: dict[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event.encode(), msgspec.json.encode(data))


def _part(body: bytes) -> MutableMapping[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": True}


async def _gone(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
