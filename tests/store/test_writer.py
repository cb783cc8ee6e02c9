"""The writer of a store: what goes, what stays, and what a write leaves that failed."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from sapwood.limits.store import STORE_APPLY_S
from sapwood.store.writer import Policy, Retention
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
