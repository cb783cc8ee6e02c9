"""Messages to frames and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from sapwood.errors import FrameError, HandshakeError, InputError, LimitError, PeerError
from sapwood.limits import (
    FRAME_BYTES_CEILING,
    FRAME_BYTES_MAX,
    GREETING_BYTES_MAX,
    MESSAGE_BYTES_MAX,
)
from sapwood.routing import messages as routing
from sapwood.wire.foreign import Foreign, identify
from sapwood.wire.frames import HEADER_BYTES, FrameSplitter, frame
from sapwood.wire.greetings import (
    Greeting,
    Hello,
    Role,
    Welcome,
    decode_greeting,
    encode_greeting,
)
from sapwood.wire.hooks import decoded, encoded
from sapwood.wire.messages import (
    AboutIds,
    BrokerMessage,
    ClientMessage,
    Delivery,
    LinkMessage,
    Message,
    Part,
)
from sapwood.wire.runs import Run, RunFinder

_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=encoded)
_CLIENT: Final = msgspec.msgpack.Decoder(ClientMessage)
_BROKER: Final = msgspec.msgpack.Decoder(BrokerMessage)
_LINK: Final[msgspec.msgpack.Decoder[LinkMessage]] = msgspec.msgpack.Decoder(
    LinkMessage, dec_hook=decoded
)

_LONG_BINARY: Final = b"\xc6"
_NO_PUBLICATION: Final = b"\xc4\x00\xc2"
_NO_MORE: Final = b"\xc2"
"""In MessagePack: the first byte of binary data of 65,536 bytes or more; an empty publication with
`more` false; and the latter alone."""

_ID_HEADER_BYTES: Final = 5
"""The most bytes that precede a text in MessagePack."""


def greeting_frame(greeting: Greeting) -> bytes:
    """The frame of a greeting."""
    return frame(encode_greeting(greeting))


def append_message(buffer: bytearray, message: Message) -> None:
    """Append the frame of a message to `buffer`."""
    start = len(buffer)
    _ENCODER.encode_into(message, buffer, start + HEADER_BYTES)
    size = len(buffer) - start - HEADER_BYTES
    buffer[start : start + HEADER_BYTES] = size.to_bytes(HEADER_BYTES, "big")


def append_routing(buffer: bytearray, message: routing.Message, frame_bytes_max: int) -> None:
    """Append a router's message to `buffer`: a frame, or several where it is too long.

    Raises `LimitError` for a filter that is longer than the other end reads.
    """
    start = len(buffer)
    try:
        append_message(buffer, message)
    except LimitError:
        del buffer[start:]
        raise
    if len(buffer) - start - HEADER_BYTES > frame_bytes_max:
        body = bytes(memoryview(buffer)[start + HEADER_BYTES :])
        del buffer[start:]
        for part in cut(body, frame_bytes_max):
            append_message(buffer, part)


def append_ids(
    buffer: bytearray,
    reply: type[AboutIds],
    ids: Sequence[str],
    frame_bytes_max: int,
) -> None:
    """Append a reply about several ids to `buffer`: a frame, or several."""
    for some in _portions(ids, frame_bytes_max // 2):
        append_message(buffer, reply(some))


def append_delivery(
    buffer: bytearray, subscriptions: tuple[str, ...], publication: bytes, frame_bytes_max: int
) -> None:
    """Append the frame of a delivery to `buffer`, or several where the ids are too many.

    `publication` is at most `frame_bytes_max - limits.FRAME_OVERHEAD_BYTES` long.
    """
    start = len(buffer)
    append_message(buffer, Delivery(subscriptions, publication))
    if len(buffer) - start - HEADER_BYTES <= frame_bytes_max:
        return
    del buffer[start:]
    for ids in _portions(subscriptions, frame_bytes_max // 2):
        append_message(buffer, Delivery(ids, b"", more=True))
    append_message(buffer, Delivery((), publication))


def delivery_in_places(
    subscriptions: tuple[str, ...], publication: bytes, frame_bytes_max: int
) -> tuple[bytes, bytes, bytes] | None:
    """The frame of a delivery in three parts, of which the second is the publication itself.

    The publication has 65,536 bytes or more. `None` where the ids are too many for one frame.
    """
    body = bytearray(HEADER_BYTES)
    _ENCODER.encode_into(Delivery(subscriptions, b""), body, HEADER_BYTES)
    del body[-len(_NO_PUBLICATION) :]
    size = len(publication)
    body += _LONG_BINARY + size.to_bytes(4, "big")
    total = len(body) - HEADER_BYTES + size + len(_NO_MORE)
    if total > frame_bytes_max:
        return None
    body[:HEADER_BYTES] = total.to_bytes(HEADER_BYTES, "big")
    return bytes(body), publication, _NO_MORE


def _portions(ids: Sequence[str], bytes_max: int) -> list[tuple[str, ...]]:
    """The ids in order, in groups that take at most `bytes_max` bytes each (one id at least)."""
    groups: list[tuple[str, ...]] = []
    group: list[str] = []
    total = 0
    for one in ids:
        size = len(one.encode()) + _ID_HEADER_BYTES
        if group and total + size > bytes_max:
            groups.append(tuple(group))
            group, total = [], 0
        group.append(one)
        total += size
    groups.append(tuple(group))
    return groups


class Decoder:
    """Bytes of one direction of a connection to its greeting and messages, whatever the chunks.

    The first frame is a greeting. The union of the later frames follows from it: after a client's
    `Hello` come `ClientMessage`s, after a broker's `LinkMessage`s, and after a `Welcome` the
    messages that the welcomed end expects (`role`, the role of this end; `None` at the accepting
    end).

    `frame_bytes_max` bounds a frame; a client adopts the bound in its broker's `Welcome`.

    With `runs`, consecutive publications are a `Run` in the place of messages; for the end that
    accepts clients, and for both ends of a link.

    `feed` and `messages` never raise. The first fault ends the stream: `error` describes it, and
    `foreign` is the protocol that the peer seems to speak if it is not this one.
    """

    __slots__ = (
        *("_decode", "_parts", "_role", "_runs", "_splitter"),
        *("error", "foreign", "frame_bytes_max"),
    )

    def __init__(
        self,
        role: Role | None,
        frame_bytes_max: int = FRAME_BYTES_MAX,
        runs: RunFinder | None = None,
    ) -> None:
        self.frame_bytes_max = frame_bytes_max
        self.error: PeerError | None = None
        self.foreign: Foreign | None = None
        self._role = role
        self._runs = runs
        self._splitter = FrameSplitter(GREETING_BYTES_MAX)
        self._parts = Parts()
        self._decode: (
            msgspec.msgpack.Decoder[ClientMessage]
            | msgspec.msgpack.Decoder[BrokerMessage]
            | msgspec.msgpack.Decoder[LinkMessage]
            | None
        ) = None

    def feed(self, data: bytes) -> list[Greeting | Message | Run]:
        """The greeting and messages that `data` completes, in order."""
        return list(self.messages(data))

    def messages(self, data: bytes) -> Iterator[Greeting | Message | Run]:
        """The greeting and messages that `data` completes, in order, decoded one by one.

        Iterate to the end, before the next data.
        """
        if self.error is not None:
            return
        try:
            for body in self._splitter.split(data, self._find):
                if not isinstance(body, bytes):
                    yield body
                    continue
                if self._decode is None:
                    yield self._greeting(body)
                    continue
                message = self._decode.decode(body)
                if isinstance(message, Part) or self._parts.pending:
                    yield from self._among_parts(message)
                else:
                    yield message
        except PeerError as error:
            self.error = self._explained(error)
        except msgspec.ValidationError as error:
            self.error = _fault_of(error)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self.error = FrameError(f"a frame holds no message of this connection: {error}")

    def _find(self, data: bytes, start: int) -> tuple[Sequence[Run | bytes], int]:
        """The publications that begin with a frame, found by `runs`, once a peer has greeted."""
        if self._runs is None or self._decode is None or self._parts.pending:
            return (), start
        is_link = self._decode is _LINK
        return self._runs.find(data, start, self._splitter.body_bytes_max, is_link=is_link)

    def _among_parts(self, message: Message) -> Iterator[Message]:
        """Take in a part, or a message between two parts; yield the message that is complete."""
        if not isinstance(message, Part):
            if isinstance(message, routing.RoutingMessage):
                raise FrameError("a message begins before the parts of the last one have ended")
            yield message
            return
        body = self._parts.take(message)
        if body is not None:
            whole = _LINK.decode(body)
            if not isinstance(whole, routing.RoutingMessage):
                raise FrameError("what comes in parts is a message of a router")
            yield whole

    def _greeting(self, body: bytes) -> Greeting:
        greeting = decode_greeting(body)
        if isinstance(greeting, Hello) != (self._role is None):
            raise HandshakeError("both ends of the connection want to be the same end of it")
        role = greeting.role if isinstance(greeting, Hello) else self._role
        if role is Role.BROKER:
            self._decode = _LINK
        else:
            self._decode = _CLIENT if self._role is None else _BROKER
        self._splitter.body_bytes_max = self.frame_bytes_max
        if isinstance(greeting, Welcome) and role is Role.CLIENT:
            self._splitter.body_bytes_max = min(greeting.frame_bytes_max, FRAME_BYTES_CEILING)
        return greeting

    def _explained(self, error: PeerError) -> PeerError:
        """The error, with the peer's likely protocol where a frame is too large to be one."""
        header = self._splitter.header
        if header is None or self._decode is not None:
            return error
        self.foreign = identify(header)
        return HandshakeError(
            f"the peer does not speak Sapwood's protocol: it begins with {header!r}, "
            f"which looks like {self.foreign.name}"
        )


def _fault_of(error: msgspec.ValidationError) -> FrameError:
    """The fault of a frame that has the form of no message, or a value that no field takes."""
    if isinstance(error.__cause__, InputError):
        return FrameError(f"the neighbor passed on what it should have refused: {error.__cause__}")
    return FrameError(f"a frame holds no message of this connection: {error}")


PART_OVERHEAD_BYTES: Final = 8
"""The bytes that a part adds: one of an array, its tag, five of the length, and `more`."""


def cut(body: bytes, frame_bytes_max: int) -> Iterator[Part]:
    """The parts of an encoded message, in order, each of which fits into a frame.

    With frames of 18 bytes, 25 bytes make parts of 10, 10 and 5.
    """
    size = frame_bytes_max - PART_OVERHEAD_BYTES
    for start in range(0, len(body), size):
        end = start + size
        yield Part(body[start:end], more=end < len(body))


class Parts:
    """The parts so far of the message that is arriving.

    #: pending is false iff the last part that came ended a message, or none has come
    """

    __slots__ = ("_data", "pending")

    def __init__(self) -> None:
        self.pending = False
        self._data = bytearray()

    def take(self, part: Part) -> bytes | None:
        """Take in a part; return the whole message, encoded, if it was the last one.

        Raises `FrameError` where it grows beyond `limits.MESSAGE_BYTES_MAX`.
        """
        if len(self._data) + len(part.data) > MESSAGE_BYTES_MAX:
            raise FrameError(f"a message in parts is longer than {MESSAGE_BYTES_MAX} bytes")
        self._data += part.data
        self.pending = part.more
        if part.more:
            return None
        whole = bytes(self._data)
        self._data = bytearray()
        return whole
