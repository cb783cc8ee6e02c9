"""The automaton: what its states hold, when it is brought up to date, and when it begins anew."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.errors import InvariantError
from sapwood.matching.documents.automaton.kernels import compiled, plain
from sapwood.matching.documents.automaton.names import Symbol
from sapwood.matching.documents.automaton.paths import PathTrie
from sapwood.matching.documents.automaton.states import PathStates
from sapwood.model.documents.conditions import Axis

CHILD, DEEP = Axis.CHILD, Axis.DESCENDANT
A, B = Symbol(1, -1), Symbol(2, -1)


def nodes(states: PathStates, state: int) -> list[int]:
    held = states.held()
    start = int(held.starts[state])
    found: list[int] = held.nodes[start : start + int(held.sizes[state])].tolist()
    return found


@pytest.mark.parametrize("kernels", [compiled, plain])
def test_states_hold_the_nodes_their_label_paths_reach(kernels: Any) -> None:
    paths, states = PathTrie(), PathStates(kernels)
    first = paths.node([(CHILD, 1), (CHILD, 2)])
    states.begin(paths.trie())
    a = states.state(0, 1, A)
    b = states.state(a, 2, B)
    assert (nodes(states, 0), nodes(states, a), nodes(states, b)) == ([0], [1], [first])
    anywhere = paths.node([(DEEP, 2)])
    below = paths.node([(DEEP, 0), (DEEP, 2)])
    states.begin(paths.trie())
    assert states.current == {}
    assert states.state(0, 1, A) == a
    assert states.state(a, 2, B) == b
    assert nodes(states, a) == [1, below - 1]
    assert nodes(states, b) == [first, anywhere, below - 1, below]
    states.validate()


def test_states_begin_anew_when_they_are_too_many() -> None:
    paths, states = PathTrie(), PathStates(compiled, states_max=2)
    paths.node([(CHILD, 1), (CHILD, 2)])
    states.begin(paths.trie())
    below = states.state(0, 1, A)
    states.state(below, 2, B)
    assert len(states) == 3
    states.begin(paths.trie())
    assert len(states) == 1
    assert nodes(states, states.state(0, 1, A)) == [1]
    states.validate()


def test_states_begin_anew_when_they_hold_too_many_nodes() -> None:
    paths, states = PathTrie(), PathStates(compiled, nodes_max=3)
    for test in range(5):
        paths.node([(CHILD, 0), (CHILD, test)])
        paths.node([(DEEP, test)])
    states.begin(paths.trie())
    states.state(0, 1, A)
    states.begin(paths.trie())
    assert len(states) == 1


def test_validate_finds_nodes_out_of_order() -> None:
    paths, states = PathTrie(), PathStates(compiled)
    paths.node([(CHILD, 0)])
    paths.node([(CHILD, 1)])
    states.begin(paths.trie())
    states.state(0, 1, A)
    states.validate()
    states.held().nodes[1:3] = [2, 1]
    with pytest.raises(InvariantError):
        states.validate()
