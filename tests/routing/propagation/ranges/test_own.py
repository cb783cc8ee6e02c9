"""Propagation of a client's subscription on a circle: how far, and in which order."""

from __future__ import annotations

from collections.abc import Iterator

from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.routing.propagation.ranges.own import Candidate, Own, OwnSubscriptions, stands_for

DIGITS = 4


class Around:
    """Others, who answer when they are asked to."""

    digits = DIGITS

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, int]] = []
        self.known: list[Candidate] = []
        self.forced: list[str] = []
        self.waiting: list[Own] = []
        self.own = OwnSubscriptions(self, self.others)

    def others(self) -> Iterator[Candidate]:
        yield from self.known

    def levels(self) -> list[int]:
        return [1, 2, 3]

    def tell(self, own: Own, level: int) -> None:
        self.heard.append(("tell", own.key, level))
        self.waiting.append(own)

    def cancel(self, own: Own, level: int) -> None:
        self.heard.append(("cancel", own.key, level))
        self.waiting.append(own)

    def in_force(self, key: str) -> None:
        self.forced.append(key)

    def answer(self) -> None:
        """Let all answer, until nothing is asked."""
        while self.waiting:
            self.own.answered(self.waiting.pop(0))
            self.own.validate()

    def said(self) -> list[tuple[str, str, int]]:
        self.answer()
        said, self.heard = self.heard, []
        return said


WIDE, NARROW = parse_filter("x > 0"), parse_filter("x > 5")


def test_the_farthest_are_told_first_and_it_is_in_force_when_all_have_answered() -> None:
    around = Around()
    around.own.add("a", WIDE)
    assert around.heard == [("tell", "a", 1)]
    assert not around.forced
    assert around.said() == [("tell", "a", 1), ("tell", "a", 2), ("tell", "a", 3)]
    assert around.forced == ["a"]


def test_only_those_are_told_who_know_nobody_who_stands_for_it() -> None:
    around = Around()
    around.known = [Candidate("b", WIDE, 2)]
    around.own.add("a", NARROW)
    assert around.said() == [("tell", "a", 2), ("tell", "a", 3)]
    around.own.add("c", NARROW)  # a stands for it, at home
    assert around.said() == []
    assert around.forced == ["a", "c"]


def test_what_one_of_the_same_clients_stands_for_waits_until_that_is_in_force() -> None:
    around = Around()
    around.own.add("a", WIDE)
    around.own.add("b", NARROW)
    assert not around.forced
    around.answer()
    assert around.forced == ["a", "b"]


def test_the_nearest_forget_first_and_those_who_rely_on_it_are_told_before() -> None:
    around = Around()
    around.own.add("a", WIDE)
    around.own.add("b", NARROW)
    around.said()
    around.own.withdraw("a")
    told = [("tell", "b", 1), ("tell", "b", 2), ("tell", "b", 3)]
    cancelled = [("cancel", "a", 3), ("cancel", "a", 2), ("cancel", "a", 1)]
    assert around.said() == told + cancelled
    assert around.own.records.keys() == {"b"}


def test_what_was_not_told_yet_is_not_told_any_more() -> None:
    around = Around()
    around.own.add("a", WIDE)
    around.own.withdraw("a")
    told = [("tell", "a", 1)]
    cancelled = [("cancel", "a", 3), ("cancel", "a", 2), ("cancel", "a", 1)]
    assert around.said() == told + cancelled
    assert not around.own.records


def test_what_stood_for_others_and_is_gone_has_them_told_farther() -> None:
    around = Around()
    around.known = [Candidate("z", WIDE, 3)]
    around.own.add("a", NARROW)
    assert around.said() == [("tell", "a", 3)]
    around.known = [Candidate("y", WIDE, 2)]
    settled: list[str] = []
    around.own.when_settled(around.own.uncover("z"), lambda: settled.append("a"))
    assert not settled
    assert around.said() == [("tell", "a", 2), ("tell", "a", 3)]
    assert settled == ["a"]


def test_equal_ones_do_not_rely_on_each_other() -> None:
    one, other = Own("a", WIDE, 1, 1), Own("b", WIDE, 1, 1)
    assert stands_for(Candidate("a", WIDE, 1), other)
    assert not stands_for(Candidate("b", WIDE, 1), one)
    assert not stands_for(Candidate("a", NARROW, 1), other)
    assert not stands_for(Candidate("a", parse_xpath("/*"), 1), other)
