"""Batches of outgoing frames: of deliveries to all clients, or of publications to a neighbor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.matching.publication_batch import PublicationBatch
from sapwood.routing.digests import DigestBatch
from sapwood.routing.effects import DeliverMany
from sapwood.routing.messages import PublishMany
from sapwood.wire.kernels.layout import (
    CLIENT_COLUMNS,
    CLIENTS,
    COMPOSED_HEAD,
    PLACES,
)
from sapwood.wire.runs import FRAMES

I64: TypeAlias = npt.NDArray[np.int64]

ForClient: TypeAlias = tuple[str, memoryview, int]
"""A client's name, the frames for it, and the number of deliveries in them."""

_PUBLISH: Final = b"\x95\x22"
_ON_TREE: Final = b"\x94\x2c"
"""The beginnings of messages whose envelope is the same for all of a batch."""

_ENCODER: Final = msgspec.msgpack.Encoder()


@dataclass(frozen=True, slots=True)
class Composed:
    """Frames for clients: of the publications up to, and without, the place `end`.

    Where they are many bytes, the frames of each client are written when `by_client` reaches it.
    """

    end: int
    _frames: memoryview
    _head: I64
    _names: list[str]
    _write: Callable[[int, int, int], memoryview]

    def by_client(self, takes: Callable[[str, int], bool] | None = None) -> Iterator[ForClient]:
        """Each client with deliveries: its name, its frames, and the number of deliveries in them.

        Where the frames are many bytes, `takes` may refuse those for a client, given their number
        of bytes.
        """
        begin = first = 0
        is_written = len(self._frames) > 0
        clients, names = self._head.item(CLIENTS), self._names
        rows = self._head[COMPOSED_HEAD : COMPOSED_HEAD + CLIENT_COLUMNS * clients]
        for client, end, deliveries, last in rows.reshape(-1, CLIENT_COLUMNS).tolist():
            if is_written:
                yield names[client], self._frames[begin:end], deliveries
            elif takes is None or takes(names[client], end - begin):
                yield names[client], self._write(first, last, end - begin), deliveries
            begin, first = end, last


class Composer:
    """Composes the frames of batches by compiled code."""

    __slots__ = ("_scratch",)

    def __init__(self) -> None:
        #: the counters of the kernel: two numbers for each client, all 0 between two calls
        self._scratch = np.zeros(0, np.int64)

    def deliveries(
        self, effect: DeliverMany, first: int, frame_bytes_max: int, bytes_max: int
    ) -> Composed | None:
        """The frames of the deliveries of a batch, from the place `first` on.

        They end after the publication with which they reach `bytes_max`. Those of a client that has
        gone are left out. `None` where the batch is not one of bytes: its frames are composed one
        by one.
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
            *(rows.words, rows.texts, rows.gone, self._scratch, frame_bytes_max, bytes_max),
        )

        def write(begin: int, end: int, size: int) -> memoryview:
            ids, owners = head[COMPOSED_HEAD + CLIENT_COLUMNS * head[CLIENTS] :].reshape(2, -1)
            places = (batch.data, batch.starts, batch.ends)
            return memoryview(
                module.compose_client(
                    *(*places, ids, owners, begin, end, rows.texts, frame_bytes_max, size)
                )
            )

        end = first + head.item(PLACES)
        return Composed(end, memoryview(frames), head, rows.names, write)


def forwards(many: PublishMany) -> memoryview | None:
    """The frames of publications to a neighbor; `None` where they are to be composed one by one."""
    batch = many.batch
    if not isinstance(batch, PublicationBatch):
        return None
    module = FRAMES.compiled
    if module is None:
        raise InvariantError("a batch of bytes came before there are kernels to find one")
    before = _PUBLISH + _ENCODER.encode(many.origin) + _ENCODER.encode(many.hops)
    if many.tree is not None:
        source, epoch = map(_ENCODER.encode, many.tree)
        before = _ON_TREE + source + epoch + before
    if many.digests:
        digests = DigestBatch.of(many.digests)
    else:
        nothing = np.zeros(len(batch), np.int64)
        digests = DigestBatch(b"", nothing, nothing)
    frames = module.compose_forwards(
        *(batch.data, batch.starts, batch.ends),
        *(before, digests.data, digests.starts, digests.ends),
    )
    return memoryview(frames)
