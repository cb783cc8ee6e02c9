"""The cost of many connections, TLS, tokens, metrics and traces at a broker.

`python -m sapwood_lab.benchmarks.broker.connected --connections
10000` starts a broker, opens that many connections with one subscription each that nothing matches,
and has some of them publish as fast as the broker takes it while some receive: each publication
goes to one of them. Then it does the same with a broker that has TLS, requires a token of every
client, and whose metrics are read once a second. With `--observed` two brokers with few connections
take turns instead, of which one has its metrics read once a second and sends spans to a collector.

Printed is one line of JSON for each broker: publications and deliveries a second, the median over
some rounds; processor time of the broker for a publication, in microseconds, which other programs
on the machine do not change; resident memory for a connection, in bytes, those of TLS among it. The
last line has the ratios.
"""

from __future__ import annotations

import argparse
import json
import resource
import secrets
import selectors
import socket
import ssl
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from sapwood.broker.access.identities import token_digest
from sapwood.errors import EnvironmentMissingError
from sapwood.testing.overlay import START_S, BrokerProcess
from sapwood.wire.codec import append_message, greeting_frame
from sapwood.wire.frames import HEADER_BYTES
from sapwood.wire.greetings import Credentials, Hello, Role, Welcome, decode_greeting
from sapwood.wire.messages import SubscribeRequest
from sapwood_lab.benchmarks.broker.dialect import (
    ACCEPTED,
    DELIVERY,
    PING,
    PONG,
    RECEIVE_BYTES,
    SUBSCRIBED,
    Frames,
    accepted_through,
    content_of,
    publishing,
)
from sapwood_lab.benchmarks.broker.servers import usage
from sapwood_lab.benchmarks.machine import describe_machine

ACTIVE: Final = 4
"""Clients that publish, and as many that receive."""

PAD_CHARS: Final = 400
ROUNDS: Final = 5
CHUNK: Final = 32
WINDOW: Final = 512
"""Publications of one client that are not acknowledged, at most."""

_TOKEN: Final = "a token of a benchmark"  # noqa: S105 - guards nothing
_SPARE: Final = 64


class Connection:
    """One client on a plain socket, or one of TLS."""

    def __init__(self, address: str, name: str, context: ssl.SSLContext | None) -> None:
        host, _, port = address.removeprefix("tls://").rpartition(":")
        plain = socket.create_connection((host, int(port)))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = plain if context is None else context.wrap_socket(plain, server_hostname=host)
        shown = None if context is None else Credentials("", _TOKEN)
        hello = Hello(role=Role.CLIENT, name=name, session=secrets.token_hex(8), credentials=shown)
        self.socket.sendall(greeting_frame(hello))
        size = int.from_bytes(self._exactly(HEADER_BYTES), "big")
        answer = decode_greeting(self._exactly(size))
        if not isinstance(answer, Welcome):
            raise EnvironmentMissingError(f"the broker did not welcome {name}: {answer}")
        self._frames = Frames()

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise EnvironmentMissingError("the broker closed a connection")
            data += more
        return data

    def subscribe(self, filter_: str) -> None:
        """Subscribe, without waiting for the answer."""
        buffer = bytearray()
        append_message(buffer, SubscribeRequest("s", filter_))
        self.socket.sendall(buffer)

    def tags(self) -> list[int]:
        """The tags of the frames that come next; pings are answered."""
        return [tag for tag, _ in self.frames()]

    def frames(self) -> list[tuple[int, bytes]]:
        """The frames that come next: tag, and body where it is an acknowledgement."""
        data = self.socket.recv(RECEIVE_BYTES)
        if not data:
            raise EnvironmentMissingError("the broker closed a connection")
        whole, found = self._frames.whole(data)
        if any(tag == PING for tag, _, _ in found):
            self.socket.sendall(PONG)
        return [
            (tag, whole[start + HEADER_BYTES : stop] if tag == ACCEPTED else b"")
            for tag, start, stop in found
        ]


class Idle:
    """Connections that subscribe and get nothing; their pings are answered by a thread."""

    def __init__(self) -> None:
        self.connections: list[Connection] = []
        self.subscribed = 0
        self._selector = selectors.DefaultSelector()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._answer)
        self._thread.start()

    def add(self, connection: Connection) -> None:
        """Look after another one."""
        self.connections.append(connection)
        self._selector.register(connection.socket, selectors.EVENT_READ, connection)

    def wait(self) -> None:
        """Wait until all subscriptions are in force."""
        while self.subscribed < len(self.connections):
            time.sleep(0.05)

    def close(self) -> None:
        """Close all."""
        self._stop.set()
        self._thread.join()
        for one in self.connections:
            one.socket.close()
        self._selector.close()

    def _answer(self) -> None:
        while not self._stop.is_set():
            for key, _ in self._selector.select(0.1):
                self.subscribed += key.data.tags().count(SUBSCRIBED)


@dataclass(slots=True)
class Counts:
    """The publications accepted and delivered so far."""

    accepted: list[int] = field(default_factory=lambda: [0] * ACTIVE)
    delivered: list[int] = field(default_factory=lambda: [0] * ACTIVE)


@dataclass(frozen=True, slots=True)
class Setting:
    """A broker to be measured."""

    name: str
    connections: int
    is_guarded: bool
    is_observed: bool


class Subject:
    """A broker with its connections."""

    def __init__(self, setting: Setting, stack: ExitStack, folder: Path) -> None:
        self.setting = setting
        self.context: ssl.SSLContext | None = None
        arguments = ["--listen", "127.0.0.1:0", "--connections-max", str(setting.connections + 64)]
        if setting.is_guarded:
            arguments += self._guard(folder)
        if setting.is_observed:
            self.port = _free_port()
            collector = stack.enter_context(_collector())
            arguments += ["--http", f"127.0.0.1:{self.port}", "--traces", collector]
        elif setting.is_guarded:
            self.port = _free_port()
            arguments += ["--http", f"127.0.0.1:{self.port}"]
        self.broker = BrokerProcess(setting.name, arguments)
        stack.callback(self.broker.close)
        self.broker.wait_until("listening", lambda: bool(self.broker.address), START_S)
        self.pid = self.broker.process.pid
        before = usage([self.pid]).held_bytes
        began = time.monotonic()
        self.idle = Idle()
        stack.callback(self.idle.close)
        for number in range(setting.connections):
            self.idle.add(Connection(self.broker.address, f"idle{number}", self.context))
        for number, one in enumerate(self.idle.connections):
            one.subscribe(f"idle = {number}")
        self.idle.wait()
        self.connect_s = time.monotonic() - began
        self.memory = (usage([self.pid]).held_bytes - before) / max(1, setting.connections)
        bands = [(100 * n // ACTIVE, 100 * (n + 1) // ACTIVE) for n in range(ACTIVE)]
        self.receivers = [
            self._connection(f"to{low}", f"v >= {low} and v < {high}") for low, high in bands
        ]
        self.publishers = [
            Connection(self.broker.address, f"from{n}", self.context) for n in range(ACTIVE)
        ]
        pad = "x" * PAD_CHARS
        self.contents = [content_of({"attributes": {"v": v, "pad": pad}}) for v in range(100)]
        self.sent = [0] * ACTIVE
        self.counts = Counts()

    def _guard(self, folder: Path) -> list[str]:
        import trustme

        authority = trustme.CA()
        signed = authority.issue_cert("127.0.0.1")
        cert, key, ca = (folder / name for name in ("cert.pem", "key.pem", "ca.pem"))
        cert.write_bytes(b"".join(blob.bytes() for blob in signed.cert_chain_pems))
        signed.private_key_pem.write_to_path(str(key))
        authority.cert_pem.write_to_path(str(ca))
        identities = folder / "identities.toml"
        digest = token_digest(_TOKEN).hex()
        identities.write_text(f'[[identity]]\nname = "load"\ntoken = "sha256:{digest}"\n')
        self.context = ssl.create_default_context(cafile=str(ca))
        of_tls = ["--tls-cert", str(cert), "--tls-key", str(key)]
        return [*of_tls, "--identities", str(identities)]

    def _connection(self, name: str, filter_: str) -> Connection:
        made = Connection(self.broker.address, name, self.context)
        made.subscribe(filter_)
        while SUBSCRIBED not in made.tags():
            pass
        return made

    def round(self, seconds: float) -> tuple[float, float, float]:
        """Publications and deliveries a second, and microseconds of the broker for each."""
        stop, over = threading.Event(), threading.Event()
        senders = [
            threading.Thread(target=self._scrape, args=(stop,)),
            *(threading.Thread(target=self._publish, args=(n, stop)) for n in range(ACTIVE)),
        ]
        receivers = [threading.Thread(target=self._receive, args=(n, over)) for n in range(ACTIVE)]
        before, accepted = usage([self.pid]).cpu_s, sum(self.counts.accepted)
        delivered, began = sum(self.counts.delivered), time.monotonic()
        for worker in (*senders, *receivers):
            worker.start()
        time.sleep(seconds)
        count = sum(self.counts.accepted) - accepted
        came = sum(self.counts.delivered) - delivered
        took, cpu_s = time.monotonic() - began, usage([self.pid]).cpu_s - before
        stop.set()
        for worker in senders:
            worker.join()
        over.set()
        for worker in receivers:
            worker.join()
        return count / took, came / took, 1e6 * cpu_s / max(1, count)

    def _publish(self, number: int, stop: threading.Event) -> None:
        connection, counts = self.publishers[number], self.counts.accepted
        while not stop.is_set() or counts[number] < self.sent[number]:
            if not stop.is_set() and self.sent[number] - counts[number] < WINDOW:
                first = self.sent[number] + 1
                contents = self.contents
                frames = (
                    publishing(at, at, contents[at % len(contents)])
                    for at in range(first, first + CHUNK)
                )
                connection.socket.sendall(b"".join(frames))
                self.sent[number] += CHUNK
                continue
            for tag, body in connection.frames():
                if tag == ACCEPTED:
                    counts[number] = accepted_through(body)

    def _receive(self, number: int, stop: threading.Event) -> None:
        connection = self.receivers[number]
        connection.socket.settimeout(0.2)
        while not stop.is_set():
            with suppress(TimeoutError):
                self.counts.delivered[number] += connection.tags().count(DELIVERY)

    def _scrape(self, stop: threading.Event) -> None:
        if not (self.setting.is_guarded or self.setting.is_observed):
            return
        while not stop.is_set():
            request = urllib.request.Request(  # noqa: S310 - our own broker
                f"{'http' if self.context is None else 'https'}://127.0.0.1:{self.port}/metrics",
                headers={"Authorization": f"Bearer {_TOKEN}"},
            )
            with urllib.request.urlopen(request, context=self.context) as answer:  # noqa: S310
                answer.read()
            stop.wait(1.0)


@contextmanager
def _collector() -> Iterator[str]:
    """The URL of a collector of spans that takes all and keeps nothing."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def figures(subject: Subject, rounds: Sequence[tuple[float, float, float]]) -> dict[str, Any]:
    """The figures of a broker: medians over the rounds."""
    published, delivered, cpu_us = (
        statistics.median(column) for column in zip(*rounds, strict=True)
    )
    return {
        "broker": subject.setting.name,
        "connections": subject.setting.connections,
        "connect_s": round(subject.connect_s, 1),
        "publications_per_s": round(published),
        "deliveries_per_s": round(delivered),
        "broker_us": round(cpu_us, 2),
        "bytes_per_connection": round(subject.memory),
    }


def compare(connections: int, seconds: float, *, observed: bool) -> Iterator[dict[str, Any]]:
    """Measure two brokers, one after the other, or in turns where both fit; then their ratios."""
    settings = [
        Setting("plain", connections, is_guarded=False, is_observed=False),
        Setting("observed" if observed else "guarded", connections, not observed, observed),
    ]
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name, ExitStack() as all_of_them:
        folder = Path(name)
        if observed:
            subjects = [Subject(one, all_of_them, folder) for one in settings]
            rounds: list[list[tuple[float, float, float]]] = [[], []]
            for number in range(2 * ROUNDS):
                for at in (0, 1) if number % 2 else (1, 0):
                    rounds[at].append(subjects[at].round(seconds))
            rows = [figures(*pair) for pair in zip(subjects, rounds, strict=True)]
            yield from rows
        else:
            for setting in settings:
                with ExitStack() as stack:
                    subject = Subject(setting, stack, folder)
                    subject.round(1.0)
                    rows.append(figures(subject, [subject.round(seconds) for _ in range(ROUNDS)]))
                    yield rows[-1]
                    for one in (*subject.receivers, *subject.publishers):
                        one.socket.close()
    plain, with_all = rows
    rate = with_all["publications_per_s"] / plain["publications_per_s"]
    cpu = with_all["broker_us"] / plain["broker_us"]
    yield {"rate_ratio": round(rate, 3), "broker_us_ratio": round(cpu, 3)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=3.0, help="of a round")
    parser.add_argument("--observed", action="store_true", help="metrics and traces, no TLS")
    given = parser.parse_args(arguments)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if given.connections + _SPARE > hard:
        raise SystemExit(f"{hard} files may be open here; raise that (ulimit -Hn), or ask for less")
    sys.stdout.write(json.dumps(describe_machine()) + "\n")
    for row in compare(given.connections, given.seconds, observed=given.observed):
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
