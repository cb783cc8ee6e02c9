"""Structures that are made at once are those that insertion makes of the same texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.published.posets.hasse import HasseDiagram
from sapwood.routing.forwarding.prefix.tree import RoutingTree
from sapwood_lab.experiments.containing import diagram_of, filter_of, snapshot_of, within
from sapwood_lab.experiments.routing_trees import numbered
from sapwood_lab.workload.records.queries import ATTRIBUTE

WORDS = st.sampled_from(["w00001", "w00002", "w00003"])
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=4).map(" ".join), unique=True, max_size=14)
EVENTS = st.lists(WORDS, max_size=6).map(" ".join)


def test_the_texts_within_a_text_are_its_words_from_one_place_to_another() -> None:
    assert [*within("a")] == []
    assert [*within("a b c")] == ["a", "b", "c", "a b", "b c"]


@given(TEXTS, EVENTS)
def test_what_is_made_at_once_is_what_is_inserted_the_shorter_ones_first(
    texts: list[str], event: str
) -> None:
    diagram, inserted, tree = diagram_of(texts), HasseDiagram(), RoutingTree()
    for text in sorted(texts, key=len):
        inserted.add(texts.index(text), filter_of(text))
        tree.insert(filter_of(text))
    diagram.validate()
    assert {*diagram.roots} == {*inserted.roots}
    for node in range(len(texts)):
        assert {*diagram.parents(node)} == {*inserted.parents(node)}
        assert {*diagram.children(node)} == {*inserted.children(node)}
        assert diagram.filter(node) == inserted.filter(node)
    (made, nodes), known = snapshot_of(texts), numbered(tree)
    assert made.depths.tolist() == known.depths.tolist()
    record = {ATTRIBUTE: event}
    accepted = {at for at, text in enumerate(texts) if text in event}
    assert {*diagram.accepting(record)} == accepted
    assert made.follow(record) == known.follow(record)
    assert {*made.follow(record)} >= {0, *(nodes[at] for at in accepted)}
