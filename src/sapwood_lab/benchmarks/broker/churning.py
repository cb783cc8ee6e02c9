"""A client whose subscriptions come and go beside the load: `python -m ... TASK`.

===============  ==========================================================  ======================
order            what is done                                                answer
===============  ==========================================================  ======================
`connect`        connect, or again; `LIVE` subscriptions are in force then   nothing
`churn SECONDS`  `RATE` times a second, at times that are fixed ahead, one   `count`: how many came
                 subscription comes and the oldest one goes                  and went
`collect FILE`   write what happened since `connect` (`churn.Churned`)       `lines`: deliveries
===============  ==========================================================  ======================
"""

from __future__ import annotations

import select
import socket
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any, Final

import msgspec

from sapwood.errors import InputError
from sapwood.wire.codec import append_message
from sapwood.wire.frames import HEADER_BYTES
from sapwood.wire.interests import XPathText
from sapwood.wire.messages import (
    Delivery,
    SubscribedManyReply,
    SubscribedReply,
    SubscribeManyRequest,
    SubscribeRequest,
    UnsubscribedReply,
    UnsubscribeRequest,
)
from sapwood_lab.benchmarks.broker.churn import Churned
from sapwood_lab.benchmarks.broker.dialect import (
    DELIVERY,
    PING,
    PONG,
    RECEIVE_BYTES,
    REFUSED,
    SUBSCRIBED,
    SUBSCRIBED_MANY,
    UNSUBSCRIBED,
    Frames,
    SubscriptionLine,
    greeted,
    number_of,
)
from sapwood_lab.benchmarks.broker.tasks import (
    Orders,
    Task,
    leave_garbage,
    now_ns,
    obey,
    read_task,
)

RATE: Final = 1000
"""Subscriptions that come, and that go, a second."""

LIVE: Final = 1000
"""The subscriptions that are there at a time: each stays for a second."""

PATIENCE_S: Final = 30.0
"""Seconds after which an answer counts as lost."""

_SUBSCRIBED: Final = msgspec.msgpack.Decoder(SubscribedReply)
_SUBSCRIBED_MANY: Final = msgspec.msgpack.Decoder(SubscribedManyReply)
_UNSUBSCRIBED: Final = msgspec.msgpack.Decoder(UnsubscribedReply)
_DELIVERY: Final = msgspec.msgpack.Decoder(Delivery)


class Churner:
    """One connection and its subscriptions `s0`, `s1`, ..., the oldest of which go first."""

    def __init__(self, task: Task) -> None:
        lines = task.lines("passing.jsonl", SubscriptionLine)
        self._task = task
        self._texts = [XPathText(line.xpath) if line.xpath else line.filter for line in lines]
        self._connection: socket.socket | None = None
        self._begin()

    def _begin(self) -> None:
        self._frames = Frames()
        self._churned = Churned()
        self._live: deque[int] = deque()
        #: the frames that have come and are not decoded: the time, and whole frames
        self._came: list[tuple[int, bytes]] = []
        self._unanswered = 0

    def run(self) -> None:
        """Obey orders until standard input ends."""
        orders: Orders = {"connect": self.connect, "churn": self.churn, "collect": self.collect}
        for line in sys.stdin:
            obey(orders, line)

    def connect(self) -> dict[str, Any]:
        """Connect, and subscribe for the first time."""
        if self._connection is not None:
            self._connection.close()
        self._begin()
        self._connection = greeted(self._task.subscribe, "churner")
        numbers, buffer = range(LIVE), bytearray()
        texts = tuple(self._text(number) for number in numbers)
        append_message(buffer, SubscribeManyRequest(tuple(map(self._id, numbers)), texts))
        self._came_in(numbers)
        self._connection.sendall(buffer)
        self._settle()
        return {}

    def churn(self, seconds: str) -> dict[str, Any]:
        """Let subscriptions come and go at times that are fixed ahead."""
        start_ns, step_ns, done = now_ns(), int(1e9 / RATE), 0
        count = int(float(seconds) * RATE)
        while done < count:
            due = min(count, (now_ns() - start_ns) // step_ns + 1)
            if due > done:
                self._replace(due - done)
                done = due
            self._hear(max(0.0, (start_ns + done * step_ns - now_ns()) / 1e9))
        self._settle()
        return {"count": count}

    def collect(self, path: str) -> dict[str, Any]:
        """Write down what has happened.

        What the broker has handled by now has come when it answers something more.
        """
        self._replace(1)
        self._settle()
        churned = self._churned
        for came_ns, data in self._came:
            for tag, start, stop in Frames().whole(data)[1]:
                body = data[start + HEADER_BYTES : stop]
                if tag == SUBSCRIBED:
                    churned.confirmed_ns[self._number(_SUBSCRIBED.decode(body).id)] = came_ns
                elif tag == SUBSCRIBED_MANY:
                    for id_ in _SUBSCRIBED_MANY.decode(body).ids:
                        churned.confirmed_ns[self._number(id_)] = came_ns
                elif tag == UNSUBSCRIBED:
                    churned.gone_ns[self._number(_UNSUBSCRIBED.decode(body).id)] = came_ns
                elif tag == DELIVERY:
                    delivery = _DELIVERY.decode(body)
                    number = number_of(delivery.publication)
                    for id_ in delivery.subscriptions:
                        churned.deliveries.append((came_ns, number, self._number(id_)))
        self._came.clear()
        Path(path).write_bytes(msgspec.msgpack.encode(churned))
        return {"lines": len(churned.deliveries)}

    def _replace(self, count: int) -> None:
        """Let `count` subscriptions come, and as many go."""
        assert self._connection is not None, "churn after `connect`"
        first, buffer = len(self._churned.asked_ns), bytearray()
        for number in range(first, first + count):
            self._came_in(range(number, number + 1))
            append_message(buffer, SubscribeRequest(self._id(number), self._text(number)))
            oldest = self._live.popleft()
            append_message(buffer, UnsubscribeRequest(self._id(oldest)))
            self._churned.withdrawn_ns[oldest] = now_ns()
        self._unanswered += count
        self._connection.sendall(buffer)

    def _came_in(self, numbers: range) -> None:
        """Take note of subscriptions that are about to be requested."""
        churned, count = self._churned, len(numbers)
        churned.asked_ns.extend([now_ns()] * count)
        for column in (churned.confirmed_ns, churned.withdrawn_ns, churned.gone_ns):
            column.extend([0] * count)
        self._live.extend(numbers)
        self._unanswered += count

    def _settle(self) -> None:
        """Wait until everything is answered."""
        deadline = time.monotonic() + PATIENCE_S
        while self._unanswered:
            if time.monotonic() > deadline:
                raise InputError(f"{self._unanswered} requests of the churner were not answered")
            self._hear(0.1)

    def _hear(self, wait_s: float) -> None:
        """Take the answers that have come, after a wait of at most `wait_s` seconds."""
        assert self._connection is not None, "churn after `connect`"
        if not select.select([self._connection], (), (), wait_s)[0]:
            return
        data = self._connection.recv(RECEIVE_BYTES)
        came_ns = now_ns()
        if not data:
            raise InputError("the broker has closed the churner's connection")
        whole, frames = self._frames.whole(data)
        if whole:
            self._came.append((came_ns, whole))
        for tag, start, stop in frames:
            if tag in {SUBSCRIBED, UNSUBSCRIBED}:
                self._unanswered -= 1
            elif tag == SUBSCRIBED_MANY:
                body = whole[start + HEADER_BYTES : stop]
                self._unanswered -= len(_SUBSCRIBED_MANY.decode(body).ids)
            elif tag == PING:
                self._connection.sendall(PONG)
            elif tag == REFUSED:
                raise InputError("the broker refused a subscription of the churner")

    def _text(self, number: int) -> XPathText | str:
        return self._texts[number % len(self._texts)]

    def _id(self, number: int) -> str:
        return f"s{number}"

    def _number(self, id_: str) -> int:
        return int(id_[1:])


def main(path: str) -> None:
    """Let subscriptions come and go for a task."""
    leave_garbage()
    Churner(read_task(path)).run()


if __name__ == "__main__":
    main(sys.argv[1])
