"""The candidates of a link that has just come up, which its strategy adds chunk by chunk.

Sending the state of a large router takes seconds, and publications are not to wait for that. So the
candidates of a new link are queued here, and its strategy adds a chunk whenever the link takes more
(`inputs.Drained`). Until then they are no candidates of the strategy: one that is withdrawn is
dropped here and no message is sent of it. Subscriptions that come meanwhile go to the strategy at
once, so that their confirmation waits for no backlog.

A strategy may rank candidates. They are ranked and sorted in runs of a few, one run at a time; two
runs of one length become one, up to a length that takes some milliseconds, and the rest is merged
as it is taken. With runs of two that are not joined, and ranks beside the keys:

    unsorted   k1:5 k2:1 | k3:4 k4:0       after two calls of `take`, which return nothing
    runs       k2 k1     | k4 k3
    merged     k4 k2 k3 k1                 taken from then on
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, Final, Generic

from sapwood.routing.tables import W

_LOOKED_AT: Final = 8
"""Keys that are ranked, or passed over because they were withdrawn, per key that is taken."""

_RANK: Final[Callable[[tuple[Any, int, str]], Any]] = itemgetter(0)

_RUN_MAX: Final = 1 << 14
"""Keys of the longest run that is joined with another one: of both together that takes 5 ms, a
seventh of what it takes to merge them as they are taken."""


class Backlog(Generic[W]):
    """The candidates that the strategy of one link has yet to add.

    `rank`, if there is one, orders them: those with the lowest rank come first.

    #: pending are the candidates here; each is in _numbered, _runs, _merged or _later
    """

    __slots__ = ("_later", "_merged", "_numbered", "_rank", "_runs", "pending")

    def __init__(self, keys: Iterable[str], rank: Callable[[W], Any] | None) -> None:
        self.pending = dict.fromkeys(keys)
        self._rank = rank
        #: the number breaks ties between equal ranks, which need not be comparable with keys
        self._numbered: Iterator[tuple[int, str]]
        self._runs: list[list[tuple[Any, int, str]]] = []
        self._merged: Iterator[tuple[Any, int, str]] | None
        #: the keys to continue with when the iterators are exhausted
        self._later = list(self.pending)
        self._begin()

    def __contains__(self, key: str) -> bool:
        return key in self.pending

    def extend(self, keys: Iterable[str]) -> None:
        """Queue further candidates behind all that are here; none of them may be here."""
        more = tuple(keys)
        self.pending.update(dict.fromkeys(more))
        self._later.extend(more)

    def drop(self, key: str) -> bool:
        """Drop a candidate that was withdrawn; true if it was here."""
        if key not in self.pending:
            return False
        del self.pending[key]
        return True

    def take(
        self, count: int, filters_of: Callable[[Sequence[str]], Sequence[W]]
    ) -> list[tuple[str, W]]:
        """The next candidates, at most `count`; while runs are sorted there may be none yet."""
        if self._merged is None:
            self._sort(count * _LOOKED_AT, filters_of)
            return []
        taken: list[str] = []
        pending, left = self.pending, count * _LOOKED_AT
        for _, _, key in self._merged:
            left -= 1
            if key in pending:
                del pending[key]
                taken.append(key)
            if len(taken) == count or not left:
                break
        else:
            if self._later:
                self._begin()
        return list(zip(taken, filters_of(taken), strict=True))

    def _begin(self) -> None:
        """Continue with the candidates that came later."""
        self._numbered, self._later = enumerate(tuple(self._later)), []
        self._merged = None
        if self._rank is None:
            self._merged = ((None, number, key) for number, key in self._numbered)

    def _sort(self, count: int, filters_of: Callable[[Sequence[str]], Sequence[W]]) -> None:
        """Rank and sort up to `count` keys, and begin to merge when all are sorted."""
        assert self._rank is not None, "what is not ranked is not sorted"
        pending = self.pending
        some = list(islice((one for one in self._numbered if one[1] in pending), count))
        ranks = map(self._rank, filters_of([key for _, key in some]))
        run = [(rank, number, key) for rank, (number, key) in zip(ranks, some, strict=True)]
        run.sort(key=_RANK)  # where ranks are equal, their numbers ascend already
        runs = self._runs
        runs.append(run)
        while len(runs) > 1 and len(runs[-2]) == len(runs[-1]) <= _RUN_MAX:
            longer = runs[-2] + runs.pop()
            longer.sort(key=_RANK)  # which finds that it is two runs
            runs[-1] = longer
        if len(run) < count:
            self._merged = heapq.merge(*self._runs)
            self._runs = []
