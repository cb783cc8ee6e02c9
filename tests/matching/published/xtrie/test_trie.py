"""The trie of runs, against looking at every run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.matching.published.xtrie.trie import RunTrie, TrieNode

A, B = "a", "b"
runs = st.lists(st.sampled_from((A, B)), min_size=1, max_size=4).map(tuple)


@given(
    changes=st.lists(runs, max_size=25),
    labels=st.lists(st.sampled_from((A, B, "c")), max_size=12),
)
def test_every_run_is_found_where_it_ends(
    changes: list[tuple[str, ...]], labels: list[str]
) -> None:
    trie: RunTrie[tuple[str, ...]] = RunTrie()
    there: set[tuple[str, ...]] = set()
    for number, run in enumerate(changes):
        (trie.remove if run in there else trie.add)(run, run)
        there ^= {run}
        trie.validate()
        if number % 5 == 0:
            trie.link()
            trie.step(trie.root, A)
    trie.link()
    node = trie.root
    for end, label in enumerate(labels, start=1):
        node = trie.step(node, label)
        read = tuple(labels[:end])
        assert set(trie.found(node)) == {run for run in there if read[-len(run) :] == run}


def test_nothing_is_left_of_runs_that_are_gone() -> None:
    trie: RunTrie[int] = RunTrie()
    trie.add((A, B), 1)
    trie.add((A,), 2)
    trie.remove((A, B), 1)
    trie.remove((A,), 2)
    assert trie.root.children == {}


def test_validate_finds_a_node_that_leads_to_nothing() -> None:
    trie: RunTrie[int] = RunTrie()
    trie.root.children[A] = TrieNode(trie.root, A)
    with pytest.raises(InvariantError):
        trie.validate()
