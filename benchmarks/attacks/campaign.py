"""A random campaign: 200 clients subscribe, unsubscribe and publish at three brokers in a line.

`python benchmarks/attacks/campaign.py [--seconds S] [--seed N] [--protocol NAME]...` judges every
delivery by what clients said and heard, with an evaluation of filters of its own, and says what a
well-behaved pair noticed. It ends with status 1 where something is wrong.

Of a publication and a subscription, where the filter accepts the record:

must        the subscription was confirmed before the publication was sent, and never withdrawn
must not    its withdrawal was confirmed before the publication was sent
may         everything else

Where the filter does not accept it, it must not come. Nothing may come twice, and what one
publisher sends comes in order.
"""

from __future__ import annotations

import argparse
import random
import selectors
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

import msgspec
from peer import HEADER, PONG, Peer, advertise, publish, subscribe, unsubscribe
from run import Broker, Pair

from sapwood.routing.protocols import protocol as protocol_named

CLIENTS = 200
BROKERS = 3
SETTLE_S = 3.0
"""Seconds without a delivery after which no more are waited for."""

PING_TAG, SUBSCRIBED, UNSUBSCRIBED, REFUSED, DELIVERY = 1, 20, 21, 22, 25
ADVERTISED, SUBSCRIBED_MANY, UNSUBSCRIBED_MANY, PUBLICATION_REFUSED = 26, 55, 56, 24
NEVER = float("inf")


@dataclass
class Wanted:
    """A subscription: what it accepts, and when what was said of it."""

    group: int
    least: int
    confirmed: float = NEVER
    withdrawn: float = NEVER
    gone: float = NEVER

    @property
    def text(self) -> str:
        """The filter."""
        return f"grp = {self.group} and val >= {self.least}"

    def accepts(self, record: dict[str, int]) -> bool:
        """True if the subscription accepts a record."""
        return record["grp"] == self.group and record["val"] >= self.least


@dataclass
class Client:
    """One client, and all that it has said and heard."""

    number: int
    peer: Peer
    held: bytes = b""
    wanted: dict[str, Wanted] = field(default_factory=dict)
    live: list[str] = field(default_factory=list)
    #: publication -> the subscriptions with which it came
    came: dict[str, list[str]] = field(default_factory=dict)
    #: publisher -> the last of its numbers that came
    last: dict[int, int] = field(default_factory=dict)
    sequence: int = 0


class Campaign:
    """One run under one protocol."""

    def __init__(self, seed: int, protocol: str) -> None:
        self.random = random.Random(seed)
        self.protocol = protocol
        self.faults: list[str] = []
        #: publication -> when it was sent, and its record
        self.sent: dict[str, tuple[float, dict[str, int]]] = {}
        self.deliveries = 0
        self.step = 0.0
        self.selector = selectors.DefaultSelector()

    def run(self, seconds: float) -> bool:
        """Run it, and say what came of it; whether all is right."""
        brokers: list[Broker] = []
        folder = tempfile.TemporaryDirectory(prefix="sapwood-campaign-")
        try:
            for number in range(BROKERS):
                brokers.append(Broker(self._options(number, brokers, folder.name)))
            time.sleep(2.0)  # links come up, and kernels are loaded
            pair = Pair(brokers[0].target)
            time.sleep(1.0)
            calm_s = pair.worst_s()
            for broker in brokers:
                broker.longest_turn_s()
            clients = [
                Client(n, brokers[n % BROKERS].target.peer(f"campaign-{n}")) for n in range(CLIENTS)
            ]
            self._flow(clients, seconds)
            worst_s, turn_s = pair.worst_s(), max(b.longest_turn_s() for b in brokers)
            pair.stop()
        finally:
            for broker in brokers:
                broker.stop()
            folder.cleanup()
        self._judge(clients)
        print(
            f"{self.protocol}: {len(self.sent):,} publications, {self.deliveries:,} deliveries, "
            f"{sum(len(one.wanted) for one in clients):,} subscriptions; pair {1000 * worst_s:.1f} "
            f"ms, in the calm {1000 * calm_s:.1f}; longest turn {1000 * turn_s:.1f} ms; "
            f"{len(self.faults)} faults",
            flush=True,
        )
        for fault in self.faults[:10]:
            print(f"  {fault}")
        return not self.faults

    def _options(self, number: int, before: list[Broker], folder: str) -> list[str]:
        """The command line options of a broker, which links to the last of the ones before it."""
        protocol = protocol_named(self.protocol)
        word = "--join" if protocol.membership.finds_links else "--peer"
        options = ["--name", f"b{number}", "--protocol", self.protocol]
        if protocol.persists:
            options += ["--data", f"{folder}/b{number}"]
        return [*options, *([word, _address(before[-1])] if before else [])]

    def _advertise(self, clients: list[Client]) -> None:
        """Have every client say what it will publish, where routing goes by that."""
        for client in clients:
            client.peer.send(advertise("all", "grp >= 0"))
        for client in clients:
            while client.peer.answer()[0] != ADVERTISED:
                pass

    def _flow(self, clients: list[Client], seconds: float) -> None:
        if "advertisement" in self.protocol:
            self._advertise(clients)
        for client in clients:
            client.peer.socket.settimeout(0.0)
            self.selector.register(client.peer.socket, selectors.EVENT_READ, client)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(20):
                self._act(self.random.choice(clients))
            self._hear(0.001)
        quiet = time.monotonic()
        while time.monotonic() - quiet < SETTLE_S:
            if self._hear(0.1):
                quiet = time.monotonic()

    def _act(self, client: Client) -> None:
        """One client says something."""
        chance = self.random.random()
        self.step += 1.0
        if chance < 0.25:
            name = f"s{len(client.wanted)}"
            wanted = Wanted(self.random.randrange(30), self.random.randrange(10))
            client.wanted[name] = wanted
            client.live.append(name)
            self._say(client, subscribe(name, wanted.text))
        elif chance < 0.4 and client.live:
            name = client.live.pop(self.random.randrange(len(client.live)))
            client.wanted[name].withdrawn = self.step
            self._say(client, unsubscribe(name))
        else:
            client.sequence += 1
            who = {"who": client.number, "seq": client.sequence}
            record = {"grp": self.random.randrange(30), "val": self.random.randrange(12), **who}
            self.sent[f"{client.number}.{client.sequence}"] = self.step, record
            self._say(client, publish(client.sequence, record))

    def _say(self, client: Client, data: bytes) -> None:
        client.peer.socket.settimeout(30.0)
        client.peer.send(data)
        client.peer.socket.settimeout(0.0)

    def _hear(self, wait_s: float) -> bool:
        """Take in what has come; whether any of it was a delivery."""
        before = self.deliveries
        for key, _ in self.selector.select(wait_s):
            client: Client = key.data
            try:
                data = client.peer.socket.recv(1 << 20)
            except BlockingIOError:
                continue
            if not data:
                self.faults.append(f"client {client.number} was disconnected")
                self.selector.unregister(client.peer.socket)
                continue
            client.held += data
            begin = 0
            while len(client.held) - begin >= HEADER.size:
                (size,) = HEADER.unpack_from(client.held, begin)
                if len(client.held) - begin - HEADER.size < size:
                    break
                begin += HEADER.size + size
                self._heard(client, msgspec.msgpack.decode(client.held[begin - size : begin]))
            client.held = client.held[begin:]
        return self.deliveries > before

    def _heard(self, client: Client, message: list[Any]) -> None:
        self.step += 1.0
        tag, *rest = message
        if tag == PING_TAG:
            self._say(client, PONG)
        elif tag in (SUBSCRIBED, SUBSCRIBED_MANY):
            for name in [rest[0]] if tag == SUBSCRIBED else rest[0]:
                client.wanted[name].confirmed = self.step
        elif tag in (UNSUBSCRIBED, UNSUBSCRIBED_MANY):
            for name in [rest[0]] if tag == UNSUBSCRIBED else rest[0]:
                client.wanted[name].gone = self.step
        elif tag in (REFUSED, PUBLICATION_REFUSED):
            self.faults.append(f"client {client.number}: {rest}")
        elif tag == DELIVERY:
            record = msgspec.msgpack.decode(rest[1])[1]
            publisher, number = record["who"], record["seq"]
            self.deliveries += 1
            name = f"{publisher}.{number}"
            if name in client.came:
                self.faults.append(f"{name} came twice to client {client.number}")
            if client.last.get(publisher, 0) > number:
                self.faults.append(f"{name} came late to client {client.number}")
            client.last[publisher] = number
            client.came[name] = rest[0]

    def _judge(self, clients: list[Client]) -> None:
        for client in clients:
            for name, came in client.came.items():
                at, record = self.sent[name]
                for one in came:
                    wanted = client.wanted[one]
                    if not wanted.accepts(record) or wanted.gone < at:
                        self.faults.append(f"{name} must not come to {client.number}.{one}")
            groups: dict[int, list[tuple[str, Wanted]]] = {}
            for one, wanted in client.wanted.items():
                groups.setdefault(wanted.group, []).append((one, wanted))
            for name, (at, record) in self.sent.items():
                for one, wanted in groups.get(record["grp"], ()):
                    must = wanted.confirmed < at and wanted.withdrawn == NEVER
                    if must and wanted.accepts(record) and one not in client.came.get(name, ()):
                        self.faults.append(f"{name} did not come to {client.number}.{one}")


def _address(broker: Broker) -> str:
    return f"{broker.target.host}:{broker.target.port}"


def main() -> int:
    """Run the campaign under the chosen protocols."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=6.0, metavar="S")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--protocol", action="append", metavar="NAME")
    given = parser.parse_args()
    protocols = given.protocol or ["flooding", "identity", "covering", "xroute", "mesh+covering"]
    right = [Campaign(given.seed, name).run(given.seconds) for name in protocols]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
