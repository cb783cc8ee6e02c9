from __future__ import annotations

import asyncio
import errno
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker import storing as storing_module
from sapwood.broker.broker import Broker
from sapwood.broker.table_size_recorder import TableSizeRecorder
from sapwood.errors import EnvironmentMissingError
from sapwood.store.store import JOURNAL
from sapwood.store.table_sizes import FOLDER, TableSizes, size_files
from sapwood.wire.messages import SubscribedReply, SubscribeRequest
from tests.broker.helpers import Raw, Story, part_at_once, running, settings, soon


class File:
    """Remembers when it was written what; full while it is told so."""

    def __init__(self) -> None:
        self.written: list[tuple[float, dict[str, int]]] = []
        self.is_full = self.is_closed = False

    def write(self, sizes: dict[str, int], at: float) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.written.append((at, dict(sizes)))

    def close(self) -> None:
        self.is_closed = True


class World:
    """A gauge, its tables, and a time that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sizes = {"local": 0}
        self.file = File()
        self.story = Story()
        file: Any = self.file
        self.recorder = TableSizeRecorder(
            lambda: self.sizes, file, lambda: self.now, self.story.log, 1.0
        )

    def happens(self, at: float, local: int) -> None:
        self.advance(at)
        self.sizes["local"] = local
        self.recorder.mark_changed(at)

    def advance(self, to: float) -> None:
        """Let time pass; the gauge is called when it has asked for it."""
        while (due := self.recorder.next_deadline()) is not None and due <= to:
            self.now = max(self.now, due)
            self.recorder.expire(self.now)
        self.now = to

    def times(self) -> list[float]:
        return [at for at, _ in self.file.written]


def test_a_gauge_looks_at_once_and_then_once_in_an_interval() -> None:
    world = World()
    for at, local in ((10.0, 1), (10.1, 2), (10.9, 3), (11.5, 4), (20.0, 5)):
        world.happens(at, local)
    world.advance(30.0)
    written = [(at, sizes["local"]) for at, sizes in world.file.written]
    assert written == [(10.0, 1), (11.0, 3), (12.0, 4), (20.0, 5)]
    assert world.recorder.next_deadline() is None


def test_a_gauge_that_is_asked_too_early_does_not_look() -> None:
    world = World()
    world.happens(5.0, 1)
    world.recorder.expire(4.9)
    assert world.times() == []
    world.recorder.expire(5.0)
    world.recorder.expire(5.0)
    assert world.times() == [5.0]


@given(st.lists(st.tuples(st.floats(0, 50, width=16), st.integers(0, 9)), min_size=1))
def test_looks_are_an_interval_apart_and_nothing_stays_unseen(
    happenings: list[tuple[float, int]],
) -> None:
    world = World()
    for at, local in sorted(happenings):
        world.happens(at, local)
    world.advance(60.0)
    times = world.times()
    assert all(later - earlier >= 1.0 for earlier, later in pairwise(times))
    assert world.file.written[-1][1] == world.sizes


def test_a_full_disk_is_told_once_and_tried_again() -> None:
    world = World()
    world.file.is_full = True
    world.happens(0.0, 1)
    world.advance(3.5)
    assert world.story.reasons("table sizes are not written") == ["No space left on device"]
    world.file.is_full = False
    world.advance(10.0)
    assert world.file.written == [(4.0, {"local": 1})]
    world.file.is_full = True
    world.happens(11.0, 2)
    world.advance(11.0)
    assert len(world.story.reasons("table sizes are not written")) == 2


def test_the_last_look_comes_in_any_case() -> None:
    world = World()
    world.happens(0.0, 1)
    world.advance(0.0)
    world.happens(0.5, 2)
    world.recorder.close()
    assert [sizes["local"] for _, sizes in world.file.written] == [1, 2]
    assert world.file.is_closed


# In a broker --------------------------------------------------------------------------------------


def held(folder: Path) -> list[tuple[str, str, int]]:
    lines = [json.loads(line) for file in size_files(folder / JOURNAL) for line in file.open()]
    return [(line["broker"], line["table"], line["entries"]) for line in lines]


async def test_a_broker_writes_down_what_its_tables_hold_before_everybody_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part_at_once(monkeypatch)
    for run in range(2):
        async with running(settings(data=tmp_path)) as broker:
            assert ("r1", "local", 0) in held(tmp_path)[5 * run :]
            raw = await Raw.client(broker.address)
            raw.say(SubscribeRequest("s", "a > 1"), SubscribeRequest("t", "a > 2"))
            assert await raw.next() == SubscribedReply("s")
            assert await raw.next() == SubscribedReply("t")
        assert held(tmp_path)[-1] == ("r1", "local", 2)
        await raw.close()


async def test_a_broker_looks_again_when_the_interval_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = asyncio.Event()
    write = TableSizes.write

    def noted(self: TableSizes, sizes: dict[str, int], at: float) -> None:
        write(self, sizes, at)
        if sizes["local"] == 2:
            looked.set()

    monkeypatch.setattr(TableSizes, "write", noted)
    monkeypatch.setattr(storing_module, "TABLE_SIZES_S", 0.01)
    async with running(settings(data=tmp_path)) as broker:
        raw = await Raw.client(broker.address)
        raw.say(SubscribeRequest("s", "a > 1"), SubscribeRequest("t", "a > 2"))
        await soon(looked.wait())
        assert held(tmp_path)[-1] == ("r1", "local", 2)
        await raw.close()


async def test_a_broker_that_cannot_write_table_sizes_does_not_begin(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).mkdir()
    (tmp_path / JOURNAL / FOLDER).write_text("a file")
    broker = Broker(settings(data=tmp_path))
    with pytest.raises(EnvironmentMissingError, match="table sizes"):
        await broker.start()
    await broker.stop()
    (tmp_path / JOURNAL / FOLDER).unlink()
    async with running(settings(data=tmp_path)):
        pass
