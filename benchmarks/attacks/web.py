"""HTTP, WebSocket and MQTT by hand: bytes, and sockets that say whatever they are told to."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Iterator, Mapping

HOST = "127.0.0.1"
WAIT_S = 30.0


def connected(port: int, *, receives: int = 0) -> socket.socket:
    """A connection; with `receives`, one whose system takes no more than so many bytes."""
    made = socket.socket()
    if receives:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
    made.connect((HOST, port))
    made.settimeout(WAIT_S)
    return made


def request(
    method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}
) -> bytes:
    """A request."""
    given = {"Host": HOST, **headers}
    if body is not None:
        given.setdefault("Content-Length", str(len(body)))
    head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + (body or b"")


def ask(port: int, data: bytes) -> bytes:
    """The beginning of the answer to what is sent, at most 64 KiB; empty where there is none."""
    with contextlib.suppress(OSError), connected(port) as one:
        one.sendall(data)
        return one.recv(65_536)
    return b""


@contextlib.contextmanager
def several(port: int, count: int, *, receives: int = 0) -> Iterator[list[socket.socket]]:
    """So many connections."""
    made = [connected(port, receives=receives) for _ in range(count)]
    try:
        yield made
    finally:
        for one in made:
            one.close()


# WebSocket ---------------------------------------------------------------------------------------


def upgrade(port: int, *, receives: int = 0) -> socket.socket:
    """A WebSocket that has said `connect`."""
    made = connected(port, receives=receives)
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    made.sendall(request("GET", "/socket", None, headers | {"Sec-WebSocket-Key": "A" * 22 + "=="}))
    answer = made.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 101"), answer[:200]
    made.sendall(ws(b'{"type": "connect"}'))
    return made


def ws(payload: bytes, opcode: int = 1, *, final: bool = True, size: int | None = None) -> bytes:
    """A frame of a client, masked with zeros; `size` is said in the place of the true one."""
    told = len(payload) if size is None else size
    head = bytes((opcode | (0x80 if final else 0),))
    if told < 126:
        head += bytes((0x80 | told,))
    elif told < 65_536:
        head += bytes((0x80 | 126,)) + struct.pack(">H", told)
    else:
        head += bytes((0x80 | 127,)) + struct.pack(">Q", told)
    return head + b"\0\0\0\0" + payload


# MQTT --------------------------------------------------------------------------------------------


def variable(number: int) -> bytes:
    """A variable byte integer."""
    made = b""
    while True:
        number, digit = divmod(number, 128)
        made += bytes((digit | (128 if number else 0),))
        if not number:
            return made


def text(value: str) -> bytes:
    """A UTF-8 string."""
    data = value.encode()
    return struct.pack(">H", len(data)) + data


def packet(first: int, body: bytes) -> bytes:
    """A packet."""
    return bytes((first,)) + variable(len(body)) + body


def mqtt(port: int, name: str, *, receives: int = 0) -> socket.socket:
    """A client of MQTT that is connected."""
    made = connected(port, receives=receives)
    made.sendall(packet(0x10, b"\0\4MQTT\5\2\0\0\0" + text(name)))
    assert made.recv(65_536)[:1] == b"\x20"
    return made


def mqtt_publish(topic: str, payload: bytes, number: int = 0, properties: bytes = b"") -> bytes:
    """A PUBLISH; of QoS 1 with a number."""
    told = struct.pack(">H", number) if number else b""
    body = text(topic) + told + variable(len(properties)) + properties + payload
    return packet(0x32 if number else 0x30, body)


def mqtt_subscribe(number: int, filters: list[str], qos: int = 0) -> bytes:
    """A SUBSCRIBE."""
    asked = b"".join(text(one) + bytes((qos,)) for one in filters)
    return packet(0x82, struct.pack(">H", number) + b"\0" + asked)


def drain(one: socket.socket, seconds: float) -> int:
    """Read until nothing comes for so long; how many bytes."""
    one.settimeout(seconds)
    total = 0
    with contextlib.suppress(OSError):
        while data := one.recv(1 << 20):
            total += len(data)
    return total


def random_text(size: int) -> str:
    """Hexadecimal digits."""
    return os.urandom(size // 2).hex()
