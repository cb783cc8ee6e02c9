"""The writer of a store: what goes, what stays, and what a write leaves that failed."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from sapwood.limits.store import STORE_APPLY_S
from sapwood.store.durability import Durability
from sapwood.store.writer import Policy, Retention, StoreFullError
from tests.store.faults import BROKEN, FULL, FaultyDisk
from tests.store.test_store import Clock, batch, commit, opened


def test_what_is_held_stays_also_when_nothing_is_added_for_a_while(tmp_path: Path) -> None:
    policy = Policy(retention=Retention(bytes_max=1), segment_bytes_max=300)
    clock = Clock()
    with opened(tmp_path, policy=policy, persists=False, clock=clock) as store:
        store.holders.append(lambda: 27)
        for first in range(0, 60, 5):
            commit(store, batch(first, 5))
        kept = store.bounds
        assert 0 < kept[0] <= 27
        clock.now += 2 * STORE_APPLY_S
        store.writer.rest()
        assert store.bounds == kept


def test_what_could_not_be_cut_off_of_a_commit_is_before_the_next_one(tmp_path: Path) -> None:
    disk = FaultyDisk()
    with opened(tmp_path, disk=disk) as store:
        commit(store, batch(0, 3))
        store.add(batch(3, 3))
        gathered = store.take()
        disk.at, disk.fault, disk.random, disk.cuts = disk.calls + 1, FULL, Random(4), False
        with pytest.raises(OSError, match=os.strerror(BROKEN)):
            store.writer.append(gathered)
        disk.cuts = True
        store.writer.commit(gathered)
        store.committed(gathered)
    with opened(tmp_path) as store:
        assert store.findings == []
        assert store.bounds == (0, 6)


def test_the_memory_of_a_large_commit_is_not_kept(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        kept = []
        for size in (1, 1 << 21, 1):
            store.put("kind", "name", size, bytes(size))
            gathered = store.take()
            store.writer.commit(gathered)
            store.committed(gathered)
            kept.append(len(store.writer._buffer))
        small, none, again = kept
        assert 0 < small == again < 100
        assert none == 0
    with opened(tmp_path) as store:
        assert [value for *_, value in store.rows("kind")] == [b"\0", bytes(1 << 21)]


@contextmanager
def files_may_not_grow() -> Iterator[None]:
    """Files of this process end where they end now: EFBIG, as of a quota that is used up."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_state_file_over_a_limit_waits_for_room_as_on_a_full_disk(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        for number in range(200):
            store.put("kind", "name", number, bytes(1000))
        gathered = store.take()
        store.writer.commit(gathered)
        store.committed(gathered)
        with files_may_not_grow(), pytest.raises(StoreFullError):
            store.writer.apply()
        store.writer.apply()
        assert len(list(store._state.rows("kind"))) == 200


def test_while_commits_come_whoever_waits_is_not_told_of_each(tmp_path: Path) -> None:
    """The writer looks again after every interval, until one has passed with nothing in it."""
    clock, policy = Clock(), Policy(Durability.parse("interval:10"))
    with opened(tmp_path, policy=policy, clock=clock, persists=False) as store:
        writer = store.writer

        def write(first: int) -> bool:
            store.add(batch(first, 1))
            gathered = store.take()
            is_due = writer.append(gathered)
            store.committed(gathered)
            return is_due

        assert writer.due_s() is None
        assert write(0), "nobody looks"
        for first in range(1, 7):
            assert 0 < (writer.due_s() or 0) < 0.011
            clock.now += 0.02
            writer.rest()
            assert writer.due_s() is not None
            assert not write(first), "somebody will look"
        for _ in range(2):
            clock.now += 0.02
            writer.rest()
        assert writer.due_s() is None
        assert write(7)
