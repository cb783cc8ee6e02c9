"""Two layers over the subscriptions of one link: the filters that its other end needs (Shen 4.2).

A `CoveringManager` holds every filter that was subscribed, stores in a relation graph which filters
cover which, finds covers with a covering index, and returns the filters to propagate so that at any
time, between any two messages too, every subscribed filter is covered by a propagated one (Shen
2007, section 4.2).

Equal filters share one node with a counter; only the first subscription and the last removal of a
filter have an effect (L872). A propagated filter stays so when a wider one is added later: it is
not withdrawn before it is unsubscribed (L805), unless the manager `is_maximal`.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from sapwood.covering.protocol import (
    BulkGraph,
    BulkIndex,
    CoveringIndex,
    RelationGraph,
    SupplantingGraph,
)
from sapwood.errors import InputError, InvariantError
from sapwood.model.advertised_content import AdvertisedContent

W = TypeVar("W", bound=AdvertisedContent)


class Change(NamedTuple, Generic[W]):
    """The messages for the link: first all of `propagate`, then all of `withdraw`.

    In that order, and on a link that keeps it, no filter is without a cover at any moment.
    """

    propagate: tuple[W, ...] = ()
    withdraw: tuple[W, ...] = ()


NO_CHANGE: Final[Change[Any]] = Change()


@dataclass(slots=True)
class Work:
    """The queries of the index since the beginning: the cost in the terms of the theorems.

    `subscriptions` counts first subscriptions of a filter, `queries` all calls of `cov`,
    `unsubscribe_queries` those for removals and `subscribe_queries` the others (lemma 1: the former
    are at most the latter on average; theorem 1: `G_1` costs at most twice what any `G_k` costs).
    """

    subscriptions: int = 0
    removals: int = 0
    queries: int = 0
    unsubscribe_queries: int = 0

    @property
    def subscribe_queries(self) -> int:
        """Calls of `cov` for subscriptions."""
        return self.queries - self.unsubscribe_queries


class CoveringManager(Generic[W]):
    """Covering detection for one outgoing link: a relation graph over a covering index.

    Both must be empty. A graph that searches in itself takes no index. By Shen's rule a propagated
    filter stays so when a new one covers it; a manager that `is_maximal` withdraws it, so that
    exactly the maximal filters are propagated (XPath dissemination, "covering-based routing").
    Raises `InputError` for a combination that cannot work.

    #: if it is maximal, exactly the nodes without parents are propagated
    """

    def __init__(
        self,
        graph: RelationGraph,
        index: CoveringIndex[W] | None = None,
        *,
        is_maximal: bool = False,
    ) -> None:
        if graph.searches_itself != (index is None):
            remedy = (
                "needs an index" if index is None else "finds covers itself: leave the index out"
            )
            raise InputError(f"the graph {type(graph).__name__} {remedy}")
        if len(graph) or (index is not None and len(index)):
            raise InputError("a covering manager starts with an empty graph and an empty index")
        self._graph = graph
        self._is_maximal = is_maximal
        self._index: CoveringIndex[W] = _NoIndex() if index is None else index
        self.work = Work()
        self._asked = _CountedIndex(self._index, self.work)
        #: filter -> its key; exactly the subscribed filters, the nodes and the index's filters
        self._keys: dict[W, int] = {}
        #: key -> its filter; the inverse of `_keys`
        self._filters: dict[int, W] = {}
        #: key -> the number of subscriptions of its filter beside the first; at least one
        self._repeats: dict[int, int] = {}
        #: the keys of the filters that the neighbor has; every node without parents is one
        self._propagated: dict[int, None] = {}
        #: keys below len(_filters) + len(_free) that no filter has
        self._free: list[int] = []

    def __len__(self) -> int:
        """The number of distinct filters."""
        return len(self._filters)

    def __contains__(self, filter: object) -> bool:
        """True if a filter is subscribed."""
        return filter in self._keys

    def subscribe(self, filter: W) -> Change[W]:
        """Add a subscription; propagates its filter unless it is known or covered."""
        free = self._free
        fresh = free[0] if free else len(self._filters)
        key = self._keys.setdefault(filter, fresh)  # looking up and storing hash a filter once
        if key in self._filters:
            self._repeats[key] = self._repeats.get(key, 0) + 1
            return NO_CHANGE
        if free:
            heapq.heappop(free)
        self._filters[key] = filter
        is_covered = self._graph.add(key, filter, self._asked)
        self.work.subscriptions += 1
        self._index.add(key, filter)
        if is_covered:
            return NO_CHANGE
        self._propagated[key] = None
        return Change((filter,), self._step_down(key) if self._is_maximal else ())

    def subscribe_many(self, filters: Sequence[W]) -> Change[W]:
        """Add several subscriptions; the net change of `subscribe` for one after the other."""
        graph, index = self._graph, self._asked
        if not (isinstance(graph, BulkGraph) and isinstance(self._index, BulkIndex)):
            return _net([self.subscribe(given) for given in filters])
        free, known, keys = self._free, self._filters, self._keys
        fresh: dict[int, W] = {}
        for filter_ in filters:
            key = keys.setdefault(filter_, free[0] if free else len(known))
            if key in known:
                self._repeats[key] = self._repeats.get(key, 0) + 1
                continue
            if free:
                heapq.heappop(free)
            known[key] = fresh[key] = filter_
        covered = graph.add_many([*fresh], [*fresh.values()], index)
        self.work.subscriptions += len(fresh)
        told = [key for key, is_covered in zip(fresh, covered, strict=True) if not is_covered]
        self._propagated.update(dict.fromkeys(told))
        if not self._is_maximal:
            return Change(tuple([fresh[key] for key in told]))
        # A filter that has stepped down before its turn makes no other one step down: the filter
        # that covers it has taken its place.
        return _net(
            [
                Change((fresh[key],), self._step_down(key) if key in self._propagated else ())
                for key in told
            ]
        )

    def _step_down(self, key: int) -> tuple[W, ...]:
        """Let a new filter stand for the propagated ones that it covers; returns these."""
        graph, known, told = self._graph, self._filters, self._propagated
        covered = (
            graph.supplant(key, known[key], self._index)
            if isinstance(graph, SupplantingGraph)
            else graph.children(key)
        )
        below = [other for other in covered if other in told]
        for other in below:
            del told[other]
        return tuple(known[other] for other in below)

    def unsubscribe(self, filter: W) -> Change[W]:
        """Remove a subscription; filters without a cover then are propagated before the withdrawal.

        A filter without a subscription is ignored.
        """
        key = self._keys.pop(filter, None)
        if key is None:
            return NO_CHANGE
        if key in self._repeats:
            self._keys[filter] = key
            self._repeats[key] -= 1
            if not self._repeats[key]:
                del self._repeats[key]
            return NO_CHANGE
        self._index.remove(key)
        work, asked = self.work, self.work.queries
        uncovered = self._graph.remove(key, self._asked)
        work.removals += 1
        work.unsubscribe_queries += work.queries - asked
        del self._filters[key]
        heapq.heappush(self._free, key)
        withdraw: tuple[W, ...] = ()
        if key in self._propagated:
            del self._propagated[key]
            withdraw = (filter,)
        if not uncovered:
            return Change((), withdraw) if withdraw else NO_CHANGE
        fresh = [node for node in uncovered if node not in self._propagated]
        self._propagated.update(dict.fromkeys(fresh))
        return Change(tuple(self._filters[node] for node in fresh), withdraw)

    @property
    def index(self) -> CoveringIndex[W] | None:
        """The index below the graph, for its counters; `None` where the graph searches itself."""
        return None if self._graph.searches_itself else self._index

    @property
    def filters(self) -> Collection[W]:
        """The distinct subscribed filters."""
        return self._keys.keys()

    @property
    def propagated(self) -> tuple[W, ...]:
        """The filters that the neighbor has, in the order in which they were propagated."""
        return tuple(self._filters[key] for key in self._propagated)

    def count(self, filter: W) -> int:
        """The number of subscriptions of this filter."""
        key = self._keys.get(filter)
        return 0 if key is None else 1 + self._repeats.get(key, 0)

    def representative(self, filter: W) -> W:
        """The propagated filter that stands for a subscribed one: itself, or a cover of it."""
        key = self._keys[filter]
        while key not in self._propagated:
            key = next(iter(self._graph.parents(key)))
        return self._filters[key]

    def covers(self, filter: W) -> tuple[W, ...]:
        """The covers of a subscribed filter that the graph stores."""
        return tuple(self._filters[key] for key in self._graph.parents(self._keys[filter]))

    def dependents(self, filter: W) -> tuple[W, ...]:
        """The filters below a subscribed one in the graph."""
        return tuple(self._filters[key] for key in self._graph.children(self._keys[filter]))

    def validate(self) -> None:
        """Raise `InvariantError` unless propagated filters cover all subscribed ones."""
        self._graph.validate()
        self._index.validate()
        sizes = {len(self._keys), len(self._graph)}
        if not self._graph.searches_itself:
            sizes.add(len(self._index))
        if sizes != {len(self._filters)} or not self._repeats.keys() <= self._filters.keys():
            raise InvariantError("the manager's tables, graph and index hold different filters")
        if not all(count > 0 for count in self._repeats.values()):
            raise InvariantError("a filter is said to be repeated and is not")
        if {key: f for f, key in self._keys.items()} != self._filters:
            raise InvariantError("keys and filters of the manager disagree")
        used = {*self._filters, *self._free}
        if used != set(range(len(self._filters) + len(self._free))):
            raise InvariantError("free keys and used keys do not make up all keys")
        for key, candidate in self._filters.items():
            # The graph has checked that edges are covers and that no path of parents is endless.
            if key not in self._propagated and not self._graph.parents(key):
                raise InvariantError(f"{candidate} is neither propagated nor covered")
            if self._is_maximal and key in self._propagated and self._graph.parents(key):
                raise InvariantError(f"{candidate} is propagated and covered")
        if not self._propagated.keys() <= self._filters.keys():
            raise InvariantError("a filter is propagated that nobody subscribed")


def _net(changes: Iterable[Change[W]]) -> Change[W]:
    """The net change of several: a filter that is propagated and withdrawn is in neither list."""
    told: dict[W, None] = {}
    withdrawn: list[W] = []
    for change in changes:
        told.update(dict.fromkeys(change.propagate))
        for one in change.withdraw:
            if one in told:
                del told[one]
            else:
                withdrawn.append(one)
    return Change(tuple(told), tuple(withdrawn))


class _CountedIndex:
    """An index that counts its queries for covers."""

    __slots__ = ("_index", "_work")

    def __init__(self, index: CoveringIndex[Any], work: Work) -> None:
        self._index = index
        self._work = work

    def __len__(self) -> int:
        return len(self._index)

    def add(self, key: int, filter: AdvertisedContent) -> None:
        self._index.add(key, filter)

    def remove(self, key: int) -> None:
        self._index.remove(key)

    def cov(self, filter: AdvertisedContent, limit: int) -> list[int]:
        self._work.queries += 1
        return self._index.cov(filter, limit)

    def covered(self, filter: AdvertisedContent) -> list[int]:
        return self._index.covered(filter)

    def place_many(
        self, keys: Sequence[int], filters: Sequence[AdvertisedContent], limit: int
    ) -> list[list[int]]:
        assert isinstance(self._index, BulkIndex), "only such an index is asked for many"
        self._work.queries += len(keys)
        return self._index.place_many(keys, filters, limit)

    def validate(self) -> None:
        self._index.validate()


class _NoIndex:
    """The stand-in for an index below a graph that searches in itself: it holds nothing."""

    __slots__ = ()

    def __len__(self) -> int:
        return 0

    def add(self, key: int, filter: AdvertisedContent) -> None:
        pass

    def remove(self, key: int) -> None:
        pass

    def cov(self, filter: AdvertisedContent, limit: int) -> list[int]:  # noqa: ARG002
        raise InvariantError("a graph without an index asked for covers")

    def covered(self, filter: AdvertisedContent) -> list[int]:  # noqa: ARG002
        raise InvariantError("a graph without an index asked for covered filters")

    def validate(self) -> None:
        pass
