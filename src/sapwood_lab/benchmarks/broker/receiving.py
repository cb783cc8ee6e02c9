"""The receivers of a cell, all clients in one process: `python -m ... TASK`.

==============  =======================================================================  ==========
order           what is done                                                             answer
==============  =======================================================================  ==========
`subscribe`     connect all clients and subscribe; again, if they were connected before  `seconds`
`collect FILE`  write what has come since the last time (`judge.RECEIVED`)               `lines`
==============  =======================================================================  ==========
"""

from __future__ import annotations

import os
import select
import socket
import sys
import time
from array import array
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from sapwood.errors import InputError
from sapwood.wire.frames import HEADER_BYTES
from sapwood.wire.messages import Delivery
from sapwood_lab.benchmarks.broker.dialect import (
    DELIVERY,
    PING,
    PONG,
    RECEIVE_BYTES,
    REFUSED,
    Frames,
    SubscriptionLine,
    confirmed_in,
    greeted,
    number_of,
    subscribing,
)
from sapwood_lab.benchmarks.broker.judge import RECEIVED
from sapwood_lab.benchmarks.broker.tasks import (
    PROGRESS,
    Orders,
    Task,
    leave_garbage,
    now_ns,
    obey,
    read_task,
)

_MORE: Final = 0xC3
"""The last byte of a delivery that goes on in the next frame."""

_REQUESTED: Final = 4096
"""Subscriptions of one request; a client has one under way."""


class _Client:
    """One connection, the requests it has yet to send, and what has come."""

    __slots__ = ("_unsent", "connection", "frames", "log", "number", "unanswered", "waiting")

    def __init__(self, number: int, address: str, lines: list[SubscriptionLine]) -> None:
        self.number = number
        self.connection = greeted(address, f"receiver-{number}")
        self.connection.settimeout(0.0)
        self.frames = Frames()
        #: the times at which whole frames came, and the frames
        self.log: list[tuple[int, bytes]] = []
        self.waiting = lines[::-1]
        self.unanswered = 0
        self._unsent = b""

    def request(self) -> None:
        """Send requests, as many as may be under way and the connection takes."""
        while True:
            if not self._unsent:
                some = min(_REQUESTED, len(self.waiting))
                if self.unanswered or not some:
                    return
                self._unsent = subscribing([self.waiting.pop() for _ in range(some)])
                self.unanswered += some
            try:
                self._unsent = self._unsent[self.connection.send(self._unsent) :]
            except BlockingIOError:
                return

    @property
    def is_busy(self) -> bool:
        """True if requests are to be sent or answered."""
        return bool(self.waiting or self.unanswered or self._unsent)


class Receivers:
    """All clients of a task."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._progress = task.progress()
        self._count = 0
        self._poll = select.epoll()
        self._clients: dict[int, _Client] = {}
        self._lines: list[list[SubscriptionLine]] = [[] for _ in range(task.clients)]
        for line in task.lines("subscriptions.jsonl", SubscriptionLine):
            self._lines[line.client].append(line)

    def run(self) -> None:
        """Receive, and obey orders, until standard input ends."""
        orders: Orders = {"subscribe": self.subscribe, "collect": self.collect}
        stdin = sys.stdin.fileno()
        self._poll.register(stdin, select.EPOLLIN)
        held = b""
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor != stdin:
                    self._receive(descriptor)
                    continue
                data = os.read(stdin, RECEIVE_BYTES)
                if not data:
                    return
                *lines, held = (held + data).split(b"\n")
                for line in lines:
                    obey(orders, line.decode())

    def subscribe(self) -> dict[str, Any]:
        """Connect and subscribe; returns when all is in force."""
        for client in self._clients.values():
            client.connection.close()  # which ends its registration, too
        self._clients.clear()
        begin = time.perf_counter()
        for number, lines in enumerate(self._lines):
            client = _Client(number, self._task.subscribe, lines)
            self._clients[client.connection.fileno()] = client
            self._poll.register(client.connection, select.EPOLLIN)
        while busy := [client for client in self._clients.values() if client.is_busy]:
            for client in busy:
                client.request()
            for descriptor, _ in self._poll.poll(0.05):
                if descriptor in self._clients:
                    self._receive(descriptor)
        return {"seconds": time.perf_counter() - begin}

    def collect(self, path: str) -> dict[str, Any]:
        """Write down what has come since the last time."""
        times, rows = array("q"), array("i")
        decode = msgspec.msgpack.Decoder(Delivery).decode
        for client in self._clients.values():
            more: list[str] = []
            for came_ns, data in client.log:
                for tag, start, stop in Frames().whole(data)[1]:
                    if tag != DELIVERY:
                        continue
                    delivery = decode(data[start + HEADER_BYTES : stop])
                    more += delivery.subscriptions
                    if delivery.more:
                        continue
                    number = number_of(delivery.publication)
                    for id_ in more:
                        times.append(came_ns)
                        rows.extend((number, client.number, int(id_[1:])))
                    more.clear()
            client.log.clear()
        received = np.zeros(len(times), RECEIVED)
        received["time_ns"] = times
        columns = np.array(rows, np.int32).reshape(-1, 3)
        for place, name in enumerate(("number", "client", "subscription")):
            received[name] = columns[:, place]
        Path(path).write_bytes(received.tobytes())
        return {"lines": len(received)}

    def _receive(self, descriptor: int) -> None:
        client = self._clients[descriptor]
        try:
            data = client.connection.recv(RECEIVE_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except ConnectionError:
            data = b""
        if not data:  # The broker has ended; a new order to subscribe connects again.
            with suppress(OSError):
                self._poll.unregister(descriptor)
            return
        came_ns = now_ns()
        whole, frames = client.frames.whole(data)
        if not frames:
            return
        count = 0
        for tag, start, stop in frames:
            if tag == DELIVERY:
                count += whole[stop - 1] != _MORE
            else:
                self._hear(client, tag, whole[start + HEADER_BYTES : stop])
        if count:
            client.log.append((came_ns, whole))
            self._count += count
            PROGRESS.pack_into(self._progress, 0, self._count)

    def _hear(self, client: _Client, tag: int, body: bytes) -> None:
        """Take note of what is no delivery."""
        if tag == PING:
            with suppress(BlockingIOError):
                client.connection.send(PONG)
        elif tag == REFUSED:
            raise InputError("the broker refused a subscription")
        else:
            client.unanswered -= confirmed_in(tag, body)


def main(path: str) -> None:
    """Receive for a task."""
    socket.setdefaulttimeout(30.0)
    leave_garbage()
    Receivers(read_task(path)).run()


if __name__ == "__main__":
    main(sys.argv[1])
