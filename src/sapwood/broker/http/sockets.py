"""`/socket`: publish and subscribe over a WebSocket (RFC 6455), in JSON messages.

One session of a client is behind each, so confirmations, deliveries and refusals come in the order
in which a client over TCP has them. The messages of a client are in `commands`; those of the
broker::

    {"type": "connected", "broker": "hub", "journal": true}
    {"type": "confirmed", "of": "subscribe", "id": "s1"}        also "unsubscribe"
    {"type": "confirmed", "of": "publish", "id": "p1", "ref": 7}
    {"type": "refused", "of": "publish", "id": "p1", "ref": 7, "reason": "...", "status": 422}
    {"type": "delivery", "subscriptions": ["s1"], "publication": {...}, "mark": "hub/12"}
    {"type": "end", "reason": "..."}                            the last one, before it is closed
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from sapwood.broker.http.callers import Caller, caller_of
from sapwood.broker.http.commands import (
    Acknowledge,
    Command,
    Connect,
    Publish,
    Reference,
    Subscribe,
    Unsubscribe,
    command_in,
    encoded,
)
from sapwood.broker.http.deliveries import members_of
from sapwood.broker.http.gateway import Gateway
from sapwood.broker.http.inside import NotAdmittedError, Visit
from sapwood.broker.http.refusals import STATUS_OF, Declined, Refusal
from sapwood.broker.http.wishes import Wish, ask, filter_text, mark_of, wish_of
from sapwood.errors import InputError
from sapwood.limits import BODY_BYTES_AT_ONCE
from sapwood.session.client_entries import EntryConfirmed, EntryRefused, EntryWithdrawn
from sapwood.session.client_session import ClientEvent, NeverEvent, SupplyEvent
from sapwood.session.delivery import Delivery
from sapwood.session.durable.consuming import Arrived, Dropped, Joined
from sapwood.session.settings import ConnectionSettings, with_access
from sapwood.wire.messages import AcceptedReply, PublicationRefused

_MESSAGES_AT_ONCE: Final = 64
"""Messages of a client that are handled before other tasks get a turn."""

_NORMAL, _AWAY, _POLICY, _LATER = 1000, 1001, 1008, 1013
"""Codes with which a WebSocket is closed (RFC 6455, 7.4.1, and its registry)."""

_REASON_BYTES_MAX: Final = 123


async def serve(gateway: Gateway, websocket: WebSocket) -> None:
    """Serve a WebSocket until either end closes it."""
    await websocket.accept()
    code, reason = _NORMAL, ""
    try:
        async with asyncio.timeout(gateway.broker.connecting.greeting_s):
            caller = await _greeting(websocket)
        async with gateway.stream(caller) as visit:
            reason = await _Socket(gateway, websocket, visit, caller).run()
            code = _AWAY
    except WebSocketDisconnect:
        return
    except TimeoutError:
        code, reason = _POLICY, "the first message did not come in time"
    except NotAdmittedError as error:
        code, reason = (_POLICY if error.is_unknown else _LATER), error.reason
    except Refusal as refusal:
        code, reason = _LATER, refusal.reason
    except InputError as error:
        code, reason = _POLICY, str(error)
    try:
        await websocket.send_text(_text({"type": "end", "reason": reason}))
        cut = reason.encode()[:_REASON_BYTES_MAX].decode(errors="ignore")
        await websocket.close(code, cut)
    except (WebSocketDisconnect, RuntimeError):  # it has gone meanwhile
        return


async def _greeting(websocket: WebSocket) -> Caller:
    """The caller by the first message, or else by the request's head. Raises `InputError`."""
    command = command_in(await _message(websocket))
    if not isinstance(command, Connect):
        raise InputError('the first message is {"type": "connect"}')
    shown = with_access(
        ConnectionSettings(), command.user, command.password, command.token
    ).credentials
    caller = caller_of(websocket)
    return caller if shown is None else caller.showing(shown)


async def _message(websocket: WebSocket) -> bytes:
    """The next message. Raises `InputError` for one that is no text, `WebSocketDisconnect`."""
    message = await websocket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", _NORMAL))
    text = message.get("text")
    if text is None:
        raise InputError("messages are texts; this one is binary")
    return str(text).encode(errors="surrogatepass")


class _Socket:
    """One WebSocket and its visit.

    #: _sent has, in order, the publications without an answer: number, id, reference
    """

    def __init__(
        self, gateway: Gateway, websocket: WebSocket, visit: Visit, caller: Caller
    ) -> None:
        self._gateway = gateway
        self._transport = caller.transport
        self._websocket = websocket
        self._visit = visit
        self._sent: deque[tuple[int, str, Reference]] = deque()
        self._refused: dict[int, Declined] = {}
        self._serial = 0
        self._progress = asyncio.Event()

    async def run(self) -> str:
        """Serve until the end; return the broker's reason for it. Raises `WebSocketDisconnect`."""
        broker = self._gateway.broker
        told = {"broker": broker.name, "journal": broker.store is not None}
        await self._say({"type": "connected", **told})
        reading = asyncio.create_task(self._read(), name="socket reader")
        writing = asyncio.create_task(self._write(), name="socket writer")
        try:
            await asyncio.wait((reading, writing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reading, writing):
                task.cancel()
            await asyncio.gather(reading, writing, return_exceptions=True)
            self._gateway.left(self._transport)
        if not reading.cancelled():
            reading.result()
        if not writing.cancelled():
            writing.result()
        ending = self._visit.ending
        return "the broker is shutting down" if ending is None else ending.reason

    # From the client ---------------------------------------------------------------------------

    async def _read(self) -> None:
        count = 0
        while True:
            count += 1
            if not count % _MESSAGES_AT_ONCE:
                await asyncio.sleep(0)
            try:
                text = await _message(self._websocket)
                command = await self._beside(text)
            except InputError as error:
                await self._say(_refused("message", Declined(str(error), 400)))
                continue
            if isinstance(command, Publish):
                await self._publish(command, len(text))
                continue
            try:
                self._carry_out(command)
            except InputError as error:
                is_second = isinstance(command, Connect)
                of = "message" if is_second else str(command.__struct_config__.tag)
                await self._say(_refused(of, Declined(str(error))) | _id_of(command))

    async def _beside(self, text: bytes) -> Command:
        """The command in a message, parsed beside the loop if it is long. Raises `InputError`."""
        if len(text) <= BODY_BYTES_AT_ONCE:
            return command_in(text)
        return await self._gateway.beside(lambda: command_in(text))

    def _carry_out(self, command: Command) -> None:
        """Carry out a command that the broker answers. Raises `InputError` for an invalid one."""
        session = self._visit.session
        match command:
            case Subscribe():
                if command.id in session.subscriptions or command.id in session.consuming.entries:
                    raise InputError(f"there is a subscription {command.id!r}; take another id")
                ask(self._gateway.broker, self._visit, command.id, _wish(command))
            case Unsubscribe(id_):
                if id_ in session.consuming.entries:
                    session.leave(id_)
                elif id_ in session.subscriptions:
                    session.unsubscribe(id_)
                else:
                    raise InputError(f"there is no subscription {id_!r}")
            case Acknowledge(id_, numbers):
                entry = session.consuming.entries.get(id_)
                if entry is None or not entry.filter.name:
                    raise InputError(f"{id_!r} is no consumer of a durable subscription")
                session.consuming.acknowledge(entry, numbers)
                session.acknowledge_waiting()
            case _:
                raise InputError("it is connected already")
        self._visit.flush()

    async def _publish(self, command: Publish, size: int) -> None:
        """Publish as soon as there is room."""
        visit = self._visit
        self._serial += 1
        session = visit.session
        id_ = command.id or f"{session.name}.{session.session}.{self._serial}"
        try:
            if size <= BODY_BYTES_AT_ONCE:
                body = encoded(command, id_, visit.frame_bytes_max)
            else:
                body = await self._gateway.beside(
                    lambda: encoded(command, id_, visit.frame_bytes_max)
                )
        except InputError as error:
            await self._say(_answer(id_, command.ref, Declined(str(error), 400)))
            return
        while session.window.full:
            self._progress.clear()
            await self._progress.wait()
        self._sent.append((session.publish(body), id_, command.ref))
        visit.flush()

    # From the broker ---------------------------------------------------------------------------

    async def _write(self) -> None:
        while self._visit.ending is None:
            events = await self._visit.events()
            await self._gateway.unread.room()
            for event in events:
                for message in self._messages(event):
                    await self._say(message)
            self._visit.done_with(events)
            events = []
            await self._gateway.flushed(self._transport)

    async def _say(self, message: dict[str, Any]) -> None:
        await self._websocket.send_text(_text(message))
        if self._transport is not None:
            self._gateway.unread.wrote(self._transport)

    def _messages(self, event: ClientEvent) -> Iterator[dict[str, Any]]:
        """The messages for an event."""
        match event:
            case Delivery():
                if not event.has_expired:
                    yield _delivery(event)
            case Arrived(entry, deliveries):
                for number, attempt, place, body in deliveries:
                    message = _delivery(Delivery.of(body, (entry.id,)))
                    message["mark"] = mark_of(self._gateway.broker, place)
                    if entry.filter.name:
                        message |= {"number": number, "attempt": attempt}
                    yield message
            case EntryConfirmed(entry) | Joined(entry):
                yield {"type": "confirmed", "of": "subscribe", "id": entry.id}
            case EntryWithdrawn(entry):
                yield {"type": "confirmed", "of": "unsubscribe", "id": entry.id}
            case EntryRefused(entry, reason, cause):
                yield _refused("subscribe", Declined(reason, STATUS_OF[cause])) | {"id": entry.id}
            case NeverEvent(id_, reason):
                yield {"type": "never", "id": id_, "reason": reason}
            case SupplyEvent(ids, is_there):
                yield {"type": "advertised", "ids": ids, "advertised": is_there}
            case Dropped(entry, dropped, reason):
                yield {"type": "dropped", "id": entry.id, "dropped": dropped, "reason": reason}
            case PublicationRefused(sequence):
                self._refused[sequence] = Declined.of(event)
            case AcceptedReply(through):
                while self._sent and self._sent[0][0] <= through:
                    sequence, id_, ref = self._sent.popleft()
                    yield _answer(id_, ref, self._refused.pop(sequence, None))
                self._progress.set()


def _wish(command: Subscribe) -> Wish:
    """The wish in a command. Raises `InputError`."""
    if command.durable is not None and command.mark is not None:
        raise InputError("a durable subscription goes on where it was acknowledged; leave mark out")
    filter_ = filter_text(command.filter, command.dialect)
    if command.durable is not None and filter_ is None and command.xpath is None:
        wish = Wish(None, command.since, None, command.durable, command.window)
    else:
        given = (filter_, command.xpath, command.namespaces, command.since, command.mark)
        wish = wish_of(*given).durably(command.durable, command.window)
    by = [command.by] if isinstance(command.by, str) else command.by
    return wish.lastly(command.replay, by)


def _refused(of: str, why: Declined) -> dict[str, Any]:
    """The message for a refusal."""
    told: dict[str, Any] = {"type": "refused", "of": of, "reason": why.reason, "status": why.status}
    return told if why.retry_after is None else told | {"retry_after": why.retry_after}


def _answer(id_: str, ref: Reference, why: Declined | None) -> dict[str, Any]:
    """The answer to a publication: that it is accepted, or the reason why it is refused."""
    answer: dict[str, Any] = {"type": "confirmed", "of": "publish"}
    if why is not None:
        answer = _refused("publish", why)
    answer["id"] = id_
    return answer if ref is None else answer | {"ref": ref}


def _delivery(delivery: Delivery) -> dict[str, Any]:
    return {
        "type": "delivery",
        "subscriptions": delivery.subscriptions,
        "publication": members_of(delivery),
    }


def _id_of(command: Command) -> dict[str, Any]:
    return {} if isinstance(command, Connect) else {"id": command.id}


def _text(message: dict[str, Any]) -> str:
    return msgspec.json.encode(message).decode()
