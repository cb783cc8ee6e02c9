"""The bound of the bytes that clients of a door have not read, and the clients that it ends."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker.counters import Counters
from sapwood.broker.unread import Unread
from sapwood.limits.gateway import UNREAD_S

BOUND = 100


class Socket(asyncio.Transport):
    """A socket with `size` bytes in its buffer."""

    def __init__(self, size: int = 0) -> None:
        super().__init__()
        self.size = size
        self.is_aborted = False

    def get_write_buffer_size(self) -> int:
        return self.size

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True


class Scene:
    """Sockets of one door, and a clock."""

    def __init__(self, count: int) -> None:
        self.now = 0.0
        self.counters = Counters()
        self.unread = Unread(self.counters, lambda: self.now, BOUND)
        self.sockets = [Socket() for _ in range(count)]

    def write(self, at: int, size: int) -> None:
        self.sockets[at].size = size
        self.unread.wrote(self.sockets[at])

    async def has_room(self) -> bool:
        """True if a writer goes on at once."""
        task = asyncio.create_task(self.unread.room())
        await asyncio.sleep(0)
        is_done = task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return is_done


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.booleans()), max_size=40))
def test_the_total_is_what_is_behind_all_sockets(steps: list[tuple[int, int, bool]]) -> None:
    async def run() -> None:
        scene = Scene(4)
        for at, size, takes in steps:
            scene.write(at, size)
            if takes:
                scene.unread.took(scene.sockets[at])
            total = sum(one.size for one in scene.sockets)
            assert scene.unread.total_bytes == total
            assert await scene.has_room() == (total <= BOUND)
            assert scene.unread.total_bytes == total
        assert scene.counters.slow_consumers == 0  # no time has gone by
        for one in scene.sockets:
            scene.unread.left(one)
        assert scene.unread.total_bytes == 0

    asyncio.run(run())


async def test_who_takes_nothing_goes_where_there_is_no_room_and_nowhere_else() -> None:
    scene = Scene(3)
    scene.write(0, 60)
    scene.now += 10 * UNREAD_S
    assert await scene.has_room()
    assert scene.counters.slow_consumers == 0
    scene.write(1, 50)
    assert await scene.has_room()  # for the first is gone
    assert [one.is_aborted for one in scene.sockets] == [True, False, False]
    scene.write(2, 60)
    assert not await scene.has_room()
    scene.now += UNREAD_S
    scene.unread.took(scene.sockets[1])  # which reads, and has something new
    assert await scene.has_room()
    assert [one.is_aborted for one in scene.sockets] == [True, False, True]
    assert scene.counters.slow_consumers == 2
    assert scene.unread.total_bytes == 50


async def test_who_waits_goes_on_when_something_is_taken() -> None:
    scene = Scene(2)
    scene.write(0, 200)
    waiting = [asyncio.create_task(scene.unread.room()) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(one.done() for one in waiting)
    waiting[0].cancel()
    scene.sockets[0].size = 20  # nobody says so: the system has taken it
    await asyncio.gather(*waiting[1:])
    assert scene.unread.total_bytes == 20
    assert scene.counters.slow_consumers == 0


async def test_a_buffer_counts_while_it_drains_and_as_it_is_then() -> None:
    scene = Scene(1)
    socket = scene.sockets[0]
    socket.size = 50
    counted: list[int] = []

    async def drain() -> None:
        counted.append(scene.unread.total_bytes)
        socket.size = 5

    await scene.unread.flushed(socket, drain)
    assert [*counted, scene.unread.total_bytes] == [50, 5]
