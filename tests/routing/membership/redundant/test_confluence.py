"""Several streams become one: each publication once, in order, as soon as one brings it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.model.publication import Publication
from sapwood.routing.membership.redundant import confluence as module
from sapwood.routing.membership.redundant.confluence import Confluence, Number


def publication(number: int) -> Publication:
    return Publication(str(number), {"x": number})


def at(number: int, incarnation: int = 1) -> Number:
    return Number(incarnation, number)


@dataclass
class Taker:
    """A confluence, and what came out of it."""

    merged: Confluence = field(default_factory=Confluence)
    out: list[int] = field(default_factory=list)

    def begin(self, path: int, first: int | None, incarnation: int = 1) -> None:
        self._take(self.merged.begin(path, None if first is None else at(first, incarnation)))

    def end(self, path: int) -> None:
        self._take(self.merged.end(path))

    def mark(self, path: int, number: int) -> None:
        self._take(self.merged.mark(path, at(number)))

    def arrive(self, path: int, *numbers: int, incarnation: int = 1) -> None:
        for number in numbers:
            came = at(number, incarnation)
            self._take(self.merged.arrive(path, came, publication(number)))

    def _take(self, released: list[Publication]) -> None:
        self.merged.validate()
        self.out.extend(int(one.id) for one in released)


def joined() -> Taker:
    """Two paths, from the first publication on."""
    taker = Taker()
    taker.begin(0, 1)
    taker.begin(1, 1)
    return taker


def test_what_comes_on_two_paths_is_handed_on_once_and_at_once() -> None:
    taker = joined()
    taker.arrive(0, 1, 2, 3)
    assert taker.out == [1, 2, 3]
    taker.arrive(1, 1, 2, 3, 4)
    taker.arrive(0, 4)
    assert taker.out == [1, 2, 3, 4]


def test_the_worked_example_holds() -> None:
    taker = joined()
    taker.arrive(0, 1, 2, 3, 4)
    taker.arrive(1, 1, 2)
    taker.end(0)
    taker.begin(0, 7)
    taker.arrive(0, 7)
    taker.arrive(1, 3, 4, 5)
    assert taker.out == [1, 2, 3, 4, 5]
    taker.mark(1, 6)
    assert taker.out == [1, 2, 3, 4, 5, 7]
    taker.arrive(0, 8)
    assert taker.out[-1] == 8


def test_what_is_held_is_let_go_when_no_better_path_is_left() -> None:
    taker = joined()
    taker.end(0)
    taker.begin(0, 5)
    taker.arrive(0, 5, 6)
    assert taker.out == []
    taker.end(1)
    assert taker.out == [5, 6]


def test_of_paths_that_all_begin_late_the_earliest_is_followed() -> None:
    taker = joined()
    taker.end(0)
    taker.begin(0, 9)
    taker.arrive(0, 9)
    taker.end(1)  # path 0 is all there is
    taker.begin(1, 11)
    taker.arrive(1, 11, 12)
    assert taker.out == [9]
    taker.end(0)
    assert taker.out == [9, 11, 12]


def test_a_path_of_which_nobody_knows_where_it_begins_waits_for_any_other() -> None:
    taker = Taker()
    taker.begin(0, None)
    taker.arrive(0, 4)
    assert taker.out == [4]
    taker.begin(1, None)
    taker.arrive(1, 6)
    taker.arrive(0, 5)
    assert taker.out == [4, 5]
    taker.arrive(0, 7)
    assert taker.out == [4, 5, 6, 7]
    taker.end(1)
    taker.end(0)
    assert taker.merged.streams == {}


def test_what_is_held_when_the_last_path_ends_is_handed_on() -> None:
    taker = joined()
    taker.end(0)
    taker.begin(0, 5)
    taker.arrive(0, 5)
    taker.merged.streams.pop(1)  # both end at once
    taker.end(0)
    assert taker.out == [5]
    assert taker.merged.held == {}


def test_a_source_that_starts_again_is_followed_when_nothing_of_before_can_come() -> None:
    taker = joined()
    taker.arrive(0, 1, 2)
    taker.end(0)
    taker.begin(0, 1, incarnation=2)
    taker.arrive(0, 1, incarnation=2)
    taker.arrive(1, 3)
    assert taker.out == [1, 2, 3]
    taker.end(1)
    assert taker.out == [1, 2, 3, 1]


def test_a_mark_on_a_path_that_is_gone_says_nothing() -> None:
    taker = joined()
    taker.end(1)
    taker.mark(1, 10)
    taker.arrive(0, 1)
    assert taker.out == [1]


def test_beyond_the_bound_a_path_is_trusted_and_what_comes_late_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "REDUNDANT_HELD_MAX", 2)
    taker = joined()
    taker.end(0)
    taker.begin(0, 5)
    taker.arrive(0, 5, 6)
    assert taker.out == []
    taker.arrive(0, 7)
    assert taker.out == [5, 6, 7]
    taker.arrive(1, 1, 2)
    assert taker.out == [5, 6, 7]


def test_a_confluence_that_could_wait_for_ever_is_noticed() -> None:
    taker = joined()
    for stream in taker.merged.streams.values():
        stream.is_sure = False
    with pytest.raises(InvariantError, match="no path is sure"):
        taker.merged.validate()
    taker = joined()
    taker.end(0)
    taker.begin(0, 5)
    taker.arrive(0, 5)
    taker.merged.through = at(5)
    with pytest.raises(InvariantError, match="nothing will release"):
        taker.merged.validate()


@st.composite
def journeys(draw: st.DrawFn) -> list[tuple[int, str]]:
    """The steps of the source and three paths, by turns; path 0 never breaks.

    A path has on its way what it has yet to bring; it brings one thing, breaks (and loses what is
    on its way), or has a new branch.
    """
    kinds = st.sampled_from(["publish", "skip", "bring", "bring", "bring", "break", "branch"])
    return draw(st.lists(st.tuples(st.integers(0, 2), kinds), max_size=80))


@given(journeys())
def test_while_one_path_is_whole_nothing_is_lost_twice_late_or_out_of_order(
    journey: list[tuple[int, str]],
) -> None:
    taker, published = Taker(), 0
    ways: dict[int, list[tuple[str, int]]] = {}
    wanted: list[int] = []
    for path in range(3):
        taker.begin(path, 1)
        ways[path] = []
    brought: set[int] = set()
    for path, kind in journey:
        match kind:
            case "publish" | "skip":  # nobody here wants what is skipped
                published += 1
                if kind == "publish":
                    wanted.append(published)
                    for way in ways.values():
                        way.append(("publication", published))
            case "bring" if ways.get(path):
                what, number = ways[path].pop(0)
                if what == "publication":
                    taker.arrive(path, number)
                    if path == 0:
                        brought.add(number)
                elif what == "mark":
                    taker.mark(path, number)
            case "break" if path and path in ways:
                del ways[path]
                taker.end(path)
            case "branch" if path not in ways:
                for way in ways.values():
                    way.append(("mark", published))
                ways[path] = []
                taker.begin(path, published + 1)
        assert taker.out == sorted(set(taker.out))
        assert brought <= set(taker.out)  # as soon as on the whole path alone
    for path in sorted(ways):
        for what, number in ways[path]:
            if what == "publication":
                taker.arrive(path, number)
            else:
                taker.mark(path, number)
    assert taker.out == wanted
