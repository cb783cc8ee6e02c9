"""A few frames with which each kernel of frames is called once, with its only signature."""

from __future__ import annotations

import numpy as np

from sapwood.limits import FRAME_BYTES_MAX
from sapwood.model.publication import Publication
from sapwood.routing.client_rows import ROW
from sapwood.wire.codec import append_message
from sapwood.wire.kernels.layout import CLIENT_SENDS
from sapwood.wire.messages import PublishRequest
from sapwood.wire.publications import encode_publication


def exercise_frames() -> None:
    """Find a publication in a frame, and compose frames that carry it."""
    from sapwood.wire.kernels.compiled import compose_deliveries, compose_forwards, find_run

    frame = bytearray()
    append_message(frame, PublishRequest(1, encode_publication(Publication("p", {"a": 1}))))
    data = bytes(frame)
    find_run(data, 0, CLIENT_SENDS, FRAME_BYTES_MAX, FRAME_BYTES_MAX)
    starts, ends = np.zeros(1, np.int64), np.ones(1, np.int64)
    compose_forwards(data, starts, ends, b"", b"")
    nobody = np.zeros(0, np.int32)
    compose_deliveries(
        *(data, starts, ends, 0, np.zeros(2, np.int64), nobody, nobody, nobody),
        *(np.zeros(ROW, np.uint64), np.zeros(8, np.uint8), np.zeros(2, np.int64)),
        *(FRAME_BYTES_MAX, FRAME_BYTES_MAX),
    )
