"""A store: what was committed comes back, in order, whatever happened in between."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import EnvironmentMissingError, FileFormatError, InputError, InvariantError
from sapwood.limits.store import STORE_APPLY_S
from sapwood.model.publication import Publication
from sapwood.routing.inputs import (
    AttachClient,
    ClientPublish,
    ClientPublishMany,
    Note,
    Receive,
    Record,
)
from sapwood.routing.messages import Publish
from sapwood.store.disk import SYSTEM, Disk
from sapwood.store.durability import Durability
from sapwood.store.store import JOURNAL, Store
from sapwood.store.writer import Policy, Retention, StoreFullError
from tests.examples import examples
from tests.store.faults import BROKEN, FULL, Crash, FaultyDisk

ALWAYS = Policy()
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""The folder where files are durable in no time: `FaultyDisk` is there for what a disk does."""

SMALL = Policy(segment_bytes_max=300)


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def opened(
    folder: Path,
    *,
    policy: Policy = ALWAYS,
    disk: Disk = SYSTEM,
    clock: Clock | None = None,
    persists: bool = True,
    name: str = "r1",
) -> Iterator[Store]:
    """A store that is let go of at the end as a process does that is killed."""
    store = Store(
        folder,
        name,
        clock=clock or Clock(),
        protocol="covering",
        persists=persists,
        policy=policy,
        disk=disk,
    )
    try:
        yield store
    finally:
        store.writer.log.close()
        store.writer.state.close()


def commit(store: Store, *records: Record) -> None:
    for record in records:
        store.add(record)
    gathered = store.take()
    store.writer.commit(gathered)
    store.committed(gathered)
    store.writer.rest()


def batch(first: int, count: int, client: str = "c") -> ClientPublishMany:
    return ClientPublishMany(
        client, [Publication(f"p{at}", {"n": at}) for at in range(first, first + count)]
    )


def spelled(records: Any) -> list[Any]:
    return [
        (one.client, *(p.id for p in one.publications))
        if isinstance(one, ClientPublishMany)
        else one
        for one in records
    ]


def restored(store: Store) -> list[Any]:
    return spelled(store.restored()[0])


def ids(store: Store, first: int = 0, end: int = 10**9) -> list[str]:
    from sapwood.wire.publications import decode_publication

    return [decode_publication(one.encoded).id for one in store.read(first, end)]


def test_records_come_back_in_the_order_in_which_they_were_added(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        assert restored(store) == []
        commit(store, AttachClient("c"), batch(0, 2), AttachClient("d"), Note("n", b"1"))
        assert store.places == range(2)
        commit(store, Note("n", b"2"), ClientPublish("d", Publication("p2", {})))
        assert store.next_place == store.done == 3
        received = Receive("r2", Publish("r3", 1, Publication("p3", {"n": 3})))
        commit(store, AttachClient("e"), received)
    for _ in range(2):
        with opened(tmp_path) as store:
            assert restored(store) == [
                Note("n", b"2"),
                AttachClient("c"),
                ("c", "p0", "p1"),
                AttachClient("d"),
                ClientPublish("d", Publication("p2", {})),
                AttachClient("e"),
                received,
            ]
            assert store.findings == []
            assert store.bounds == (0, 4)
            assert ids(store) == ["p0", "p1", "p2", "p3"]
            assert [one.is_ours for one in store.read(2, 4)] == [True, False]
            assert [line.offset for line in store.lines(0, 9)] == [0, 1, 2]


def test_what_is_released_is_not_restored_and_a_batch_is_cut(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        commit(store, batch(0, 3), AttachClient("c"), batch(3, 3))
        store.release(4)
        commit(store)
    with opened(tmp_path) as store:
        records, first = store.restored()
        assert first == 4
        assert spelled(records) == [AttachClient("c"), ("c", "p4", "p5")]
        assert ids(store) == [f"p{at}" for at in range(6)]


def test_rows_are_put_replaced_and_deleted_with_their_commit(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.put("box", "b", 1, b"x")
        store.put("box", "a", 2, b"y")
        store.put("box", "a", 1, b"z")
        store.put("other", "a", 1, b"-")
        commit(store)
        store.put("box", "a", 2, b"Y")
        store.delete("box", "b", 1)
        store.delete("box", "b", 7)
        commit(store)
        store.put("box", "never", 1, b"not committed")
    with opened(tmp_path) as store:
        assert list(store.rows("box")) == [("a", 1, b"z"), ("a", 2, b"Y")]


def test_what_was_refused_is_taken_back_and_its_place_given_again(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.add(AttachClient("c"))
        store.add(ClientPublish("c", Publication("refused", {})))
        store.take_back()
        with pytest.raises(InvariantError, match="nothing to take back"):
            store.take_back()
        assert store.next_place == 0
        commit(store, batch(0, 1))
    with opened(tmp_path) as store:
        assert ids(store) == ["p0"]


def test_publishers_are_known_again_by_ids_and_numbers(tmp_path: Path) -> None:
    with opened(tmp_path, policy=SMALL) as store:
        for first in range(0, 12, 3):
            store.add(batch(first, 3), ("session", first + 1))
            commit(store)
        commit(store, Receive("r2", Publish("r3", 1, Publication("foreign", {}))))
    with opened(tmp_path) as store:
        known = store.publishers
        assert known.knows("c", b"p0")
        assert known.knows("c", b"p11")
        assert not known.knows("another", b"p0")
        assert not known.knows("r2", b"foreign")
        assert known.received("c", "session", 0) == 12
        assert known.received("c", "another", 5) == 5


def test_publications_are_found_by_time_and_by_id(tmp_path: Path) -> None:
    clock = Clock()
    with opened(tmp_path, policy=SMALL, clock=clock) as store:
        for first in range(0, 40, 4):
            clock.now = 1000.0 + first
            commit(store, batch(first, 4))
        assert len(store.writer.log.segments) > 2
        assert store.place_at(0.0) == 0
        assert store.place_at(1007.0) == 8
        assert store.place_at(1008.0) == 8
        assert store.place_at(2000.0) == 40
        assert list(store.places_of_id("p17")) == [17]
        assert list(store.places_of_id("p40")) == []
        assert [one.published_at for one in store.read_places((39, 0))] == [1036.0, 1000.0]


@given(st.lists(st.integers(1, 5), max_size=12), st.integers(0, 40), st.integers(0, 20))
def test_reading_is_the_same_however_the_log_is_cut(
    sizes: list[int], start: int, length: int
) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, opened(Path(folder), policy=SMALL) as store:
        total = 0
        for size in sizes:
            commit(store, batch(total, size), AttachClient("c"))
            total += size
        expected = [f"p{at}" for at in range(total)]
        for _ in range(2):
            assert ids(store, start, start + length) == expected[start : start + length]
            lines = list(store.lines(start, start + length))
            assert [line.offset for line in lines] == list(range(total))[start : start + length]
        assert ids(store, min(total, start + length)) == expected[start + length :]


# Retention ------------------------------------------------------------------------------------


def test_the_oldest_segments_go_when_the_log_is_too_long(tmp_path: Path) -> None:
    policy = Policy(retention=Retention(bytes_max=1000), segment_bytes_max=300)
    with opened(tmp_path, policy=policy, persists=False) as store:
        for first in range(0, 100, 5):
            commit(store, batch(first, 5))
        first, end = store.bounds
        assert 0 < first < end == 100
        assert ids(store, first) == [f"p{at}" for at in range(first, 100)]
        with pytest.raises(InputError, match=f"begins with {first}"):
            store.read(0, 1)
        with pytest.raises(InputError, match=f"begins with {first}"):
            store.lines(0, 1)
    files = (tmp_path / JOURNAL).glob("*.segment")
    assert sum(path.stat().st_size for path in files) < 1000 + 600
    with opened(tmp_path, policy=policy, persists=False) as store:
        assert store.bounds == (first, 100)
        assert store.findings == []


def test_the_oldest_segments_go_when_they_are_too_old(tmp_path: Path) -> None:
    import os

    policy = Policy(retention=Retention(age_s=60.0), segment_bytes_max=300)
    clock = Clock()
    with opened(tmp_path, policy=policy, persists=False, clock=clock) as store:
        for first in range(0, 30, 5):
            commit(store, batch(first, 5))
        segments = list(store.writer.log.segments)
        for segment in segments[:2]:
            os.utime(segment.path, (900.0, 900.0))
        for segment in segments[2:]:
            os.utime(segment.path, (990.0, 990.0))
        clock.now += STORE_APPLY_S  # what was looked at is not looked at again sooner
        store.writer.rest()
        assert store.writer.log.segments == segments[2:]


def test_nothing_goes_that_somebody_needs(tmp_path: Path) -> None:
    policy = Policy(retention=Retention(bytes_max=1), segment_bytes_max=300)
    held: list[int | None] = [22]
    with opened(tmp_path, policy=policy) as store:
        store.holders.append(lambda: held[0])
        store.holders.append(lambda: None)
        for first in range(0, 80, 5):
            commit(store, batch(first, 5))
        assert store.bounds == (0, 80)  # routing has released nothing
        store.release(60)
        commit(store)
        assert 0 < store.bounds[0] <= 22
        held[0] = 47
        commit(store, AttachClient("c"))
        assert 22 < store.bounds[0] <= 47
        held[0] = None
        commit(store, AttachClient("c"))
        assert 47 < store.bounds[0] <= 60
    with opened(tmp_path, policy=policy) as store:
        assert store.findings == []
        assert store.restored()[1] == 60


# Folders --------------------------------------------------------------------------------------


def test_two_brokers_on_one_folder_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(EnvironmentMissingError, match="another broker writes"):
        opened(tmp_path).__enter__()
    with opened(tmp_path):
        pass


def test_the_state_of_another_broker_or_protocol_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        commit(store, AttachClient("c"))
    with pytest.raises(EnvironmentMissingError, match=r"state of broker r1.*--name r1"):
        opened(tmp_path, name="r2").__enter__()
    with pytest.raises(EnvironmentMissingError, match=r"routes by covering.*--protocol covering"):
        Store(tmp_path, "r1", clock=Clock(), protocol="simple", persists=True)
    with opened(tmp_path, name="r2", persists=False):
        pass  # who restores nothing may be called anything


def test_a_folder_of_another_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        commit(store, AttachClient("c"))
    with sqlite3.connect(tmp_path / "state.sqlite") as file:
        file.execute("PRAGMA user_version = 9")
    file.close()
    with pytest.raises(EnvironmentMissingError, match=r"version 9.*the Sapwood that wrote it"):
        opened(tmp_path).__enter__()


def test_what_cannot_be_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentMissingError, match="cannot be written"):
        opened(tmp_path / "file").__enter__()
    (tmp_path / JOURNAL).mkdir()
    (tmp_path / JOURNAL / "notes.segment").touch()
    with pytest.raises(FileFormatError, match="keep other files away"):
        opened(tmp_path).__enter__()


def test_what_a_broker_has_that_persisted_nothing_is_not_restored_later(tmp_path: Path) -> None:
    with opened(tmp_path, persists=False) as store:
        commit(store, batch(0, 3))
    with opened(tmp_path) as store:
        assert store.restored()[1] == 3
        assert restored(store) == []
        commit(store, AttachClient("c"), batch(3, 1))
    with opened(tmp_path) as store:
        assert restored(store) == [AttachClient("c"), ("c", "p3")]
        assert ids(store) == ["p0", "p1", "p2", "p3"]


# Damage ---------------------------------------------------------------------------------------


def filled(folder: Path, policy: Policy = ALWAYS) -> list[Path]:
    """A store with ten commits of two publications and a state record each; its segments."""
    with opened(folder, policy=policy) as store:
        for first in range(0, 20, 2):
            commit(store, batch(first, 2), AttachClient(f"c{first}"))
        return [segment.path for segment in store.writer.log.segments]


def test_a_torn_commit_is_cut_off_and_set_aside(tmp_path: Path) -> None:
    (segment,) = filled(tmp_path)
    whole = segment.read_bytes()
    with segment.open("ab") as file:
        file.write(whole[-50:-10])
    with opened(tmp_path) as store:
        (finding,) = store.findings
        assert "no whole commit and are cut off" in finding
        assert len(restored(store)) == 20
        commit(store, batch(20, 1))
    aside = segment.with_name(f"{segment.name}.torn-{len(whole)}")
    assert aside.read_bytes() == whole[-50:-10]
    with opened(tmp_path) as store:
        assert store.findings == []
        assert ids(store) == [f"p{at}" for at in range(21)]


def test_damage_is_set_aside_what_is_whole_is_used_and_routing_begins_afresh(
    tmp_path: Path,
) -> None:
    (segment,) = filled(tmp_path)
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    with opened(tmp_path) as store:
        assert "are damaged, and not used" in store.findings[0]
        assert any("routing begins afresh" in finding for finding in store.findings)
        assert restored(store) == []
        assert store.restored()[1] == store.next_place == 20
        found = ids(store)
        assert len(found) == 18
        commit(store, batch(20, 2))
    assert list(segment.parent.glob("*.damaged-*"))
    with opened(tmp_path) as store:
        assert ids(store) == [*found, "p20", "p21"]
        assert restored(store) == [("c", "p20", "p21")]


def test_a_missing_segment_is_found_and_the_others_are_used(tmp_path: Path) -> None:
    files = filled(tmp_path, SMALL)
    assert len(files) > 2
    files[1].unlink()
    with opened(tmp_path, policy=SMALL) as store:
        assert f"{files[1].name} before {files[2]} is missing" in store.findings[0]
        assert restored(store) == []
        assert set(ids(store)) < {f"p{at}" for at in range(20)}
        commit(store, batch(20, 2))
        assert ids(store, 20) == ["p20", "p21"]


def test_a_segment_that_was_cut_off_is_found(tmp_path: Path) -> None:
    files = filled(tmp_path, SMALL)
    with files[0].open("r+b") as file:
        file.truncate(files[0].stat().st_size - 20)
    with opened(tmp_path, policy=SMALL) as store:
        assert f"{files[0]} is cut off" in store.findings[0]
        assert restored(store) == []


def test_a_log_that_lost_its_end_is_found(tmp_path: Path) -> None:
    files = filled(tmp_path, SMALL)
    with opened(tmp_path, policy=SMALL) as store:
        store.writer.apply()
    for path in files[-2:]:
        path.unlink()
    with opened(tmp_path, policy=SMALL) as store:
        assert "are gone from the journal" in store.findings[0]
        assert restored(store) == []
        assert store.next_place == 20
        commit(store, batch(20, 2))
    with opened(tmp_path, policy=SMALL) as store:
        assert restored(store) == [("c", "p20", "p21")]


def test_a_state_file_that_is_gone_or_damaged_is_made_again_of_the_log(tmp_path: Path) -> None:
    filled(tmp_path)
    path = tmp_path / "state.sqlite"
    with opened(tmp_path) as store:
        expected = restored(store)
        store.close()
    path.unlink()
    with opened(tmp_path) as store:
        assert restored(store) == expected
        store.close()
    data = bytearray(path.read_bytes())
    data[100:2000] = b"\x55" * 1900
    path.write_bytes(data)
    with opened(tmp_path) as store:
        assert "state.sqlite.damaged-1" in store.findings[0]
        assert restored(store) == expected
        store.close()
    assert (tmp_path / "state.sqlite.damaged-1").is_file()


def test_a_value_that_is_not_what_was_written_is_found(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        commit(store, AttachClient("somebody"))
        store.close()
    path = tmp_path / "state.sqlite"
    path.write_bytes(path.read_bytes().replace(b"somebody", b"anybody!"))
    with opened(tmp_path) as store, pytest.raises(FileFormatError, match="not what was written"):
        restored(store)


def test_the_journal_of_the_version_before_is_read_and_never_written(tmp_path: Path) -> None:
    folder = tmp_path / JOURNAL
    folder.mkdir()
    old = folder / f"{0:020d}.jsonl"
    lines = [
        b'{"offset":%d,"published_at":5.0,"id":"p%d","attributes":{},"home":"r1"}\n' % (n, n)
        for n in range(3)
    ]
    old.write_bytes(b"".join(lines) + b'{"offset":3')
    for run in range(2):
        with opened(tmp_path) as store:
            assert store.findings == []
            assert store.next_place == 3 + run
            commit(store, batch(3 + run, 1))
            assert [line.offset for line in store.lines(1, 9)] == list(range(1, 4 + run))
            assert [line.text + b"\n" for line in store.lines(0, 3)] == lines
            assert ids(store, 3) == [f"p{at}" for at in range(3, 4 + run)]
    assert old.read_bytes() == b"".join(lines)
    with opened(tmp_path) as store:
        assert restored(store) == [("c", "p3"), ("c", "p4")]


# Disks ----------------------------------------------------------------------------------------


def test_a_full_disk_takes_nothing_and_the_commit_is_tried_again(tmp_path: Path) -> None:
    for at in range(1, 20):
        disk = FaultyDisk()
        with opened(tmp_path / str(at), policy=SMALL, disk=disk) as store:
            commit(store, batch(0, 2))
            disk.at, disk.fault = disk.calls + at, FULL
            for first in (2, 4, 6, 8):
                store.add(batch(first, 2))
                gathered = store.take()
                try:
                    store.writer.commit(gathered)
                except StoreFullError:
                    store.writer.commit(gathered)
                except OSError:
                    break  # syncing has failed: what is on the disk is not known
                store.committed(gathered)
            expected = ids(store)
        with opened(tmp_path / str(at)) as store:
            assert ids(store)[: len(expected)] == expected
            assert expected == [f"p{n}" for n in range(len(expected))]


def test_a_disk_that_fails_is_an_error(tmp_path: Path) -> None:
    disk = FaultyDisk()
    with opened(tmp_path, disk=disk) as store:
        commit(store, batch(0, 1))
        disk.at, disk.fault = disk.calls + 2, BROKEN
        store.add(batch(1, 1))
        with pytest.raises(OSError, match="Input/output error") as raised:
            store.writer.commit(store.take())
        assert not isinstance(raised.value, StoreFullError)


@dataclass
class Model:
    """The records that were added, and the number of those done when the process died."""

    added: list[Any] = field(default_factory=list)
    done: int = 0


def live(store: Store, model: Model, random: Random) -> None:
    """A life of a broker, until its disk dies."""
    for _ in range(random.randint(1, 12)):
        for _ in range(random.randint(1, 3)):
            number = len(model.added)
            record: Record = AttachClient(f"c{number}")
            if random.random() < 0.6:
                record = batch(store.next_place, random.randint(1, 3))
            store.add(record)
            model.added += spelled([record])
        gathered = store.take()
        store.writer.commit(gathered)
        store.committed(gathered)
        model.done = len(model.added)
        if random.random() < 0.3:
            store.writer.apply()
        store.writer.rest()
    if random.random() < 0.5:
        store.close()


@pytest.mark.parametrize("durability", ["fsync", "interval:1000", "none"])
@pytest.mark.parametrize("loses_power", [False, True])
@settings(max_examples=examples(25))
@given(seed=st.integers(0, 2**32), at=st.lists(st.integers(1, 60), min_size=1, max_size=3))
@pytest.mark.one_in(2)
def test_whatever_dies_the_beginning_of_what_was_added_is_there(
    durability: str, loses_power: bool, seed: int, at: list[int]
) -> None:
    policy = Policy(Durability.parse(durability), segment_bytes_max=400)
    random, model = Random(seed), Model()
    with TemporaryDirectory(dir=MEMORY) as folder:
        for each in at:
            disk = FaultyDisk(at=each, random=random)
            try:
                with opened(Path(folder), policy=policy, disk=disk) as store:
                    check(store, model, loses_power and durability != "fsync")
                    live(store, model, random)
            except Crash:
                pass
            if loses_power:
                disk.lose_power()
        with opened(Path(folder), policy=policy) as store:
            check(store, model, loses_power and durability != "fsync")


def check(store: Store, model: Model, may_lose: bool) -> None:
    """A beginning of what was added is there, with all that was done, and nothing else."""
    found = restored(store)
    assert found == model.added[: len(found)]
    assert may_lose or len(found) >= model.done
    model.added, model.done = list(found), len(found)
    placed = [id_ for one in found if isinstance(one, tuple) for id_ in one[1:]]
    assert ids(store) == placed == [f"p{at}" for at in range(store.next_place)]
