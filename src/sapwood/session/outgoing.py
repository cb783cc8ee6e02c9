"""The bytes to be sent on a connection, until they are taken.

Small messages are appended to one piece of memory. Long frames stay where they are, so that a
publication of a megabyte for ten clients that do not keep up exists once and not ten times. After
two small frames, a delivery of a long publication and one more small frame, there are three pieces,
each of whole frames:

   (frames 1 and 2,)   (the head of frame 3, the publication, its last byte)   (frame 4,)
"""

from __future__ import annotations

from typing import Final, TypeAlias

LONG_BYTES: Final = 65_536
"""The length from which bytes are not copied: a copy would take longer than a piece of its own."""

Piece: TypeAlias = tuple[bytes | memoryview, ...]
"""Whole frames, whose bytes lie in one or several places."""


class Outgoing:
    """Bytes that are to be sent, in order.

    `frames` takes small messages; a caller that holds it appends whole frames before it calls any
    other method.

    #: _long_bytes == the sum of the lengths in _pieces, which precede the bytes in frames
    """

    __slots__ = ("_long_bytes", "_pieces", "frames")

    def __init__(self) -> None:
        self.frames = bytearray()
        self._pieces: list[Piece] = []
        self._long_bytes = 0

    def __len__(self) -> int:
        """The number of bytes."""
        return self._long_bytes + len(self.frames)

    def add(self, frames: memoryview) -> None:
        """Append whole frames.

        They are not copied where they are long and take up at least half of their memory, all of
        which is kept as long as they wait.
        """
        if len(frames) >= LONG_BYTES and 2 * len(frames) >= memoryview(frames.obj).nbytes:
            self.add_piece((frames,))
        else:
            self.frames += frames

    def add_piece(self, piece: Piece) -> None:
        """Append whole frames, without copying them."""
        if self.frames:
            self._set_aside((bytes(self.frames),))
            self.frames.clear()
        self._set_aside(piece)

    def take(self) -> list[Piece]:
        """All pieces, in a list that is the caller's."""
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
