"""Room for the bodies of all requests: who needs more than is left comes again later."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker.http.bodies import Room
from sapwood.broker.http.refusals import Refusal
from tests.broker.conftest import nothing_is_left
from tests.broker.http.helpers import JSON, gated

__all__ = ("nothing_is_left",)

BOUND = 100


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60)), max_size=40))
def test_what_is_held_and_what_is_left_come_to_the_bound(steps: list[tuple[int, int]]) -> None:
    room = Room(BOUND)
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
    monkeypatch.setattr("sapwood.broker.http.gateway.Room", lambda: Room(50))
    async with gated() as gate:
        large = b'{"a": "' + b"x" * 60 + b'"}'
        refused = await gate.post(large, JSON)
        assert (refused.status, b"GATEWAY_BODIES_BYTES_MAX" in refused.body) == (503, True)
        assert (await gate.post(b'{"a": 1}', JSON)).status == 200
        lines = b'{"a": 1}\n' * 20
        assert (await gate.post(lines, "application/x-ndjson")).status == 200
