"""The trie of access paths."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.matching.automaton.paths import PathTrie
from sapwood.model.patterns.conditions import Axis

CHILD, DEEP = Axis.CHILD, Axis.DESCENDANT


def test_paths_share_their_beginnings() -> None:
    paths = PathTrie()
    assert paths.node([(CHILD, 1), (DEEP, 2)]) == 2
    assert paths.node([(CHILD, 1), (CHILD, 2)]) == 3
    assert paths.node([(CHILD, 1)]) == 1
    assert paths.node([(CHILD, 1), (DEEP, 2)]) == 2
    assert len(paths) == 4
    trie = paths.trie()
    assert trie.parents.tolist() == [-1, 0, 1, 1]
    assert trie.tests.tolist() == [0, 1, 2, 2]
    assert trie.descendant.tolist() == [False, False, True, False]
    paths.validate()


def test_validate_finds_a_node_under_another_parent() -> None:
    paths = PathTrie()
    paths.node([(CHILD, 1), (CHILD, 2)])
    paths._parents.view[2] = 0
    with pytest.raises(InvariantError):
        paths.validate()
