"""The content of a picture of a semantic overlay: peers, links, the last publication's way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from random import Random

from sapwood.charts.overlays import DrawnOverlay, DrawnPeer
from sapwood.errors import InputError, LimitError
from sapwood.limits.semantic import PICTURE_PEERS_MAX
from sapwood.overlay.semantic.graph.graph import SimilarityGraph
from sapwood.overlay.semantic.graph.state import SEMANTIC
from sapwood.overlay.semantic.hierarchy.hierarchy import Hierarchy
from sapwood.overlay.semantic.hierarchy.state import ROOT
from sapwood.overlay.semantic.spreading import Spread
from sapwood.simulation.semantic.protocols import SemanticOverlay

_ROUNDS = 30
"""Rounds of label propagation: communities of thousands of peers stand still after ten."""


def drawn(
    overlay: SemanticOverlay,
    title: str,
    way: Spread,
    wanting: Collection[int],
    sent: Mapping[int, int],
) -> DrawnOverlay:
    """The overlay with the way of one publication, and how many copies each peer has sent.

    Communities of a tree are the subtrees of its top-level peers; of a graph those in which close
    neighbors agree (label propagation, Raghavan and others 2007, in an order drawn once). Raises
    `LimitError` for more than `limits.semantic.PICTURE_PEERS_MAX` peers, `InputError` for an
    overlay of another kind.
    """
    if len(overlay) > PICTURE_PEERS_MAX:
        raise LimitError(
            "PICTURE_PEERS_MAX", PICTURE_PEERS_MAX, len(overlay), "the peers of a picture"
        )
    if isinstance(overlay, Hierarchy):
        peers = list(overlay.state)
        numbers = {peer: number for number, peer in enumerate(peers)}
        above = [overlay.state.parent[peer] for peer in peers]
        parents = [-1 if one == ROOT else numbers[one] for one in above]
        communities = _subtrees(parents)
        links = [(number, parent) for number, parent in enumerate(parents) if parent >= 0]
        faint: list[tuple[int, int]] = []
    elif isinstance(overlay, SimilarityGraph):
        peers = list(overlay.state)
        numbers = {peer: number for number, peer in enumerate(peers)}
        parents = []
        near: list[list[int]] = [[] for _ in peers]
        links, faint = [], []
        for peer in peers:
            for other, flags in overlay.state.of(peer).items():
                ends = numbers[peer], numbers[other]
                if flags & SEMANTIC:
                    near[ends[0]].append(ends[1])
                if peer < other:
                    (links if flags & SEMANTIC else faint).append(ends)
        communities = _agreed(near)
    else:
        raise InputError(f"there is no picture of a {type(overlay).__name__}")
    received = set(way.received)
    return DrawnOverlay(
        title,
        [
            DrawnPeer(communities[number], sent.get(peer, 0), peer in wanting, peer in received)
            for number, peer in enumerate(peers)
        ],
        links,
        [
            (numbers[before], numbers[peer])
            for peer, before in way.came_from.items()
            if peer != before and before in numbers and peer in numbers
        ],
        parents,
        faint,
    )


def _subtrees(parents: Sequence[int]) -> list[int]:
    """For each peer the one at the top of its subtree."""
    found: dict[int, int] = {}
    for peer in range(len(parents)):
        way = [peer]
        while way[-1] not in found and parents[way[-1]] >= 0:
            way.append(parents[way[-1]])
        top = found.get(way[-1], way[-1])
        found.update(dict.fromkeys(way, top))
    return [found[peer] for peer in range(len(parents))]


def _agreed(near: Sequence[Sequence[int]]) -> list[int]:
    """Communities: each peer takes the label that most of its neighbors have, until none moves."""
    labels = list(range(len(near)))
    order = list(range(len(near)))
    Random(len(near)).shuffle(order)  # noqa: S311 - reproducible
    for _ in range(_ROUNDS):
        moved = False
        for peer in order:
            counts = Counter(labels[other] for other in near[peer])
            if not counts:
                continue
            most = max(counts.values())
            if counts[labels[peer]] < most:
                labels[peer] = min(label for label, count in counts.items() if count == most)
                moved = True
        if not moved:
            break
    return labels
