"""`Index`: ids, errors, saving and loading. What it matches is checked in `test_checks`."""

from __future__ import annotations

import json
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sapwood
from sapwood import Index, NeverMatchesWarning, Publication, parse_filter, parse_xpath
from sapwood.errors import (
    DuplicateIdError,
    FileFormatError,
    FilterSyntaxError,
    InputError,
    InvalidValueError,
    InvariantError,
    LimitError,
    UnknownIdError,
    UnknownNameError,
)
from sapwood.language import parser
from sapwood.matching import index as index_module
from sapwood.matching.counting import CountingEngine
from sapwood.matching.engines import EngineInfo, engine_info
from sapwood.matching.given_records import Matchable
from sapwood.matching.samples import Sampler
from sapwood.matching.storage import Folder
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.matching.variants import VARIANTS, loaded


@pytest.fixture(params=VARIANTS, ids=lambda info: info.name)
def info(request: pytest.FixtureRequest) -> EngineInfo:
    found: EngineInfo = request.param
    return found


def filled(info: EngineInfo, **filters: str) -> Index:
    index = Index(info)
    for name, text in filters.items():
        index.add(name, text)
    return index


def test_default_engines_pick_themselves() -> None:
    index = sapwood.Index()
    assert (index.engine.name, index.document_engine.name) == ("auto", "auto")


def test_engine_is_chosen_by_name() -> None:
    assert Index(records="counting").engine.name == "counting"
    with pytest.raises(UnknownNameError):
        Index(records="quantum")


def test_index_knows_its_ids(info: EngineInfo) -> None:
    index = filled(info, b="x = 1", a="x = 2")
    assert len(index) == 2
    assert list(index) == ["a", "b"]
    assert "a" in index
    assert "c" not in index
    assert [index.ids[slot] for slot in range(2)] == ["b", "a"]


def test_match_sorts_ids_and_not_slots(info: EngineInfo) -> None:
    index = filled(info, z="x > 0", m="x > 0", a="x > 0")
    assert index.match({"x": 1}) == ["a", "m", "z"]
    assert index.match_many([{"x": 1}, {}]) == [["a", "m", "z"], []]


def test_many_matches_are_sorted_whether_or_not_ids_were_ranked(info: EngineInfo) -> None:
    ids = [f"s{number * 37 % 101}" for number in range(100)]
    index = filled(info, **dict.fromkeys(ids, "a = 1"))
    asked = [{"a": 1}, {"a": 2}, {"a": 1}]
    for step in range(3):
        assert index.match(asked[0]) == sorted(ids)
        assert index.match_many(asked) == [sorted(ids), [], sorted(ids)]
        if step == 0:
            index.fold()
        else:
            index.remove(ids.pop(step))
            ids.append(f"late{step}")
            index.add(ids[-1], "a = 1")
        index.validate()


def test_match_takes_publications_and_nested_records(info: EngineInfo) -> None:
    index = filled(info, a="detail.state = 'up'")
    nested = {"detail": {"state": "up"}, "tags": ["x"]}
    assert index.match(nested) == ["a"]
    assert index.match(Publication("p", nested)) == ["a"]
    assert index.match_any(nested)
    several: list[Matchable] = [nested, Publication("p", nested), {}]
    assert index.match_many(iter(several)) == [["a"], ["a"], []]


def test_match_refuses_values_that_no_record_may_hold(info: EngineInfo) -> None:
    index = filled(info, a="x > 0")
    for ask in (index.match, index.match_any, lambda record: index.match_many([record])):
        with pytest.raises(InvalidValueError):
            ask({"x": float("nan")})


def test_match_refuses_what_is_no_publication(info: EngineInfo) -> None:
    index = filled(info, a="x > 0")
    for ask in (index.match, index.match_any, lambda given: index.match_many([given])):
        for given in ("<a/>", 5, None):
            with pytest.raises(InputError, match="a mapping, or a document as bytes or read, not"):
                ask(given)  # type: ignore[arg-type]


def test_slots_are_dense_and_reused(info: EngineInfo) -> None:
    index = filled(info, a="x = 1", b="x = 1", c="x = 1")
    index.remove("b")
    assert index.ids[1] == ""
    index.add("d", "x = 1")
    assert list(index.ids) == ["a", "d", "c"]
    offsets, slots = index.match_slots([{"x": 1}, {"x": 2}])
    assert offsets.tolist() == [0, 3, 3]
    assert slots.tolist() == [0, 1, 2]
    index.validate()


def test_refused_additions_change_nothing(info: EngineInfo) -> None:
    index = filled(info, a="x = 1")
    with pytest.raises(DuplicateIdError):
        index.add("a", "x = 2")
    with pytest.raises(FilterSyntaxError):
        index.add("b", "x ==")
    for name in ("", 5):
        with pytest.raises(InvalidValueError):
            index.add(name, "x = 1")  # type: ignore[arg-type]
    for wanted in (5, None, b"x = 1", sapwood.parse_advertisement("/a")):
        with pytest.raises(InputError):
            index.add("b", wanted)  # type: ignore[arg-type]
    assert list(index) == ["a"]
    assert index.match({"x": 2}) == []
    index.validate()


def test_filters_are_added_together(info: EngineInfo) -> None:
    index = filled(info, a="x = 1", b="x = 2", c="x = 3")
    index.remove("b")
    slots = index.add_many([("d", "x = 1"), ("e", parse_filter("x = 2")), ("f", "x > 0")])
    assert [index.ids[slot] for slot in slots] == ["d", "e", "f"]
    assert sorted((*slots, *(index.ids.index(name) for name in "ac"))) == [0, 1, 2, 3, 4]
    assert index.match({"x": 1}) == ["a", "d", "f"]
    assert index.add_many(()) == []
    index.validate()


@pytest.mark.parametrize(
    ("items", "error"),
    [
        ([("b", "x = 1"), ("a", "x = 2")], DuplicateIdError),
        ([("b", "x = 1"), ("c", "x = 2"), ("b", "x = 3")], DuplicateIdError),
        ([("b", "x = 1"), ("c", "x ==")], FilterSyntaxError),
        ([("b", "x = 1"), ("", "x = 2")], InvalidValueError),
        ([("b", "x = 1"), ("c", 5)], InputError),
    ],
)
def test_of_filters_added_together_all_are_there_or_none(
    info: EngineInfo, items: list[Any], error: type[Exception]
) -> None:
    index = filled(info, a="x = 1")
    with pytest.raises(error):
        index.add_many(items)
    assert list(index) == ["a"]
    assert index.match({"x": 1}) == ["a"]
    index.validate()


@pytest.mark.parametrize("slot", [2, 3])
def test_engine_that_refuses_one_filter_has_none_of_those_that_came_with_it(slot: int) -> None:
    class Choosy(CountingEngine):
        def add(self, at: int, filter: Filter) -> None:
            if at == slot:
                raise LimitError("CONJUNCTIONS_MAX", 1, 2, "the filter")
            super().add(at, filter)

    index = Index(EngineInfo("choosy", "records", True, "", Choosy))
    index.add("a", "x = 1")
    with pytest.raises(LimitError):
        index.add_many((name, "x = 1") for name in "bcde")
    assert index.match({"x": 1}) == ["a"]
    index.validate()


def test_patterns_that_are_refused_take_the_filters_that_came_with_them_along(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = Index("columnar", "reference-xpath")
    index.add("a", parse_xpath("/a"))
    assert index._documents.engine is not None

    def refuse(*_: object) -> None:
        raise LimitError("XPATH_STEPS_MAX", 1, 2, "the pattern")

    monkeypatch.setattr(index._documents.engine, "add", refuse)
    with pytest.raises(LimitError):
        index.add_many([("b", "x = 1"), ("c", parse_xpath("/b"))])
    assert list(index) == ["a"]
    index.validate()


def test_removal_of_an_unknown_id_is_refused(info: EngineInfo) -> None:
    index = filled(info, a="x = 1")
    for act in (index.remove, index.filter):
        with pytest.raises(UnknownIdError):
            act("b")
    index.remove("a")
    with pytest.raises(UnknownIdError):
        index.remove("a")
    assert len(index) == 0


def test_filter_gives_back_what_was_added(info: EngineInfo) -> None:
    index = Index(info)
    parsed = parse_filter("x in (1, 2) or y like '%a!_%' escape '!'")
    index.add("text", "x in (1, 2) or y like '%a!_%' escape '!'")
    index.add("parsed", parsed)
    index.add("made", Filter(parsed.conjunctions))
    for name in index:
        assert index.filter(name) == parsed
    if not info.name.startswith("columnar"):
        assert index.filter("text").source == "x in (1, 2) or y like '%a!_%' escape '!'"


def test_saved_index_is_plain_arrays_and_json(info: EngineInfo, tmp_path: Path) -> None:
    index = filled(info, a="x = 1", b="y like '%z%'")
    index.save(str(tmp_path / "index"))
    files = [path for path in (tmp_path / "index").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".npy", ".json"}
    assert loaded(tmp_path / "index", info).match({"x": 1, "y": "z"}) == ["a", "b"]


def test_loading_the_default_engine_reads_no_filter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index()
    for number in range(100):
        index.add(f"s{number}", f"x > {number} and y like '%{number}%'")
    index.save(tmp_path / "index")

    def refuse(*_: object) -> None:
        raise AssertionError("a filter was read")

    monkeypatch.setattr(parser, "tokenize", refuse)
    again = Index.load(tmp_path / "index")
    assert again.match({"x": 50, "y": "a4b"}) == ["s4"]
    again.remove("s4")
    assert again.match({"x": 50, "y": "a4b"}) == []


def test_loaded_index_serves_while_its_folder_is_replaced(info: EngineInfo, tmp_path: Path) -> None:
    filled(info, a="x = 1").save(tmp_path / "index")
    first = loaded(tmp_path / "index", info)
    filled(info, b="x = 1", c="x = 2").save(tmp_path / "index")
    second = loaded(tmp_path / "index", info)
    assert first.match({"x": 1}) == ["a"]
    assert second.match({"x": 1}) == ["b"]


@pytest.mark.one_in(3)
def test_index_saves_over_itself_after_removals(info: EngineInfo, tmp_path: Path) -> None:
    index = filled(info, **{f"s{number}": f"x > {number}" for number in range(30)})
    for round_ in range(3):
        index.save(tmp_path / "index")
        index = loaded(tmp_path / "index", info)
        index.validate()
        for number in range(round_ * 10, round_ * 10 + 9):
            index.remove(f"s{number}")
        index.validate()
    assert index.match({"x": 100}) == ["s19", "s29", "s9"]
    index.add("new", "x = 100")
    assert len(index.ids) == 30
    assert index.match({"x": 100}) == ["new", "s19", "s29", "s9"]


def change_header(path: Path, **change: object) -> None:
    """Write the header of a saved index anew, as a program would that says something else."""
    content: dict[str, Any] = json.loads((path / "index.json").read_text())
    Folder(path).seal("index", {**content, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "something else"}, "does not describe an index"),
        ({"version": 99}, "version 99, this program reads 4; use a newer one"),
        ({"version": 3}, "version 3, this program reads 4; build the index again"),
        ({"version": "1"}, "has no version"),
        ({"version": 0}, "has no version"),
        ({"records": 5}, "does not say its engines"),
        ({"documents": None}, "does not say its engines"),
        ({"subscriptions": 7}, "do not belong together"),
    ],
)
def test_foreign_header_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "index"
    filled(VARIANTS[0], a="x = 1").save(path)
    change_header(path, **change)
    with pytest.raises(FileFormatError, match=message):
        Index.load(path)


def test_header_that_is_no_object_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text("[]")
    with pytest.raises(FileFormatError, match="does not describe an index"):
        Index.load(tmp_path)


def test_unknown_engine_in_the_header_is_told(tmp_path: Path) -> None:
    filled(VARIANTS[0], a="x = 1").save(tmp_path / "index")
    change_header(tmp_path / "index", records="quantum")
    with pytest.raises(UnknownNameError, match="quantum"):
        Index.load(tmp_path / "index")


def test_missing_folder_and_foreign_folder_are_told(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="is no folder"):
        Index.load(tmp_path / "nowhere")
    with pytest.raises(FileFormatError, match=r"has no index\.json"):
        Index.load(tmp_path)


def test_every_missing_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "index"
    index = Index()
    index.add("a", "x = 1 or y like '%z%'")
    index.save(path)
    for file in sorted(path.rglob("*.npy")) + sorted(path.rglob("records/*.json")):
        content = file.read_bytes()
        file.unlink()
        with pytest.raises(FileFormatError, match=f"{file.name}: is missing; build the index"):
            Index.load(path)
        file.write_bytes(content)
    assert Index.load(path).match({"x": 1}) == ["a"]


def test_validate_finds_tables_that_disagree(info: EngineInfo) -> None:
    for harm in ("_slots", "_free", "_ids"):
        index = filled(info, a="x = 1", b="x = 2")
        index.remove("b")
        index.validate()
        table = getattr(index, harm)
        if isinstance(table, dict):
            table["c"] = 0
        elif isinstance(table, list):
            table.append(0)
        else:
            table[len(table)] = "x = 1"
        with pytest.raises(InvariantError):
            index.validate()


@pytest.mark.one_in(4)
def test_threads_may_match_while_the_tail_is_folded(info: EngineInfo) -> None:
    sampler = Sampler(11)
    index = filled(info, **{f"s{number:03d}": sampler.filter_text() for number in range(60)})
    records = [sampler.record() for _ in range(40)]
    reference = Index("reference")
    for name in index:
        reference.add(name, index.filter(name))
    expected = reference.match_many(records)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(index.match, records * 3))
        batches = list(pool.map(index.match_many, [records] * 4))
    assert found == expected * 3
    assert batches == [expected] * 4
    index.validate()


def test_match_slots_of_nothing_is_empty(info: EngineInfo) -> None:
    for index in (filled(info), filled(info, a="true")):
        offsets, slots = index.match_slots([])
        assert offsets.tolist() == [0]
        assert offsets.dtype == np.int64
        assert slots.dtype == np.int32
        assert slots.tolist() == []


@pytest.mark.one_in(3)
def test_match_many_in_threads_is_match_many(info: EngineInfo) -> None:
    sampler = Sampler(12)
    index = filled(info, **{f"s{number:02d}": sampler.filter_text() for number in range(40)})
    records = [sampler.record() for _ in range(150)]
    assert index.match_many(records, threads=2) == index.match_many(records)
    assert index.match_many([], threads=3) == []


def test_match_many_in_threads_takes_documents_too(info: EngineInfo) -> None:
    index = filled(info, a="x = 1")
    index.add("d", sapwood.parse_xpath("//a"))
    asked: list[Matchable] = [{"x": 1}, b"<a/>", {"x": 2}] * 50
    assert index.match_many(asked, threads=2) == [["a"], ["d"], []] * 50


def test_match_many_in_no_thread_is_refused(info: EngineInfo) -> None:
    with pytest.raises(InvalidValueError, match="threads"):
        filled(info).match_many([{}], threads=0)


@pytest.mark.one_in(3)
def test_memory_is_reported_by_part(info: EngineInfo) -> None:
    index = filled(info, **{f"s{number}": f"x = {number}" for number in range(200)})
    found = index.memory()
    assert all(size >= 0 for size in found.values())
    assert found["ids"] > 200 * 50
    assert found["slots by id"] > 200 * 32
    assert sum(found.values()) > 200 * 100
    for number in range(200):
        index.remove(f"s{number}")
    index.fold()
    assert index.memory()["free slots"] > 200 * 8
    assert sum(index.memory().values()) < sum(found.values())


@pytest.mark.long
def test_default_index_keeps_no_text_of_filters(tmp_path: Path) -> None:
    index = Index()
    for number in range(20_000):
        index.add(f"s{number}", Filter(parse_filter("x = 1 and y between 2 and 3").conjunctions))
    index.fold()
    found = index.memory()
    own = sum(size for part, size in found.items() if part.startswith("records"))
    assert own / len(index) < 120
    assert found["records: texts"] < 1000
    index.save(tmp_path / "index")
    assert not [*(tmp_path / "index").glob("records_*")]
    again = Index.load(tmp_path / "index")
    assert again.filter("s19999") == parse_filter("x = 1 and y between 2 and 3")


def test_touched_bytes_are_told_by_engines_that_know_them() -> None:
    columnar = engine_info("columnar")
    for info in (columnar, EngineInfo("counting", "records", True, "", CountingEngine)):
        index = filled(info, a="x = 1")
        index.fold()
        index.add("d", sapwood.parse_xpath("//a"))
        told = index.touched_bytes([{"x": 1}, b"<a/>"])
        assert told == (8 + 4 * 4 if info is columnar else None)


@pytest.mark.parametrize("records", ["columnar", "counting"])
@pytest.mark.parametrize("most", [1, 5, 7, 1000])
def test_match_slots_may_end_when_there_is_enough(records: str, most: int) -> None:
    index = Index(records=records)
    for name, text in (("a", "n >= 0"), ("b", "n > 1"), ("c", "n > 3")):
        index.add(name, text)
    asked: list[Record | None] = [None, {"n": 2}, None, {"n": -1}, {"n": 4}, {"n": 5}, None]
    whole = index.match_slots(asked, in_order=False)
    assert np.diff(whole.offsets).tolist() == [0, 2, 0, 0, 3, 3, 0]
    start, pieces = 0, []
    while start < len(asked):
        found = index.match_slots(asked[start:], in_order=False, max_matches=most)
        assert len(found.slots) < most + 3
        assert len(found.offsets) > 1
        start += len(found.offsets) - 1
        pieces += [set(found.slots[first:last]) for first, last in pairwise(found.offsets)]
    assert pieces == [set(whole.slots[first:last]) for first, last in pairwise(whole.offsets)]


@pytest.mark.parametrize("records", ["columnar", "counting"])
@pytest.mark.parametrize("threads", [1, 3])
def test_many_publications_with_many_matches_are_matched_in_pieces(
    monkeypatch: pytest.MonkeyPatch, records: str, threads: int
) -> None:
    monkeypatch.setattr(index_module, "_HELD_MAX", 50)
    index = Index(records=records)
    for number in range(20):
        index.add(f"s{number}", f"n > {number}")
    index.fold()
    asked = [{"n": number % 23} for number in range(700)]
    expected = [sorted(f"s{at}" for at in range(record["n"]) if at < 20) for record in asked]
    assert index.match_many(asked, threads) == expected


def test_filters_without_ids_are_known_by_slot(info: EngineInfo) -> None:
    index = Index(info)
    assert index.take([parse_filter("x = 1"), parse_xpath("/a"), parse_filter("x = 2")]) == [
        0,
        1,
        2,
    ]
    index.release(0)
    index.validate()
    assert index.take(()) == []
    assert index.take([parse_filter("x = 3")]) == [0]
    assert index.take([parse_filter("x = 4")]) == [3]
    assert index.filter_in(3) == parse_filter("x = 4")
    assert index.filter_in(1) == parse_xpath("/a")
    assert [index.found(record).tolist() for record in ({"x": 1}, {"x": 3}, {"x": 4})] == [
        [],
        [0],
        [3],
    ]
    index.release(3)
    index.release(1)
    index.validate()
    assert sorted(index.take([parse_filter("x = 5")] * 3)) == [1, 3, 4]
    assert len(index) == 5
    index._free.append(2)
    with pytest.raises(InvariantError, match="without ids"):
        index.validate()


def test_an_index_warns_of_a_filter_that_can_never_match() -> None:
    index = Index()
    with pytest.warns(NeverMatchesWarning, match="'s1' can never match: a = 1 and a = 2 excl") as w:
        index.add("s1", "a = 1 and a = 2")
    assert w[0].filename == __file__
    with pytest.warns(NeverMatchesWarning, match="'s3'") as w:
        index.add_many([("s2", "a = 1"), ("s3", "false")])
    assert len(w) == 1
    assert w[0].filename == __file__
    assert index.match({"a": 1}) == ["s2"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Index(warns=False).add("s1", "false")
        with pytest.raises(NeverMatchesWarning):
            index.add("s4", "false")
    assert "s4" not in index
