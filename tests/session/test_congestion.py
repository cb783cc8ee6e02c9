"""Holding publishers back, and letting them go."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.session.congestion import Congestion
from tests.examples import examples


def linked(*neighbors: str) -> Congestion:
    congestion = Congestion()
    for neighbor in neighbors:
        congestion.link_up(neighbor)
    return congestion


def test_a_long_queue_holds_publishers_here_and_on_the_other_sides() -> None:
    congestion = linked("a", "b", "c")
    congestion.queued("b", high=True)
    assert congestion.holds("abc")
    assert not congestion.holds("ac")  # what goes there does not pile up
    assert congestion.is_queued("b")
    assert congestion.announcements() == [("a", True), ("c", True)]
    assert congestion.announcements() == []
    congestion.queued("b", high=False)
    assert not congestion.holds("abc")
    assert congestion.announcements() == [("a", False), ("c", False)]


def test_what_a_neighbor_says_is_passed_on_to_all_but_itself() -> None:
    congestion = linked("a", "b")
    congestion.reported("a", congested=True)
    assert congestion.holds("abc")
    assert not congestion.holds("bc")
    assert congestion.announcements() == [("b", True)]
    congestion.reported("a", congested=False)
    assert congestion.announcements() == [("b", False)]


def test_two_causes_end_only_when_both_have() -> None:
    congestion = linked("a", "b", "c")
    congestion.queued("b", high=True)
    congestion.reported("a", congested=True)
    assert congestion.announcements() == [("a", True), ("b", True), ("c", True)]
    congestion.queued("b", high=False)
    assert congestion.announcements() == [("a", False)]
    assert congestion.holds("abc")


def test_a_link_that_goes_takes_its_cause_with_it() -> None:
    congestion = linked("a", "b")
    congestion.queued("b", high=True)
    congestion.reported("b", congested=True)
    assert congestion.announcements() == [("a", True)]
    congestion.link_down("b")
    assert not congestion.holds("abc")
    assert congestion.announcements() == [("a", False)]


def test_a_link_that_comes_is_told_what_holds() -> None:
    congestion = linked("a")
    congestion.queued("a", high=True)
    assert congestion.announcements() == []
    congestion.link_up("b")
    assert congestion.announcements() == [("b", True)]
    congestion.link_down("b")
    congestion.link_up("b")
    assert congestion.announcements() == [("b", True)]


@settings(max_examples=examples(60))
@given(st.integers(2, 7), st.integers(0, 2**32), st.integers(1, 30))
def test_in_any_tree_publishers_go_on_when_the_queues_have_drained(
    size: int, seed: int, steps: int
) -> None:
    random = Random(seed)
    everybody = [str(n) for n in range(size)]
    brokers = {n: Congestion() for n in range(size)}
    edges = [(random.randrange(n), n) for n in range(1, size)]
    for one, other in edges:
        brokers[one].link_up(str(other))
        brokers[other].link_up(str(one))
    mail: dict[tuple[int, int], list[bool]] = {}

    def post(broker: int) -> None:
        for neighbor, congested in brokers[broker].announcements():
            mail.setdefault((broker, int(neighbor)), []).append(congested)

    def deliver_one() -> bool:
        full = sorted(way for way, letters in mail.items() if letters)
        if not full:
            return False
        sender, receiver = random.choice(full)
        brokers[receiver].reported(str(sender), congested=mail[sender, receiver].pop(0))
        post(receiver)
        return True

    high: set[tuple[int, int]] = set()
    for _ in range(steps):
        one, other = random.choice([*edges, *((b, a) for a, b in edges)])
        (high.discard if (one, other) in high else high.add)((one, other))
        brokers[one].queued(str(other), high=(one, other) in high)
        post(one)
        deliver_one()
    while deliver_one():
        pass
    # Quiet, some queues long: whoever can send into one is held.
    assert all(brokers[one].holds([str(other)]) for one, other in high)
    for one, other in sorted(high):
        brokers[one].queued(str(other), high=False)
        post(one)
    while deliver_one():
        pass
    assert not any(broker.holds(everybody) for broker in brokers.values())


def test_where_links_form_circles_it_is_told_on_one_tree_only() -> None:
    congestion = linked("a", "b", "c")
    assert congestion.restrict_to(frozenset("ab"))
    assert not congestion.restrict_to(frozenset("ab"))
    congestion.queued("c", high=True)
    assert congestion.announcements() == [("a", True), ("b", True)]
    congestion.reported("c", congested=True)
    congestion.queued("c", high=False)
    assert not congestion.holds("abc")
    congestion.reported("b", congested=True)
    assert congestion.holds("a")  # a tree of its own may lead there
    congestion.reported("b", congested=False)
    assert congestion.announcements() == [("a", False), ("b", False)]


def test_what_went_in_a_circle_ends_when_brokers_agree_on_a_tree() -> None:
    everybody = "abc"
    brokers = {name: Congestion() for name in everybody}
    for name, broker in brokers.items():
        for other in "abc".replace(name, ""):
            broker.link_up(other)

    def tell() -> None:
        for _ in range(6):
            for name, broker in brokers.items():
                for neighbor, congested in broker.announcements():
                    brokers[neighbor].reported(name, congested=congested)

    brokers["a"].queued("b", high=True)
    tell()
    brokers["a"].queued("b", high=False)
    tell()
    assert all(broker.holds(everybody) for broker in brokers.values())  # it keeps itself up
    for name, ways in (("a", "bc"), ("b", "a"), ("c", "a")):
        brokers[name].restrict_to(frozenset(ways))
    tell()
    assert not any(broker.holds(everybody) for broker in brokers.values())


def test_who_waits_for_the_disk_waits_wherever_publications_go() -> None:
    congestion = linked("a")
    congestion.blocked = True
    assert congestion.holds(())
