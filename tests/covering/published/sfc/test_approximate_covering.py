"""A manager over the approximate index (Shen T-28): more is propagated, the same is delivered."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest

from sapwood.covering.flat import FlatGraph
from sapwood.covering.manager import CoveringManager
from sapwood.covering.published.sfc.index import SpaceFillingIndex
from sapwood.model.filter import Filter
from tests.covering.histories import Neighbor
from tests.covering.published.sfc.boxes import boxes, unit

EPSILONS = (0, Fraction(1, 20), Fraction(1, 4), Fraction(3, 4), Fraction(19, 20))
ATTRIBUTES = 2
GRID = unit(ATTRIBUTES, bits=10)
every_curve = pytest.mark.parametrize("curve", ["z", "hilbert"])


def manager(
    curve: str, epsilon: Fraction | float, cube_budget: int | None = None
) -> CoveringManager[Filter]:
    return CoveringManager(FlatGraph(1), SpaceFillingIndex(curve, epsilon, cube_budget, GRID))


def history(seed: int, operations: int) -> list[tuple[bool, Filter]]:
    """Subscriptions (`True`) and removals of live ones, some filters more than once."""
    random = Random(seed)
    fresh = boxes(random, ATTRIBUTES)
    live: list[Filter] = []
    done: list[tuple[bool, Filter]] = []
    for _ in range(operations):
        if live and random.random() < 0.3:
            done.append((False, live.pop(random.randrange(len(live)))))
        else:
            live.append(random.choice(live) if live and random.random() < 0.1 else next(fresh))
            done.append((True, live[-1]))
    return done


@every_curve
@pytest.mark.parametrize("cube_budget", [None, 20])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.one_in(8)
def test_neighbor_holds_a_cover_of_everything_after_each_message(
    curve: str, epsilon: Fraction, cube_budget: int | None
) -> None:
    tried, neighbor = manager(curve, epsilon, cube_budget), Neighbor()
    for is_new, wanted in history(seed=1, operations=120):
        said = tried.subscribe(wanted) if is_new else tried.unsubscribe(wanted)
        neighbor.hear(said, set(tried.filters))
        tried.validate()
        assert set(neighbor.known) == set(tried.propagated) <= set(tried.filters)


@every_curve
def test_smaller_epsilon_propagates_no_more_at_any_time(curve: str) -> None:
    """The propagated filters are those that at some moment had no cover in the searched region."""
    managers = [manager(curve, epsilon) for epsilon in EPSILONS]
    propagated = [0] * len(managers)
    for is_new, wanted in history(seed=2, operations=400):
        for each in managers:
            if is_new:
                each.subscribe(wanted)
            else:
                each.unsubscribe(wanted)
        sets = [set(each.propagated) for each in managers]
        assert all(exact <= rough for exact, rough in pairwise(sets))
        propagated = [total + len(each) for total, each in zip(propagated, sets, strict=True)]
    assert propagated == sorted(propagated)
    assert propagated[0] < propagated[-1]
    assert propagated[1] < 1.05 * propagated[0], "a small epsilon costs little"


@every_curve
def test_budget_of_cubes_propagates_more_than_an_exact_index(curve: str) -> None:
    exact, spent = manager(curve, 0), manager(curve, 0, cube_budget=3)
    for is_new, wanted in history(seed=3, operations=200):
        for each in (exact, spent):
            if is_new:
                each.subscribe(wanted)
            else:
                each.unsubscribe(wanted)
    assert set(exact.propagated) < set(spent.propagated)


class Line:
    """Routers in a row, each with a covering manager for each neighbor; links keep their order."""

    def __init__(self, routers: int, curve: str, epsilon: Fraction | float) -> None:
        self.managers = {
            (at, to): manager(curve, epsilon)
            for at in range(routers)
            for to in (at - 1, at + 1)
            if 0 <= to < routers
        }
        #: (router, neighbor) -> what the router was told by the neighbor
        self.told: defaultdict[tuple[int, int], set[Filter]] = defaultdict(set)
        self.clients: defaultdict[int, list[Filter]] = defaultdict(list)
        self.messages = 0

    def subscribe(self, at: int, wanted: Filter) -> None:
        self.clients[at].append(wanted)
        self._spread(at, wanted, source=None, is_new=True)

    def unsubscribe(self, at: int, wanted: Filter) -> None:
        self.clients[at].remove(wanted)
        self._spread(at, wanted, source=None, is_new=False)

    def publish(self, at: int, record: dict[str, float]) -> list[tuple[int, Filter]]:
        """The deliveries of the record: routers, and filters of their clients."""
        delivered: list[tuple[int, Filter]] = []
        waiting: list[tuple[int, int | None]] = [(at, None)]
        while waiting:
            router, source = waiting.pop()
            delivered += ((router, f) for f in self.clients[router] if f.accepts(record))
            waiting += (
                (to, router)
                for here, to in self.managers
                if here == router and to != source
                if any(f.accepts(record) for f in self.told[router, to])
            )
        return delivered

    def _spread(self, at: int, wanted: Filter, source: int | None, *, is_new: bool) -> None:
        for (here, to), each in self.managers.items():
            if here != at or to == source:
                continue
            said = each.subscribe(wanted) if is_new else each.unsubscribe(wanted)
            for told in said.propagate:
                self.told[to, at].add(told)
                self._spread(to, told, at, is_new=True)
            for forgotten in said.withdraw:
                self.told[to, at].remove(forgotten)
                self._spread(to, forgotten, at, is_new=False)
            self.messages += len(said.propagate) + len(said.withdraw)


@every_curve
def test_deliveries_do_not_depend_on_epsilon(curve: str) -> None:
    random = Random(4)
    lines = [Line(4, curve, epsilon) for epsilon in (0, Fraction(1, 20), Fraction(9, 10))]
    clients: list[tuple[int, Filter]] = []
    delivered = 0
    for is_new, wanted in history(seed=5, operations=150):
        place = random.randrange(4)
        if is_new:
            clients.append((place, wanted))
        else:
            place = next(at for at, own in clients if own == wanted)
            clients.remove((place, wanted))
        for line in lines:
            if is_new:
                line.subscribe(place, wanted)
            else:
                line.unsubscribe(place, wanted)
        record = {f"x{axis}": random.random() for axis in range(ATTRIBUTES)}
        at = random.randrange(4)
        expected = sorted(str(c) for c in clients if c[1].accepts(record))
        for line in lines:
            assert sorted(str(found) for found in line.publish(at, record)) == expected
        delivered += len(expected)
    assert delivered > 100
    assert lines[0].messages < lines[1].messages < lines[2].messages
