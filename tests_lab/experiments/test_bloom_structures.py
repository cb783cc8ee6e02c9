"""Figures 9.14, 9.15 and 9.17 to 9.19 in small."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.routing.forwarding.bloom.published.counting_sbstree import CountingSbsTree
from sapwood_lab.experiments import bloom_structures
from sapwood_lab.experiments.bloom_structures import (
    ALL,
    BITS,
    CONSTANT,
    COUNTING,
    FILTERS,
    FOREST,
    SBSPOSET,
    SBSTREE,
    SET_BACK,
    SHORT,
    TREES,
)
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.report import Row, number

CHOICES = Choices((20, 60))


@pytest.fixture(autouse=True)
def few_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bloom_structures, "EVENTS", 10)
    monkeypatch.setattr(bloom_structures, "EVENTS_OF_BITS", 10)


def measured(part: str, **more: int) -> list[Row]:
    chosen = [
        one
        for one in bloom_structures.configurations(CHOICES)
        if one["part"] == part and all(one[name] == value for name, value in more.items())
    ]
    return [{**one, **row} for one in chosen for row in bloom_structures.measure(one)]


def test_every_structure_is_filled_and_asked() -> None:
    rows = measured(FILTERS, filters=20)
    assert [row["structure"] for row in rows] == [*ALL]
    assert all(number(row["add_us"]) > 0 < number(row["match_us"]) for row in rows)


def test_more_pairs_set_more_bits_and_bits_stay_where_they_are_to_be_constant() -> None:
    few, many = (measured(BITS, pairs=pairs) for pairs in (2, 20))
    for less, more in zip(few, many, strict=True):
        assert number(less["bits_set"]) < number(more["bits_set"])
        assert number(less["steps"]) < number(more["steps"])
    rows = measured(CONSTANT)
    assert [row["filters"] for row in rows] == [20, 20, 60, 60]
    assert len({row["bits_set"] for row in rows}) == 1
    searched = {
        name: [number(r["steps"]) for r in rows if r["structure"] == name] for name in TREES
    }
    assert all(less <= more for less, more in searched.values())


def test_with_short_lists_a_search_looks_at_few_postings_unless_all_are_set_back() -> None:
    rows = measured(SHORT)
    assert [row["structure"] for row in rows] == [*TREES, SET_BACK] * 2
    steps = {
        name: [number(row["steps"]) for row in rows if row["structure"] == name]
        for name in (*TREES, SET_BACK)
    }
    assert [back - few for back, few in zip(steps[SET_BACK], steps[COUNTING], strict=True)] == [
        pytest.approx(size, abs=0.11) for size in (20, 60)
    ]
    # Of the nodes that a search visits, all but the root are those of a posting.
    assert all(
        nodes <= 1 + postings
        for nodes, postings in zip(steps[SBSTREE], steps[COUNTING], strict=True)
    )


def test_what_sets_all_counters_back_finds_the_same() -> None:
    ours, other = CountingSbsTree(), bloom_structures._SetBack()
    for tree in (ours, other):
        for holder, bits in enumerate(([1, 5], [5], [1, 5, 9], [2])):
            tree.add(bits, str(holder))
    for asked in ([1, 5], [5, 9], [1, 5, 9], [], [2, 1]):
        assert ours.match(asked) == other.match(asked)


def row(part: str, structure: str, **more: Any) -> Row:
    cells = {"pairs": 0, "add_us": 1.0, "match_us": 1.0, "bits_set": 10.0, "steps": 10.0}
    return {"part": part, "structure": structure, "filters": 5_000, **cells, **more}


def grown(of: str, structure: str, by: str, *points: tuple[float, float]) -> list[Row]:
    """Rows at which one column has these values, and so have time and steps."""
    return [row(of, structure, **{by: at, "match_us": took, "steps": took}) for at, took in points]


def test_the_claims_are_judged_by_ratios_and_by_how_costs_grow() -> None:
    add = {"poset": 300.0, FOREST: 200.0, SBSPOSET: 9.0, SBSTREE: 1.0, COUNTING: 1.0}
    match = {"poset": 90.0, FOREST: 90.0, SBSPOSET: 5.0, SBSTREE: 5.0, COUNTING: 5.0}
    rows = [
        *(row(FILTERS, one, add_us=add[one], match_us=match[one]) for one in ALL),
        *grown(BITS, SBSTREE, "bits_set", (1, 1), (2, 2), (4, 64)),
        *grown(BITS, COUNTING, "bits_set", (1, 1), (2, 2), (4, 4)),
        *grown(CONSTANT, SBSTREE, "filters", (10, 5), (100, 50)),
        *grown(CONSTANT, COUNTING, "filters", (10, 5), (100, 5)),
        *grown(SHORT, SBSTREE, "filters", (10, 5), (100, 50)),
        *grown(SHORT, COUNTING, "filters", (10, 5), (100, 5)),
        *grown(SHORT, SET_BACK, "filters", (10, 5), (100, 50)),
    ]
    told = bloom_structures.report(Choices(), rows)
    assert len(told.findings) == 13
    assert all(one.holds for one in told.findings)
    assert [cell for cell in told.column("published_bits_set") if cell is not None] == [200]
    assert len(told.charts) == 6
    other = [
        *(row(FILTERS, one, bits_set=201.0) for one in ALL),
        *grown(BITS, SBSTREE, "bits_set", (1, 1), (2, 2), (4, 4)),
        *grown(BITS, COUNTING, "bits_set", (1, 1), (2, 4), (4, 16)),
        *grown(CONSTANT, SBSTREE, "filters", (10, 5), (100, 5)),
        *grown(CONSTANT, COUNTING, "filters", (10, 5), (100, 50)),
        *grown(SHORT, SBSTREE, "filters", (10, 5), (100, 5)),
        *grown(SHORT, COUNTING, "filters", (10, 5), (100, 50)),
        *grown(SHORT, SET_BACK, "filters", (10, 5), (100, 5)),
    ]
    judged = bloom_structures.report(Choices(), other).findings
    assert [one.holds for one in judged] == [False] * 3 + [True] + [False] * 9
