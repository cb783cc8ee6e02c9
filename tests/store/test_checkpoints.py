"""Checkpoints of a store: made beside it, taken over, and done without where they are damaged."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from sapwood.errors import FileFormatError
from sapwood.language import parse_filter
from sapwood.routing.effects import Persist, Release
from sapwood.routing.inputs import (
    AttachClient,
    Checkpoint,
    ClientSubscribeMany,
    ClientUnsubscribe,
    DetachClient,
    Input,
    Restored,
)
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.routing.upkeep.recover.recover import Recover
from sapwood.store.checkpoints import CheckpointParts, path_of, write_checkpoint
from sapwood.store.compacting import Compaction, compact
from sapwood.store.store import Store
from tests.store.test_store import Clock

PROTOCOL = "covering+recover"
MARK_EVERY = 8
"""Subscriptions after which the routers here mark how far back they look."""

PARTS = [b"head", b"x" * 1000, b"y"]


def open_store(folder: Path) -> Store:
    return Store(folder, "r1", clock=Clock(), protocol=PROTOCOL, persists=True)


def let_go(store: Store) -> None:
    """As a process does that is killed; what was committed is in the state file."""
    store.writer.apply()
    store.writer.log.close()
    store.writer.state.close()


class Life:
    """A router with a store, from the beginning or from where it stopped."""

    def __init__(self, folder: Path) -> None:
        self.store = open_store(folder)
        chosen = protocol(PROTOCOL)
        upkeep = replace(chosen.upkeep, make=partial(Recover, mark_every=MARK_EVERY))
        self.router = Router("r1", replace(chosen, upkeep=upkeep), incarnation=7)
        records, first = self.store.restored()
        given = list(records)
        self.checkpoints = [one for one in given if isinstance(one, Checkpoint)]
        self.records = len(given)
        self.router.handle(Restored(given, first), 0.0)

    def do(self, *inputs: Input) -> None:
        for one in inputs:
            for effect in self.router.handle(one, 0.0):
                if isinstance(effect, Persist):
                    self.store.add(effect.record)
                elif isinstance(effect, Release):
                    self.store.release(effect.before)
        gathered = self.store.take()
        self.store.writer.commit(gathered)
        self.store.committed(gathered)
        self.store.writer.apply()

    @property
    def subscriptions(self) -> list[tuple[str, str, str]]:
        """The clients' subscriptions, in order, under the keys that neighbors would hear."""
        entries = self.router.membership.subscriptions.entries  # type: ignore[attr-defined]
        return [(one.client, one.id, key) for key, one in entries.by_key.items()]

    def take_over(self, states: int) -> None:
        self.store.writer._take_over(states)


def many(client: str, first: int, count: int = MARK_EVERY) -> ClientSubscribeMany:
    """So many subscriptions that the next record is behind a mark."""
    some = [(f"s{n}", parse_filter(f"a = {n}")) for n in range(first, first + count)]
    return ClientSubscribeMany(client, tuple(some))


def churned(folder: Path) -> Life:
    """A router whose first 4 state records are behind a checkpoint."""
    life = Life(folder)
    life.do(AttachClient("c"), many("c", 0), ClientUnsubscribe("c", "s7"), AttachClient("gone"))
    life.do(DetachClient("gone"), many("c", MARK_EVERY), ClientUnsubscribe("c", "s8"))
    return life


def test_a_checkpoint_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert write_checkpoint(tmp_path, 12, PARTS) == path_of(tmp_path, 12).stat().st_size
    found = CheckpointParts(path_of(tmp_path, 12))
    assert list(found) == PARTS
    assert found[1:] == PARTS[1:]
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == [
        "00000000000000000012.checkpoint"
    ]


def test_the_last_part_is_the_one_that_is_shown(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, 1, [])
    assert path_of(tmp_path, 1).read_bytes()[12:].hex(" ").upper() == "00 00 00 00 21 44 DF 1C"


@pytest.mark.parametrize("at", [0, 9, 14, 20, 900, -9, -1])
def test_a_flipped_bit_is_found_wherever_it_is(tmp_path: Path, at: int) -> None:
    write_checkpoint(tmp_path, 1, PARTS)
    path = path_of(tmp_path, 1)
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=r"checkpoint"):
        CheckpointParts(path)


@pytest.mark.parametrize("left", [0, 5, 12, 19, 30, 1030, -8, -1])
def test_a_checkpoint_that_is_cut_off_is_found(tmp_path: Path, left: int) -> None:
    write_checkpoint(tmp_path, 1, PARTS)
    path = path_of(tmp_path, 1)
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(FileFormatError, match=r"no checkpoint|cut off|damaged"):
        CheckpointParts(path)


def test_a_router_begins_with_the_checkpoint_and_the_records_since(tmp_path: Path) -> None:
    life = churned(tmp_path)
    expected = life.subscriptions
    assert len(expected) == 2 * MARK_EVERY - 2
    made = compact(tmp_path)
    assert made == 6  # the last record is behind the mark
    life.take_over(made)
    life.do(ClientUnsubscribe("c", "s9"))
    let_go(life.store)
    unread = open_store(tmp_path)
    last = sum(map(len, CheckpointParts(path_of(tmp_path, made))))
    assert unread.state_bytes == last + unread._state.log_bytes > last
    let_go(unread)
    again = Life(tmp_path)
    assert [len(one.parts) > 1 for one in again.checkpoints] == [True]
    assert again.records == 6  # three notes, the checkpoint, s8 and s9
    assert again.subscriptions == [one for one in expected if one[1] != "s9"]
    assert again.store.findings == []
    # The next keys go on where the last ones were.
    again.do(many("c", 10**6, 1))
    assert again.subscriptions[-1][2] == f"r1.7.{2 * MARK_EVERY + 1}"
    let_go(again.store)


def test_two_checkpoints_are_kept_and_the_records_since_the_older_one(tmp_path: Path) -> None:
    life = churned(tmp_path)
    for turn in (2, 3, 4):
        life.take_over(compact(tmp_path))
        life.do(many("c", turn * MARK_EVERY), ClientUnsubscribe("c", f"s{turn}"))
    expected = life.subscriptions
    state = life.store.writer.state
    assert state.checkpoints == (8, 10)
    assert list(state.records(8)) != []
    with pytest.raises(FileFormatError, match="lacks the record 8"):
        list(state.records(7))
    assert sorted((tmp_path / "checkpoints").iterdir()) == [
        path_of(tmp_path, 8),
        path_of(tmp_path, 10),
    ]
    let_go(life.store)
    again = Life(tmp_path)
    assert again.subscriptions == expected
    let_go(again.store)


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize("damage", [_flip, _cut, Path.unlink])
@pytest.mark.parametrize("rounds", [1, 2])
def test_a_damaged_checkpoint_is_said_and_the_one_before_or_the_log_takes_its_place(
    tmp_path: Path, damage: Callable[[Path], None], rounds: int
) -> None:
    life = churned(tmp_path)
    for turn in range(rounds):
        life.take_over(compact(tmp_path))
        life.do(many("c", (2 + turn) * MARK_EVERY), ClientUnsubscribe("c", f"s{turn}"))
    expected = life.subscriptions
    last = life.store.writer.state.checkpoints[-1]
    let_go(life.store)
    damage(path_of(tmp_path, last))
    again = Life(tmp_path)
    assert len(again.checkpoints) == rounds - 1
    assert again.subscriptions == expected
    (finding,) = again.store.findings
    assert finding.endswith("the one before it is used")
    # What is made next is whole again.
    again.do(many("c", 10**6), ClientUnsubscribe("c", "s100"))
    again.take_over(compact(tmp_path))
    let_go(again.store)
    third = Life(tmp_path)
    assert third.store.findings == []
    assert third.subscriptions == again.subscriptions
    let_go(third.store)


def test_without_any_whole_checkpoint_routing_begins_afresh_and_says_so(tmp_path: Path) -> None:
    life = churned(tmp_path)
    for turn in (2, 3):
        life.take_over(compact(tmp_path))
        life.do(many("c", turn * MARK_EVERY), ClientUnsubscribe("c", f"s{turn}"))
    let_go(life.store)
    for path in (tmp_path / "checkpoints").iterdir():
        _cut(path)
    again = Life(tmp_path)
    assert again.subscriptions == []
    assert [one for one in again.store.findings if "begins afresh" in one] != []
    again.do(AttachClient("d"), many("d", 0), ClientUnsubscribe("d", "s0"))
    again.take_over(compact(tmp_path))
    expected = again.subscriptions
    let_go(again.store)
    third = Life(tmp_path)
    assert third.subscriptions == expected
    let_go(third.store)


def test_a_checkpoint_that_was_written_and_not_taken_over_counts_for_nothing(
    tmp_path: Path,
) -> None:
    life = churned(tmp_path)
    assert compact(tmp_path) == 6
    expected = life.subscriptions
    let_go(life.store)
    again = Life(tmp_path)
    assert again.checkpoints == []
    assert again.subscriptions == expected
    assert list((tmp_path / "checkpoints").iterdir()) == []
    let_go(again.store)


def test_a_checkpoint_that_nobody_waits_for_any_more_is_not_written(tmp_path: Path) -> None:
    life = churned(tmp_path)
    assert compact(tmp_path, lambda: False) == 0
    assert not (tmp_path / "checkpoints").exists()
    let_go(life.store)


def test_there_is_no_checkpoint_without_a_mark_and_none_where_nothing_is_new(
    tmp_path: Path,
) -> None:
    life = Life(tmp_path)
    life.do(AttachClient("c"))
    assert compact(tmp_path) == 0
    life.do(many("c", 0), ClientUnsubscribe("c", "s0"))
    made = compact(tmp_path)
    life.take_over(made)
    assert compact(tmp_path) == 0
    let_go(life.store)


def awaited(compaction: Compaction) -> int:
    while True:
        made = compaction.made()
        if made is not None:
            return made


def test_a_process_makes_the_checkpoint_that_a_store_takes_over(tmp_path: Path) -> None:
    life = churned(tmp_path)
    compaction = life.store.writer.compaction = Compaction(tmp_path)
    life.store.writer._compact_from = 1
    for _ in range(2):  # begun only when there is enough
        life.store.writer.rest()
        assert compaction.is_under_way == (life.store.writer.state.log_bytes >= 1 << 20)
        life.store.writer.state.log_bytes = 1 << 20
    assert life.store.writer.due_s() is not None
    while compaction.is_under_way:
        life.store.writer.rest()
    assert life.store.writer.state.checkpoints == (6,)
    let_go(life.store)


@pytest.mark.parametrize(
    ("program", "made"),
    [("print(0)", 0), ("raise SystemExit('no')", 0), ("print('x'); raise SystemExit(3)", 0)],
)
def test_a_process_that_makes_none_is_tried_again_when_there_is_more(
    tmp_path: Path, program: str, made: int
) -> None:
    compaction = Compaction(tmp_path, (sys.executable, "-c", program))
    assert not compaction.is_under_way
    compaction.begin()
    assert awaited(compaction) == made
    life = churned(tmp_path)
    writer = life.store.writer
    writer.compaction = compaction
    writer.state.log_bytes = 1 << 21
    writer.rest()
    while compaction.is_under_way:
        writer.rest()
    assert writer._compact_from == 3 << 20
    writer.rest()
    assert not compaction.is_under_way
    compaction.begin()
    compaction.close()
    let_go(life.store)
