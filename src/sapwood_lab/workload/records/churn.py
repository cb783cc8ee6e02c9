"""CHURN: publications of a workload while its subscriptions come and go.

The stream begins with `live` additions. After that each operation is, by chance, a publication,
the addition of a new subscription, or the removal of one of the live ones, drawn
uniformly. With the default shares about ten subscriptions come and ten go in 1,000 operations, 1 %
of the default `live`, and the number of live ones wanders about where it began.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from sapwood.errors import InvalidValueError
from sapwood.model.publication import Publication
from sapwood.model.subscription import Subscription
from sapwood_lab.workload.records.source import BLOCK, Workload

_CHURN: Final = 3


@dataclass(frozen=True, slots=True)
class Add:
    """A subscription comes."""

    subscription: Subscription


@dataclass(frozen=True, slots=True)
class Remove:
    """The subscription with this id, which is live, goes."""

    id: str


@dataclass(frozen=True, slots=True)
class Publish:
    """A publication is to be matched against the live subscriptions."""

    publication: Publication


Operation: TypeAlias = Add | Remove | Publish


@dataclass(frozen=True, slots=True)
class Churn:
    """A seeded stream of operations over a workload.

    `live` subscriptions come first; then `add_share` and `remove_share` of the operations add and
    remove, the others publish. Raises `InvalidValueError` for shares that are none.
    """

    workload: Workload
    live: int = 1_000
    add_share: float = 0.01
    remove_share: float = 0.01

    def __post_init__(self) -> None:
        if min(self.add_share, self.remove_share) < 0 or self.add_share + self.remove_share > 1:
            raise InvalidValueError("add_share", "shares are at least 0 and together at most 1")

    def operations(self, count: int, seed: int) -> Iterator[Operation]:
        """`count` operations after the first additions; the first n of a longer stream."""
        subscriptions = self.workload.subscriptions(self.live + count, seed)
        publications = self.workload.publications(count, seed)
        live: list[str] = []
        for _ in range(self.live):
            subscription = next(subscriptions)
            live.append(subscription.id)
            yield Add(subscription)
        for kind, place in _draws(count, seed):
            if kind < self.add_share:
                subscription = next(subscriptions)
                live.append(subscription.id)
                yield Add(subscription)
            elif kind < self.add_share + self.remove_share and live:
                chosen = int(place * len(live))
                live[chosen], live[-1] = live[-1], live[chosen]
                yield Remove(live.pop())
            else:
                yield Publish(next(publications))


def _draws(count: int, seed: int) -> Iterator[tuple[float, float]]:
    """For each operation, two numbers in [0, 1): what it is, and which one goes."""
    for block in range(-(-count // BLOCK)):
        random = np.random.default_rng((seed, _CHURN, block))
        yield from random.random((BLOCK, 2)).tolist()[: count - block * BLOCK]
