"""`Workload`: a seeded source of subscriptions and of publications that fit them.

Both come in blocks of `BLOCK`, and each block has a generator of its own, seeded with the seed, the
stream and the number of the block. A stream can therefore be entered anywhere, the first n of a
longer stream are the n of a shorter one, and blocks made in different processes fit together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

import numpy as np

from sapwood.model.filter import Filter
from sapwood.model.publication import Publication, Value
from sapwood.model.subscription import Subscription

BLOCK: Final = 256
"""Subscriptions or publications of one block: enough that vectorized draws pay."""

_Drawn = TypeVar("_Drawn")

_SUBSCRIPTIONS: Final = 1
_PUBLICATIONS: Final = 2

DrawFilters: TypeAlias = Callable[[np.random.Generator, int], Sequence[Filter]]
"""Draws a number of filters in normal form from a generator."""

DrawRecords: TypeAlias = Callable[[np.random.Generator, int], Sequence[dict[str, Value]]]
"""Draws a number of flat records from a generator."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A source of subscriptions and of publications that fit them.

    The functions inside are picklable, so that a workload can travel to other processes.
    """

    name: str
    summary: str
    draw_filters: DrawFilters
    draw_records: DrawRecords

    def subscriptions(self, count: int, seed: int, start: int = 0) -> Iterator[Subscription]:
        """Subscriptions `start` to `count` - 1 of the stream, with ids `s0`, `s1`, ..."""
        for number, filter_ in stream(self.draw_filters, (seed, _SUBSCRIPTIONS), start, count):
            yield Subscription(f"s{number}", filter_)

    def publications(self, count: int, seed: int, start: int = 0) -> Iterator[Publication]:
        """Publications `start` to `count` - 1 of the stream, with ids `p0`, `p1`, ..."""
        for number, record in stream(self.draw_records, (seed, _PUBLICATIONS), start, count):
            yield Publication(f"p{number}", record)


def stream(
    draw: Callable[[np.random.Generator, int], Sequence[_Drawn]],
    seed: tuple[int, int],
    start: int,
    end: int,
) -> Iterator[tuple[int, _Drawn]]:
    """Elements `start` to `end` - 1 of a stream, each with its number."""
    for block in range(start // BLOCK, -(-end // BLOCK)):
        first = block * BLOCK
        drawn = draw(np.random.default_rng((*seed, block)), BLOCK)
        for number in range(max(start, first), min(end, first + BLOCK)):
            yield number, drawn[number - first]
