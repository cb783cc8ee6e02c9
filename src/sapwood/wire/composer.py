"""What leaves in batches: the frames of all deliveries, or of what goes to a neighbor, at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.matching.publication_batch import PublicationBatch
from sapwood.routing.effects import DeliverMany
from sapwood.routing.messages import PublishMany
from sapwood.wire.kernels.layout import (
    CLIENT,
    CLIENT_COLUMNS,
    CLIENT_DELIVERIES,
    CLIENT_END,
    COMPOSED_HEAD,
    PLACES,
    TOO_LONG,
)
from sapwood.wire.runs import FRAMES

U8: TypeAlias = npt.NDArray[np.uint8]
I64: TypeAlias = npt.NDArray[np.int64]

_PUBLISH: Final = b"\x95\x22"
_ON_TREE: Final = b"\x94\x2c"
_NO_DIGEST: Final = b"\xc4\x00"
"""What a message begins with whose envelope is the same for all of a batch, and its end."""

_ENCODER: Final = msgspec.msgpack.Encoder()


@dataclass(frozen=True, slots=True)
class Composed:
    """Frames for clients: of the publications up to, and without, the place `end`."""

    frames: memoryview
    end: int
    head: I64
    names: list[str]

    def by_client(self) -> Iterator[tuple[str, memoryview, int]]:
        """Each client that gets something, its frames, and how many deliveries they are."""
        begin = 0
        columns = self.head[COMPOSED_HEAD:].reshape(-1, CLIENT_COLUMNS).tolist()
        for row in columns:
            end = row[CLIENT_END]
            yield self.names[row[CLIENT]], self.frames[begin:end], row[CLIENT_DELIVERIES]
            begin = end


class Composer:
    """Composes the frames of batches by compiled code."""

    __slots__ = ("_scratch",)

    def __init__(self) -> None:
        #: what the kernel counts in: two numbers for each client, all 0 between two calls
        self._scratch = np.zeros(0, np.int64)

    def deliveries(
        self, effect: DeliverMany, first: int, frame_bytes_max: int, bytes_max: int
    ) -> Composed | None:
        """The frames of the deliveries of a batch, from the place `first` on.

        They end after the publication with which they have so many bytes. `None` where one of them
        would be longer than a frame: then they are to be composed one by one.
        """
        batch, keys, rows = effect.batch, effect.keys, effect.rows
        if not isinstance(batch, PublicationBatch):
            return None
        module = FRAMES.compiled
        if module is None:
            raise InvariantError("a batch of bytes came before there are kernels to find one")
        if len(self._scratch) < 2 * len(rows.names):
            self._scratch = np.zeros(4 * len(rows.names), np.int64)
        frames, head = module.compose_deliveries(
            *(batch.data, batch.starts, batch.ends, first),
            *(keys.offsets, keys.slots, *keys.chains()),
            *(rows.words, rows.texts, self._scratch, frame_bytes_max, bytes_max),
        )
        if head.item(TOO_LONG):
            return None
        return Composed(memoryview(frames), first + head.item(PLACES), head, rows.names)


def forwards(many: PublishMany) -> memoryview | None:
    """The frames of what goes to a neighbor; `None` where they are to be composed one by one."""
    batch = many.batch
    if many.digests or not isinstance(batch, PublicationBatch):
        return None
    module = FRAMES.compiled
    if module is None:
        raise InvariantError("a batch of bytes came before there are kernels to find one")
    before = _PUBLISH + _ENCODER.encode(many.origin) + _ENCODER.encode(many.hops)
    if many.tree is not None:
        source, epoch = map(_ENCODER.encode, many.tree)
        before = _ON_TREE + source + epoch + before
    frames = module.compose_forwards(batch.data, batch.starts, batch.ends, before, _NO_DIGEST)
    return memoryview(frames)
