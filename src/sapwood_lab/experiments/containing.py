"""Structures of many filters for words in a row, made at once: containment is known.

A filter `query like '%w00012 w00345%'` covers those whose texts contain its own. Insertion finds
that out by comparing filters; of texts that are words of one length it can be looked up, as the
texts within a text are its words from one place to another. What is made here is what insertion
makes of the same texts, the shorter ones first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sapwood.language import parse_filter
from sapwood.matching.published.posets.hasse import HasseDiagram
from sapwood.model.filter import Filter
from sapwood.routing.forwarding.prefix.siblings import Node
from sapwood.routing.forwarding.prefix.snapshot import Snapshot
from sapwood.routing.forwarding.prefix.tree import RoutingTree
from sapwood_lab.experiments.routing_trees import numbered
from sapwood_lab.workload.records.queries import ATTRIBUTE


def filter_of(text: str) -> Filter:
    """The filter that accepts events with a text."""
    return parse_filter(f"{ATTRIBUTE} like '%{text}%'")


def within(text: str) -> Iterator[str]:
    """The texts that words of a text make, which stand behind each other, but for all of them."""
    words = text.split(" ")
    for size in range(1, len(words)):
        for first in range(len(words) - size + 1):
            yield " ".join(words[first : first + size])


def diagram_of(texts: Sequence[str]) -> HasseDiagram:
    """The Siena poset of different texts; the node of a text is its place among them."""
    places = {text: place for place, text in enumerate(texts)}
    made = HasseDiagram()
    for text in _shorter_first(texts):
        covers = [one for one in within(text) if one in places]
        wider = {one for cover in covers for one in within(cover)}
        parents = dict.fromkeys(places[one] for one in covers if one not in wider)
        made.put_below([*parents], places[text], filter_of(text))
    return made


def snapshot_of(texts: Sequence[str]) -> tuple[Snapshot, list[int]]:
    """The routing tree of different texts, and the node of each of them."""
    tree, nodes = RoutingTree(), dict[str, Node]()
    serial: dict[str, int] = {}
    for text in _shorter_first(texts):
        covers = sorted((one for one in within(text) if one in nodes), key=lambda one: serial[one])
        parent = tree.root
        while (cover := next((c for c in covers if nodes[c].parent is parent), None)) is not None:
            parent = nodes[cover]
        ((attribute, asked),) = filter_of(text).conjunctions[0].constraints
        nodes[text] = Node(attribute, asked)
        serial[text] = len(serial)
        parent.adopt(nodes[text])
    return numbered(tree), [nodes[text].number for text in texts]


def _shorter_first(texts: Sequence[str]) -> list[str]:
    """So that what covers a text is there before it; those of one length as they came."""
    return sorted(texts, key=len)
