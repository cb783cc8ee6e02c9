"""Deliveries on their way to one client: their QoS, and their flow control.

A delivery has the lower of the QoS that its PUBLISH had and the one that was granted (3.8.4);
publications from elsewhere, and those in a durable subscription, count as QoS 1. A client has at
most its Receive Maximum of deliveries at QoS 1 without PUBACK. Further ones wait here in their
order, up to a bound, and all other packets of the broker go on (4.9).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from sapwood.broker.mqtt.contents import Received
from sapwood.broker.mqtt.packets import Publish
from sapwood.broker.mqtt.reasons import MqttError, Reason
from sapwood.broker.mqtt.subscriptions import Subscription, Subscriptions
from sapwood.session.client_session import ClientSession
from sapwood.session.delivery import Delivery

PACKET_ID_MAX: Final = 65_535

Numbers: TypeAlias = tuple[tuple[str, int], ...]
"""Deliveries of durable subscriptions: the id, and the number there."""

_Waiting: TypeAlias = tuple[Delivery, tuple[str, ...], Numbers, int]
"""A delivery, its subscriptions, its numbers there, and its bytes."""


class Deliveries:
    """The deliveries to a client; `send` sends a packet, or is false if it is too large.

    #: _taken has the deliveries at QoS 1 without PUBACK, at most receive_max
    #: _waiting is empty unless there are receive_max of them; _waiting_bytes are its bytes
    """

    def __init__(
        self,
        session: ClientSession,
        subscriptions: Subscriptions,
        send: Callable[[Publish], bool],
        receive_max: int,
        bytes_max: int,
    ) -> None:
        self._session = session
        self._subscriptions = subscriptions
        self._send = send
        self._receive_max = receive_max
        self._bytes_max = bytes_max
        self._taken: dict[int, Numbers] = {}
        self._packet_id = 0
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0

    def deliver(
        self, delivery: Delivery, ids: tuple[str, ...], numbers: Numbers, size: int
    ) -> None:
        """Send a delivery of `size` bytes once for all subscriptions, now or when there is room.

        Raises `MqttError` where too many bytes wait.
        """
        if not self._waiting and self._went(delivery, ids, numbers):
            return
        self._waiting_bytes += size
        if self._waiting_bytes > self._bytes_max:
            raise MqttError(
                Reason.QUOTA_EXCEEDED,
                f"{self._waiting_bytes} bytes wait for the client to acknowledge what it has "
                "(--outgoing-bytes-max); acknowledge sooner, or subscribe to less",
            )
        self._waiting.append((delivery, ids, numbers, size))

    def acknowledged(self, packet_id: int) -> None:
        """Take in a PUBACK; an unknown packet id is ignored."""
        self._done(self._taken.pop(packet_id, ()))
        while self._waiting:
            delivery, ids, numbers, size = self._waiting[0]
            if not self._went(delivery, ids, numbers):
                return
            self._waiting.popleft()
            self._waiting_bytes -= size

    def _went(self, delivery: Delivery, ids: tuple[str, ...], numbers: Numbers) -> bool:
        """Send a delivery, if it is still due; `False` if it has to wait for room."""
        received = Received(delivery)
        wanting = [] if delivery.has_expired else list(self._wanting(delivery, received, ids))
        if received.topic is None or not wanting:
            self._done(numbers)
            return True
        qos = max(one.qos for one in wanting)
        if not numbers:
            qos = min(qos, received.qos)
        identifiers = tuple(sorted({one.identifier for one in wanting if one.identifier}))
        if not qos:
            self._send(received.packet(0, None, identifiers))
            self._done(numbers)
            return True
        if len(self._taken) >= self._receive_max:
            return False
        packet_id = self._free_packet_id()
        if self._send(received.packet(1, packet_id, identifiers)):
            self._taken[packet_id] = numbers
        else:
            self._done(numbers)
        return True

    def _wanting(
        self, delivery: Delivery, received: Received, ids: tuple[str, ...]
    ) -> Iterator[Subscription]:
        """The subscriptions that a delivery is for, and that accept its topic."""
        own = f"{self._session.name}.{self._session.session}."
        for id_ in ids:
            known = self._subscriptions.get(id_)
            if known is None or (known.no_local and delivery.id.startswith(own)):
                continue
            if received.topic is not None and (
                known.topics.is_exact or known.topics.accepts(received.topic)
            ):
                yield known

    def _done(self, numbers: Numbers) -> None:
        """Acknowledge deliveries of durable subscriptions that the client still consumes."""
        consuming = self._session.consuming
        for id_, number in numbers:
            entry = consuming.entries.get(id_)
            if entry is not None:
                consuming.acknowledge(entry, [number])

    def _free_packet_id(self) -> int:
        while True:
            self._packet_id = self._packet_id % PACKET_ID_MAX + 1
            if self._packet_id not in self._taken:
                return self._packet_id
