"""The stand-in has what the thesis says of the original."""

from __future__ import annotations

from statistics import mean, pstdev

import pytest

from sapwood.overlay.planetlab import CONSUMERS, PRODUCER, planetlab


def test_planetlab_has_a_producer_nine_routing_nodes_and_twelve_consumers() -> None:
    tree = planetlab()
    assert len(tree.routers) == 22
    assert len(CONSUMERS) == 12
    assert all(len(tree.neighbors(consumer)) == 1 for consumer in CONSUMERS)
    assert PRODUCER not in CONSUMERS
    assert all(len(tree.neighbors(r)) > 1 for r in tree.routers if r not in CONSUMERS)


def test_planetlab_has_the_published_delays() -> None:
    tree = planetlab()
    delays = [link.latency_s * 1000 for link in tree.links]
    assert mean(delays) == pytest.approx(54.135, abs=0.005)
    assert pstdev(delays) == pytest.approx(28.18, abs=0.005)
    assert max(delays) == tree.link("r6", "r2").latency_s * 1000 == pytest.approx(123.67)
    assert min(delays) == tree.link("r2", "r5").latency_s * 1000 == pytest.approx(8.47)
    ways = [
        sum(tree.link(a, b).latency_s for a, b in tree.hops(PRODUCER, consumer)) * 1000
        for consumer in CONSUMERS
    ]
    assert mean(ways) == pytest.approx(160.63, abs=0.005)


def test_planetlab_has_the_known_links() -> None:
    tree = planetlab()
    assert tree.path("r6", "r19") == ("r6", "r3", "r8", "r19")
    assert tree.path("r6", "r18") == ("r6", "r3", "r8", "r18")
    assert {n for n in tree.neighbors("r19") if n != "r8"} <= set(CONSUMERS)
