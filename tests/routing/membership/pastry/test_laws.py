"""The laws of IRBR on a circle, by the numbers of its dossier (004, section 3)."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.matching.engine_names import Engines
from sapwood.model.publication import Publication
from sapwood.overlay.identifiers import IdentifierSpace, slot_of
from sapwood.routing.effects import Effect, Send
from sapwood.routing.inputs import Input, Receive
from sapwood.routing.membership.pastry.errands import Errands
from sapwood.routing.membership.pastry.pastry import Pastry
from sapwood.routing.messages import RangeCancel, RangeReached, RangeSubscribe
from sapwood.routing.strategies import Protocol
from tests.examples import examples
from tests.routing.membership.pastry.circles import VALUES, Ring, drawn_ring

FEW = settings(max_examples=examples(8))
seeds = st.integers(0, 2**32)


def ring_of(seed: int, most: int = 14, kind: type[Pastry] = Pastry) -> Ring:
    random = Random(seed)
    space = IdentifierSpace(random.choice((2, 4)), 5)
    return drawn_ring(random, random.randint(1, most), space, kind)


def change(ring: Ring, number: int) -> None:
    """Let a client subscribe, or take one of its subscriptions back."""
    if ring.wanted and ring.random.random() < 0.45:
        ring.unsubscribe(*ring.random.choice(sorted(ring.wanted)))
    else:
        values = ring.random.sample(VALUES, ring.random.randint(1, 4))
        ring.subscribe(ring.random.choice(sorted(ring.routers)), f"s{number}", values)


def assert_all_get(ring: Ring, word: str) -> None:
    """Every value from everywhere comes to whom it is due, once (P12)."""
    for name in sorted(ring.routers):
        for value in VALUES:
            ring.publish(name, f"{word} {value} of {name}", value)
    ring.settle()
    for name in sorted(ring.routers):
        for value in VALUES:
            assert sorted(ring.got(f"{word} {value} of {name}")) == sorted(ring.due(value))


@FEW
@given(seeds)
def test_whoever_joins_is_known_to_all_who_need_to_know(seed: int) -> None:
    ring = ring_of(seed, 24)
    names = sorted(ring.routers)
    for name in names:
        pastry = ring.routers[name].membership
        assert isinstance(pastry, Pastry)
        slots = {slot_of(name, other) for other in names if other != name}
        assert set(pastry.tables.representatives) == slots
        at = names.index(name)
        near = {names[(at + step) % len(names)] for step in (-2, -1, 1, 2)} - {name}
        assert near <= set(pastry.tables.peers)


@FEW
@given(seeds)
def test_p5_p7_p12_tables_are_exact_after_each_change_that_has_settled(seed: int) -> None:
    ring = ring_of(seed)
    for number in range(12):
        change(ring, number)
        ring.settle()
        assert ring.wrong() == []
        assert ring.in_force == ring.wanted.keys()
    assert_all_get(ring, "p")


@FEW
@given(seeds)
def test_p21_tables_are_exact_though_changes_cross_each_other(seed: int) -> None:
    ring = ring_of(seed)
    for number in range(25):
        change(ring, number)
        for _ in range(ring.random.choice((0, 1, 3, 10))):
            ring.step()
    ring.settle()
    assert ring.wrong() == []
    assert ring.in_force == ring.wanted.keys()
    assert_all_get(ring, "p")


@FEW
@given(seeds)
def test_what_is_in_force_gets_what_is_published_while_others_change(seed: int) -> None:
    assert missed_in_force(ring_of(seed)) == []


def missed_in_force(ring: Ring) -> list[str]:
    """Publications that a subscription in force missed, or got twice, while others came or went."""
    due: dict[str, set[tuple[str, str]]] = {}
    left: dict[str, set[tuple[str, str]]] = {}
    for number in range(30):
        if ring.random.random() < 0.5:
            before = set(ring.wanted)
            change(ring, number)
            for some in left.values():
                some.update(before - ring.wanted.keys())
        else:
            value, id_ = ring.random.choice(VALUES), f"p{number}"
            due[id_], left[id_] = ring.due(value) & ring.in_force, set()
            ring.publish(ring.random.choice(sorted(ring.routers)), id_, value)
        for _ in range(ring.random.choice((0, 1, 3, 10))):
            ring.step()
    ring.settle()
    wrong = []
    for id_, some in due.items():
        got = ring.got(id_)
        if len(got) > len(set(got)) or not some - left[id_] <= set(got):
            wrong.append(id_)
    return wrong


class AnswersAtOnce(Pastry):
    """The router that looks after a range reports that all there know, before it has told any."""

    def handle(self, input: Input, now: float) -> list[Effect]:
        effects = super().handle(input, now)
        match input:
            case Receive(neighbor, RangeSubscribe() as said):
                return [Send(neighbor, RangeReached(said.task, said.range)), *effects]
            case _:
                return effects


class UncoversTooLate(Pastry):
    """A cancel is answered before those who relied on it are told farther."""

    def _uncover(self, key: str, errand: RangeCancel) -> None:
        self._spread.unlearn(self._slot_of(key), key)


class TellsTheNearestFirst(Pastry):
    """Others may rely on what those who are farther away do not know yet."""

    class NearFirst(Errands):
        def levels(self) -> list[int]:
            return super().levels()[::-1]

    def __init__(
        self, name: str, protocol: Protocol, engines: Engines, life: int, space: IdentifierSpace
    ) -> None:
        super().__init__(name, protocol, engines, life, space)
        self.errands = self.NearFirst(self.circle, life, self._parts)


@pytest.mark.long
@pytest.mark.parametrize("kind", [AnswersAtOnce, UncoversTooLate, TellsTheNearestFirst])
def test_a_planted_bug_in_the_order_of_telling_is_found(kind: type[Pastry]) -> None:
    assert any(missed_in_force(ring_of(seed, kind=kind)) for seed in range(200))


@FEW
@given(seeds)
def test_p10_nothing_is_left_when_all_is_taken_back(seed: int) -> None:
    ring = ring_of(seed)
    for number in range(12):
        ring.subscribe(ring.random.choice(sorted(ring.routers)), f"s{number}", [number % 6])
    ring.settle()
    for key in ring.random.sample(sorted(ring.wanted), len(ring.wanted)):
        ring.unsubscribe(*key)
    ring.settle()
    for router in ring.routers.values():
        sizes = router.table_sizes()
        assert (sizes["received"], sizes["unconfirmed"], sizes["errands"]) == (0, 0, 0)


def eight() -> Ring:
    """The routers of the example in the dossier, 2.4."""
    ring = Ring(IdentifierSpace(4, 3), Random(1))
    for name in ("012", "021", "110", "123", "203", "230", "301", "333"):
        ring.join(name, "012" if ring.routers else None)
        ring.settle()
    ring.sent.clear()
    return ring


def counted(ring: Ring, kind: str) -> int:
    ring.settle()
    count = ring.sent[kind]
    ring.sent.clear()
    return count


def test_p8_p11_the_example_of_the_dossier_costs_what_it_says() -> None:
    ring = eight()
    ring.subscribe("012", "F", VALUES)
    assert counted(ring, "RangeSubscribe") == 7
    ring.subscribe("021", "f", [1])
    assert counted(ring, "RangeSubscribe") == 1  # the others know F in the same range
    ring.subscribe("021", "g", [1])
    assert counted(ring, "RangeSubscribe") == 0  # f stands for it at home
    ring.unsubscribe("021", "g")
    assert counted(ring, "RangeCancel") == 0
    ring.unsubscribe("012", "F")
    ring.settle()
    assert ring.sent["RangeCancel"] == 7
    # What F stood for is told by itself: six know nothing of it yet, and 012 of its reach.
    assert counted(ring, "RangeSubscribe") == 7
    assert ring.wrong() == []
    ring.publish("333", "e", 1)
    assert counted(ring, "Publish") == 2  # over 012, who does not want it
    assert ring.got("e") == [("021", "f")]


@FEW
@given(seeds)
def test_p14_a_publication_is_sent_once_to_each_who_gets_it_or_hands_it_on(seed: int) -> None:
    ring = ring_of(seed, 20)
    names = sorted(ring.routers)
    wanting = ring.random.sample(names, min(3, len(names)))
    for name in wanting:
        ring.subscribe(name, "s", [1])
    ring.settle()
    for name in names:
        ring.sent.clear()
        ring.publish(name, f"p of {name}", 1)
        ring.settle()
        others = set(wanting) - {name}
        assert len(others) <= ring.sent["Publish"] <= len(others) * ring.space.digits
        assert ring.sent["RangeReached"] == ring.sent["Publish"]


@FEW
@given(seeds)
def test_p13_who_stands_for_a_range_may_change_between(seed: int) -> None:
    ring = ring_of(seed)
    for number in range(8):
        change(ring, number)
    ring.settle()
    for router in ring.routers.values():
        pastry = router.membership
        assert isinstance(pastry, Pastry)
        for slot in pastry.tables.representatives:
            members = pastry.tables._slots[slot]
            pastry.tables._chosen[slot] = ring.random.choice(list(members))
    assert_all_get(ring, "p")


@FEW
@given(seeds)
def test_p16_what_is_on_its_way_goes_round_those_who_crash(seed: int) -> None:
    ring = ring_of(seed, 16)
    for number, name in enumerate(sorted(ring.routers)):
        ring.subscribe(name, f"s{number}", [1])
    ring.settle()
    home = ring.random.choice(sorted(ring.routers))
    for number in range(4):
        ring.publish(home, f"p{number}", 1)
    others = sorted(set(ring.routers) - {home})
    for name in ring.random.sample(others, len(others) // 2):
        for _ in range(ring.random.randint(0, 6)):
            ring.step()
        ring.crash(name)
    ring.settle()
    for number in range(4):
        got = [key for key in ring.got(f"p{number}") if key[0] in ring.routers]
        assert sorted(got) == sorted(ring.due(1))
    for name in ring.routers:  # each gets them in their order
        assert [id_ for at, _, id_ in ring.delivered if at == name] == ["p0", "p1", "p2", "p3"]


@FEW
@given(seeds)
def test_p17_p18_tables_are_right_again_after_crashes_and_joins(seed: int) -> None:
    ring = ring_of(seed)
    for number in range(10):
        change(ring, number)
    ring.settle()
    for number in range(4):
        names = sorted(ring.routers)
        if len(names) > 1 and ring.random.random() < 0.5:
            ring.crash(ring.random.choice(names))
        else:
            free = [n for n in map(ring.space.written, range(ring.space.size)) if n not in names]
            if free:
                ring.join(ring.random.choice(free), ring.random.choice(names))
        for _ in range(ring.random.choice((0, 3, 1000))):
            ring.step()
        change(ring, 100 + number)
    ring.settle()
    ring.repair(2 * ring.space.digits + 3)
    assert ring.wrong() == []
    assert_all_get(ring, "p")


@FEW
@given(seeds)
def test_p19_tables_are_right_again_from_anything(seed: int) -> None:
    ring = ring_of(seed)
    for number in range(8):
        change(ring, number)
    ring.settle()
    for router in ring.routers.values():
        pastry = router.membership
        assert isinstance(pastry, Pastry)
        spread = pastry._spread
        for range_, received in [*spread.entries.received.items()]:
            for key in [*received]:
                if ring.random.random() < 0.5:
                    spread.unlearn(range_, key)
    ring.settle()
    ring.repair(ring.space.digits + 1)
    assert ring.wrong() == []


@pytest.mark.parametrize("times", [1, 3])
def test_p20_what_comes_again_is_taken_once(times: int) -> None:
    ring = eight()
    ring.subscribe("021", "f", [1])
    ring.settle()
    ring.publish("333", "e", 1)
    for queue in list(ring.queues.values()):
        for message in [*queue]:
            queue.extend([message] * times)
    ring.settle()
    assert ring.got("e") == [("021", "f")]


def accepted(ring: Ring) -> dict[tuple[str, str], set[int]]:
    """The values that each table accepts for each range."""
    found: dict[tuple[str, str], set[int]] = {}
    for name, router in ring.routers.items():
        pastry = router.membership
        assert isinstance(pastry, Pastry)
        for range_, entries in pastry.subscriptions.entries.received.items():
            known = [entry.filter for entry in entries.values()]
            probes = [(x, Publication("probe", {"x": x})) for x in VALUES]
            values = {x for x, probe in probes for one in known if one.matches(probe)}
            found[name, range_] = values
    return found


@FEW
@given(seeds)
def test_p6_entries_are_by_slots_and_none_covers_another_of_its_range(seed: int) -> None:
    ring = ring_of(seed)
    for number in range(10):
        change(ring, number)
        ring.settle()
        for name, router in ring.routers.items():
            pastry = router.membership
            assert isinstance(pastry, Pastry)
            slots = {slot_of(name, other) for other in ring.routers if other != name}
            received = pastry.subscriptions.entries.received
            assert {range_ for range_, entries in received.items() if entries} <= slots
            for entries in received.values():
                known = [entry.filter for entry in entries.values()]
                for one, other in permutations(known, 2):
                    assert not one.covers(other) or other.covers(one)


@FEW
@given(seeds)
def test_p9_what_is_subscribed_and_taken_back_leaves_tables_that_accept_the_same(
    seed: int,
) -> None:
    ring = ring_of(seed)
    for number in range(8):
        change(ring, number)
        ring.settle()
    before = {key: values for key, values in accepted(ring).items() if values}
    home = ring.random.choice(sorted(ring.routers))
    ring.subscribe(home, "more", ring.random.sample(VALUES, 3))
    ring.settle()
    ring.unsubscribe(home, "more")
    ring.settle()
    assert {key: values for key, values in accepted(ring).items() if values} == before


def rotated(name: str, by: int, base: int) -> str:
    """The identifier so many parts of the circle further on."""
    return f"{(int(name[0], base) + by) % base}{name[1:]}"


@FEW
@given(seeds, st.integers(1, 3))
def test_p22_no_place_on_the_circle_is_special(seed: int, by: int) -> None:
    """The same history a part of the circle further on: who stands where it stood does as much."""
    random, base = Random(seed), 4
    space = IdentifierSpace(base, 4)
    names = [space.written(number) for number in random.sample(range(space.size), 9)]
    wanted = [(random.choice(names), random.randrange(6)) for _ in range(8)]
    loads = []
    for turn in (0, by):
        ring = Ring(space, Random(seed))
        placed = [rotated(name, turn, base) for name in names]
        for number, name in enumerate(placed):
            ring.join(name, placed[0] if number else None)
            ring.settle()
        ring.sent.clear()
        for number, (home, value) in enumerate(wanted):
            ring.subscribe(rotated(home, turn, base), f"s{number}", [value])
            ring.settle()
        for name in placed:
            ring.publish(name, f"p of {name}", 1)
            ring.settle()
        assert ring.wrong() == []
        loads.append(dict(ring.sent))
    assert loads[0] == loads[1]
