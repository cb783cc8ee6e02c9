"""Engines beside a checkpoint: a router that comes back with them is as one that builds them."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, Final, TypeAlias

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter, parse_xpath
from sapwood.errors import InvariantError
from sapwood.matching import prepared
from sapwood.matching.columnar import ColumnarEngine
from sapwood.matching.columnar.compaction import FREE
from sapwood.matching.index import Index
from sapwood.matching.prepared import prepare
from sapwood.matching.readiness import RECORDS
from sapwood.matching.storage import Folder
from sapwood.model.kept import KeptFilters
from sapwood.model.publication import Publication
from sapwood.routing.inputs import (
    AttachClient,
    ClientSubscribeMany,
    ClientUnsubscribeMany,
    DetachClient,
)
from sapwood.routing.pool import Pool
from sapwood.store.checkpoints import CheckpointParts, engines_of, path_of, write_checkpoint
from sapwood.store.compacting import compact
from tests.examples import examples
from tests.store.test_checkpoints import MARK_EVERY, Life, let_go
from tests.store.test_store import MEMORY

Wanted: TypeAlias = dict[tuple[str, str], int]
"""Client and id of a subscription, and the number that it asks for: the test's own account."""

VALUES: Final = 40
OWNED: Final = MARK_EVERY * 3


@pytest.fixture(autouse=True)
def _kernels() -> None:
    """A broker has them, too, before it restores much."""
    RECORDS.load()


class World:
    """One folder, the router that lives with it, and what its clients want."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wanted: Wanted = {}
        self.life = Life(folder)

    def subscribe(self, client: str, numbers: Sequence[int], first: int = 0) -> None:
        some = {f"s{at}": number for at, number in enumerate(numbers, first)}
        self.wanted |= {(client, id_): number for id_, number in some.items()}
        texts = [(id_, parse_filter(f"a = {number}")) for id_, number in some.items()]
        self.life.do(ClientSubscribeMany(client, tuple(texts)))

    def unsubscribe(self, client: str, ids: Sequence[str]) -> None:
        gone = tuple(id_ for id_ in ids if self.wanted.pop((client, id_), None) is not None)
        if gone:
            self.life.do(ClientUnsubscribeMany(client, gone))

    def mark(self) -> None:
        """Let there be a mark behind all that was done."""
        self.life.do(AttachClient("marking"), DetachClient("marking"))
        self.subscribe("c", [1] * MARK_EVERY, first=10_000)
        self.unsubscribe("c", [f"s{at}" for at in range(10_000, 10_000 + MARK_EVERY)])
        self.life.do(AttachClient("marking"), DetachClient("marking"))

    def compact(self) -> int:
        made = compact(self.folder, engines_from=1)
        if made:
            self.life.take_over(made)
        return made

    @property
    def last(self) -> int:
        return self.life.store.writer.state.checkpoints[-1]

    def start_again(self) -> None:
        let_go(self.life.store)
        self.life = Life(self.folder)

    def wrong(self) -> list[str]:
        """The deviations from the test's own account, and the invariants that are broken."""
        found: list[str] = []
        membership: Any = self.life.router.membership
        for value in range(VALUES):
            deliveries = membership.deliveries(Publication("p", {"a": value}))
            pairs = {(one.client, id_) for one in deliveries for id_ in one.subscriptions}
            if pairs != {pair for pair, number in self.wanted.items() if number == value}:
                found.append(f"a = {value} is delivered to {sorted(pairs)}")
        try:
            membership.validate()
        except InvariantError as error:
            found.append(str(error))
        return found


def settled(folder: Path) -> World:
    """A world with a checkpoint, and engines beside it."""
    world = World(folder)
    world.life.do(AttachClient("c"), AttachClient("d"))
    world.subscribe("c", range(OWNED))
    world.subscribe("d", [3, 3, 4])
    world.mark()
    assert world.compact()
    return world


def test_a_router_that_comes_back_builds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = settled(tmp_path)
    assert engines_of(tmp_path, world.last).is_dir()
    taken: list[object] = []

    def take(_: Index, wanted: Sequence[object]) -> list[int]:
        taken.extend(wanted)
        return []

    monkeypatch.setattr(Index, "take", take)
    world.start_again()
    assert taken == []
    assert world.life.store.findings == []
    assert world.life.router.ready_made == OWNED
    assert world.wrong() == []
    let_go(world.life.store)


def test_what_came_and_went_since_is_as_it_was_left(tmp_path: Path) -> None:
    world = settled(tmp_path)
    world.unsubscribe("c", ["s5", "s6", "s7"])
    world.subscribe("d", [5, 30, 31], first=50)
    world.start_again()
    assert world.life.router.ready_made == OWNED
    assert world.wrong() == []
    # Slots that nobody holds any more are taken again.
    world.subscribe("c", [32, 33, 6], first=100)
    world.unsubscribe("d", ["s50", "s51"])
    assert world.wrong() == []
    let_go(world.life.store)


def test_tree_patterns_and_filters_without_packed_forms_are_built_as_ever(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.life.do(AttachClient("c"))
    long = " or ".join(f"t like '%{n}_{n}%'" for n in range(3))
    other = (("x1", parse_xpath("//a[b = 1]")), ("x2", parse_filter(long)))
    world.life.do(ClientSubscribeMany("c", other))
    world.subscribe("c", range(OWNED))
    world.mark()
    assert world.compact()
    world.start_again()
    assert 0 < world.life.router.ready_made <= OWNED + 1
    assert world.wrong() == []
    membership: Any = world.life.router.membership
    for asked, id_ in (
        (Publication("p", document=b"<r><a><b>1</b></a></r>"), "x1"),
        (Publication("p", {"t": "a1x1b"}), "x2"),
    ):
        (found,) = membership.deliveries(asked)
        assert found.subscriptions == (id_,)
    let_go(world.life.store)


def test_few_filters_have_no_engines(tmp_path: Path) -> None:
    world = settled(tmp_path)
    world.mark()
    made = compact(tmp_path)
    world.life.take_over(made)
    assert not engines_of(tmp_path, made).exists()
    world.start_again()
    assert world.life.router.ready_made == 0
    assert world.life.store.findings == []
    assert world.wrong() == []
    let_go(world.life.store)


def test_engines_go_with_their_checkpoints(tmp_path: Path) -> None:
    world = settled(tmp_path)
    first = world.last
    for _ in range(2):
        world.mark()
        assert world.compact()
    assert not engines_of(tmp_path, first).exists()
    assert len(list((tmp_path / "checkpoints").iterdir())) == 4
    let_go(world.life.store)


def test_a_checkpoint_of_the_version_before_has_none_and_is_read(tmp_path: Path) -> None:
    world = settled(tmp_path)
    path, states = path_of(tmp_path, world.last), world.last
    parts = list(CheckpointParts(path))
    head = msgspec.msgpack.decode(parts[0])
    assert head[3] == OWNED + 3
    write_checkpoint(tmp_path, states, [msgspec.msgpack.encode(head[:3]), *parts[1:]])
    world.start_again()
    assert world.life.router.ready_made == 0
    assert world.life.store.findings == []
    assert world.wrong() == []
    let_go(world.life.store)


# Damage -----------------------------------------------------------------------------------------


def _flip(folder: Path) -> None:
    path = next(folder.rglob("image.npy"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def _cut(folder: Path) -> None:
    path = next(folder.rglob("image.npy"))
    path.write_bytes(path.read_bytes()[:-8])


def _lack(folder: Path) -> None:
    next(folder.rglob("marks.npy")).unlink()


@pytest.mark.parametrize("damage", [_flip, _cut, _lack, shutil.rmtree])
def test_damaged_engines_are_said_and_built_of_the_subscriptions(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    world = settled(tmp_path)
    damage(engines_of(tmp_path, world.last))
    world.start_again()
    (finding,) = world.life.store.findings
    assert str(engines_of(tmp_path, world.last)) in finding
    assert finding.endswith("until there is another one, every start builds what it needs")
    assert world.life.router.ready_made == 0
    assert world.wrong() == []
    # What is made next is whole again.
    world.mark()
    assert world.compact()
    world.start_again()
    assert world.life.router.ready_made == OWNED
    assert world.wrong() == []
    let_go(world.life.store)


# Planted bugs -----------------------------------------------------------------------------------


def of_another_generation(world: World) -> None:
    """Put whole engines of as many other filters in the place of those of the checkpoint."""
    others = [*range(1, OWNED), OWNED + 5]
    contents = [parse_filter(f"a = {number}").packed for number in (*others,)]
    target = engines_of(world.folder, world.last)
    shutil.rmtree(target)
    lists: Any = {"clients": [*contents, *contents[2:5]], "links": []}
    assert prepare(target, lists) == OWNED + 3


def with_files_of_another(world: World) -> None:
    """Put the files of another engine below the header of this one."""
    target = engines_of(world.folder, world.last)
    aside = target.with_name("aside")
    shutil.copytree(target, aside)
    of_another_generation(world)
    shutil.copy(aside / "prepared.json", target / "prepared.json")
    shutil.rmtree(aside)


def test_engines_of_another_generation_are_not_taken(tmp_path: Path) -> None:
    world = settled(tmp_path)
    of_another_generation(world)
    world.start_again()
    assert world.life.router.ready_made == 0
    assert world.wrong() == []
    let_go(world.life.store)


def _believes_any_list(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(prepared, "fingerprint", lambda _: "")


def _believes_any_byte(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Folder, "check_seal", lambda *_: None)


def _builds_in_another_order(patch: pytest.MonkeyPatch) -> None:
    def reversed_(names: Any, given: Any) -> KeptFilters[int]:
        return KeptFilters(names, given[::-1])

    patch.setattr("sapwood.matching.prepared.KeptFilters", reversed_)


def _lets_go_of_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Pool, "let_go", lambda _: None)


def _brings_back_what_was_removed(patch: pytest.MonkeyPatch) -> None:
    """The slot is free, and its filter is there: who takes it next gets what it never asked for."""
    usual = Pool.let_go

    def let_go(pool: Pool) -> None:
        with pytest.MonkeyPatch.context() as within:
            within.setattr(ColumnarEngine, "remove", _frees_alone)
            usual(pool)

    patch.setattr(Pool, "let_go", let_go)


def _frees_alone(engine: ColumnarEngine, slot: int) -> None:
    engine._state.slot_locations[slot] = FREE
    engine._taken -= 1


def _unchanged(world: World) -> None:
    pass


@pytest.mark.parametrize(
    ("plant", "change"),
    [
        (_believes_any_list, of_another_generation),
        (_believes_any_byte, with_files_of_another),
        (_builds_in_another_order, _unchanged),
        (_lets_go_of_nothing, _unchanged),
        (_brings_back_what_was_removed, _unchanged),
    ],
)
def test_planted_bugs_are_found(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plant: Callable[[pytest.MonkeyPatch], None],
    change: Callable[[World], None],
) -> None:
    def lived() -> list[str]:
        world = settled(tmp_path / str(len(list(tmp_path.iterdir()))))
        change(world)
        world.unsubscribe("c", ["s5", "s6"])
        world.subscribe("d", [33, 7], first=60)
        wrong: list[str] = []
        try:
            world.start_again()
            wrong += world.wrong()
            world.subscribe("d", [34, 35, 36], first=80)
            wrong += world.wrong()
        except (ValueError, KeyError, AssertionError) as error:
            wrong.append(repr(error))
        let_go(world.life.store)
        return wrong

    assert lived() == []
    plant(monkeypatch)
    assert lived() != []


# Laws -------------------------------------------------------------------------------------------

STEPS: Final[st.SearchStrategy[list[Any]]] = st.lists(
    st.one_of(
        st.tuples(
            st.just("subscribe"),
            st.sampled_from("cd"),
            st.lists(st.integers(0, VALUES - 1), min_size=1, max_size=12),
        ),
        st.tuples(
            st.just("unsubscribe"),
            st.sampled_from("cd"),
            st.lists(st.integers(0, 40), min_size=1, max_size=12),
        ),
        st.tuples(st.just("compact"), st.booleans(), st.just([])),
        st.tuples(st.just("restart"), st.sampled_from(("", "flip", "swap")), st.just([])),
    ),
    min_size=4,
    max_size=25,
)


@given(STEPS)
@settings(max_examples=examples(60), deadline=None)
def test_whatever_comes_goes_and_crashes_everybody_gets_what_they_want(
    steps: list[tuple[str, Any, list[int]]],
) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder:
        world = World(Path(folder))
        world.life.do(AttachClient("c"), AttachClient("d"))
        last = 0
        for step, what, numbers in [*steps, ("restart", "", [])]:
            if step == "subscribe":
                world.subscribe(what, numbers, first=last)
                last += len(numbers)
            elif step == "unsubscribe":
                world.unsubscribe(what, [f"s{number}" for number in numbers])
            elif step == "compact":
                if what:
                    world.mark()
                world.compact()
            else:
                checkpoints = world.life.store.writer.state.checkpoints
                folders = [engines_of(world.folder, at) for at in checkpoints]
                there = [one for one in folders if one.exists()]
                if what == "flip" and there:
                    _flip(there[-1])
                elif what == "swap" and len(there) == 2:
                    shutil.rmtree(there[1])
                    shutil.copytree(there[0], there[1])
                world.start_again()
                assert world.wrong() == []
        let_go(world.life.store)


# Kills ------------------------------------------------------------------------------------------

WATCHED: Final = (
    "store/compacting.py",
    "store/checkpoints.py",
    "matching/prepared.py",
    "matching/storage.py",
    "columnar/saving.py",
)
STRIDE: Final = 97
"""Every so many statements a compaction is killed at; `make long` takes more of them."""


def killed(folder: Path, at: int) -> bool:
    """Let a process compact that dies before that statement; whether it did."""
    child = os.fork()
    if not child:
        left = at

        def look(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal left
            if not frame.f_code.co_filename.endswith(WATCHED):
                return None
            if event == "line":
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
            return look

        status = 1
        try:
            sys.settrace(look)
            compact(folder, engines_from=1)
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def survives(folder: Path, stride: int) -> int:
    world = settled(folder)
    world.unsubscribe("c", ["s3"])
    world.subscribe("d", [37, 38], first=30)
    world.mark()
    at, before = 1, world.last
    while killed(folder, at):
        if at % 3 == 0:  # most are followed by another one, and not by a start
            world.start_again()
            assert world.life.store.findings == []
            assert (world.last, world.wrong()) == (before, [])
        at += stride
    # The one that was not killed is whole, whatever the others have left behind.
    states = max(int(path.stem) for path in (folder / "checkpoints").glob("*.checkpoint"))
    assert states > before
    world.life.take_over(states)
    assert len(list((folder / "checkpoints").iterdir())) == 4
    world.start_again()
    assert world.life.router.ready_made
    assert world.wrong() == []
    let_go(world.life.store)
    return at


def test_a_compaction_that_is_killed_has_changed_nothing(tmp_path: Path) -> None:
    assert survives(tmp_path, STRIDE) > 5 * STRIDE


@pytest.mark.long
def test_a_compaction_that_is_killed_at_any_third_statement_has_changed_nothing(
    tmp_path: Path,
) -> None:
    survives(tmp_path, 3)
