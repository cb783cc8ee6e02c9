"""Figure 5.8: the fingers of table 5.1, and the search that the text tells."""

from __future__ import annotations

from sapwood.routing.forwarding.bloom.published.skiptree import SkipTree
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.skiptree_fingers import (
    DESIGN,
    EVENT,
    FILTERS,
    Steps,
    measure,
    searched,
)


def test_fingers_know_the_filters_with_a_bit_in_their_range() -> None:
    rows = measure({"bits": 1 << 14})
    held = {(row["first"], row["last"]): row["filters"] for row in rows}
    assert held[2688, 2815] == "f2"  # the finger that the text goes down to
    assert held[4096, 6143] == "f1 f4 f5 f6"
    assert held[0, 8191] == "f1 f2 f3 f4 f5 f6"
    assert {row["span"] for row in rows} == {128, 512, 2048, 8192}
    assert (12288, 14335) in held  # the last one, which is larger than what is left


def test_a_search_that_is_watched_finds_the_same() -> None:
    plain, watched = SkipTree(1 << 14), Steps(1 << 14)
    for name, bits in FILTERS.items():
        plain.add(bits, name)
        watched.add(bits, name)
    for event in (EVENT, frozenset({6066, 8581, 5037, 8516}), frozenset[int](), frozenset({0})):
        assert watched.match(event) == plain.match(event)
    assert any(step.excluded for step in watched.taken)


def test_the_text_is_right_but_for_a_filter_that_goes_twice_and_the_ends() -> None:
    found = run(DESIGN, Choices())
    assert [one.holds for one in found.findings] == [True, True, True, False, True, False, False]
    assert "f3" in found.findings[3].shown
    (chart,) = found.charts
    assert {*chart.drawn} == {
        *("fingers of 128", "fingers of 512", "fingers of 2,048", "fingers of 8,192", "bits")
    }


def test_the_work_s_own_search_leaves_the_ends_out() -> None:
    assert searched(EVENT, FILTERS) == {"f2"}
    assert searched({5}, {"in": {5}, "low": {0, 5}, "high": {5, 6}, "other": {4}}) == {
        "in",
        "low",
        "high",
    }
