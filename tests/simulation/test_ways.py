"""Ways of publications: how long they take, and the outages that may disturb them."""

from __future__ import annotations

import pytest

from sapwood.overlay.graph import Graph
from sapwood.overlay.rewiring import with_link, with_router, without_link
from sapwood.overlay.topology import Link, Overlay, Topology
from sapwood.simulation import ways as module
from sapwood.simulation.history import History, Moment, Outage
from sapwood.simulation.ways import Way, Ways, ways_of

LINE = Topology(("a", "b", "c"), (Link("a", "b", 1.0), Link("b", "c", 2.0)))
RING = Graph(
    ("a", "b", "c", "d"),
    (Link("a", "b", 1.0), Link("b", "c", 2.0), Link("c", "d", 4.0), Link("d", "a", 8.0)),
)
LATE = 10**6
"""The order of moments after whatever a test writes down."""


def ways(history: History) -> Ways:
    return ways_of(history, lambda link: 2 * link.latency_s)[0]


def history_of(overlay: Overlay) -> History:
    return History(overlay, is_mesh=not overlay.is_tree)


def is_calm(way: Way, sent: float) -> bool:
    """True if no outage can disturb a publication of that time."""
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


def moved() -> History:
    """A line in which c is linked to a, in the place of b, at the time 20."""
    history = history_of(LINE)
    history.link_down(10.0, "b", "c")
    history.link_removed("b", "c")
    history.rewired(10.0, without_link(LINE, "b", "c"))
    history.settle(11.0)
    history.rewired(20.0, with_link(history.topology, Link("c", "a", 4.0)))
    history.link_added("c", "a")
    return history


def test_on_a_tree_the_way_is_that_of_the_overlay_in_which_a_publication_was_accepted() -> None:
    history = moved()
    history.link_joined(21.0, "c", "a")
    history.settle(22.0)
    found = ways(history)
    assert found.way("b", "c", Moment(0.0, LATE)) == Way(4.0, (Outage(Moment(10.0, 1)),))
    assert is_calm(found.way("b", "c", Moment(5.0, LATE)), 5.0)
    assert not is_calm(found.way("b", "c", Moment(7.0, LATE)), 7.0)
    assert found.way("b", "c", Moment(30.0, LATE)).delay_s == 10.0


def test_on_a_tree_a_way_that_is_not_there_is_owed_to_nobody() -> None:
    way = ways(moved()).way("a", "c", Moment(15.0, LATE))
    assert way.delay_s == 2.0 + 4.0 + 8.0  # of all links that there ever were
    assert not is_calm(way, 15.0)
    assert is_calm(ways(moved()).way("a", "b", Moment(15.0, LATE)), 15.0)


def test_on_a_tree_a_new_link_is_sure_when_the_overlay_has_settled_after_it() -> None:
    history = moved()
    assert not is_calm(ways(history).way("a", "c", Moment(20.5, LATE)), 20.5)
    history.link_joined(21.0, "c", "a")
    assert not is_calm(ways(history).way("a", "c", Moment(21.5, LATE)), 21.5)
    assert history.settling
    history.settle(22.0)
    assert not history.settling
    assert not is_calm(ways(history).way("a", "c", Moment(21.5, LATE)), 21.5)
    assert is_calm(ways(history).way("a", "c", Moment(22.5, LATE)), 22.5)


def test_with_circles_a_new_link_is_taken_when_the_overlay_has_settled_after_it() -> None:
    history = history_of(RING)
    history.settle(0.0)
    history.rewired(10.0, with_link(RING, Link("a", "c", 0.5)))
    history.link_added("a", "c")
    assert ways(history).way("a", "c", Moment(11.0, LATE)).delay_s == 6.0
    history.link_joined(12.0, "a", "c")
    assert is_calm(ways(history).way("a", "c", Moment(12.5, LATE)), 12.5)
    history.settle(13.0)
    assert ways(history).way("a", "c", Moment(14.0, LATE)).delay_s == 1.0
    history.link_down(20.0, "a", "c")
    history.link_removed("a", "c")
    history.rewired(20.0, RING)
    history.settle(21.0)
    assert not is_calm(ways(history).way("a", "c", Moment(19.5, LATE)), 19.5)
    assert is_calm(ways(history).way("a", "b", Moment(19.5, LATE)), 19.5)
    assert ways(history).way("a", "c", Moment(22.0, LATE)).delay_s == 6.0


def test_with_circles_a_router_that_joins_is_reached_when_the_overlay_has_settled() -> None:
    history = history_of(RING)
    history.settle(0.0)
    history.rewired(10.0, with_router(RING, "e"))
    assert not is_calm(ways(history).way("a", "e", Moment(10.5, LATE)), 10.5)
    history.rewired(11.0, with_link(history.topology, Link("a", "e", 1.0)))
    history.link_added("a", "e")
    history.link_joined(12.0, "a", "e")
    assert not is_calm(ways(history).way("b", "e", Moment(12.5, LATE)), 12.5)
    history.settle(13.0)
    assert ways(history).way("b", "e", Moment(14.0, LATE)).delay_s == 4.0
    assert is_calm(ways(history).way("b", "e", Moment(14.0, LATE)), 14.0)
