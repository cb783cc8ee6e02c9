"""Matches beside matches and beside `fold`: every schedule with few switches tells the same.

What is matched is so little that one call takes some dozen reads of state, so all of these can be
tried as places where the other thread goes on (`tests.schedules`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from sapwood import Index, parse_xpath
from sapwood.matching.automaton import PathAutomatonEngine
from sapwood.matching.columnar.compaction import CompactionPolicy
from sapwood.matching.columnar.engine import ColumnarEngine
from sapwood.matching.documents.engines import DocumentEngineInfo
from sapwood.matching.engines import EngineInfo
from sapwood.matching.given_records import Matchable
from tests.matching.columnar import plain_kernels
from tests.schedules import Run, Scenario, Where, runs

COLUMNAR: Final = (
    *("columnar/engine.py", "columnar/merge_tree.py", "columnar/trial.py"),
    *("columnar/snapshot.py", "columnar/searching.py"),
    *("columnar/like_checks.py", "columnar/sampling.py", "columnar/segment.py"),
)
AROUND: Final = (
    "matching/index.py",
    "matching/filter_store.py",
    "matching/ordering.py",
    "matching/texts.py",
)
DOCUMENTS: Final = ("automaton/engine.py", "automaton/states.py", "automaton/postings.py")

LATE: Final = CompactionPolicy(compaction_cost=10**9)
"""Matches do not fold."""


def index_of(policy: CompactionPolicy) -> Index:
    """An index without compiled code: plain kernels say so when they are handed too little room."""
    records = EngineInfo(
        "columnar", "records", True, "", lambda: ColumnarEngine(policy, kernels=plain_kernels)
    )
    documents = DocumentEngineInfo(
        "path-automaton", True, "", lambda: PathAutomatonEngine(kernels="plain")
    )
    return Index(records, documents)


def scenario(index: Index, *calls: Callable[[], object]) -> Scenario:
    first, second = calls
    engines = [side.engine for side in (index._records, index._documents) if side.engine]
    return Scenario((first, second), (index._order, *engines))


def check(make: Callable[[], Scenario], where: Where, switches_max: int, *expected: object) -> None:
    """Every run of the schedules tells what is expected, whoever went on first."""
    count = 0
    wrong: list[Run] = []
    for run in runs(make, where, switches_max):
        count += 1
        wrong += [run] if run.results != expected else []
    assert not wrong, f"{len(wrong)} of {count} schedules, the first {wrong[0]}"
    assert count > 10, "there was nothing to choose"


def with_patterns() -> Index:
    """A part with patterns, and a tail that brings new ones."""
    index = index_of(LATE)
    for number in range(3):
        index.add(f"k{number}", f"a like '%x%{number}%'")
    index.fold()
    for number in range(3, 5):
        index.add(f"k{number}", f"a like '%x%{number}%' and b = 1")
    return index


ASKED: Final[list[Matchable]] = [{"a": "1 x1y"}, {"a": "x 2"}, {"a": "x4", "b": 1}]
FOUND: Final = [["k1"], ["k2"], ["k4"]]


@pytest.mark.parametrize("switches", [1, pytest.param(2, marks=pytest.mark.long)])
def test_patterns_are_tried_as_they_were_when_the_match_began_whatever_a_fold_adds(
    switches: int,
) -> None:
    def make() -> Scenario:
        index = with_patterns()
        return scenario(index, lambda: index.match_many(ASKED), index.fold)

    check(make, Where((*COLUMNAR, *AROUND)), switches, FOUND, None)


@pytest.mark.parametrize("alike", [True, False])
def test_no_match_sees_a_tail_that_another_one_is_folding(alike: bool) -> None:
    def make() -> Scenario:
        index = index_of(CompactionPolicy(compaction_cost=3, conjunction_cost=0))
        for name in ("a", "b"):
            index.add(name, f"{name} = 1")
        ask = index.match if alike else index.match_any
        return scenario(index, lambda: index.match({"a": 1}), lambda: ask({"b": 1}))

    where = Where(
        ("columnar/engine.py", "columnar/merge_tree.py"),
        frozenset({"_state", "_published", "_tried"}),
    )
    check(make, where, 2, ["a"], ["b"] if alike else True)


def test_a_search_writes_into_memory_for_the_names_that_it_passes() -> None:
    def make() -> Scenario:
        index = index_of(CompactionPolicy(compaction_cost=3, conjunction_cost=0))
        index.add("a", "a = 1")
        index.fold()
        for name in ("b", "c"):
            index.add(name, f"{name} = 1")
        return scenario(
            index, lambda: index.match({"a": 1, "c": 1}), lambda: index.match({"b": 1, "c": 1})
        )

    where = Where(
        ("columnar/searching.py", "columnar/rows.py"),
        frozenset({"_names", "_attribute_numbers", "_scratch"}),
    )
    check(make, where, 3, ["a", "c"], ["b", "c"])


@pytest.mark.parametrize("by", ["add", "remove", "fold"])
def test_fold_runs_beside_whoever_else_is_alone(by: str) -> None:
    made: list[Index] = []

    def make() -> Scenario:
        index = with_patterns()
        made[:] = [index]
        calls: dict[str, Callable[[], object]] = {
            "add": lambda: index.add("late", "a like '%x%y%'"),
            "remove": lambda: index.remove("k1"),
            "fold": index.fold,
        }
        return scenario(index, calls[by], index.fold)

    expected = [FOUND[0] if by != "remove" else [], *FOUND[1:]]
    expected[0] = [*expected[0], *(["late"] if by == "add" else [])]
    for run in runs(make, Where((*COLUMNAR, "matching/ordering.py")), 1):
        (index,) = made
        assert run.results[1] is None
        index.validate()
        assert index.match_many(ASKED) == expected, run


@pytest.mark.parametrize("beside", ["match", "fold"])
def test_a_loaded_index_is_matched_beside_another_match_and_a_fold(
    beside: str, tmp_path: Path
) -> None:
    saved = with_patterns()
    saved.save(tmp_path / "index")
    engine = saved.engine

    def make() -> Scenario:
        index = Index.load(tmp_path / "index", engine)
        calls: dict[str, Callable[[], object]] = {
            "match": lambda: index.match_many(ASKED[:2]),
            "fold": index.fold,
        }
        return scenario(index, lambda: index.match_many(ASKED), calls[beside])

    where = Where(("matching/ordering.py", "matching/texts.py"))
    check(make, where, 1, FOUND, FOUND[:2] if beside == "match" else None)


@pytest.mark.parametrize("beside", ["match", "fold"])
def test_documents_are_matched_beside_each_other_and_beside_a_fold(beside: str) -> None:
    def make() -> Scenario:
        index = index_of(LATE)
        for number, text in enumerate(("//a/b", "/a[b = 'x']", "//c", "//b[@k > 1]")):
            index.add(f"d{number}", parse_xpath(text))
        calls: dict[str, Callable[[], object]] = {
            "match": lambda: index.match_count(b"<a><c/><b>x</b></a>"),
            "fold": index.fold,
        }
        return scenario(index, lambda: index.match(b"<a><b k='2'/></a>"), calls[beside])

    result = 3 if beside == "match" else None
    check(make, Where((*DOCUMENTS, *AROUND)), 1, ["d0", "d3"], result)
