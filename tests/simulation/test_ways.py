"""How long publications are under way, and what may disturb them."""

from __future__ import annotations

import pytest

from sapwood.overlay.graph import Graph
from sapwood.overlay.topology import Link, Overlay, Topology
from sapwood.simulation.history import History, Moment
from sapwood.simulation.ways import Way, Ways, ways_of

LINE = Topology(("a", "b", "c"), (Link("a", "b", 1.0), Link("b", "c", 2.0)))
RING = Graph(
    ("a", "b", "c", "d"),
    (Link("a", "b", 1.0), Link("b", "c", 2.0), Link("c", "d", 4.0), Link("d", "a", 8.0)),
)
LATE = 10**6
"""The order of moments after whatever a test writes down."""


def ways(history: History) -> Ways:
    return ways_of(history, lambda link: 2 * link.latency_s)


def history_of(overlay: Overlay) -> History:
    return History(overlay, is_mesh=not overlay.is_tree)


def is_calm(way: Way, sent: float) -> bool:
    """Whether no outage can disturb what is sent at a time."""
    begin, end = Moment(sent, LATE), Moment(sent + way.delay_s, LATE)
    return not any(o.down <= end and (o.settled is None or o.settled >= begin) for o in way.outages)


def test_on_a_tree_the_links_of_the_way_count() -> None:
    history = history_of(LINE)
    history.link_down(5.0, "b", "c")
    assert ways(history).way("a", "c", Moment(0.0, LATE)).delay_s == 6.0
    assert not is_calm(ways(history).way("a", "c", Moment(6.0, LATE)), 6.0)
    assert is_calm(ways(history).way("a", "b", Moment(6.0, LATE)), 6.0)


def test_with_circles_nothing_is_sure_before_the_overlay_has_settled() -> None:
    history = history_of(RING)
    assert history.settling
    history.settle(3.0)
    assert not history.settling
    before = ways(history).way("a", "c", Moment(1.0, LATE))
    assert before.delay_s == 30.0
    assert not is_calm(before, 1.0)
    after = ways(history).way("a", "c", Moment(4.0, LATE))
    assert after.delay_s == 6.0
    assert is_calm(after, 4.0)


def test_with_circles_any_link_disturbs_until_the_overlay_has_settled_with_what_is_left() -> None:
    history = history_of(RING)
    history.settle(0.0)
    history.link_down(10.0, "b", "c")
    history.settle(12.0)
    sent = Moment(5.0, LATE)
    assert not is_calm(ways(history).way("a", "c", sent), 5.0)
    assert is_calm(ways(history).way("a", "b", sent), 5.0)
    assert not is_calm(ways(history).way("a", "b", Moment(11.0, LATE)), 11.0)
    around = ways(history).way("a", "c", Moment(20.0, LATE))
    assert around.delay_s == 24.0
    assert is_calm(around, 20.0)
    history.link_joined(30.0, "b", "c")
    assert history.settling
    history.settle(31.0)
    assert ways(history).way("a", "c", Moment(40.0, LATE)).delay_s == 6.0


def test_with_circles_a_link_is_up_again_however_often_it_failed() -> None:
    history = history_of(RING)
    history.settle(0.0)
    history.link_down(10.0, "b", "c")
    history.link_down(11.0, "b", "c")
    history.link_joined(12.0, "b", "c")
    history.settle(13.0)
    assert ways(history).way("a", "c", Moment(20.0, LATE)).delay_s == 6.0


def test_with_circles_whoever_is_cut_off_is_owed_nothing() -> None:
    history = history_of(RING)
    history.settle(0.0)
    history.link_down(1.0, "a", "b")
    history.link_down(1.0, "d", "a")
    history.settle(2.0)
    sent = Moment(5.0, LATE)
    assert not is_calm(ways(history).way("a", "c", sent), 5.0)
    assert not is_calm(ways(history).way("c", "a", sent), 5.0)
    assert is_calm(ways(history).way("b", "d", sent), 5.0)


@pytest.mark.parametrize("overlay", [LINE, RING])
def test_the_way_home_is_no_way(overlay: Overlay) -> None:
    history = history_of(overlay)
    history.settle(0.0)
    assert ways(history).way("b", "b", Moment(1.0, LATE)).delay_s == 0.0
