"""How long publications are under way, and what may disturb them."""

from __future__ import annotations

import pytest

from sapwood.overlay.graph import Graph
from sapwood.overlay.topology import Link, Overlay, Topology
from sapwood.simulation import ways as module
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


def test_with_circles_a_link_disturbs_what_goes_over_it_until_the_overlay_has_settled() -> None:
    history = history_of(RING)
    history.settle(0.0)
    history.link_down(10.0, "b", "c")
    history.settle(12.0)
    assert not is_calm(ways(history).way("a", "c", Moment(5.0, LATE)), 5.0)
    assert is_calm(ways(history).way("a", "b", Moment(5.0, LATE)), 5.0)
    assert not is_calm(ways(history).way("a", "c", Moment(11.0, LATE)), 11.0)
    beside = ways(history).way("a", "b", Moment(11.0, LATE))
    assert beside.delay_s == 30.0
    assert is_calm(beside, 11.0)
    around = ways(history).way("a", "c", Moment(20.0, LATE))
    assert around.delay_s == 24.0
    assert is_calm(around, 20.0)


def back_up() -> History:
    """A ring in which a link that was down has just come up."""
    history = history_of(RING)
    history.settle(0.0)
    history.link_down(10.0, "b", "c")
    history.settle(12.0)
    history.link_joined(30.0, "b", "c")
    assert history.settling
    return history


def test_with_circles_a_link_that_comes_up_disturbs_nothing() -> None:
    history = back_up()
    for start in RING.routers:
        for end in RING.routers:
            assert is_calm(ways(history).way(start, end, Moment(29.0, LATE)), 29.0)
            assert is_calm(ways(history).way(start, end, Moment(30.5, LATE)), 30.5)
    history.settle(31.0)
    assert ways(history).way("a", "c", Moment(40.0, LATE)).delay_s == 6.0


def disturbed(history: History, sent: float) -> set[str]:
    """The ways, as "ac", that are not calm for what is sent at a time."""
    pairs = [(start, end) for start in RING.routers for end in RING.routers]
    moment = Moment(sent, LATE)
    return {a + b for a, b in pairs if not is_calm(ways(history).way(a, b, moment), sent)}


def test_with_circles_a_source_may_know_of_a_change_or_not() -> None:
    history = back_up()
    history.link_down(50.0, "c", "d")
    # Who does not know that b and c are linked goes round over d.
    assert disturbed(history, 50.5) == {"ac", "bc", "ca", "cb", "cd", "dc"}
    history.settle(51.0)
    assert disturbed(history, 52.0) == set()


def test_with_circles_a_link_that_was_not_up_again_cannot_fail() -> None:
    history = back_up()
    history.settle(31.0)
    history.link_down(40.0, "c", "d")
    history.settle(41.0)
    history.link_down(50.0, "c", "d")
    assert disturbed(history, 50.5) == set()
    history.link_joined(51.0, "c", "d")
    history.settle(52.0)
    assert ways(history).way("c", "d", Moment(60.0, LATE)).delay_s == 8.0


def test_with_circles_too_many_changes_excuse_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "VIEWED_CHANGES_MAX", 1)
    history = back_up()
    history.link_down(50.0, "c", "d")
    assert disturbed(history, 50.5) == {a + b for a in "abcd" for b in "abcd" if a != b}


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
