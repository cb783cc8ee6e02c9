"""Sequences of subscriptions and removals, and what must hold after each (Shen I1, I2)."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from sapwood.covering.manager import Change, CoveringManager
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.numbers import Interval


class Neighbor:
    """The other end of the link: knows what it was told, one message at a time."""

    def __init__(self) -> None:
        self.known: dict[Filter, None] = {}

    def hear(self, change: Change, subscribed: set[Filter]) -> None:
        """Take a change in; after each message everything that is subscribed must be covered."""
        for told in change.propagate:
            assert told not in self.known, "propagated twice"
            self.known[told] = None
            if told is not change.propagate[-1] or change.withdraw:
                self.check(subscribed)
        for forgotten in change.withdraw:
            del self.known[forgotten]
            self.check(subscribed)
        self.check(subscribed)

    def check(self, subscribed: set[Filter]) -> None:
        """I2: every subscribed filter is covered by a known one."""
        assert all(any(k.covers(f) for k in self.known) for f in subscribed)


def boxes_of(random: Random, dimensions: int) -> Iterator[Filter]:
    """Shen's subscriptions: one interval an attribute, both ends uniform."""
    while True:
        yield Filter(
            (
                Conjunction(
                    tuple(
                        (f"x{axis}", Constraint(numbers=(Interval(*sorted(_pair(random))),)))
                        for axis in range(dimensions)
                    )
                ),
            )
        )


def run(
    manager: CoveringManager, *, operations: int, removal_share: float, dimensions: int, seed: int
) -> None:
    """Shen's sequence: a removal of any live subscription with some chance, else a new one."""
    random = Random(seed)
    fresh = boxes_of(random, dimensions)
    live: list[Filter] = []
    for _ in range(operations):
        if live and random.random() < removal_share:
            place = random.randrange(len(live))
            live[place], live[-1] = live[-1], live[place]
            manager.unsubscribe(live.pop())
        else:
            live.append(next(fresh))
            manager.subscribe(live[-1])


def _pair(random: Random) -> tuple[float, float]:
    return random.random(), random.random()
