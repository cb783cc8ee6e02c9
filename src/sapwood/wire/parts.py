"""Messages that are longer than a frame: cut into parts, and whole again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sapwood.errors import FrameError
from sapwood.limits import MESSAGE_BYTES_MAX
from sapwood.wire.messages import Part

PART_OVERHEAD_BYTES: Final = 8
"""What a part adds to its data: one byte of an array, its tag, five of the length, and `more`."""


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
        """Take in a part; the whole message, encoded, if it was the last one.

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
