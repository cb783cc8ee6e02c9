"""Pictures of overlays: every peer and link once, each peer as what became of it."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.charts.overlays import DrawnOverlay, DrawnPeer, overlay_picture
from sapwood.errors import InvalidValueError

PEERS = st.builds(
    DrawnPeer,
    st.integers(0, 14),
    st.floats(0, 50),
    st.booleans(),
    st.booleans(),
)


@st.composite
def overlays(draw: st.DrawFn) -> DrawnOverlay:
    peers = draw(st.lists(PEERS, min_size=1, max_size=25))
    ends = st.integers(0, len(peers) - 1)
    links = draw(st.lists(st.tuples(ends, ends), max_size=20))
    parents = []
    if draw(st.booleans()):
        parents = [draw(st.integers(-1, number - 1)) for number in range(len(peers))]
    return DrawnOverlay("a <tree> & more", peers, links, links[:3], parents, links[3:5])


def circles(picture: str) -> list[tuple[str, float, float, float]]:
    found = [one for one in ElementTree.fromstring(picture).iter() if one.tag.endswith("circle")]
    return [
        (
            one.attrib["class"],
            float(one.attrib["cx"]),
            float(one.attrib["cy"]),
            float(one.attrib["r"]),
        )
        for one in found
        if "class" in one.attrib
    ]


@given(overlays())
def test_every_peer_and_link_is_drawn_within_the_picture(overlay: DrawnOverlay) -> None:
    picture = overlay_picture(overlay)
    assert picture == overlay_picture(overlay)
    kinds = {(True, True): "got", (True, False): "missed", (False, True): "vain"}
    drawn = circles(picture)
    assert sorted(kind for kind, *_ in drawn) == sorted(
        kinds.get((peer.wanted, peer.received), "idle") for peer in overlay.peers
    )
    for _, x, y, radius in drawn:
        assert radius <= x <= 960 - radius
        assert 84 <= y <= 1044 - radius
    for name, ends in (("links", overlay.links), ("ways", overlay.ways), ("faint", overlay.faint)):
        [path] = re.findall(f'class="{name}" d="([^"]*)"', picture)
        assert path.count("M") == path.count("L") == len(ends)


def test_children_lie_one_ring_further_out_and_busy_peers_are_large() -> None:
    peers = [DrawnPeer(0, load, wanted=True, received=True) for load in (9.0, 1.0, 4.0, 0.0)]
    picture = overlay_picture(DrawnOverlay("t", peers, [], parents=[-1, 0, 0, 1]))
    by_size = sorted(circles(picture), key=lambda one: -one[3])
    sizes = [radius for *_, radius in by_size]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 4
    top, second, first, last = ((x, y) for _, x, y, _ in by_size)
    assert math.dist(first, last) < math.dist(second, last)
    assert math.dist(top, last) > math.dist(top, first)


def test_communities_lie_apart() -> None:
    peers = [DrawnPeer(number % 3) for number in range(30)]
    picture = overlay_picture(DrawnOverlay("g", peers, []))
    found = re.findall(
        r'<circle class="idle" fill="(#\w+)"[^>]*cx="([\d.]+)" cy="([\d.]+)"', picture
    )
    places: dict[str, list[tuple[float, float]]] = {}
    for color, x, y in found:
        places.setdefault(color, []).append((float(x), float(y)))
    assert [len(some) for some in places.values()] == [10, 10, 10]
    middles = [
        (sum(x for x, _ in some) / 10, sum(y for _, y in some) / 10) for some in places.values()
    ]
    for at, some in enumerate(places.values()):
        for place in some:
            nearest = min(range(3), key=lambda one: math.dist(middles[one], place))
            assert nearest == at


def test_nobody_is_no_picture() -> None:
    with pytest.raises(InvalidValueError, match="needs peers"):
        overlay_picture(DrawnOverlay("none", [], []))
