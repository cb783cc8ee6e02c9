"""States that learn, where there is little room."""

from __future__ import annotations

import numpy as np

from sapwood.matching.automaton.kernels.compiled.growth import join_nodes
from sapwood.matching.automaton.paths import PathTrie
from sapwood.matching.automaton.states import Growth
from sapwood.model.patterns.conditions import Axis


def growth(paths: PathTrie, room: int) -> Growth:
    """The document's state and two below each other, both of test 1, that have seen nothing."""
    ints = np.zeros((5, 3), np.int32)
    parents, local, expanded, sizes, rooms = ints
    parents[:], local[:], expanded[:] = (-1, 0, 1), 1, -1
    sizes[0] = rooms[0] = 1
    return Growth(
        *(paths.trie(), np.array([1, 2], np.int32), parents, local, expanded),
        *(np.zeros(3, np.int64), np.zeros(3, np.int64), sizes, rooms),
        *(np.zeros(room, np.int32), np.zeros(len(paths), np.int32)),
        *(np.zeros(len(paths), np.int32), 1),
    )


def paths() -> PathTrie:
    made = PathTrie()
    for depth in range(1, 4):
        made.node([(Axis.DESCENDANT, 1)] * depth)
    return made


def test_joining_stops_where_there_is_no_room_and_says_how_much_is_missing() -> None:
    assert join_nodes(growth(paths(), 1), 0, 1) == (0, 1, 1)
    assert join_nodes(growth(paths(), 2), 0, 1) == (1, 2, 2)


def test_joining_goes_on_where_it_stopped() -> None:
    states = growth(paths(), 2)
    assert join_nodes(states, 0, 1) == (1, 2, 2)
    states = states._replace(nodes=np.append(states.nodes, np.zeros(2, np.int32)))
    assert join_nodes(states, 1, 2) == (2, 4, 0)
    assert states.nodes.tolist() == [0, 1, 1, 2]
    assert (states.starts.tolist(), states.sizes.tolist()) == ([0, 1, 2], [1, 1, 2])
    assert states.seen.tolist() == [0, 4, 4]


def test_state_that_grows_moves_to_where_it_has_half_as_much_room_again() -> None:
    trie = paths()
    states = growth(trie, 16)
    join_nodes(states, 0, 1)
    trie.node([(Axis.CHILD, 0), (Axis.CHILD, 0)])
    again = states._replace(
        trie=trie.trie(), above=np.zeros(6, np.int32), beside=np.zeros(6, np.int32), mark=3
    )
    assert join_nodes(again, 0, 4) == (2, 4 + 3 + 4, 0)
    assert again.rooms.tolist() == [1, 3, 4]
    assert again.nodes[4:6].tolist() == [1, 4]
    assert again.nodes[7:10].tolist() == [1, 2, 5]
