"""A well-behaved pair of clients beside the load: `python -m ... TASK`.

The order `ping SECONDS` publishes a small record every `EVERY_S`, at times that are fixed ahead,
and answers with the longest time until one came back (`longest_ms`), and with how many there were
and did not come (`count`, `lost`). `connect` comes before, and again where the broker was ended.
"""

from __future__ import annotations

import select
import socket
import sys
import time
from typing import Any, Final

from sapwood.wire.publications import encode_record
from sapwood_lab.benchmarks.broker.dialect import (
    DELIVERY,
    PING,
    PONG,
    RECEIVE_BYTES,
    SUBSCRIBED,
    SUBSCRIBED_MANY,
    Frames,
    SubscriptionLine,
    greeted,
    publishing,
    subscribing,
)
from sapwood_lab.benchmarks.broker.load import NUMBER_DIGITS
from sapwood_lab.benchmarks.broker.tasks import Task, leave_garbage, now_ns, obey, read_task

EVERY_S: Final = 0.001
PATIENCE_S: Final = 10.0
"""Seconds after which a ping counts as lost."""

_ID: Final = "p" * (1 + NUMBER_DIGITS)


_FIRST: Final = 10**NUMBER_DIGITS // 2
"""Number of the first ping: far from those of the load."""


class Pair:
    """One client that publishes pings and one that gets them, in order."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._content = encode_record(_ID, {"ping": 1})[2 + len(_ID) :]
        self._sequence = 0
        #: of the next ping: a broker with a store takes an id once, whoever sends it again
        self._number = _FIRST
        self._ends: list[tuple[socket.socket, Frames]] = []

    def run(self) -> None:
        """Obey orders until standard input ends."""
        for line in sys.stdin:
            obey({"connect": self.connect, "ping": self.ping}, line)

    def connect(self) -> dict[str, Any]:
        """Connect both, and subscribe."""
        for end, _ in self._ends:
            end.close()
        self._sequence = 0
        places = ((self._task.publish, "ping-publisher"), (self._task.subscribe, "ping-receiver"))
        self._ends = [(greeted(*place), Frames()) for place in places]
        self._ends[1][0].sendall(subscribing([SubscriptionLine(0, 0, "ping = 1")]))
        while not {SUBSCRIBED, SUBSCRIBED_MANY} & {*self._heard(PATIENCE_S)}:
            pass
        return {}

    def ping(self, seconds: str) -> dict[str, Any]:
        """Ping at times that are fixed ahead."""
        start_ns, step_ns = now_ns(), int(EVERY_S * 1e9)
        count = int(float(seconds) / EVERY_S)
        sent = came = longest_ns = 0
        give_up = time.perf_counter() + float(seconds) + PATIENCE_S
        while came < count and time.perf_counter() < give_up:
            due = min(count, (now_ns() - start_ns) // step_ns + 1)
            while sent < due:
                self._sequence += 1
                self._ends[0][0].sendall(publishing(self._sequence, self._number, self._content))
                self._number += 1
                sent += 1
            next_s = (start_ns + sent * step_ns - now_ns()) / 1e9 if sent < count else 0.1
            for tag in self._heard(max(0.0, next_s)):
                if tag == DELIVERY:
                    longest_ns = max(longest_ns, now_ns() - start_ns - came * step_ns)
                    came += 1
        if came < count:
            longest_ns = max(longest_ns, now_ns() - start_ns - came * step_ns)
        return {"longest_ms": longest_ns / 1e6, "count": count, "lost": count - came}

    def _heard(self, wait_s: float) -> list[int]:
        """The tags of the frames that have come, after a wait of at most `wait_s` seconds."""
        heard: list[int] = []
        readable, _, _ = select.select([end for end, _ in self._ends], (), (), wait_s)
        for end, frames in self._ends:
            if end in readable:
                data = end.recv(RECEIVE_BYTES)
                if not data:
                    raise ConnectionResetError("the broker has closed a ping's connection")
                tags = [tag for tag, _, _ in frames.whole(data)[1]]
                if PING in tags:
                    end.sendall(PONG)
                heard += tags
        return heard


def main(path: str) -> None:
    """Ping for a task."""
    leave_garbage()
    Pair(read_task(path)).run()


if __name__ == "__main__":
    main(sys.argv[1])
