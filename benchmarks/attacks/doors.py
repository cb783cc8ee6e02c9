"""Attacks on the other doors of a broker: HTTP, WebSocket, MQTT, TLS, and who may come in."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable

import contents as c
from peer import HEADER, Peer, frame, publish
from target import DOORS as OPEN
from target import GUARDED, SECRET, Attack, Target
from web import (
    ask,
    connected,
    drain,
    mqtt,
    mqtt_publish,
    mqtt_subscribe,
    packet,
    random_text,
    request,
    several,
    text,
    upgrade,
    ws,
)

from sapwood.limits.mqtt import MQTT_LEVELS_MAX

MIB = 1 << 20
NDJSON = {"Content-Type": "application/x-ndjson"}
JSON = {"Content-Type": "application/json"}
DOORS: dict[str, tuple[str, Attack]] = {}
"""The attacks by name, and the kind of broker."""


def _door(name: str, kind: str = OPEN) -> Callable[[Attack], Attack]:
    def register(attack: Attack) -> Attack:
        DOORS[name] = kind, attack
        return attack

    return register


def _at_once(count: int, work: Callable[[int], object]) -> None:
    """So many threads, and wait for all."""
    threads = [threading.Thread(target=_quietly, args=(work, n), daemon=True) for n in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def _quietly(work: Callable[[int], object], number: int) -> None:
    with contextlib.suppress(OSError, AssertionError):
        work(number)


# HTTP --------------------------------------------------------------------------------------------


@_door("HTTP: 500 heads, a byte at a time")
def slow_heads(target: Target) -> None:
    """Each says a byte of its request ten times a second."""
    with several(target.http, 500) as some:
        for byte in b"GET /publish HTTP/1.1\r\nX: yyyyyyyyyyyyyyyyyy":
            for one in some:
                with contextlib.suppress(OSError):
                    one.send(bytes((byte,)))
            time.sleep(0.05)


@_door("HTTP: a head of 4 MB, 50 times")
def long_heads(target: Target) -> None:
    """And one of 50,000 lines."""
    for _ in range(50):
        ask(target.http, b"GET / HTTP/1.1\r\nX: " + b"y" * 4 * MIB)
    ask(target.http, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 50_000)


@_door("HTTP: 100 bodies of 64 MB, chunked")
def huge_bodies(target: Target) -> None:
    """As long as somebody takes them, twenty at a time."""
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    head = request("POST", "/publish", None, JSON | {"Transfer-Encoding": "chunked"})

    def send(_: int) -> None:
        for _ in range(5):
            with contextlib.suppress(OSError), connected(target.http) as one:
                one.settimeout(5.0)
                one.sendall(head)
                for _ in range(1000):
                    one.sendall(chunk)

    _at_once(20, send)


@_door("HTTP: 200 bodies that end early")
def slow_bodies(target: Target) -> None:
    """A megabyte of each has come, and they stay."""
    with several(target.http, 200) as some:
        for one in some:
            with contextlib.suppress(OSError):
                one.settimeout(2.0)
                one.sendall(request("POST", "/publish", b" " * MIB, JSON)[: MIB // 2])
        time.sleep(2.0)


@_door("HTTP: 50,000 hostile lines, 4 times")
def hostile_lines(target: Target) -> None:
    """No JSON, JSON that is no record, nested deeply, of many values."""
    kinds = [b"{", b'{"a":' * 500 + b"1" + b"}" * 500, b'{"a": 1e999}', b"[" * 4000]
    kinds += [json.dumps({"a": ["x"] * 2000}).encode(), b'{"a":1,"a":2}', b"\xff\xfe"]
    for _ in range(4):
        lines = b"\n".join(kinds[n % len(kinds)] for n in range(4000))
        ask(target.http, request("POST", "/publish", lines, NDJSON))
        body = b"\n".join(b"{" for _ in range(50_000))
        ask(target.http, request("POST", "/publish", body, NDJSON))


@_door("HTTP: 200,000 good lines at once")
def good_lines(target: Target) -> None:
    """From four who publish at once."""
    body = b"\n".join(b'{"web": %d, "fill": "x"}' % n for n in range(50_000))
    _at_once(4, lambda _: ask(target.http, request("POST", "/publish", body, NDJSON)))


@_door("HTTP: records and documents at their bounds")
def large_contents(target: Target) -> None:
    """Wide, deep, and with long texts."""
    wide = json.dumps({f"n{n}": n for n in range(100_000)}).encode()
    arrays = b'{"a": [' + b",".join([b"[[[]]]"] * 200_000) + b"]}"
    for body in (wide, arrays, b'{"a":' * 100_000, b'"' + b"\\u0041" * 300_000 + b'"'):
        for _ in range(5):
            ask(target.http, request("POST", "/publish", body, JSON))
    for document in (c.attributed(1400, 64), c.distinct_names(9999, 1), c.string_values(60, 9900)):
        ask(target.http, request("POST", "/publish", document, {"Content-Type": "text/xml"}))


@_door("HTTP: CloudEvents in batches of 2 MB")
def batches(target: Target) -> None:
    """Small ones, nested ones, and such that are none."""
    kind = {"Content-Type": "application/cloudevents-batch+json"}
    event = b'{"specversion":"1.0","id":"%d","source":"/","type":"t","web":1}'
    good = b"[" + b",".join(event % n for n in range(30_000)) + b"]"
    for body in (good, b"[" + b",".join([b"{}"] * 500_000) + b"]", b"[" * MIB, b"[1" + b",1" * MIB):
        for _ in range(3):
            ask(target.http, request("POST", "/publish", body, kind))


@_door("HTTP: 300 event streams that never read")
def deaf_streams(target: Target) -> None:
    """While 40 MB are published that all of them match."""
    with several(target.http, 300, receives=4096) as some:
        for one in some:
            one.sendall(request("GET", "/subscribe?filter=deaf%3D1"))
        time.sleep(1.0)
        with target.peer("to-the-deaf") as publisher:
            for number in range(400):
                publisher.send(publish(number + 1, {"deaf": 1, "fill": "x" * 100_000}))
            publisher.settle()


@_door("HTTP: 300 event streams with hostile filters")
def hostile_streams(target: Target) -> None:
    """Normal forms of 2^11 conjunctions, and long lists."""
    texts = (c.doubling(11), c.staircase(20), c.disjuncts(200), "a like '" + "%_" * 200 + "'")
    for n in range(300):
        quoted = base64.b16encode((texts[n % 4] + f" or q={n}").encode()).decode()
        path = "".join(f"%{quoted[at : at + 2]}" for at in range(0, len(quoted), 2))
        with contextlib.suppress(OSError), connected(target.http) as one:
            one.sendall(request("GET", f"/subscribe?filter={path}"))
            one.settimeout(0.1)
            one.recv(1000)


@_door("HTTP: 20,000 requests behind each other, unread")
def pipelined(target: Target) -> None:
    """Of metrics, pages and what is not there."""
    some = b"".join(
        request("GET", path) for path in ("/metrics", "/nothing", "/healthz", "/console/")
    )
    with connected(target.http, receives=4096) as one:
        one.settimeout(4.0)
        with contextlib.suppress(OSError):
            one.sendall(some * 5000)
    for _ in range(500):
        ask(target.http, request("GET", "/metrics"))


@_door("HTTP: requests that are none, 5,000 times")
def no_http(target: Target) -> None:
    """Broken chunks behind a head, bytes of other protocols."""
    broken = request("GET", "/healthz", None, {"Transfer-Encoding": "chunked"}) + b"zz\r\n"
    for n in range(5000):
        with contextlib.suppress(OSError), connected(target.http) as one:
            one.sendall((broken, b"\x16\x03\x01\2\0", b"\0\0\0\0\r\n\r\n")[n % 3])
            one.recv(1000)


# The console -------------------------------------------------------------------------------------


@_door("console: questions to explain, 8 at a time")
def explained(target: Target) -> None:
    """With filters and publications at their bounds, while there are 5,000 subscriptions."""
    with target.peer("explained") as peer:
        peer.send(b"".join(frame(10, f"s{n}", f"a = {n} or {c.disjuncts(3)}") for n in range(5000)))
        peer.answers(5000)
        record = {f"a{n}": n for n in range(3000)}
        bodies = [
            {"publication": {"attributes": record}, "filter": c.doubling(9)},
            {"publication": {"document": c.text_of(200_000).decode()}, "xpath": "//p[.='x']"},
            {"publication": {"attributes": {"a": 1}}, "client": "explained", "subscription": "s1"},
            {"filter": c.staircase(24)},
        ]

        def question(n: int) -> None:
            for _ in range(30):
                body = json.dumps(bodies[n % 4]).encode()
                ask(target.http, request("POST", "/api/explain", body, JSON))

        _at_once(8, question)


@_door("console: 3,000 looks at its tables, and 200 pages that watch")
def looked_at(target: Target) -> None:
    """With what is looked for in 20,000 subscriptions."""
    with target.peer("shown") as peer:
        peer.send(b"".join(frame(10, f"s{n}", f"a = {n}") for n in range(20_000)))
        peer.answers(20_000)
        paths = ("status", "clients?q=x", "subscriptions?q=zzz&count=200", "filter?filter=a%3D1")
        with several(target.http, 200, receives=4096) as some:
            for n, one in enumerate(some):
                one.sendall(request("GET", ("/api/live", "/api/trial?filter=pair%3E0")[n % 2]))

            def look(n: int) -> None:
                for at in range(500):
                    ask(target.http, request("GET", f"/api/{paths[(n + at) % 4]}"))

            _at_once(6, look)


@_door("20,000 requests for state, filters, covers and comparisons")
def asked(target: Target) -> None:
    """Over one connection, of which the answers are read."""
    with target.peer("holder") as holder, target.peer("curious") as peer:
        holder.send(b"".join(frame(10, f"s{n}", f"a = {n}") for n in range(5000)))
        holder.answers(5000)
        covers = frame(76, [c.disjuncts(20), "", "", True, 0], None)
        for _ in range(200):
            compare = frame(81, *[True])
            for data in (frame(74), frame(83, 0), compare, frame(63, "list", ""), covers):
                peer.send(data * 20)
            peer.discard()
        peer.settle()


# WebSocket ---------------------------------------------------------------------------------------


@_door("WebSocket: frames of 2^62 bytes and of 16 MB")
def huge_frames(target: Target) -> None:
    """The first are only announced."""
    for n in range(40):
        with contextlib.suppress(OSError), upgrade(target.http) as one:
            if n % 2:
                one.sendall(ws(b"x" * 1000, size=2**62))
            else:
                one.sendall(ws(b"x" * 16 * MIB))
            drain(one, 0.2)


@_door("WebSocket: 400,000 fragments of a byte")
def fragments(target: Target) -> None:
    """Of one message, from each of two; and one of empty ones."""

    def send(n: int) -> None:
        with upgrade(target.http) as one:
            one.sendall(ws(b"{", final=False))
            some = ws(b"" if n == 2 else b" ", 0, final=False) * 1000
            for _ in range(200):
                one.sendall(some)

    _at_once(3, send)


@_door("WebSocket: 300,000 pings, unread")
def pings(target: Target) -> None:
    """Of 100 bytes each."""
    with upgrade(target.http, receives=4096) as one:
        one.settimeout(4.0)
        with contextlib.suppress(OSError):
            for _ in range(300):
                one.sendall(ws(b"p" * 100, 9) * 1000)


@_door("WebSocket: hostile commands, and 100,000 publications")
def commands(target: Target) -> None:
    """Filters that take long, JSON that is none, ids without end."""
    with contextlib.suppress(OSError), upgrade(target.http) as one:
        for n in range(60):
            text = c.doubling(11) + f" or q = {n}"
            told = {"type": "subscribe", "id": f"s{n}", "filter": text}
            one.sendall(ws(json.dumps(told).encode()))
        drain(one, 1.0)
    for bad in (b"{" * 100_000, b'{"type": "publish", "attributes": ' + b"[" * 100_000, b"\xff"):
        with contextlib.suppress(OSError), upgrade(target.http) as one:
            one.sendall(ws(bad))
            drain(one, 0.2)
    with contextlib.suppress(OSError), upgrade(target.http, receives=4096) as one:
        one.settimeout(5.0)
        for _ in range(100):
            one.sendall(ws(b'{"type": "publish", "attributes": {"web": 1}, "ref": 1}') * 1000)


@_door("WebSocket: 200 that never read")
def deaf_sockets(target: Target) -> None:
    """While 40 MB are published that all of them match."""
    some = [upgrade(target.http, receives=4096) for _ in range(200)]
    for one in some:
        one.sendall(ws(b'{"type": "subscribe", "id": "s", "filter": "deaf = 1"}'))
    time.sleep(1.0)
    with target.peer("to-the-deaf") as publisher:
        for number in range(400):
            publisher.send(publish(number + 1, {"deaf": 1, "fill": "x" * 100_000}))
        publisher.settle()
    for one in some:
        one.close()


# MQTT --------------------------------------------------------------------------------------------


@_door("MQTT: hostile packets, 3,000 connections")
def hostile_packets(target: Target) -> None:
    """Lengths without an end, properties that are none, CONNECT twice, unfinished ones."""
    connect = packet(0x10, b"\0\4MQTT\5\2\0\0\0" + text("bad"))
    kinds = (
        *(b"\x10\xff\xff\xff\x7f", b"\x10\xff\xff\xff\xff\x01", b"\x10\x7f\0\4MQTT", connect * 2),
        *(connect + b"\x30\xff\xff\xff\x7f", connect + b"\x82\x02\0\1", connect + b"\xf0\0"),
        connect + packet(0x30, text("a") + b"\x80\x80\x80\x01"),
        connect + packet(0x30, text("a") + b"\xff\x7f" + b"\x26\0\1a\0\1b" * 2000),
    )
    for n in range(3000):
        with contextlib.suppress(OSError), connected(target.mqtt) as one:
            one.settimeout(0.01)
            one.sendall(kinds[n % len(kinds)])
            one.recv(1000)


@_door("MQTT: 900 connections that send half a CONNECT of 256 KB")
def half_connects(target: Target) -> None:
    """And stay."""
    with several(target.mqtt, 900) as some:
        for one in some:
            one.sendall(b"\x10\xf0\xff\x0f" + b"\0\4MQTT\5\2\0\0\0" + b"\0" * 130_000)
        time.sleep(2.0)


@_door("MQTT: 20 clients with 1,000 topic filters of all levels")
def deep_filters(target: Target) -> None:
    """With + in every place but one, and publications on as many levels."""
    count = MQTT_LEVELS_MAX - 1
    levels = ["+"] * count

    def subscribe(n: int) -> None:
        with mqtt(target.mqtt, f"deep-{n}") as one:
            for start in range(0, 1000, 100):
                filters = [
                    "/".join([*levels[: at % count], f"x{n}.{start}.{at}", *levels[at % count :]])
                    for at in range(100)
                ]
                one.sendall(mqtt_subscribe(start + 1, filters))
                one.recv(65_536)
            for _ in range(200):
                one.sendall(mqtt_publish("/".join(["y"] * MQTT_LEVELS_MAX), b"x"))
            drain(one, 0.5)

    _at_once(20, subscribe)


@_door("MQTT: 50 subscribers that never read, QoS 0 and 1")
def deaf_subscribers(target: Target) -> None:
    """While 40 MB are published that all of them match."""
    some = [mqtt(target.mqtt, f"deaf-{n}", receives=4096) for n in range(50)]
    for n, one in enumerate(some):
        one.sendall(mqtt_subscribe(1, ["deaf/#"], n % 2))
    time.sleep(1.0)
    with mqtt(target.mqtt, "to-the-deaf") as publisher:
        for _ in range(400):
            publisher.sendall(mqtt_publish("deaf/x", b"x" * 100_000))
        drain(publisher, 0.5)
    for one in some:
        one.close()


@_door("MQTT: 100,000 publications in one go, unread")
def deaf_mqtt_publisher(target: Target) -> None:
    """Of QoS 0, and of QoS 1 beyond what may be unanswered; pings behind them."""
    with contextlib.suppress(OSError), mqtt(target.mqtt, "much", receives=4096) as one:
        one.settimeout(5.0)
        one.sendall(mqtt_publish("a", b"x") * 100_000)
        one.sendall(b"\xc0\0" * 50_000)
        one.sendall(b"".join(mqtt_publish("a", b"x", n + 1) for n in range(5000)))
        drain(one, 0.5)


@_door("MQTT: payloads and properties at their bounds")
def mqtt_contents(target: Target) -> None:
    """JSON of 60,000 members, nested arrays, 256 user properties, long topics."""
    kind = b"\x03" + text("application/json")
    wide = json.dumps({f"n{n}": n for n in range(60_000)}).encode()
    users = b"".join(b"\x26" + text(f"k{n}") + text("v" * 200) for n in range(256))
    some = [
        mqtt_publish("a", wide, properties=kind),
        mqtt_publish("a", b'{"a": ' + b"[" * 60_000, properties=kind),
        mqtt_publish("a", b'{"a": [' + b"0," * 500_000 + b"0]}", properties=kind),
        mqtt_publish("a", b"x", properties=users),
        mqtt_publish("t" * 65_000, b"x"),
        mqtt_publish("a", c.attributed(1400, 64), properties=b"\x03" + text("text/xml")),
    ]
    for data in some * 5:
        with contextlib.suppress(OSError, AssertionError), mqtt(target.mqtt, "large") as one:
            one.sendall(data)
            drain(one, 0.1)


@_door("MQTT: 3,000 connections that come and go, with wills")
def mqtt_wills(target: Target) -> None:
    """Each leaves without a word, so that its will is published."""
    for n in range(3000):
        will = b"\0" + text("will/x") + text("x" * 1000)
        body = b"\0\4MQTT\5\x06\0\0\0" + text(f"will-{n}") + will
        with contextlib.suppress(OSError), connected(target.mqtt) as one:
            one.sendall(packet(0x10, body))
            one.recv(100)


# TLS, and who may come in ------------------------------------------------------------------------


@_door("TLS: 500 handshakes that stall", SECRET)
def stalled_handshakes(target: Target) -> None:
    """Nothing, half a hello, all of it; and bytes that are no TLS."""
    hello = bytes.fromhex("16030100f8010000f40303") + b"\7" * 40
    with several(target.port, 500) as some:
        for n, one in enumerate(some):
            one.send((b"\x16", hello, b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff")[n % 4])
        time.sleep(3.0)


@_door("TLS: 1,000 handshakes, 8 at a time", SECRET)
def handshakes(target: Target) -> None:
    """Each greets and goes."""

    def come(n: int) -> None:
        for at in range(125):
            with target.peer(f"hand-{n}-{at}") as peer:
                peer.settle()

    _at_once(8, come)


_RECORDS = (
    b"\x15\x03\x03\0\2\1\x64",
    b"\x16\x03\x03\0\4\1\0\0\0",
    b"\x17\x03\x03\x40\0",
)
"""An alert that asks for no renegotiation, a hello where none is due, data that is cut off."""


@_door("TLS: alerts, keys renewed and renegotiation asked for", SECRET)
def renegotiations(target: Target) -> None:
    """By records that are let through a finished handshake, and by cutting it in the middle."""
    for n in range(300):
        with contextlib.suppress(OSError):
            peer = Peer(target.host, target.port, f"again-{n}", is_secret=True)
            raw = socket.socket(fileno=peer.socket.detach())
            raw.send(
                (b"\x15\x03\x03\0\2\1\x64", b"\x16\x03\x03\0\4\1\0\0\0", b"\x17\x03\x03\x40\0")[
                    n % 3
                ]
            )
            raw.close()


@_door("300 wrong passwords over TCP, 30 at a time", GUARDED)
def passwords(target: Target) -> None:
    """Of somebody who is known, and of nobody."""

    def guess(n: int) -> None:
        for at in range(10):
            name = "ann" if at % 2 else f"nobody-{n}"
            with contextlib.suppress(OSError):
                Peer(target.host, target.port, f"g{n}-{at}", user=name, token=f"w{n}-{at}").close()

    _at_once(30, guess)


@_door("600 wrong passwords by HTTP and MQTT, 30 at a time", GUARDED)
def web_passwords(target: Target) -> None:
    """To metrics, to publish, and in CONNECT."""

    def guess(n: int) -> None:
        for at in range(10):
            shown = base64.b64encode(f"ann:wrong{n}-{at}".encode()).decode()
            basic = {"Authorization": f"Basic {shown}"}
            ask(target.http, request("GET", "/metrics", None, basic))
            ask(target.http, request("POST", "/publish", b'{"a": 1}', JSON | basic))
            body = b"\0\4MQTT\5\xc2\0\0\0" + text(f"m{n}") + text("ann") + text(f"wrong{at}")
            ask(target.mqtt, packet(0x10, body))

    _at_once(30, guess)


@_door("6,000 tokens that are garbage", GUARDED)
def garbage_tokens(target: Target) -> None:
    """Of 8 KB, in three parts or not, over TCP and by HTTP."""
    head = base64.urlsafe_b64encode(b'{"alg":"EdDSA"}').decode().rstrip("=")
    claims = base64.urlsafe_b64encode(
        json.dumps({"iss": "login", "x": "y" * 3000}).encode()
    ).decode()
    tokens = (f"{head}.{claims.rstrip('=')}.{random_text(86)}", "ey." * 2 + "a", random_text(8000))
    for n in range(3000):
        token = tokens[n % 3]
        with contextlib.suppress(OSError):
            Peer(target.host, target.port, f"t{n}", token=token).close()
        ask(target.http, request("GET", "/metrics", None, {"Authorization": f"Bearer {token}"}))


@_door("1,000 greetings of 16 KB that nobody can read", GUARDED)
def garbage_greetings(target: Target) -> None:
    """Credentials that are too long, and nested arrays in their place."""
    for n in range(1000):
        with contextlib.suppress(OSError), connected(target.port) as one:
            one.sendall(
                HEADER.pack(16_000) + (b"\x91" * 16_000 if n % 2 else b"\x9c\xa7sapwood" * 2000)
            )
            one.recv(1000)
