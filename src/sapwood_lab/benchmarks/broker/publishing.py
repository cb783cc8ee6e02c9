"""The publisher of a cell: `python -m ... TASK`.

==============================  =====================================================  =============
order                           what is done                                           answer
==============================  =====================================================  =============
`connect`                       connect, or connect again                              nothing
`flood FIRST SECONDS WINDOW`    publish as fast as deliveries come, numbers from       `count`,
                                FIRST on, with at most WINDOW publications under way   `begin_ns`
`schedule FIRST COUNT RATE NS`  publish number FIRST + i at NS + i / RATE seconds of   `count`,
                                the monotonic clock, whatever has become of those      `late_p99_ms`
                                before; 99 % are sent so late at most
==============================  =====================================================  =============

What a window is reckoned by: a publication may be sent when all deliveries of the one that is
WINDOW before it, and of those before that, have come to the receivers.
"""

from __future__ import annotations

import select
import socket
import sys
import time
from collections import deque
from typing import Any, Final

from sapwood.errors import InputError
from sapwood.limits import UNACKNOWLEDGED_MAX
from sapwood.wire.frames import HEADER_BYTES
from sapwood_lab.benchmarks.broker.dialect import (
    ACCEPTED,
    PING,
    PONG,
    PUBLICATION_REFUSED,
    RECEIVE_BYTES,
    Frames,
    accepted_through,
    content_of,
    greeted,
    publishing,
)
from sapwood_lab.benchmarks.broker.tasks import (
    PROGRESS,
    Orders,
    Task,
    leave_garbage,
    now_ns,
    obey,
    read_task,
)

_CHUNK: Final = 64
"""Publications of one write at most, as fast as can be."""

_NAP_S: Final = 0.0001
STALL_S: Final = 5.0
"""Seconds that a publisher waits for one of as many as may be unacknowledged to be accepted."""


class Publisher:
    """One publishing connection."""

    def __init__(self, task: Task) -> None:
        lines = task.lines("publications.jsonl", dict[str, Any])
        self._task = task
        self._contents = [content_of(line) for line in lines]
        self._deliveries = [line["deliveries"] for line in lines]
        self._progress = task.progress()
        self._connection: socket.socket | None = None
        self._frames = Frames()
        #: of the session: what was sent last, and accepted last
        self._sequence = self._accepted = 0

    def run(self) -> None:
        """Obey orders until standard input ends."""
        orders: Orders = {"connect": self.connect, "flood": self.flood, "schedule": self.schedule}
        for line in sys.stdin:
            obey(orders, line)

    def connect(self) -> dict[str, Any]:
        """Connect, to publish from number 1 of a session on."""
        if self._connection is not None:
            self._connection.close()
        self._connection = greeted(self._task.publish, "publisher")
        self._frames = Frames()
        self._sequence = self._accepted = 0
        return {}

    def flood(self, first_text: str, seconds_text: str, window_text: str) -> dict[str, Any]:
        """Publish as fast as deliveries come."""
        first, seconds, window = int(first_text), float(seconds_text), int(window_text)
        #: deliveries that must have come before a publication, for those to be sent next
        needed: deque[int] = deque([self._came()] * window)
        total, number = needed[0], first
        begin_ns = now_ns()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            some = self._room(needed)
            if not some:
                time.sleep(_NAP_S)
                continue
            for place in range(number, number + some):
                needed.popleft()
                total += self._deliveries[place % len(self._contents)]
                needed.append(total)
            self._send_all(number, some)
            number += some
        return {"count": number - first, "begin_ns": begin_ns}

    def schedule(self, *arguments: str) -> dict[str, Any]:
        """Publish at times that are fixed ahead."""
        first, count, rate, start_ns = (float(one) for one in arguments)
        sent, wanted, step_ns = 0, int(count), 1e9 / rate
        #: of what was sent together how many there were, and how late the first one was
        chunks: list[tuple[int, float]] = []
        while sent < wanted:
            due = min(wanted, int((now_ns() - start_ns) / step_ns) + 1)
            if due <= sent:
                time.sleep(max(0.0, (start_ns + sent * step_ns - now_ns()) / 1e9))
                continue
            self._send_all(int(first) + sent, due - sent)
            chunks.append((due - sent, (now_ns() - start_ns - sent * step_ns) / 1e6))
            sent = due
        return {"count": wanted, "late_p99_ms": _latest(chunks, wanted // 100)}

    def _room(self, needed: deque[int]) -> int:
        """The number of publications that may be sent now."""
        came, some = self._came(), 0
        for bound in needed:
            if bound > came or some == _CHUNK:
                break
            some += 1
        return some

    def _came(self) -> int:
        return int(PROGRESS.unpack_from(self._progress)[0])

    def _send_all(self, number: int, count: int) -> None:
        """Send `count` publications, as many at a time as may be unacknowledged."""
        end = number + count
        while number < end:
            accepted = self._accepted
            some = min(end - number, UNACKNOWLEDGED_MAX - (self._sequence - accepted))
            if some:
                self._send(number, some)
                number += some
                self._hear(0.0)
                continue
            self._hear(STALL_S)
            if self._accepted == accepted:
                raise InputError(f"the broker has accepted nothing for {STALL_S:g} s")

    def _send(self, number: int, count: int) -> None:
        assert self._connection is not None, "publish after `connect`"
        contents, size, sequence = self._contents, len(self._contents), self._sequence + 1
        self._sequence += count
        self._connection.sendall(
            b"".join(
                publishing(sequence + i, number + i, contents[(number + i) % size])
                for i in range(count)
            )
        )

    def _hear(self, wait_s: float) -> None:
        """Read the broker's answers, and wait for them at most `wait_s` seconds."""
        assert self._connection is not None, "publish after `connect`"
        while select.select([self._connection], (), (), wait_s)[0]:
            wait_s = 0.0
            data = self._connection.recv(RECEIVE_BYTES)
            if not data:
                raise InputError("the broker has closed the publisher's connection")
            whole, frames = self._frames.whole(data)
            for tag, start, stop in frames:
                if tag == ACCEPTED:
                    self._accepted = accepted_through(whole[start + HEADER_BYTES : stop])
                elif tag == PING:
                    self._connection.sendall(PONG)
                elif tag == PUBLICATION_REFUSED:
                    raise InputError("the broker refused a publication")


def _latest(chunks: list[tuple[int, float]], beyond: int) -> float:
    """The largest lateness of the publications, all but the `beyond` latest ones."""
    for count, late_ms in sorted(chunks, key=lambda chunk: -chunk[1]):
        beyond -= count
        if beyond < 0:
            return late_ms
    return 0.0


def main(path: str) -> None:
    """Publish for a task."""
    leave_garbage()
    Publisher(read_task(path)).run()


if __name__ == "__main__":
    main(sys.argv[1])
