"""Room for the bodies of all requests: who needs more than is left comes again later."""

from __future__ import annotations

import gc
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker.http.bodies import room_for_bodies
from sapwood.broker.http.refusals import Refusal
from sapwood.limits import FRAME_BYTES_FLOOR
from tests.broker.conftest import nothing_is_left
from tests.broker.http.helpers import JSON, gated

__all__ = ("nothing_is_left",)

BOUND = 100


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60)), max_size=40))
def test_what_is_held_and_what_is_left_come_to_the_bound(steps: list[tuple[int, int]]) -> None:
    room = room_for_bodies(BOUND)
    holds, held = [room.held() for _ in range(4)], [0, 0, 0, 0]
    holding = [one.__enter__() for one in holds]  # to be ended in any order
    for at, size in steps:
        more = size - held[at]
        if more > BOUND - sum(held):
            with pytest.raises(Refusal) as refused:
                holding[at](size)
            assert refused.value.status == 503
        else:
            holding[at](size)
            held[at] = size
        assert room.left_bytes == BOUND - sum(held) >= 0
    for one in holds:
        one.__exit__(None, None, None)
    assert room.left_bytes == BOUND


async def test_a_body_without_room_is_told_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.broker.http.gateway.room_for_bodies", lambda: room_for_bodies(50))
    async with gated() as gate:
        large = b'{"a": "' + b"x" * 60 + b'"}'
        refused = await gate.post(large, JSON)
        assert (refused.status, b"GATEWAY_BODIES_BYTES_MAX" in refused.body) == (503, True)
        assert (await gate.post(b'{"a": 1}', JSON)).status == 200
        lines = b'{"a": 1}\n' * 20
        assert (await gate.post(lines, "application/x-ndjson")).status == 200


async def test_refused_bodies_are_let_go_of_at_once() -> None:
    """Planted: an error in a variable of a frame that it came through keeps the body."""
    async with gated(frame_bytes_max=FRAME_BYTES_FLOOR) as gate:
        gc.collect()
        gc.disable()  # in a broker it comes by late, or never
        try:
            long, bad = b" " * (FRAME_BYTES_FLOOR + 1), b"{"
            chunked = {"Transfer-Encoding": "chunked"}
            for body in (long, bad, bad + b" " * 90_000):
                assert (await gate.post(body, JSON)).status in (400, 413)
            web = await gate.connect()
            web.say("POST", "/publish", {"Content-Type": JSON, **chunked}, None)
            web.writer.write(b"%x\r\n" % len(long) + long + b"\r\n")
            assert (await web.answer()).status == 413
            await web.close()
            lines = bad + b"\n" + long + b"\n"
            assert (await gate.post(lines, "application/x-ndjson", "?x=1")).status == 400
            assert (await gate.post(lines, "application/x-ndjson")).status == 422
            frames = [one for one in gc.get_objects() if isinstance(one, types.FrameType)]
            # Threads of the broker have frames that are called `run` as well.
            ours = ("/broker/http/", "/broker/beside.py")
            codes = [one.f_code for one in frames]
            kept = {one.co_name for one in codes if any(name in one.co_filename for name in ours)}
            assert not kept & {"whole", "one", "many", "read_record", "publish", "beside", "run"}
        finally:
            gc.enable()
