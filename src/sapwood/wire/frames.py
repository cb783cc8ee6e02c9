"""Frames: a 4-byte big-endian length, then a body of that many bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from sapwood.errors import FrameError

T = TypeVar("T")

HEADER_BYTES: Final = 4
_HEADER: Final = struct.Struct(">I")


def frame(body: bytes) -> bytes:
    """The frame of one body."""
    return _HEADER.pack(len(body)) + body


def _nothing(_data: bytes, start: int) -> tuple[Sequence[Any], int]:
    """No frame is taken: every frame is a body."""
    return (), start


class FrameSplitter:
    """Cuts a stream of bytes into the bodies of its frames, whatever the chunks.

    `body_bytes_max` bounds a body; it is compared with the announced length before any byte of
    the body is kept, and may be changed between two frames. `header` is the header of the frame
    that broke the bound (`None` as long as none did); nothing is read after it.
    """

    __slots__ = ("_held", "_missing", "body_bytes_max", "header")

    def __init__(self, body_bytes_max: int) -> None:
        self.body_bytes_max = body_bytes_max
        self.header: bytes | None = None
        #: the beginning of a frame whose end has not arrived; never a whole frame
        self._held = bytearray()
        #: the number of bytes that have to arrive before `_held` is worth another look
        self._missing = 0

    @property
    def held_bytes(self) -> int:
        """The number of bytes held of a frame that has arrived in part."""
        return len(self._held)

    def split(
        self, data: bytes, find: Callable[[bytes, int], tuple[Sequence[T], int]] = _nothing
    ) -> Iterator[bytes | T]:
        """The bodies of the frames that `data` completes, in order.

        Where a frame begins, `find` may take it and its successors as something else, and returns
        the beginning of the next one. The caller runs the iterator to its end. Raises `FrameError`
        at a frame that is too large, after the bodies before it.
        """
        if self.header is not None:
            return
        if self._held:
            # A body that arrives in small pieces is copied once, not once a piece.
            self._held += data
            self._missing -= len(data)
            if self._missing > 0:
                return
            data = bytes(self._held)
            self._held = bytearray()
        start, end = 0, len(data)
        self._missing = HEADER_BYTES
        while end - start >= HEADER_BYTES:
            taken, behind = find(data, start)
            if behind > start:
                yield from taken
                start = behind
                continue
            (length,) = _HEADER.unpack_from(data, start)
            if length > self.body_bytes_max:
                self.header = data[start : start + HEADER_BYTES]
                raise FrameError(
                    f"a frame of {length} bytes is announced; "
                    f"at most {self.body_bytes_max} bytes are accepted here"
                )
            stop = start + HEADER_BYTES + length
            if stop > end:
                self._missing = HEADER_BYTES + length
                break
            yield data[start + HEADER_BYTES : stop]
            start = stop
            self._missing = HEADER_BYTES
        if start < end:
            self._held += data[start:]
        self._missing -= end - start
