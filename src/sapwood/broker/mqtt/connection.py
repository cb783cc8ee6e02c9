"""One connection of a client of MQTT 5, and its session with the broker.

The publications and subscriptions of the client are those of a client on a connection in memory
(`Visit`), so identities, grants, quotas, order, confirmations and bounds are those of every client.
The session begins with CONNECT and ends with the connection. A PUBACK is sent when the broker has
accepted the publication, a SUBACK when the subscriptions are in force in the whole overlay.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from msgspec.structs import replace

from sapwood.broker.answered import answered
from sapwood.broker.beside import beside
from sapwood.broker.http.callers import Caller, Peer
from sapwood.broker.http.inside import NotAdmittedError, Visit
from sapwood.broker.mqtt.admission import Hosted, Lobby, Who, code_of, credentials_of, goodbye_of
from sapwood.broker.mqtt.contents import publication_bytes
from sapwood.broker.mqtt.deliveries import PACKET_ID_MAX, Deliveries
from sapwood.broker.mqtt.packets import (
    Connack,
    Connect,
    Disconnect,
    FromClient,
    Pingreq,
    Pingresp,
    Properties,
    Property,
    Puback,
    Publish,
    Suback,
    Subscribe,
    ToClient,
    Unsubscribe,
)
from sapwood.broker.mqtt.reading import OtherVersionError, PacketReader
from sapwood.broker.mqtt.reasons import MqttError, Reason
from sapwood.broker.mqtt.subscriptions import Subscriptions
from sapwood.broker.mqtt.topics import is_topic
from sapwood.broker.mqtt.writing import packet_bytes
from sapwood.broker.room import Hold
from sapwood.limits import BODY_BYTES_AT_ONCE, GOODBYE_S
from sapwood.limits.mqtt import MQTT_GREETING_READ_BYTES, MQTT_RECEIVE_MAX, MQTT_UNREAD_S
from sapwood.session.client_entries import EntryConfirmed, EntryRefused, EntryWithdrawn
from sapwood.session.client_session import ClientEvent, NeverEvent
from sapwood.session.delivery import Delivery
from sapwood.session.durable.consuming import Arrived, Joined
from sapwood.tls import certificate_of
from sapwood.wire.messages import AcceptedReply, PublicationRefused

READ_BYTES: Final = 65_536
"""Bytes that are read at a time."""

_PACKETS_AT_ONCE: Final = 64
"""Packets of a client that are handled without giving way to others."""

_PATIENCE: Final = 1.5
"""The factor of the keep alive for which a client may be silent (3.1.2.10)."""


@dataclass(slots=True)
class _Sent:
    """A publication of the client without an answer: PUBACK is sent if it has a packet id."""

    sequence: int
    packet_id: int | None
    code: Reason = Reason.SUCCESS
    reason: str = ""


class MqttConnection:
    """Serves one client.

    #: _sent has, in order, the client's publications without an answer; the number of those at QoS
    #: 1 that were received and are not answered is _owed
    """

    def __init__(
        self,
        broker: Hosted,
        lobby: Lobby,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._broker = broker
        self._lobby = lobby
        self._reader = reader
        self._writer = writer
        name = writer.get_extra_info("peername")
        peer: Peer = (str(name[0]), int(name[1])) if name else ("?", 0)
        _read_at_once(writer.transport, MQTT_GREETING_READ_BYTES)
        self._caller = Caller(None, peer, certificate_of(writer.transport))
        self._packets = PacketReader(broker.settings.connection.frame_bytes_max)
        self._visit: Visit | None = None
        self._ended: asyncio.Future[MqttError] = asyncio.get_running_loop().create_future()
        self._will: Publish | None = None
        self._keep_alive_s: float | None = None
        self._packet_bytes_max: int | None = None
        self._wants_reasons = True
        self._has_expiry = False
        self._sent: deque[_Sent] = deque()
        self._owed = 0
        self._refused: dict[int, str] = {}
        self._accepted = 0
        self._serial = 0
        self._progress = asyncio.Event()

    # Life --------------------------------------------------------------------------------------

    async def serve(self) -> None:
        """Serve until either end closes; raises nothing that a client could cause."""
        last: ToClient | bytes | None = None
        try:
            last = await self._serve()
        except (OSError, EOFError) as error:
            answered(error)
        finally:
            self._lobby.unread.left(self._writer.transport)
            await self._close(last)

    def end(self, code: Reason, reason: str) -> None:
        """End the connection soon, with the reason if it can be sent."""
        if self._visit is None:
            self._writer.transport.abort()
        elif not self._ended.done():
            self._ended.set_result(MqttError(code, reason))

    async def _serve(self) -> ToClient | bytes | None:
        """Serve; return the last packet to be sent."""
        connect: FromClient | None = None
        try:
            async with asyncio.timeout(self._broker.connecting.greeting_s):
                with self._lobby.connects.held() as hold:
                    connect = await self._next(partial(_beyond, hold, MQTT_GREETING_READ_BYTES))
            assert isinstance(connect, Connect), "the reader refuses any other"
            _read_at_once(self._writer.transport, READ_BYTES)
            who = await self._connect(connect)
        except OtherVersionError as error:
            return error.answer
        except TimeoutError:
            return None
        except MqttError as error:
            return Connack(answered(error).code, reason=error.reason)
        except NotAdmittedError as error:
            answered(error)
            return Connack(code_of(error.code, self._caller.shown), reason=error.reason)
        self._lobby.enter(who, self)
        try:
            await self._run()
        except MqttError as error:
            answered(error)
            await self._publish_will()
            return Disconnect(error.code, error.reason)
        except (OSError, EOFError) as error:
            answered(error)
            await self._publish_will()
            return None
        finally:
            self._lobby.leave(who, self)
        return None

    async def _close(self, last: ToClient | bytes | None) -> None:
        """Send the last packet, and end connection and session."""
        if self._visit is not None:
            self._visit.close()
        writer = self._writer
        try:
            async with asyncio.timeout(GOODBYE_S):
                if isinstance(last, bytes):
                    writer.write(last)
                elif last is not None:
                    self._send(last)
                await writer.drain()
                if last is not None and self._packets.held_bytes and writer.can_write_eof():
                    # What is closed while something comes is reset, and nobody reads why.
                    writer.write_eof()
                    while await self._reader.read(READ_BYTES):
                        pass
                writer.close()
                await writer.wait_closed()
        except (OSError, TimeoutError):
            writer.transport.abort()

    async def _run(self) -> None:
        """Serve a client that is connected. Raises `MqttError`, `OSError` and `EOFError`."""
        tasks = (
            asyncio.create_task(self._read(), name="MQTT reader"),
            asyncio.create_task(self._write(), name="MQTT writer"),
        )
        try:
            await asyncio.wait((*tasks, self._ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            if not task.cancelled():
                task.result()
                return
        raise self._ended.result()

    # The beginning -----------------------------------------------------------------------------

    async def _connect(self, connect: Connect) -> Who:
        """Admit a client, and send CONNACK. Raises `MqttError` and `NotAdmittedError`."""
        properties = connect.properties
        self._packet_bytes_max = properties.number(Property.MAXIMUM_PACKET_SIZE, 0) or None
        self._wants_reasons = properties.number(Property.REQUEST_PROBLEM_INFORMATION, 1) == 1
        self._has_expiry = properties.number(Property.SESSION_EXPIRY_INTERVAL, 0) > 0
        if properties.text(Property.AUTHENTICATION_METHOD) is not None:
            raise MqttError(
                Reason.BAD_AUTHENTICATION_METHOD,
                "there is no enhanced authentication; connect with a password or a token",
            )
        self._caller = self._caller.showing(credentials_of(connect))
        if connect.will is not None:
            self._check(connect.will)
            bytes_max = self._broker.settings.connection.frame_bytes_max
            publication_bytes(connect.will, "will", bytes_max)
        if connect.keep_alive:
            self._keep_alive_s = _PATIENCE * connect.keep_alive
        self._visit = await self._begin()
        self._subscriptions = Subscriptions(self._visit.session)
        self._deliveries = Deliveries(
            self._visit.session,
            self._subscriptions,
            self._send,
            properties.number(Property.RECEIVE_MAXIMUM, PACKET_ID_MAX),
            self._broker.settings.outgoing_bytes_max,
        )
        self._will = connect.will
        told: dict[Property, int | str | bytes] = {
            Property.RECEIVE_MAXIMUM: MQTT_RECEIVE_MAX,
            Property.MAXIMUM_QOS: 1,
            Property.RETAIN_AVAILABLE: 0,
            Property.MAXIMUM_PACKET_SIZE: self._broker.settings.connection.frame_bytes_max,
            Property.TOPIC_ALIAS_MAXIMUM: 0,
            Property.SHARED_SUBSCRIPTION_AVAILABLE: 0,
        }
        if self._has_expiry:
            told[Property.SESSION_EXPIRY_INTERVAL] = 0
        client_id = connect.client_id
        if not client_id:
            client_id = told[Property.ASSIGNED_CLIENT_IDENTIFIER] = f"auto-{secrets.token_hex(8)}"
        self._send(Connack(Reason.SUCCESS, Properties(told)))
        return Who(client_id, self._caller.shown, self._caller.certificate)

    def _check(self, packet: Publish) -> None:
        """Raise `MqttError` for a publication with an unsupported feature."""
        if packet.qos > 1:
            raise MqttError(
                Reason.QOS_NOT_SUPPORTED, "QoS is 0 or 1 here (Maximum QoS); publish at QoS 1"
            )
        if packet.retain:
            raise MqttError(
                Reason.RETAIN_NOT_SUPPORTED, "nothing is retained here (Retain Available is 0)"
            )
        if Property.TOPIC_ALIAS in packet.properties.values:
            raise MqttError(
                Reason.TOPIC_ALIAS_INVALID, "there are no topic aliases (Topic Alias Maximum is 0)"
            )
        if not is_topic(packet.topic):
            raise MqttError(
                Reason.TOPIC_NAME_INVALID, f"{packet.topic!r} is no topic to publish under"
            )

    # From the client ---------------------------------------------------------------------------

    async def _next(self, hold: Hold) -> FromClient:
        """The next packet, which holds room until it is there.

        Raises `MqttError`, `EOFError` and `OSError`.
        """
        while (packet := self._packets.next()) is None:
            try:
                async with asyncio.timeout(self._keep_alive_s):
                    data = await self._reader.read(READ_BYTES)
            except TimeoutError:
                raise MqttError(
                    Reason.KEEP_ALIVE_TIMEOUT, "nothing came in 1.5 times the keep alive"
                ) from None
            if not data:
                raise EOFError("the client has closed the connection")
            self._packets.feed(data)
            hold(self._packets.held_bytes)
        return packet

    async def _read(self) -> None:
        """Carry out the client's packets, until it disconnects."""
        with self._lobby.packets.held() as hold:
            await self._read_on(partial(_beyond, hold, READ_BYTES))

    async def _read_on(self, hold: Hold) -> None:
        count = 0
        while True:
            count += 1
            if not count % _PACKETS_AT_ONCE:
                await asyncio.sleep(0)
            packet = await self._next(hold)
            if isinstance(packet, Disconnect):
                self._part(packet)
                return
            await self._carry_out(packet)
            hold(self._packets.held_bytes)
            await self._flushed()

    def _part(self, packet: Disconnect) -> None:
        """Handle the client's DISCONNECT."""
        if packet.session_expiry and not self._has_expiry:
            raise MqttError(
                Reason.PROTOCOL_ERROR, "a session that ends with its connection stays so"
            )
        if packet.code == Reason.SUCCESS:
            self._will = None
        else:
            raise EOFError("the client leaves with its will")

    async def _carry_out(self, packet: FromClient) -> None:
        visit = self._at_broker
        match packet:
            case Publish():
                await self._publish(packet)
            case Puback(packet_id):
                self._acknowledged(packet_id)
            case Subscribe():
                self._send_all(self._subscriptions.subscribe(packet))
                visit.flush()
            case Unsubscribe():
                self._send_all(self._subscriptions.unsubscribe(packet))
                visit.flush()
            case Pingreq():
                self._send(Pingresp())

    async def _publish(self, packet: Publish) -> None:
        """Publish as soon as there is room."""
        self._check(packet)
        if packet.qos and self._owed >= MQTT_RECEIVE_MAX:
            raise MqttError(
                Reason.RECEIVE_MAXIMUM_EXCEEDED,
                f"more than {MQTT_RECEIVE_MAX} publications without an answer (Receive Maximum)",
            )
        self._owed += packet.qos
        visit = self._at_broker
        session = visit.session
        try:
            body = await self._body(packet, visit)
        except MqttError as error:
            self._sent.append(
                _Sent(session.window.last, packet.packet_id, error.code, error.reason)
            )
            self._send_all(self._answers())
            return
        while session.window.full:
            self._progress.clear()
            await self._progress.wait()
        self._sent.append(_Sent(session.publish(body), packet.packet_id))
        visit.flush()

    async def _body(self, packet: Publish, visit: Visit) -> bytes:
        """The bytes of a publication, made beside the loop if it is long. Raises `MqttError`."""
        self._serial += 1
        id_ = f"{visit.session.name}.{visit.session.session}.{self._serial}"
        if len(packet.payload) <= BODY_BYTES_AT_ONCE:
            return publication_bytes(packet, id_, visit.frame_bytes_max)
        work = lambda: publication_bytes(packet, id_, visit.frame_bytes_max)  # noqa: E731
        return await beside(self._broker.beside, work)

    def _acknowledged(self, packet_id: int) -> None:
        """Handle a PUBACK: there is room for further deliveries."""
        self._deliveries.acknowledged(packet_id)
        self._at_broker.session.acknowledge_waiting()
        self._at_broker.flush()

    # From the broker ---------------------------------------------------------------------------

    async def _write(self) -> None:
        """Send the broker's events, until the session is over."""
        visit = self._at_broker
        while visit.ending is None:
            events = await visit.events()
            await self._lobby.unread.room()
            for event in events:
                self._heard(event)
            events = []
            await self._flushed()
            await self._lobby.unread.room()
        raise MqttError(goodbye_of(visit.ending), visit.ending.reason)

    def _heard(self, event: ClientEvent) -> None:
        match event:
            case Delivery():
                self._deliveries.deliver(event, event.subscriptions, (), event.size)
            case Arrived(entry, deliveries):
                # A delivery without a subscription comes again, to another consumer.
                is_wanted = self._subscriptions.get(entry.id) is not None
                for number, _, _, body in deliveries if is_wanted else ():
                    delivery = Delivery.of(body, (entry.id,))
                    numbers = ((entry.id, number),)
                    self._deliveries.deliver(delivery, (entry.id,), numbers, delivery.size)
                self._at_broker.session.acknowledge_waiting()
                self._at_broker.flush()
            case EntryConfirmed(entry) | Joined(entry):
                self._send_all(self._subscriptions.confirmed(entry.id))
                self._at_broker.flush()
            case EntryRefused(entry, reason):
                self._send_all(self._subscriptions.refused(entry.id, reason))
            case EntryWithdrawn(entry):
                self._send_all(self._subscriptions.withdrawn(entry.id))
            case NeverEvent(id_, reason):
                self._subscriptions.never(id_, reason)
            case PublicationRefused(sequence, reason):
                self._refused[sequence] = reason
            case AcceptedReply(through):
                self._accepted = through
                self._send_all(self._answers())
                self._progress.set()

    def _answers(self) -> Iterator[Puback]:
        """The answers to publications that are accepted, or refused, in their order."""
        while self._sent and self._sent[0].sequence <= self._accepted:
            sent = self._sent.popleft()
            reason = self._refused.pop(sent.sequence, None) if not sent.code else None
            if reason is not None:
                sent.code, sent.reason = Reason.IMPLEMENTATION_SPECIFIC, reason
            if sent.packet_id is not None:
                self._owed -= 1
                yield Puback(sent.packet_id, sent.code, sent.reason)

    # Both --------------------------------------------------------------------------------------

    @property
    def _at_broker(self) -> Visit:
        assert self._visit is not None, "the client is connected"
        return self._visit

    def _send(self, packet: ToClient) -> bool:
        """Send a packet, if the client takes one of its size; a reason goes first."""
        most = self._packet_bytes_max
        if not self._wants_reasons and isinstance(packet, Puback | Suback):
            packet = replace(packet, reason="")
        data = packet_bytes(packet)
        if most is not None and len(data) > most:
            if isinstance(packet, Puback | Suback | Connack | Disconnect):
                data = packet_bytes(replace(packet, reason=""))
            if len(data) > most:
                return False
        self._writer.write(data)
        return True

    def _send_all(self, packets: Iterator[ToClient]) -> None:
        for packet in packets:
            self._send(packet)

    async def _flushed(self) -> None:
        """Return when the client has read most of what was sent to it. Raises `OSError`."""
        await self._lobby.unread.flushed(self._writer.transport, self._drain)

    async def _drain(self) -> None:
        if self._writer.transport.get_write_buffer_size() < READ_BYTES:
            return
        try:
            async with asyncio.timeout(MQTT_UNREAD_S):
                await self._writer.drain()
        except TimeoutError:
            self._writer.transport.abort()
            raise ConnectionAbortedError("the client takes nothing") from None

    async def _begin(self) -> Visit:
        """A session with the broker. Raises `NotAdmittedError`."""
        begin = (self._broker.accept, self._broker.connecting, self._caller)
        return await Visit.begin(*begin, "mqtt", self._lobby.lane)

    async def _publish_will(self) -> None:
        """Publish the will of a client that has not disconnected, in a session of its own."""
        will, self._will = self._will, None
        if will is None or self._broker.is_stopping:
            return
        try:
            async with asyncio.timeout(GOODBYE_S):
                visit = await self._begin()
                try:
                    visit.session.publish(await self._body(will, visit))
                    visit.flush()
                    while visit.ending is None and visit.session.window.acknowledged < 1:
                        await visit.events()
                finally:
                    visit.close()
        except (NotAdmittedError, MqttError, TimeoutError):  # any publication may be refused
            return


def _beyond(hold: Hold, free: int, size: int) -> None:
    """Hold room for what is beyond so many bytes, for which nobody needs any."""
    hold(max(0, size - free))


def _read_at_once(transport: asyncio.WriteTransport, size: int) -> None:
    """Let a transport read so much at a time, where it is asyncio's own and has no TLS.

    By itself it reads 256 KiB, from each of all connections that something has come from.
    """
    if hasattr(transport, "max_size"):
        transport.max_size = size
