"""The automaton: what its states hold, when it is brought up to date, and when it begins anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.matching.automaton import states as module
from sapwood.matching.automaton.kernels import compiled, plain
from sapwood.matching.automaton.names import Symbol
from sapwood.matching.automaton.paths import PathTrie
from sapwood.matching.automaton.states import PathStates
from sapwood.model.patterns.conditions import Axis
from tests.examples import examples

CHILD, DEEP = Axis.CHILD, Axis.DESCENDANT
A, B = Symbol(1, -1), Symbol(2, -1)


def nodes(states: PathStates, state: int) -> list[int]:
    held = states.held()
    start = int(held.starts[state])
    found: list[int] = held.nodes[start : start + int(held.sizes[state])].tolist()
    return found


def join(states: PathStates, paths: PathTrie, *joined: int) -> None:
    states.join(paths.trie(), np.array(sorted(joined), np.int32))
    states.validate()


@pytest.mark.parametrize("kernels", [compiled, plain])
def test_states_hold_the_nodes_their_label_paths_reach(kernels: Any) -> None:
    paths, states = PathTrie(), PathStates(kernels)
    first = paths.node([(CHILD, 1), (CHILD, 2)])
    a = states.state(0, 1, A)
    b = states.state(a, 2, B)
    join(states, paths, a, b)
    assert (nodes(states, 0), nodes(states, a), nodes(states, b)) == ([0], [1], [first])
    anywhere = paths.node([(DEEP, 2)])
    below = paths.node([(DEEP, 0), (DEEP, 2)])
    assert states.state(0, 1, A) == a
    assert states.state(a, 2, B) == b
    join(states, paths, a, b)
    assert nodes(states, a) == [1, below - 1]
    assert nodes(states, b) == [first, anywhere, below - 1, below]


STEPS = st.tuples(st.sampled_from([CHILD, DEEP]), st.integers(0, 2))
PATHS = st.lists(STEPS, min_size=1, max_size=4)


@settings(max_examples=examples(30))
@given(
    changes=st.lists(st.tuples(st.lists(PATHS, max_size=4), st.sampled_from("abc ")), max_size=12)
)
@pytest.mark.parametrize("kernels", [compiled, plain])
def test_states_that_learn_late_hold_what_new_ones_hold(
    kernels: Any, changes: list[tuple[list[list[tuple[Axis, int]]], str]]
) -> None:
    paths, states, fresh = PathTrie(), PathStates(kernels), PathStates(plain)

    def made(table: PathStates) -> dict[str, list[int]]:
        top = table.state(0, 1, A)
        below = [top, table.state(top, 2, B)]
        deep = [*below, table.state(below[1], 1, A)]
        return {" ": [], "a": [top], "b": below, "c": deep}

    chains = made(states)
    for added, reached in changes:
        for path in added:
            paths.node(path)
        join(states, paths, *chains[reached])
    join(states, paths, *chains["c"])
    join(fresh, paths, *made(fresh)["c"])
    for state in chains["c"]:
        assert nodes(states, state) == nodes(fresh, state)


def test_what_states_that_grew_left_behind_stays_in_proportion() -> None:
    paths, states = PathTrie(), PathStates(compiled)
    every = [states.state(0, 1, A)]
    every += [states.state(every[0], 2, B), states.state(every[0], 1, A)]
    before = 0
    for _ in range(200):
        before = paths.node([*paths.path(before), (DEEP, 0)])
        join(states, paths, *every)
    assert [len(nodes(states, state)) for state in every] == [1, 2, 2]
    for test in range(1, 3):
        for depth in range(200):
            paths.node([*[(DEEP, 0)] * depth, (DEEP, test)])
            join(states, paths, *every)
    held = sum(len(nodes(states, state)) for state in every)
    assert len(states.held().nodes) <= 6 * held


def test_states_begin_anew_when_they_are_too_many() -> None:
    paths, states = PathTrie(), PathStates(compiled, states_max=2)
    paths.node([(CHILD, 1), (CHILD, 2)])
    states.begin()
    below = states.state(0, 1, A)
    join(states, paths, below, states.state(below, 2, B))
    assert len(states) == 3
    states.begin()
    assert len(states) == 1
    again = states.state(0, 1, A)
    join(states, paths, again)
    assert nodes(states, again) == [1]


def test_states_begin_anew_when_they_hold_too_many_nodes() -> None:
    paths, states = PathTrie(), PathStates(compiled, nodes_max=3)
    for test in range(5):
        paths.node([(CHILD, 0), (CHILD, test)])
        paths.node([(DEEP, test)])
    states.begin()
    join(states, paths, states.state(0, 1, A))
    assert len(states) == 2
    states.begin()
    assert len(states) == 1


def test_marks_begin_anew_before_they_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MARK_MAX", 4)
    paths, states = PathTrie(), PathStates(compiled)
    a = states.state(0, 1, A)
    b = states.state(a, 2, B)
    for test in range(10):
        every = [paths.node([(DEEP, test % 2), (DEEP, at)]) for at in range(30 * test)]
        join(states, paths, a, b)
        assert set(nodes(states, b)) >= {*every[0:1], *every[2:3]}


def test_validate_finds_nodes_out_of_order() -> None:
    paths, states = PathTrie(), PathStates(compiled)
    paths.node([(CHILD, 0)])
    paths.node([(CHILD, 1)])
    join(states, paths, states.state(0, 1, A))
    states.held().nodes[1:3] = [2, 1]
    with pytest.raises(InvariantError):
        states.validate()


def test_validate_finds_states_in_the_same_place() -> None:
    paths, states = PathTrie(), PathStates(compiled)
    paths.node([(DEEP, 0)])
    a = states.state(0, 1, A)
    b = states.state(a, 2, B)
    join(states, paths, a, b)
    states.held().starts[b] = states.held().starts[a]
    with pytest.raises(InvariantError, match="same place"):
        states.validate()
