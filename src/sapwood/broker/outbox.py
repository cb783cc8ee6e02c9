"""The outgoing queue of one connection."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator

from sapwood.limits import TRANSPORT_BYTES_MAX
from sapwood.session.outgoing import Piece
from sapwood.wire.frames import HEADER_BYTES


class Outbox:
    """Bytes on their way to one peer, few of them in the transport's own buffer.

    Held bytes wait for a commit (`sapwood.broker.committing`), under its ticket. Bytes that wait
    here can still be discarded, which is how a slow consumer gets the reason of its disconnection
    instead of everything that it missed. Every write is a piece of whole frames, and a long one is
    cut between two frames, so the rest after `discard` ends between two as well.

    #: _waiting_bytes == the sum of the lengths in _waiting; _waiting is empty unless _paused
    #: tickets ascend in _held, and _held_bytes == the sum of the lengths there
    """

    __slots__ = (
        "_finishing",
        "_held",
        "_held_bytes",
        "_paused",
        "_transport",
        "_waiting",
        "_waiting_bytes",
    )

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._waiting: deque[Piece] = deque()
        self._waiting_bytes = 0
        self._held: deque[tuple[int, Piece]] = deque()
        self._held_bytes = 0
        self._paused = False
        self._finishing = False
        transport.set_write_buffer_limits(high=TRANSPORT_BYTES_MAX)

    @property
    def queued_bytes(self) -> int:
        """Bytes that the operating system has not taken yet."""
        return self._waiting_bytes + self._transport.get_write_buffer_size()

    @property
    def waiting_bytes(self) -> int:
        """The queued bytes that the transport does not have yet."""
        return self._waiting_bytes

    @property
    def held_bytes(self) -> int:
        """The further bytes that wait for a commit."""
        return self._held_bytes

    @property
    def takes_more(self) -> bool:
        """True if the operating system accepts output at present."""
        return not self._paused

    def write(self, piece: Piece) -> None:
        """Send whole frames, after everything written before."""
        if not self._paused and len(piece) == 1 and len(piece[0]) <= TRANSPORT_BYTES_MAX:
            self._transport.write(piece[0])  # as a rule
            return
        for part in _cut(piece):
            if self._paused:
                self._waiting.append(part)
                self._waiting_bytes += _size(part)
            else:
                self._send(part)

    def _send(self, piece: Piece) -> None:
        if len(piece) == 1:
            self._transport.write(piece[0])
        else:
            self._transport.writelines(piece)

    def hold(self, piece: Piece, ticket: int) -> None:
        """Keep whole frames back until the commit with this ticket is done."""
        self._held.append((ticket, piece))
        self._held_bytes += _size(piece)

    def release(self, done: int) -> None:
        """Send the output held under the tickets up to one that is done.

        Short pieces are joined: a system call costs more than their bytes.
        """
        together: list[bytes | memoryview] = []
        size = 0
        while self._held and self._held[0][0] <= done:
            _, piece = self._held.popleft()
            more = _size(piece)
            self._held_bytes -= more
            if together and size + more > TRANSPORT_BYTES_MAX:
                self._release(tuple(together))
                together.clear()
                size = 0
            together += piece
            size += more
        if together:
            self._release(tuple(together))
        self._check_finished()

    def _release(self, piece: Piece) -> None:
        if not self._transport.is_closing():
            self.write(piece)

    def pause(self) -> None:
        """Keep output here, as the transport has enough for now."""
        self._paused = True

    def resume(self) -> None:
        """Write again, as the transport takes bytes again (and may have enough at once)."""
        self._paused = False
        while self._waiting and not self._paused:
            piece = self._waiting.popleft()
            self._waiting_bytes -= _size(piece)
            self._send(piece)
        self._check_finished()

    def discard(self) -> None:
        """Drop the bytes that the transport does not have yet."""
        self._waiting.clear()
        self._held.clear()
        self._waiting_bytes = self._held_bytes = 0

    def finish(self) -> None:
        """End the stream after the queued output; the peer's end stays open for reading."""
        if not self._finishing:
            self._finishing = True
            self._check_finished()

    def _check_finished(self) -> None:
        if self._finishing and not self._waiting and not self._held:
            self._write_eof()

    def _write_eof(self) -> None:
        if self._transport.is_closing():
            return
        if not self._transport.can_write_eof():  # TLS ends both ways at once
            self._transport.close()
            return
        try:
            self._transport.write_eof()
        except OSError:  # the peer has closed, and the event loop has not noticed yet
            self._transport.abort()


def _size(piece: Piece) -> int:
    return sum(map(len, piece))


def _cut(piece: Piece) -> Iterator[Piece]:
    """Parts of a piece in one place, each of as many frames as the transport takes at once.

    Three frames of 150 KB make three parts, 600 of 1 KB as well: 256, 256, and 88 of them.
    """
    frames = memoryview(piece[0])
    size = len(frames)
    if len(piece) > 1 or size <= TRANSPORT_BYTES_MAX:
        yield piece
        return
    begin = end = 0
    while end < size:
        stop = end + HEADER_BYTES + int.from_bytes(frames[end : end + HEADER_BYTES], "big")
        if begin < end and stop - begin > TRANSPORT_BYTES_MAX:
            yield (frames[begin:end],)
            begin = end
        end = stop
    yield (frames[begin:],)
