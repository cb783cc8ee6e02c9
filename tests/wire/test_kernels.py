"""The kernels of frames, given strangers' bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.limits import FRAME_BYTES_MAX
from sapwood.matching.readiness import RECORDS
from sapwood.model.publication import Publication
from sapwood.wire.frames import frame
from sapwood.wire.kernels.layout import CLIENT_SENDS, COUNT, END, NEIGHBOR_SENDS
from sapwood.wire.messages import PublishRequest
from sapwood.wire.publications import encode_publication
from sapwood.wire.runs import FRAMES
from tests.broker.memory import frames


@pytest.fixture(autouse=True)
def _kernels() -> None:
    FRAMES.load()
    RECORDS.load()


@given(
    st.lists(st.binary(max_size=24).map(frame) | st.binary(max_size=12), max_size=4),
    st.sampled_from((CLIENT_SENDS, NEIGHBOR_SENDS)),
)
def test_noise_is_no_run(noise: list[bytes], sender: int) -> None:
    module = FRAMES.compiled
    assert module is not None
    data = b"".join(noise)
    run = module.find_run(data, 0, sender, FRAME_BYTES_MAX, FRAME_BYTES_MAX)
    assert run[COUNT] == 0
    assert run[END] == 0


def test_a_run_ends_with_the_bytes_of_its_last_whole_frame() -> None:
    module = FRAMES.compiled
    assert module is not None
    body = encode_publication(Publication("p", {"a": 1}))
    data = frames(*(PublishRequest(number, body) for number in (7, 8, 9)))
    each = len(data) // 3
    for size in range(len(data) + 1):
        run = module.find_run(data[:size], 0, CLIENT_SENDS, FRAME_BYTES_MAX, FRAME_BYTES_MAX)
        assert (run[COUNT], run[END]) == (size // each, size // each * each)
    run = module.find_run(data, 0, CLIENT_SENDS, each - 5, FRAME_BYTES_MAX)
    assert run[COUNT] == 0, "a longer body than is allowed is left to be refused"
