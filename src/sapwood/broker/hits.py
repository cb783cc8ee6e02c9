"""Counts of the matches of clients' subscriptions, for those that the console shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np

from sapwood.limits.console import CONSOLE_WATCHED_MAX
from sapwood.routing.effects import Deliver, DeliverMany
from sapwood.routing.holders import KeyBatch, as_numbers

ABSENT: Final = -1


class Watched(NamedTuple):
    """A subscription that is shown: its key, its client, and its id there."""

    key: str
    client: str
    id: str


class Hits:
    """Counts for the subscriptions that were shown last.

    A batch costs a search in some hundred numbers for each of its matches, and no more where a
    million clients hold one filter: a match is of a filter, and its holders are looked up here.

    #: _counts and _since have the same keys, _keys those of them by client and id
    #: at most `limits.CONSOLE_WATCHED_MAX` are counted, the last ones shown
    """

    __slots__ = ("_counts", "_keys", "_since")

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        #: the time since which each is counted
        self._since: dict[str, float] = {}
        self._keys: dict[tuple[str, str], str] = {}

    def watch(self, looked_at: Iterable[Watched], now: float) -> dict[str, tuple[int, float]]:
        """The matches of each subscription, by key, and the time since which they are counted."""
        found: dict[str, tuple[int, float]] = {}
        for one in looked_at:
            since = self._since.pop(one.key, now)
            self._since[one.key] = since  # the last one shown
            found[one.key] = (self._counts.setdefault(one.key, 0), since)
            self._keys[one.client, one.id] = one.key
        while len(self._since) > CONSOLE_WATCHED_MAX:
            oldest = next(iter(self._since))
            del self._since[oldest], self._counts[oldest]
        self._keys = {name: key for name, key in self._keys.items() if key in self._counts}
        return found

    def count(self, effect: Deliver) -> None:
        """Count a publication delivered to a client."""
        for id_ in effect.subscriptions:
            key = self._keys.get((effect.client, id_))
            if key is not None:
                self._counts[key] += 1

    def count_many(self, effect: DeliverMany) -> None:
        """Count the publications of a batch delivered to clients."""
        keys = effect.keys
        numbers = keys.holders.numbers
        held = {key: numbers[key] for key in self._counts if key in numbers}
        if not held or not len(keys.slots):
            return
        targets, hits = _compared(keys, np.fromiter(held.values(), np.int32, len(held)))
        wanted, places = np.unique(targets, return_inverse=True)
        at = np.minimum(np.searchsorted(wanted, hits), len(wanted) - 1)
        met = np.bincount(at[wanted[at] == hits], minlength=len(wanted))[places]
        for key, count in zip(held, met.tolist(), strict=True):
            self._counts[key] += count


def _compared(keys: KeyBatch, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values to compare for each of the numbers, and for each match of a batch.

    They are the places of filters in their pool; or the numbers themselves, where matches are
    numbers.
    """
    if keys.heads is None:
        return numbers, keys.slots
    places = as_numbers(keys.holders.places)
    return places[numbers], places[as_numbers(keys.heads)[keys.slots]]
