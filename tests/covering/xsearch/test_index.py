"""XSearch against pattern by pattern."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sapwood import parse_xpath
from sapwood.covering.xsearch import XSearchIndex
from sapwood.limits import COVERING_ALTERNATIVES_MAX
from sapwood.model.patterns.pattern import TreePattern
from tests.covering.patterns import patterns
from tests.examples import examples
from tests.model.patterns.small import LARGE


@settings(max_examples=examples(60))
@given(st.lists(patterns(), max_size=14, unique=True), st.lists(patterns(), max_size=3))
def test_index_finds_what_covers_pattern_by_pattern(
    held: list[TreePattern], asked: list[TreePattern]
) -> None:
    index = XSearchIndex()
    for key, pattern in enumerate(held):
        index.add(key, pattern)
    for pattern in (*held, *asked):
        above = {key for key, one in enumerate(held) if one.covers(pattern)}
        below = {key for key, one in enumerate(held) if pattern.covers(one)}
        own = {key for key, one in enumerate(held) if pattern == one}
        if pattern.twigs:
            assert index.covering(pattern) == above
            assert index.contained(pattern) == below
        assert index.cov(pattern, 100) == sorted(above - own)
        assert index.cov(pattern, 2) == sorted(above - own)[:2]
        assert sorted(index.covered(pattern)) == sorted(below - own)


class IndexMachine(RuleBasedStateMachine):
    """Any sequence of additions, removals and questions."""

    def __init__(self) -> None:
        super().__init__()
        self.index = XSearchIndex()
        self.held: dict[int, TreePattern] = {}

    @rule(many=st.lists(patterns(), min_size=1, max_size=4))
    def add(self, many: list[TreePattern]) -> None:
        for pattern in many:
            if pattern not in self.held.values():
                key = next(k for k in range(len(self.held) + 1) if k not in self.held)
                self.index.add(key, pattern)
                self.held[key] = pattern

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        assume(self.held)
        key = data.draw(st.sampled_from(sorted(self.held)))
        self.index.remove(key)
        del self.held[key]

    @rule(asked=patterns())
    def ask(self, asked: TreePattern) -> None:
        others = {key: one for key, one in self.held.items() if one != asked}
        assert self.index.cov(asked, 99) == sorted(k for k, p in others.items() if p.covers(asked))
        found = sorted(self.index.covered(asked))
        assert found == sorted(k for k, p in others.items() if asked.covers(p))

    @invariant()
    def valid(self) -> None:
        self.index.validate()
        assert len(self.index) == len(self.held)
        assert self.index.nodes <= sum(
            twig.size for pattern in self.held.values() for twig in pattern.twigs
        )


TestIndexMachine = IndexMachine.TestCase
TestIndexMachine.settings = settings(max_examples=examples(25), stateful_step_count=20)


@pytest.mark.parametrize("order", [(5, 1, 3, 4, 6, 7, 2), (1, 2, 3, 4, 5, 6, 7)])
def test_index_finds_what_the_work_prints(order: tuple[int, ...]) -> None:
    """The set reconstructed from the traces of figures 5.2 and 5.3; c is a name of ours."""
    texts = ("/a/c", "/c", "/a/b[c][a]", "/a[b/c][b/a]", "//b", "/a/b[a][b]", "/a/b")
    index = XSearchIndex()
    for key in order:
        index.add(key, parse_xpath(texts[key - 1]))
    index.validate()
    u, v = parse_xpath("/a[*/a][b/b]"), parse_xpath("/a//b")
    assert index.contained(u) == {6}
    assert index.contained(v) == {3, 4, 6, 7}
    assert index.covering(u) == {5, 7}
    assert index.nodes == 10, "a // is no node here"


def test_index_is_as_it_was_when_patterns_come_and_go() -> None:
    index = XSearchIndex()
    index.add(0, parse_xpath("/a[b][b/c]//d"))
    nodes = index.nodes
    index.add(1, parse_xpath("/a[b][b/d][@x = 1 or .//e]/*"))
    assert index.nodes > nodes
    index.remove(1)
    index.validate()
    assert index.nodes == nodes
    index.remove(0)
    assert index.nodes == 0


def test_a_pattern_of_too_many_alternatives_is_held_and_found_by_nobody() -> None:
    names = " or ".join(f"b{at}" for at in range(COVERING_ALTERNATIVES_MAX + 1))
    wide, index = parse_xpath(f"/a[{names}]", bounds=LARGE), XSearchIndex()
    assert wide.twigs == ()
    index.add(0, wide)
    index.add(1, parse_xpath("/a"))
    index.validate()
    assert len(index) == 2
    assert index.cov(wide, 9) == index.covered(wide) == []
    assert index.covered(parse_xpath("/a")) == []
    index.remove(0)
    index.validate()
