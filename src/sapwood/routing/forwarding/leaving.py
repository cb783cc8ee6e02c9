"""Sides that are gone: their subscriptions are forgotten chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Protocol, TypeVar


class Left(Protocol):
    """The subscriptions of a side that was removed, by key."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[str]: ...


S = TypeVar("S", bound=Left)


def forget_some(left: dict[int, S], count: int, forget: Callable[[S, str], None]) -> None:
    """Forget up to `count` keys of the sides that were removed; sides without any are dropped."""
    while left and count > 0:
        place, side = next(iter(left.items()))
        some = [*islice(side, count)]
        for key in some:
            forget(side, key)
        count -= len(some)
        if not len(side):
            del left[place]
