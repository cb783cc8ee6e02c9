"""Frames and greetings: whatever the chunks, the same messages and the same fault.

A stream is a greeting and some mutated messages, cut anywhere. It is read whole, and in its
pieces; publications that stand behind each other are also found by the compiled finder.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from sapwood.model.publication import Publication
from sapwood.session.connection import Connection
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.codec import Decoder
from sapwood.wire.datagrams import ID_BYTES, Datagram, Kind, decode_datagram, encode_datagram
from sapwood.wire.frames import frame
from sapwood.wire.greetings import Credentials, Hello, Role, decode_greeting, encode_greeting
from sapwood.wire.publications import encode_publication
from sapwood.wire.runs import FRAMES, RequestRun, RunFinder
from sapwood_lab.fuzz.driver import Target
from sapwood_lab.fuzz.mutation import changed_value, leaf, mutated, pick

FRAME_BYTES_MAX: Final = 524_288
_PIECES_MAX: Final = 4


class Stream(NamedTuple):
    """The bytes that a peer sends to a broker, and where they are cut."""

    data: bytes
    cuts: tuple[int, ...]

    @property
    def pieces(self) -> list[bytes]:
        """The data between two cuts."""
        places = (0, *self.cuts, len(self.data))
        return [self.data[one:other] for one, other in pairwise(places)]


_BODIES: Final = (
    encode_publication(Publication("p1", {"price": 12.5, "symbol": "IBM", "deep": {"a": [1, 2]}})),
    encode_publication(Publication("p2", {"a": True, "b": None, "größe": -1, "c": 2**40})),
    encode_publication(Publication("p3", document=b"<nitf><body>text</body></nitf>")),
    encode_publication(Publication("p4", {"a": 1}, b"<a x='1'/>", b"\x00payload")),
)

_CLIENT: Final[tuple[list[Any], ...]] = (
    *([1], [2], [3, "closing", "bye"], [18], [73, 1], [81, True], [83, 0], [63]),
    *([10, "s1", "price > 10"], [10, "s2", ["xpath", "//a[b]"]], [11, "s1"]),
    *([10, "s3", ["xpath", "//p:a", [["p", "urn:a"]]]], [13, "a1", "price > 1"], [14, "a1"]),
    *([13, "a2", ["paths", "/r(/a|/b)+"]], [15, 0, 100], [15, 0, 100, "a = 1"]),
    *([16, ["s4", "s5"], ["a = 1", ["xpath", "/a"]]], [17, ["s4", "s5"]]),
    [61, "d1", "a = 1", "name", ["time", 5], [1, 1000, 10], 16],
    *([62, "d1", [1, 4, 7]], [76, 1, "s1", b"\x93\xa1p\x80\xc0"]),
    *([12, number, body] for number, body in enumerate(_BODIES, 1)),
)

_LINK: Final[tuple[list[Any], ...]] = (
    *([1], [2], [3, "closing", "bye"], [30], [35, True], [50, b"note"], [73, None]),
    *([31, "k1", b"\x91", 0], [31, "k2", ["xpath", "//a", None], 3], [32, "k1", 1], [33, "k1", 1]),
    *([34, "r1", 1, _BODIES[0]], [34, "r1", 2, _BODIES[2], b"digest"], [36, "a", b"\x91", 1]),
    *(
        [44, "r1", 7, [34, "r1", 1, _BODIES[1]]],
        [41, "r1", 1, ["r2", "r3"]],
        [45, "k", ["l"], b"", 1],
    ),
    *([52, ["k1", "k2"], [b"\x91", b"\x92"], 1], [53, ["k1"], 1], [54, ["k1", "k2"], [1, 2]]),
    *([42, "r1", 1, []], [43, "r1", 1], [46, "r1", 1], [57, 1, [34, "r1", 1, _BODIES[0]]]),
    *(
        [90, [["n", 1, "h:1"]]],
        [93, "k", 1, 2, b""],
        [51, b"x", [32, "k1", 1]],
        [60, b"part", False],
    ),
)

_GREETINGS: Final = tuple(
    encode_greeting(hello)
    for hello in (
        Hello(role=Role.CLIENT, name="c1", session="s"),
        Hello(role=Role.CLIENT, name="c2", session="s", credentials=Credentials("ann", "secret")),
        Hello(
            role=Role.BROKER,
            name="b1",
            session="s",
            routing="covering",
            frame_bytes_max=FRAME_BYTES_MAX,
            listens="127.0.0.1:7001",
        ),
    )
)
_HELLO: Final = MappingProxyType(
    {
        role: frame(encode_greeting(Hello(role=role, name="c", session="s", frame_bytes_max=2**19)))
        for role in Role
    }
)


def _message(random: Random, seeds: Sequence[list[Any]]) -> bytes:
    """The body of a message: mutated as a value, as bytes, or as both."""
    message = list(pick(random, seeds))
    which = random.random()
    if which < 0.1:
        message[0] = int(random.random() * 110)
    if which < 0.6:
        at = 1 + int(random.random() * len(message))
        if at < len(message):
            message[at] = changed_value(random, message[at])
        elif which < 0.3:
            message.append(leaf(random))
    body = _packed(message)
    return mutated(random, body, _SEEDS) if which > 0.5 else body


def _packed(message: list[Any]) -> bytes:
    try:
        return msgspec.msgpack.encode(message)
    except (UnicodeEncodeError, OverflowError):  # a text without an encoding, a number too large
        return b"\x91" + repr(message).encode(errors="replace")


_SEEDS: Final = tuple(_packed(one) for one in (*_CLIENT, *_LINK))


def _stream(random: Random, role: Role, seeds: Sequence[list[Any]]) -> Stream:
    data = _HELLO[role]
    for _ in range(1 + int(random.random() * 3)):
        data += frame(_message(random, seeds))
    if random.random() < 0.15:
        data = data[: len(_HELLO[role])] + mutated(random, data[len(_HELLO[role]) :], _SEEDS)
    size = len(data)
    count = int(random.random() * _PIECES_MAX)
    return Stream(data, tuple(sorted(int(random.random() * size) for _ in range(count))))


def _client_stream(random: Random) -> Stream:
    return _stream(random, Role.CLIENT, _CLIENT)


def _link_stream(random: Random) -> Stream:
    return _stream(random, Role.BROKER, _LINK)


def _publications(random: Random) -> Stream:
    """Publications behind each other, of which some are mutated."""
    data, first = _HELLO[Role.CLIENT], pick(random, (1, 126, 254, 65_534, 2**32 - 2))
    for number in range(1 + int(random.random() * 6)):
        body = pick(random, _BODIES)
        if random.random() < 0.4:
            body = mutated(random, body, _BODIES)
        data += frame(_packed([12, first + number, body]))
    cut = int(random.random() * len(data)) if random.random() < 0.3 else len(data)
    return Stream(data, (cut,))


def _read(stream: Stream) -> tuple[list[Any], str]:
    """The messages of a stream and its fault, the same whole and in pieces."""
    whole = _decoded(Decoder(None, FRAME_BYTES_MAX), [stream.data])
    pieces = _decoded(Decoder(None, FRAME_BYTES_MAX), stream.pieces)
    assert whole == pieces, f"in pieces: {pieces!r:.500}"
    return whole


def _decoded(decoder: Decoder, pieces: Sequence[bytes]) -> tuple[list[Any], str]:
    messages: list[Any] = []
    for piece in pieces:
        messages += decoder.messages(piece)
    return [_plain(one) for one in messages], "" if decoder.error is None else str(decoder.error)


def _plain(message: Any) -> Any:
    """A comparable form of a message: unread parts as they are; a NaN does not equal itself."""
    return repr(message)


class _Runs:
    """Reads with the finder of runs, whose kernels are loaded when it is first needed."""

    def __init__(self) -> None:
        self._finder: RunFinder | None = None

    def read(self, stream: Stream) -> tuple[list[Any], str]:
        """The messages, the same with and without the finder."""
        if self._finder is None:
            FRAMES.load()
            self._finder = RunFinder()
        plain = _decoded(Decoder(None, FRAME_BYTES_MAX), stream.pieces)
        decoder = Decoder(None, FRAME_BYTES_MAX, self._finder)
        found: list[Any] = []
        for piece in stream.pieces:
            for one in decoder.messages(piece):
                found += one.messages() if isinstance(one, RequestRun) else [one]
        told = "" if decoder.error is None else str(decoder.error)
        assert ([_plain(one) for one in found], told) == plain, f"in runs: {found!r:.500}"
        return plain


def _connected(stream: Stream) -> tuple[list[Any], Any, bytes]:
    """The result of a connection for a stream: messages, its ending, and its answers."""
    connection = Connection(None, ConnectionSettings(frame_bytes_max=FRAME_BYTES_MAX), 0.0, "b")
    messages: list[Any] = []
    for piece in stream.pieces:
        messages += [_plain(one) for one in connection.receive(piece, 0.0)]
    answer = b"".join(bytes(part) for piece in connection.take_pieces() for part in piece)
    return messages, connection.ending, answer


def _greeting(random: Random) -> bytes:
    body = pick(random, _GREETINGS)
    if random.random() < 0.5:
        value = msgspec.msgpack.decode(body)
        return _packed(changed_value(random, value) if random.random() < 0.9 else [leaf(random)])
    return mutated(random, body, _GREETINGS)


_DATAGRAMS: Final = tuple(
    encode_datagram(Datagram(kind, bytes(ID_BYTES), b"\0\0\0\x02\x91\x01", 3)) for kind in Kind
)


def _datagram(random: Random) -> bytes:
    return mutated(random, pick(random, _DATAGRAMS), _DATAGRAMS)


def targets() -> list[Target]:
    """The targets of this module."""
    runs = _Runs()
    return [
        Target("frames of clients", 120, _client_stream, _read),
        Target("frames of brokers", 90, _link_stream, _read),
        Target("publications in runs", 20, _publications, runs.read),
        Target("connections", 40, _client_stream, _connected),
        Target("greetings", 110, _greeting, lambda body: repr(decode_greeting(body))),
        Target("datagrams", 60, _datagram, decode_datagram),
    ]
