"""The bytes to be sent on a connection, until somebody takes them.

Small messages are put behind each other in one piece of memory. What is long stays where it is, so
that a publication of a megabyte for ten clients that do not keep up is there once and not ten
times. Behind two small frames and a delivery of a long publication, with one more, there are three
pieces, each of whole frames:

    (frames 1 and 2,)   (the head of frame 3, the publication, its last byte)   (frame 4,)
"""

from __future__ import annotations

from typing import Final, TypeAlias

LONG_BYTES: Final = 65_536
"""What is as long as that is not copied, which would take longer than a piece of its own."""

Piece: TypeAlias = tuple[bytes | memoryview, ...]
"""Whole frames, whose bytes lie in one or several places."""


class Outgoing:
    """Bytes that are to be sent, in order.

    `frames` takes small messages; whoever has taken it puts whole frames there before anything
    else is asked for.

    #: _long_bytes == the sum of the lengths in _pieces, which stand before what is in frames
    """

    __slots__ = ("_long_bytes", "_pieces", "frames")

    def __init__(self) -> None:
        self.frames = bytearray()
        self._pieces: list[Piece] = []
        self._long_bytes = 0

    def __len__(self) -> int:
        """How many bytes."""
        return self._long_bytes + len(self.frames)

    def add(self, frames: memoryview) -> None:
        """Put whole frames at the end.

        They are not copied where they are long and nobody else has much of the same memory: as long
        as they wait all of it is kept.
        """
        if len(frames) >= LONG_BYTES and 2 * len(frames) >= memoryview(frames.obj).nbytes:
            self.add_piece((frames,))
        else:
            self.frames += frames

    def add_piece(self, piece: Piece) -> None:
        """Put whole frames at the end, without copying them."""
        if self.frames:
            self._set_aside((bytes(self.frames),))
            self.frames.clear()
        self._set_aside(piece)

    def take(self) -> list[Piece]:
        """All there is, piece by piece, in a list that is the caller's."""
        pieces, frames = self._pieces, self.frames
        if frames:
            pieces.append((bytes(frames),))
            frames.clear()
        elif not pieces:
            return []
        self._pieces, self._long_bytes = [], 0
        return pieces

    def _set_aside(self, piece: Piece) -> None:
        self._pieces.append(piece)
        self._long_bytes += sum(map(len, piece))
