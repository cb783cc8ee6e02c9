"""A lane: order, how many go on at a time, and that nobody is forgotten."""

from __future__ import annotations

import asyncio
import time

from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker.lane import Lane
from sapwood.limits import TURN_S
from sapwood.limits.gateway import LANE_WIDTH_MAX


@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=60),
)
def test_all_go_on_in_the_order_in_which_they_come(given: list[tuple[int, bool]]) -> None:
    """Whenever they come, and whoever is cancelled while it waits."""

    async def run() -> None:
        lane, came, went = Lane(), [], []

        async def visit(number: int, after: int) -> None:
            for _ in range(after):
                await asyncio.sleep(0)
            came.append(number)
            await lane.turn()
            went.append(number)

        tasks = [asyncio.create_task(visit(at, after)) for at, (after, _) in enumerate(given)]
        await asyncio.sleep(0)
        gone = {at for at, (after, leaves) in enumerate(given) if leaves and after}
        for at in gone:
            tasks[at].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert went == [number for number in came if number in went]
        assert set(went) >= set(range(len(given))) - gone
        await lane.turn()  # and it is open again, for whoever comes later

    asyncio.run(run())


def test_few_go_on_at_a_time_where_each_takes_long() -> None:
    """Planted: asyncio lets all of them on before it looks at anything else."""

    async def run() -> list[int]:
        lane, rounds, at_once = Lane(), [0], []

        async def visit() -> None:
            await lane.turn()
            rounds[-1] += 1
            end = time.monotonic() + TURN_S  # works, as rendering does
            while time.monotonic() < end:
                pass

        tasks = [asyncio.create_task(visit()) for _ in range(12)]
        while not all(one.done() for one in tasks):
            await asyncio.sleep(0)
            at_once.append(rounds[-1])
            rounds.append(0)
        return at_once

    at_once = asyncio.run(run())
    assert sum(at_once) == 12
    assert max(at_once) <= 4


def test_many_go_on_at_a_time_where_there_is_little_to_do() -> None:
    async def run() -> int:
        lane, count = Lane(), 0
        tasks = [asyncio.create_task(lane.turn()) for _ in range(10 * LANE_WIDTH_MAX)]
        while not all(one.done() for one in tasks):
            await asyncio.sleep(0)
            count += 1
        return count

    assert asyncio.run(run()) < 10 * LANE_WIDTH_MAX
