"""The engine `auto`: the same answers whoever serves, also while one takes over from the other."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Thread

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from sapwood import Index, parse_filter
from sapwood.errors import FileFormatError, InvariantError
from sapwood.matching import auto
from sapwood.matching.auto import AutoEngine, AutoPolicy
from sapwood.matching.columnar import ColumnarEngine
from sapwood.matching.engines import EngineInfo
from sapwood.matching.protocol import Engine
from sapwood.matching.readiness import RECORDS, Awaiting
from sapwood.matching.storage import Folder
from tests.examples import examples
from tests.matching.engine_laws import EngineMachine
from tests.matching.switched import Nobody, Switched

SMALL = AutoPolicy(
    compiled_from=4,
    batch_from=6,
    compiled_until=1,
    moved_at_once=1,
    folded_from=5,
    folded_until=6,
)
"""Goes to and fro between the engines within some steps, a filter at a time."""


def engine_with(
    switched: Switched, policy: AutoPolicy = SMALL, slots: Iterable[int] = ()
) -> AutoEngine:
    engine = AutoEngine(Awaiting(switched, Nobody(), every=1), policy)
    for slot in slots:
        engine.add(slot, parse_filter(f"a > {slot}"))
    return engine


def on() -> Switched:
    return Switched(RECORDS, is_on=True)


class Machine(EngineMachine):
    """Additions, removals and matches, while kernels come and go at any moment."""

    tried: AutoEngine

    def engine(self) -> Engine:
        self.switched = Switched(RECORDS)
        return engine_with(self.switched)

    @rule()
    def kernels_are_loaded(self) -> None:
        self.switched.is_on = True

    @rule()
    def kernels_are_not_at_hand(self) -> None:
        # They never go in a process, but a saved index may come to one that has none.
        self.switched.is_on = False

    @rule()
    def fold(self) -> None:
        self.tried.fold()

    @rule(times=st.integers(1, 8))
    def match_a_batch(self, times: int) -> None:
        everything = sorted(slot for slot, f in self.filters.items() if f.accepts({"a": 1}))
        for found in (self.tried.match_slots, self.tried.found_many):
            offsets, slots = found([{"a": 1}] * times)
            assert [sorted(slots[a:b].tolist()) for a, b in pairwise(offsets.tolist())] == [
                everything
            ] * times
        assert sorted(self.tried.found({"a": 1}).tolist()) == everything

    @rule()
    def is_saved_and_loaded(self) -> None:
        with TemporaryDirectory() as folder:
            self.tried.save(Path(folder))
            self.tried = engine_with(self.switched)
            self.tried.load(Path(folder), ())

    @rule()
    def give_back(self) -> None:
        assert list(self.tried.taken()) == sorted(self.filters)
        for slot, wanted in self.filters.items():
            assert self.tried.holds(slot)
            assert self.tried.filter(slot) == wanted
        assert not self.tried.holds(max(self.filters, default=0) + 1)


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=examples(15), stateful_step_count=40)


def test_engine_stays_plain_without_kernels_and_reports_its_work() -> None:
    nobody = Nobody()
    engine = AutoEngine(Awaiting(Switched(RECORDS), nobody), AutoPolicy(compiled_from=4))
    for slot in range(600):
        engine.add(slot, parse_filter(f"a > {slot}"))
    assert nobody.heard >= 50_000
    assert engine.serving == "counting"
    before = nobody.heard
    for _ in range(600):
        engine.match({"a": 1})
    assert nobody.heard >= before + 50_000
    assert engine.serving == "counting"


def test_engine_with_few_filters_never_asks_for_kernels() -> None:
    nobody = Nobody()
    engine = AutoEngine(Awaiting(Switched(RECORDS), nobody, every=1))
    for slot in range(15):
        engine.add(slot, parse_filter(f"a > {slot}"))
    for _ in range(5000):
        engine.match({"a": 0})
    assert nobody.heard == 0


def test_filters_move_a_few_at_a_time_while_the_plain_engine_serves() -> None:
    switched = Switched(RECORDS)
    engine = engine_with(switched, AutoPolicy(compiled_from=4, moved_at_once=10), range(35))
    switched.is_on = True
    for _ in range(3):
        assert engine.match({"a": 3}) == [0, 1, 2]
        assert engine.serving == "counting"
        engine.validate()
    assert engine.match({"a": 3}) == [0, 1, 2]
    assert engine.serving == "columnar"
    assert sorted(engine.found({"a": 3}).tolist()) == [0, 1, 2]
    assert engine.match_count({"a": 3}) == 3
    assert engine.match_any({"a": 3})


def test_filters_that_come_together_do_not_keep_others_from_moving() -> None:
    switched = Switched(RECORDS)
    engine = engine_with(switched, AutoPolicy(), range(3000))
    switched.is_on = True
    batch = [parse_filter("a > 5000")] * 256
    for turn in range(4):
        assert engine.serving == "counting"
        first = 3000 + turn * 256
        engine.add_many([*enumerate(batch, first)])
        engine.validate()
    assert engine.serving == "columnar"
    assert len(engine) == 3000 + 4 * 256
    assert len(engine.match({"a": 5001})) == len(engine)


@pytest.mark.parametrize("seed", range(8))
def test_changes_while_filters_move_are_kept(seed: int) -> None:
    random = Random(seed)
    switched = Switched(RECORDS)
    engine = engine_with(switched, SMALL, range(30))
    filters = {slot: parse_filter(f"a > {slot}") for slot in range(30)}
    switched.is_on = True
    steps = 0
    while engine.serving == "counting" and steps < 200:
        steps += 1
        slot = random.randrange(35)
        if slot in filters:
            engine.remove(slot)
            del filters[slot]
        else:
            filters[slot] = parse_filter(f"a < {random.randrange(9)}")
            engine.add(slot, filters[slot])
        engine.validate()
        accepting = sorted(slot for slot, wanted in filters.items() if wanted.accepts({"a": 4}))
        assert engine.match({"a": 4}) == accepting
    assert steps > 5
    assert engine.serving == "columnar"
    assert engine.match({"a": 4}) == accepting


def test_filters_move_faster_than_they_come_however_many_come() -> None:
    switched = Switched(RECORDS)
    engine = AutoEngine(Awaiting(switched, Nobody(), every=1), AutoPolicy(moved_at_once=2))
    some = [parse_filter(f"a = {number} or b = {number}") for number in range(2000)]
    for first in range(0, 1000, 10):
        engine.add_many(list(enumerate(some[first : first + 10], first)))
    switched.is_on = True
    calls = 0
    while engine.serving == "counting":
        first = 1000 + 10 * calls
        engine.add_many(list(enumerate(some[first : first + 10], first)))
        calls += 1
    engine.validate()
    assert calls <= 40
    assert engine.match({"a": 3}) == [3]


def test_filters_are_removed_together_whichever_engine_serves() -> None:
    engine = engine_with(on(), SMALL, range(8))
    engine.fold()
    assert engine.serving == "columnar"
    engine.remove_many([6, 2, 4])
    assert (engine.serving, len(engine)) == ("columnar", 5)
    engine.remove_many([7, 1, 3, 5])
    assert (engine.serving, engine.match({"a": 8})) == ("counting", [0])
    engine.add_many([(slot, parse_filter("a > 1")) for slot in (1, 2)])
    engine.remove_many([0, 2])
    engine.validate()
    assert (engine.serving, engine.match({"a": 8})) == ("counting", [1])


def test_engine_goes_back_when_it_has_become_very_small() -> None:
    engine = engine_with(on(), SMALL, range(4))
    engine.fold()
    assert engine.serving == "columnar"
    for slot in (0, 1):
        engine.remove(slot)
    assert engine.serving == "columnar"
    engine.remove(2)
    assert engine.serving == "counting"
    assert engine.match({"a": 4}) == [3]
    engine.add(0, parse_filter("a > 0"))
    engine.add(1, parse_filter("a > 1"))
    assert engine.serving == "counting"


def test_large_batch_is_matched_by_compiled_code_whatever_the_number_of_filters() -> None:
    engine = engine_with(on(), AutoPolicy(batch_from=8), range(2))
    engine.match_slots([{"a": 1}] * 7)
    assert engine.serving == "counting"
    assert engine.match_slots([{"a": 1}] * 8).slots.tolist() == [0] * 8
    assert engine.serving == "columnar"


def test_batch_of_the_plain_engine_ends_early_where_matches_are_limited() -> None:
    engine = engine_with(Switched(RECORDS), SMALL, range(3))
    assert engine.found_many([{"a": 9}] * 5, max_matches=6).offsets.tolist() == [0, 3, 6]
    assert engine.found_many([{"a": 9}] * 5, max_matches=1).offsets.tolist() == [0, 3]


@pytest.mark.parametrize("is_on", [False, True])
@pytest.mark.parametrize("count", [0, 3, 40])
def test_auto_saves_what_columnar_saves(count: int, is_on: bool, tmp_path: Path) -> None:
    engine = engine_with(Switched(RECORDS, is_on=is_on), SMALL, range(count))
    other = ColumnarEngine()
    for slot in range(count):
        other.add(slot, parse_filter(f"a > {slot}"))
    for tried, name in ((engine, "auto"), (other, "columnar")):
        (tmp_path / name).mkdir()
        tried.save(tmp_path / name)
    one, two = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in files(tmp_path / name)}
        for name in ("auto", "columnar")
    )
    assert one == two


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def seal(folder: Path, header: str) -> None:
    """Let a saved index have another header, as whoever wrote it would have sealed it."""
    content = {
        name: value for name, value in json.loads(header).items() if name not in ("files", "crc32")
    }
    Folder(folder).seal("index", content)


def test_saved_index_has_the_names_of_the_engines_whose_files_it_has(tmp_path: Path) -> None:
    index = Index()
    index.add("s", "a > 1")
    index.save(tmp_path / "index")
    assert Index.load(tmp_path / "index").engine.name == "auto"
    header = (tmp_path / "index" / "index.json").read_text()
    assert (header.count('"columnar"'), header.count('"path-automaton"')) == (1, 1)
    seal(tmp_path / "index", header.replace('"chosen"', '"unknown"'))
    loaded = Index.load(tmp_path / "index")
    assert (loaded.engine.name, loaded.document_engine.name) == ("columnar", "path-automaton")
    assert loaded.match({"a": 2}) == ["s"]
    seal(tmp_path / "index", header.replace('"auto"', '"some-later-engine"'))
    assert Index.load(tmp_path / "index").engine.name == "columnar"


def test_small_saved_set_is_served_plain_until_kernels_are_at_hand(tmp_path: Path) -> None:
    engine_with(on(), SMALL, range(20)).save(tmp_path)
    for switched, serving in ((Switched(RECORDS), "counting"), (on(), "columnar")):
        engine = engine_with(switched)
        engine.load(tmp_path, ())
        engine.validate()
        assert engine.serving == serving
        assert engine.match({"a": 3}) == [0, 1, 2]


def test_large_saved_set_is_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "_RESTORED_MAX", 10)
    engine_with(on(), SMALL, range(20)).save(tmp_path)
    engine = engine_with(Switched(RECORDS))
    engine.load(tmp_path, ())
    assert engine.serving == "columnar"
    assert engine.match({"a": 3}) == [0, 1, 2]


def test_damaged_folder_is_refused_and_leaves_the_engine_empty(tmp_path: Path) -> None:
    engine_with(on(), SMALL, range(20)).save(tmp_path)
    next(path for path in files(tmp_path) if path.suffix == ".json").write_text("{")
    engine = engine_with(on())
    with pytest.raises(FileFormatError):
        engine.load(tmp_path, ())
    assert len(engine) == 0


def test_threads_match_while_filters_move() -> None:
    switched = Switched(RECORDS)
    engine = engine_with(switched, AutoPolicy(compiled_from=4, moved_at_once=3), range(200))
    wrong: list[object] = []

    def match() -> None:
        for value in range(200):
            switched.is_on = switched.is_on or value == 50
            found = engine.match({"a": value})
            if found != list(range(value)):
                wrong.append((value, found))

    threads = [Thread(target=match) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert engine.serving == "columnar"
    engine.validate()


def test_memory_is_told_for_both_engines() -> None:
    engine = engine_with(on(), SMALL, range(3))
    assert set(engine.memory()) == {"objects"}
    for slot in range(3, 9):
        engine.add(slot, parse_filter(f"a > {slot}"))
    engine.fold()
    assert engine.serving == "columnar"
    assert "tail" in engine.memory() or len(engine.memory()) > 1


def test_validate_finds_what_does_not_agree() -> None:
    def moving() -> AutoEngine:
        switched = Switched(RECORDS)
        engine = engine_with(switched, SMALL, range(9))
        switched.is_on = True
        engine.match({"a": 1})
        engine.match({"a": 1})
        engine.validate()
        return engine

    engine = moving()
    engine._to_move.clear()
    with pytest.raises(InvariantError, match="not going to move"):
        engine.validate()
    engine = moving()
    assert engine._successor is not None
    engine._successor.add(77, parse_filter("a > 1"))
    with pytest.raises(InvariantError, match="has not"):
        engine.validate()
    engine = moving()
    assert isinstance(engine._serving, auto._Plain)
    del engine._serving.filters[5]
    with pytest.raises(InvariantError, match="not those of the taken slots"):
        engine.validate()


def test_catalogue_has_it_and_index_takes_it_by_default() -> None:
    index = Index()
    assert (index.engine.name, index.document_engine.name) == ("auto", "auto")
    index = Index(EngineInfo("mine", "records", True, "", lambda: engine_with(on())))
    for number in range(9):
        index.add(f"s{number}", f"a > {number}")
    index.fold()
    assert index.match({"a": 2}) == ["s0", "s1"]
    index.validate()
