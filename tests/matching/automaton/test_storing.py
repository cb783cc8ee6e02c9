"""Storing: a saved engine is loaded as it was, and damaged or foreign files are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import FileFormatError
from sapwood.language.xpath import XPathBounds, parse_xpath
from sapwood.matching.automaton import PathAutomatonEngine
from tests.examples import examples
from tests.xml.made import documents
from tests.xpaths import expressions

LARGE: Final = XPathBounds(text=100_000, steps=1000, predicates=1000, nesting=100, descendants=100)
EXPRESSIONS: Final = (
    "//a[@x = 'é'][b or @y < 2]/c",
    "/a[text() = 1][b/c]",
    "//b[. != 'x']",
    "/*//c",
    "/*//c",
    "//text()",
)
DATA: Final = ("<a x='é'>1<b><c/></b><c/></a>".encode(), b"<b>x</b>", b"<b><c/>y</b>")


def filled() -> PathAutomatonEngine:
    engine = PathAutomatonEngine()
    for slot, expression in enumerate(EXPRESSIONS):
        engine.add(slot, parse_xpath(expression))
    engine.add(9, parse_xpath("/n:a[@n:x = 1.5]", {"n": "urn:n"}))
    engine.remove(2)
    return engine


def loaded(folder: Path) -> PathAutomatonEngine:
    engine = PathAutomatonEngine()
    engine.load(folder, iter(()))
    return engine


def saved(engine: PathAutomatonEngine, folder: Path) -> Path:
    folder.mkdir()
    engine.save(folder)
    return folder


def test_loaded_engine_matches_without_reading_a_pattern(tmp_path: Path) -> None:
    engine = filled()
    again = loaded(saved(engine, tmp_path / "a"))
    again.validate()
    assert len(again) == len(engine) == 6
    for data in (*DATA, b"<a xmlns='urn:n' xmlns:n='urn:n' n:x='1.50'/>"):
        assert again.match(data) == engine.match(data) != []
    assert [path.suffix for path in sorted((tmp_path / "a").iterdir())][:2] == [".json", ".npy"]


def test_loaded_engine_changes_without_changing_its_files(tmp_path: Path) -> None:
    folder = saved(filled(), tmp_path / "a")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    engine, other = loaded(folder), filled()
    for one in (engine, other):
        for slot in (0, 3, 4):
            one.remove(slot)
        one.add(3, parse_xpath("/*//c"))
        one.add(2, parse_xpath("//b[. != 'x']"))
        one.add(12, parse_xpath("//new[@x = 'é']/way"))
        one.validate()
    for data in (*DATA, "<new x='é'><way/></new>".encode()):
        assert engine.match(data) == other.match(data) != []
    again = loaded(saved(engine, tmp_path / "b"))
    assert [again.match(data) for data in DATA] == [other.match(data) for data in DATA]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_loaded_engine_drops_what_removed_patterns_leave_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = loaded(saved(filled(), tmp_path / "a"))
    monkeypatch.setattr("sapwood.matching.automaton.engine.PATTERN_REMAINS_MIN", 0)
    before = {data: set(engine.match(data)) for data in DATA}
    for slot in (0, 1, 3, 4):
        engine.remove(slot)
        engine.validate()
    assert len(engine._targets) < 6
    for data in DATA:
        assert set(engine.match(data)) == before[data] - {0, 1, 3, 4}


def test_empty_engine_is_saved_and_loaded(tmp_path: Path) -> None:
    engine = loaded(saved(PathAutomatonEngine(), tmp_path / "a"))
    assert engine.match(b"<a/>") == []
    engine.add(0, parse_xpath("/a"))
    assert engine.match(b"<a/>") == [0]


@settings(max_examples=examples(30) if settings.get_current_profile_name() == "gate" else 2000)
@given(
    texts=st.lists(expressions(), max_size=8),
    asked=st.lists(documents(), min_size=1, max_size=3),
    gone=st.sets(st.integers(0, 7)),
)
def test_what_is_saved_is_what_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], asked: list[bytes], gone: set[int]
) -> None:
    engine = PathAutomatonEngine()
    for slot, text in enumerate(texts):
        engine.add(slot, parse_xpath(text, bounds=LARGE))
    for slot in gone & set(range(len(texts))):
        engine.remove(slot)
    again = loaded(saved(engine, tmp_path_factory.mktemp("saved") / "a"))
    again.validate()
    for data in asked:
        assert again.match(data) == engine.match(data)


NAMES: Final = (
    *("trie_parents", "trie_tests", "trie_descendant", "condition_kinds", "condition_first"),
    *("condition_second", "condition_texts", "condition_operands", "literal_offsets"),
    *("equality_tests", "equality_subjects", "equality_offsets", "target_nodes", "target_reaches"),
    *("target_equalities", "target_conditions", "target_reading", "slot_targets"),
)


def rewritten(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    path = folder / f"{name}.npy"
    np.save(path, change(np.load(path)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda array: array[:-1], id="shorter"),
        pytest.param(lambda array: array.astype(np.float32), id="another type"),
        pytest.param(lambda array: array[:, None], id="two dimensions"),
    ],
)
@pytest.mark.one_in(3)
def test_array_of_another_form_is_refused(
    tmp_path: Path, name: str, change: Callable[[Any], Any]
) -> None:
    folder = saved(filled(), tmp_path / "a")
    rewritten(folder, name, change)
    with pytest.raises(FileFormatError):
        loaded(folder)


def _with(at: int, value: int) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[at] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("trie_parents", 0, 0),
        ("trie_parents", 1, 1),
        ("trie_parents", -1, -1),
        ("trie_tests", -1, 99),
        ("condition_kinds", 0, 1),
        ("condition_kinds", -1, 8),
        ("condition_relations", -1, 7),
        ("condition_second", 6, 10_000),
        ("condition_operands", 0, 10_000),
        ("condition_operands", -1, -1),
        ("condition_texts", -1, 50),
        ("literal_offsets", 0, 1),
        ("literal_offsets", -1, 10_000),
        ("equality_subjects", 0, 0),
        ("equality_subjects", 0, 99),
        ("equality_tests", 0, 99),
        ("target_nodes", 0, 10_000),
        ("target_reaches", 0, 10_000),
        ("target_equalities", 0, 10_000),
        ("target_conditions", 0, -1),
        ("slot_targets", 0, 10_000),
        ("slot_targets", 0, -2),
    ],
)
@pytest.mark.one_in(2)
def test_index_that_leads_nowhere_is_refused(
    tmp_path: Path, name: str, at: int, value: int
) -> None:
    folder = saved(filled(), tmp_path / "a")
    rewritten(folder, name, _with(at, value))
    with pytest.raises(FileFormatError, match="do not belong together"):
        loaded(folder)


@pytest.mark.parametrize("name", ["trie_parents.npy", "automaton.json", "slot_targets.npy"])
def test_file_that_is_cut_off_or_missing_or_foreign_is_refused(tmp_path: Path, name: str) -> None:
    folder = saved(filled(), tmp_path / "a")
    whole = (folder / name).read_bytes()
    for content in (whole[: len(whole) // 2], whole[:-3], b"", b"PK\x03\x04"):
        (folder / name).write_bytes(content)
        with pytest.raises(FileFormatError, match=name):
            loaded(folder)
    (folder / name).unlink()
    with pytest.raises(FileFormatError, match=name):
        loaded(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 2},
        {"tests": [["a", None], ["a", None]]},
        {"tests": [["a", None]]},
        {"tests": "a"},
        {"tests": [["a", 1]]},
    ],
    ids=str,
)
def test_header_of_something_else_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    folder = saved(filled(), tmp_path / "a")
    path = folder / "automaton.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(FileFormatError):
        loaded(folder)


def test_literals_that_are_no_text_or_come_twice_are_refused(tmp_path: Path) -> None:
    folder = saved(filled(), tmp_path / "a")
    rewritten(folder, "equality_bytes", lambda array: np.full_like(array, 0x80))
    with pytest.raises(FileFormatError, match="no text"):
        loaded(folder)
    twice = PathAutomatonEngine()
    for slot, literal in enumerate(("p", "q")):
        twice.add(slot, parse_xpath(f"/a[@x = '{literal}']"))
    folder = saved(twice, tmp_path / "b")
    rewritten(folder, "equality_bytes", lambda array: np.full_like(array, ord("p")))
    with pytest.raises(FileFormatError, match="twice"):
        loaded(folder)
