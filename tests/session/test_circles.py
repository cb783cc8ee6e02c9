"""Messages between brokers about links, so that those in use form a tree."""

from __future__ import annotations

from collections import deque
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.session import circles as circles_module
from sapwood.session.circles import Announcements, Circles
from sapwood.wire.messages import LinkState


class Overlay:
    """Brokers, the links between them that are up, and what is on its way over each."""

    def __init__(self, names: str) -> None:
        self.brokers = {name: Circles(name, 10) for name in names}
        self.ways: dict[tuple[str, str], deque[LinkState]] = {}
        self.stand_by: set[tuple[str, str]] = set()

    @property
    def links(self) -> set[tuple[str, str]]:
        return {way for way in self.ways if way[0] < way[1]}

    def up(self, one: str, other: str) -> bool:
        """Connect two brokers; whether both take the link into use."""
        if self.brokers[one].reaches(other) or self.brokers[other].reaches(one):
            return False
        self.ways[one, other], self.ways[other, one] = deque(), deque()
        for here, there in ((one, other), (other, one)):
            self.send(here, self.brokers[here].link_up(there))
        return True

    def down(self, one: str, other: str) -> None:
        del self.ways[one, other], self.ways[other, one]
        for here, there in ((one, other), (other, one)):
            self.send(here, self.brokers[here].link_down(there))

    def send(self, source: str, announcements: Announcements) -> None:
        for neighbor, state in announcements:
            if (source, neighbor) in self.ways:
                self.ways[source, neighbor].append(state)

    def deliver(self, way: tuple[str, str]) -> None:
        source, here = way
        self.send(here, self.brokers[here].heard(source, self.ways[way].popleft()))
        for other in self.brokers[here].superfluous():
            if (here, other) in self.ways:
                self.down(here, other)
                self.stand_by.add((min(here, other), max(here, other)))

    def settle(self, pick: st.DataObject | None = None) -> None:
        """Deliver everything, in any order that each link keeps, and try again what stands by."""
        while waiting := [way for way, states in self.ways.items() if states]:
            way = waiting[0] if pick is None else pick.draw(st.sampled_from(waiting))
            self.deliver(way)


def groups(names: str, links: set[tuple[str, str]]) -> set[frozenset[str]]:
    """The brokers that are in reach of each other."""
    found = {name: {name} for name in names}
    for one, other in links:
        if found[one] is not found[other]:
            found[one] |= found[other]
            for name in found[one]:
                found[name] = found[one]
    return {frozenset(group) for group in found.values()}


def test_the_worked_example() -> None:
    overlay = Overlay("123")
    for one, other in ("12", "13", "23"):
        assert overlay.up(one, other)
    overlay.settle()
    assert overlay.links == {("1", "2"), ("1", "3")}
    assert not overlay.up("2", "3")
    overlay.down("1", "2")
    overlay.settle()
    assert overlay.up("2", "3")


def test_who_has_one_link_says_nothing() -> None:
    overlay = Overlay("12")
    overlay.up("1", "2")
    assert not any(overlay.ways.values())
    overlay.down("1", "2")
    overlay.up("1", "2")
    assert not any(overlay.ways.values())


def test_a_broker_that_is_cut_off_is_out_of_reach_whatever_it_said() -> None:
    overlay = Overlay("1234")
    for one, other in ("12", "23", "34"):
        overlay.up(one, other)
        overlay.settle()
    assert overlay.brokers["1"].reaches("4")
    overlay.down("2", "3")
    overlay.settle()
    assert not overlay.brokers["1"].reaches("3")
    assert not overlay.brokers["1"].reaches("4")
    assert overlay.up("1", "4")


def test_a_broker_that_runs_again_is_believed_though_its_clock_was_put_back() -> None:
    overlay = Overlay("123")
    overlay.up("1", "2")
    overlay.up("2", "3")
    overlay.settle()
    assert overlay.brokers["1"].reaches("3")
    overlay.brokers["1"].heard("2", LinkState("2", 99, ("1", "3")))
    overlay.down("1", "2")
    overlay.down("2", "3")
    overlay.brokers["2"] = Circles("2", 1)
    overlay.up("1", "2")
    overlay.settle()
    assert not overlay.brokers["1"].reaches("3")


def test_what_is_old_or_comes_from_nowhere_changes_nothing() -> None:
    circles = Circles("1", 10)
    assert circles.heard("2", LinkState("2", 5, ("3",))) == []
    circles.link_up("2")
    circles.heard("2", LinkState("2", 5, ("1", "3")))
    assert circles.reaches("3")
    assert circles.heard("2", LinkState("2", 4, ("1",))) == []
    assert circles.heard("2", LinkState("1", 3, ("9",))) == []
    assert circles.reaches("3")


def test_no_more_brokers_are_remembered_than_an_overlay_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(circles_module, "OVERLAY_ROUTERS_MAX", 3)
    circles = Circles("1", 10)
    circles.link_up("2")
    for number in range(2, 50):
        circles.heard("2", LinkState(str(number), 5, (str(number - 1), str(number + 1))))
    assert len(circles._latest) == 3


@given(st.data())
def test_links_form_a_tree_over_all_that_could_be_linked(data: st.DataObject) -> None:
    names = "12345"
    overlay = Overlay(names)
    pairs = list(combinations(names, 2))
    wanted: set[tuple[str, str]] = set()
    for _ in range(data.draw(st.integers(1, 12))):
        one, other = data.draw(st.sampled_from(pairs))
        if (one, other) not in wanted:
            wanted.add((one, other))
            overlay.up(one, other)
        elif data.draw(st.booleans()):
            wanted.remove((one, other))
            if (one, other) in overlay.links:
                overlay.down(one, other)
        waiting = [way for way, states in overlay.ways.items() if states]
        for way in waiting[: data.draw(st.integers(0, 3))]:
            if overlay.ways.get(way):
                overlay.deliver(way)
    overlay.settle(data)
    for _ in names:  # dialers try again
        for one, other in sorted(wanted - overlay.links):
            overlay.up(one, other)
            overlay.settle(data)
    assert groups(names, overlay.links) == groups(names, wanted)
    assert len(overlay.links) == len(names) - len(groups(names, wanted))
    for name in names:
        assert not overlay.brokers[name].superfluous()
