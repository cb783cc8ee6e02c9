"""An overlay of peers as a picture: communities, loads, and the way of one publication.

Peers are dots, colored by community (the largest ones; all others are gray), as large as their
load. Thin lines are links; strong ones, drawn above them, are the ways that a publication took, its
spanning tree. A filled dot is an interested peer that got the publication, a pale one with a
colored rim got it in vain, a red ring missed it; a small pale dot is a peer that was not interested
and did not get it.

A tree is drawn in rings: its top level inside, each peer in the middle of its children, and as much
of the circle for a subtree as it has leaves. In a graph each community is a disk of peers, the
busiest in the middle, and the disks lie around each other on a spiral, the largest first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from sapwood.charts.drawing import text
from sapwood.errors import InvalidValueError

Place = tuple[float, float]

SIZE: Final = 960
_MARGIN, _HEAD = 24.0, 84.0
_COLORS: Final = (
    *("#1b6ca8", "#c8553d", "#3a7d44", "#7b4b94", "#b8860b"),
    *("#00838f", "#d81b60", "#5d4037", "#558b2f", "#283593"),
)
_OTHERS: Final = "#8a939a"
_MISSED: Final = "#d50000"
_GOLDEN: Final = math.pi * (3 - math.sqrt(5))
"""The angle by which seeds of a sunflower follow each other: they fill a disk evenly."""

_LEAST, _MOST = 2.2, 13.0
"""Radii of the idlest and of the busiest peer."""


@dataclass(frozen=True, slots=True)
class DrawnPeer:
    """A peer: community, load (any scale), whether it was interested, and whether it received."""

    community: int
    load: float = 0.0
    wanted: bool = False
    received: bool = False


@dataclass(frozen=True, slots=True)
class DrawnOverlay:
    """Peers by number, links between them, and ways that a publication took, from and to.

    `parents` has for each peer the one above it, -1 at the top, where the overlay is a tree; it is
    empty for a graph. Links of which is known that they are weaker (by chance) are `faint`.
    """

    title: str
    peers: Sequence[DrawnPeer]
    links: Sequence[tuple[int, int]]
    ways: Sequence[tuple[int, int]] = ()
    parents: Sequence[int] = ()
    faint: Sequence[tuple[int, int]] = ()


def overlay_picture(overlay: DrawnOverlay) -> str:
    """The overlay as SVG, always the same for the same one.

    Raises `InvalidValueError` without any peer.
    """
    if not overlay.peers:
        raise InvalidValueError("peers", "a picture needs peers")
    places = _fitted(_rings(overlay.parents) if overlay.parents else _disks(overlay.peers))
    colors = _colors(overlay.peers)
    height = SIZE + _HEAD
    frame = f'viewBox="0 0 {SIZE} {height:.0f}" font-family="sans-serif" font-size="13"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {frame}>',
        f"<title>{escape(overlay.title)}</title>",
        f'<rect width="{SIZE}" height="{height:.0f}" fill="#ffffff"/>',
        text(_MARGIN, 28, overlay.title, attributes='font-weight="bold" font-size="16"'),
        *_legend(overlay),
        _lines("faint", overlay.faint, places, 'stroke="#e3e6e8" stroke-width="0.5"'),
        _lines("links", overlay.links, places, 'stroke="#c3cad0" stroke-width="0.6"'),
        _lines("ways", overlay.ways, places, 'stroke="#20262b" stroke-width="1.1" opacity="0.55"'),
        *_dots(overlay, places, colors),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _rings(parents: Sequence[int]) -> list[Place]:
    """Places of a tree's peers in rings, by depth and by the leaves before them."""
    children: dict[int, list[int]] = {}
    for peer, parent in enumerate(parents):
        children.setdefault(parent, []).append(peer)
    order, depths = list(children.get(-1, ())), dict.fromkeys(children.get(-1, ()), 1)
    for peer in order:
        for child in children.get(peer, ()):
            depths[child] = depths[peer] + 1
            order.append(child)
    leaves = [0] * len(parents)
    for peer in reversed(order):
        leaves[peer] = sum(leaves[child] for child in children.get(peer, ())) or 1
    begins: dict[int, float] = {}
    at = 0.0
    for peer in children.get(-1, ()):
        begins[peer], at = at, at + leaves[peer]
    total = max(at, 1.0)
    for peer in order:
        at = begins[peer]
        for child in children.get(peer, ()):
            begins[child], at = at, at + leaves[child]
    places: list[Place] = [(0.0, 0.0)] * len(parents)
    for peer in order:
        angle = 2 * math.pi * (begins[peer] + leaves[peer] / 2) / total
        # Inner rings are small: depth by its root would put the many of the first rings closer.
        radius = float(depths[peer])
        places[peer] = (radius * math.cos(angle), radius * math.sin(angle))
    return places


def _disks(peers: Sequence[DrawnPeer]) -> list[Place]:
    """Places of a graph's peers: a disk for each community, the disks on a spiral."""
    members: dict[int, list[int]] = {}
    for number, peer in enumerate(peers):
        members.setdefault(peer.community, []).append(number)
    ordered = sorted(members.values(), key=lambda some: (-len(some), some[0]))
    places: list[Place] = [(0.0, 0.0)] * len(peers)
    taken: list[tuple[float, float, float]] = []
    for some in ordered:
        radius = math.sqrt(len(some)) + 0.6
        x, y = _room(taken, radius)
        taken.append((x, y, radius))
        busiest = sorted(some, key=lambda number: (-peers[number].load, number))
        for rank, number in enumerate(busiest):
            far, angle = 0.92 * math.sqrt(rank + 0.5), rank * _GOLDEN
            places[number] = (x + far * math.cos(angle), y + far * math.sin(angle))
    return places


def _room(taken: Sequence[tuple[float, float, float]], radius: float) -> Place:
    """The first place on a spiral from the middle where a disk touches no other."""
    step = 0
    while True:
        far, angle = 0.35 * radius * math.sqrt(step), step * _GOLDEN
        x, y = far * math.cos(angle), far * math.sin(angle)
        if all(math.hypot(x - a, y - b) >= radius + c for a, b, c in taken):
            return x, y
        step += 1


def _fitted(places: Sequence[Place]) -> list[Place]:
    """The places scaled into the square below the head."""
    xs, ys = [x for x, _ in places], [y for _, y in places]
    width = max(max(xs) - min(xs), max(ys) - min(ys), 1e-9)
    scale = (SIZE - 2 * _MARGIN - 2 * _MOST) / width
    middle_x, middle_y = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2
    half = SIZE / 2
    return [
        (half + (x - middle_x) * scale, _HEAD + half + (y - middle_y) * scale) for x, y in places
    ]


def _colors(peers: Sequence[DrawnPeer]) -> Mapping[int, str]:
    sizes = Counter(peer.community for peer in peers)
    largest = sorted(sizes, key=lambda one: (-sizes[one], one))
    return dict(zip(largest, _COLORS, strict=False))


def _lines(name: str, ends: Sequence[tuple[int, int]], places: Sequence[Place], style: str) -> str:
    drawn = "".join(
        f"M{places[one][0]:.1f} {places[one][1]:.1f}L{places[other][0]:.1f} {places[other][1]:.1f}"
        for one, other in ends
    )
    return f'<path class="{name}" d="{drawn}" fill="none" {style}/>'


def _dots(
    overlay: DrawnOverlay, places: Sequence[Place], colors: Mapping[int, str]
) -> Iterator[str]:
    busiest = max((peer.load for peer in overlay.peers), default=0.0) or 1.0
    # The busy ones last: they are large, and what counts.
    for number in sorted(range(len(places)), key=lambda one: (overlay.peers[one].load, one)):
        peer, (x, y) = overlay.peers[number], places[number]
        color = colors.get(peer.community, _OTHERS)
        radius = _LEAST + (_MOST - _LEAST) * math.sqrt(peer.load / busiest)
        if peer.wanted and peer.received:
            style = f'class="got" fill="{color}" stroke="#ffffff" stroke-width="0.5"'
        elif peer.wanted:
            style = f'class="missed" fill="{color}" stroke="{_MISSED}" stroke-width="2"'
        elif peer.received:
            style = f'class="vain" fill="#ffffff" stroke="{color}" stroke-width="1.2"'
        else:
            style = f'class="idle" fill="{color}" fill-opacity="0.25"'
        yield f'<circle {style} cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>'


def _legend(overlay: DrawnOverlay) -> Iterator[str]:
    counts = Counter((peer.wanted, peer.received) for peer in overlay.peers)
    entries = (
        ('fill="#5c6b73"', f"wanted it, and got it: {counts[True, True]:,}"),
        (
            'fill="#ffffff" stroke="#5c6b73" stroke-width="1.2"',
            f"got it in vain: {counts[False, True]:,}",
        ),
        (
            f'fill="#5c6b73" stroke="{_MISSED}" stroke-width="2"',
            f"missed it: {counts[True, False]:,}",
        ),
        ('fill="#5c6b73" fill-opacity="0.25"', f"neither: {counts[False, False]:,}"),
    )
    for place, (style, words) in enumerate(entries):
        x = _MARGIN + 6 + 190 * place
        yield f'<circle {style} cx="{x:.1f}" cy="48" r="5"/>'
        yield text(x + 10, 52.5, words)
    yield text(
        _MARGIN,
        74,
        "colors: the largest communities; size: copies sent in all; dark lines: the way of one "
        "publication",
        attributes='fill="#5c6b73"',
    )
