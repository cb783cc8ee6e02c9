"""Covering-based routing: a subscription is propagated unless one already propagated covers it.

XSiena 2.5 and Shen 1.5. Covers are found and remembered by the two layers of Shen 4.2
(`sapwood.covering`), one relation graph and one index for each link. On withdrawal the
subscriptions that lose their cover are propagated first, then the withdrawal goes out: the window
of lost publications that XSiena 2.5 notes does not exist here. A subscription that arrives after
narrower ones is propagated beside them, and they are not withdrawn (Shen); under `maximal` they
are, after it, so that the maximal subscriptions are propagated (XPath dissemination).

The two layers hold filters, a neighbor holds subscriptions: of those with equal filters one
*leads*, and when it goes the next is propagated before the withdrawal.

A candidate keeps its representative for as long as that one is propagated, also where the graph
has found another cover since: so a subscription that waits for the representative's confirmation
need not begin again.

Missing a cover costs messages and table entries, never a publication; claiming a cover that does
not hold would lose publications. `Filter.covers` errs only on the safe side, and an approximate
index finds fewer covers, never others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from sapwood.covering.catalogue import DEFAULT_COVERING, covering_manager
from sapwood.covering.manager import CoveringManager
from sapwood.errors import InvariantError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import Filter
from sapwood.model.order import has_one_form
from sapwood.model.patterns.pattern import TreePattern
from sapwood.routing.propagation.protocol import NO_CHANGE, Change, Unconditional
from sapwood.routing.propagation.reasons import Reasons, stood_for
from sapwood.routing.tables import W


class Covering(Unconditional[W]):
    """The state of a link on which enough candidates are propagated to cover all.

    `manager` (empty) finds the covers; the default is the pair that the catalogue recommends.

    #: _members[f] is the candidate with filter f, or several in order of arrival; never empty
    #: the manager's filters are those of the candidates
    #: _leaders[f] is propagated, for exactly the filters that the manager has propagated
    #: every candidate has a representative, which is propagated and covers it
    #: _dependents[p] == the candidates, other than p, that p stands for, if there are any
    """

    __slots__ = (
        "_dependents",
        "_filters",
        "_leaders",
        "_manager",
        "_members",
        "_propagated",
        "_representatives",
    )

    def __init__(self, manager: CoveringManager[W] | None = None) -> None:
        if manager is None:
            manager = cast("CoveringManager[W]", covering_manager(DEFAULT_COVERING))
        self._manager = manager
        self._filters: dict[str, W] = {}
        self._members: dict[W, str | dict[str, None]] = {}
        self._leaders: dict[W, str] = {}
        self._propagated: dict[str, W] = {}
        self._representatives: dict[str, str] = {}
        self._dependents: dict[str, dict[str, None]] = {}

    def start(self, candidates: Iterable[tuple[str, W]]) -> Change:
        """Propagate only the most general candidates, as far as their extents order them."""
        wide_first = sorted(candidates, key=lambda candidate: extent(candidate[1]))
        return self.add_many(wide_first) if wide_first else NO_CHANGE

    def add(self, key: str, filter: W) -> Change:
        """Add a candidate, and propagate it unless it is covered."""
        self._filters[key] = filter
        if not self._is_first(key, filter):
            self._rely(key)
            return NO_CHANGE
        change = self._manager.subscribe(filter)
        if not change.propagate:
            self._rely(key)
            return NO_CHANGE
        self._lead(key)
        self._representatives[key] = key
        return Change((key,), self._step_down(change.withdraw))

    def add_many(self, candidates: Sequence[tuple[str, W]]) -> Change:
        """Add candidates, and propagate those that no other covers, among themselves neither."""
        if len(candidates) == 1:
            return self.add(*candidates[0])
        self._filters.update(candidates)
        first: dict[W, str] = {}
        covered: list[str] = []
        for key, filter_ in candidates:
            if self._is_first(key, filter_):
                first[filter_] = key
            else:
                covered.append(key)
        change = self._manager.subscribe_many([*first])
        told = tuple([first.pop(one) for one in change.propagate])
        self._leaders.update(zip(change.propagate, told, strict=True))
        self._propagated.update(zip(told, change.propagate, strict=True))
        self._representatives.update(zip(told, told, strict=True))
        # A candidate's representative is still the one of its arrival: none is gone since.
        for key in (*covered, *first.values()):
            self._rely(key)
        return Change(told, self._step_down(change.withdraw))

    def remove(self, key: str) -> Change:
        """Remove a candidate; if it was propagated, those that only it covered go out first."""
        wanted = self._filters.pop(key)
        self._leave(key)
        members = self._members[wanted]
        heirs: list[str] = []
        is_told = key in self._propagated
        if isinstance(members, str):
            del self._members[wanted]
            uncovered = self._manager.unsubscribe(wanted).propagate
            heirs = [_eldest(self._members[orphan]) for orphan in uncovered]
        else:
            del members[key]
            eldest = _eldest(members)
            if len(members) == 1:
                self._members[wanted] = eldest
            if is_told:
                heirs = [eldest]
        if is_told:
            del self._propagated[key]
            del self._leaders[wanted]
        for heir in heirs:
            self._lead(heir)
        if not is_told:
            return Change(propagate=tuple(heirs))
        for dependent in self._dependents.pop(key, ()):
            self._rely(dependent)
        return Change(propagate=tuple(heirs), withdraw=(key,))

    def representative(self, key: str) -> str | None:
        """The propagated subscription that covers it, or itself."""
        return self._representatives[key]

    def why(self, key: str) -> Reasons:
        """The reason: its propagated cover, or the candidate itself."""
        return stood_for(key, self._representatives[key], self._filters)

    @property
    def rank(self) -> Callable[[W], Any] | None:
        """The extent: the most general candidates come first, as far as it orders them."""
        return extent

    @property
    def propagated(self) -> Mapping[str, W]:
        """The subscriptions that the neighbor has."""
        return self._propagated

    def validate(self, candidates: Mapping[str, W]) -> None:
        """Check that every candidate is covered by a propagated one."""
        self._manager.validate()
        if self._filters != candidates or self._representatives.keys() != candidates.keys():
            raise InvariantError("covering routing does not know exactly the candidates")
        members: dict[W, set[str]] = {}
        for key, wanted in candidates.items():
            members.setdefault(wanted, set()).add(key)
        held = {
            wanted: {keys} if isinstance(keys, str) else set(keys)
            for wanted, keys in self._members.items()
        }
        if members != held:
            raise InvariantError("the members are not the candidates of each filter")
        if members.keys() != set(self._manager.filters):
            raise InvariantError("the manager does not know exactly the candidates' filters")
        if {leader: wanted for wanted, leader in self._leaders.items()} != self._propagated:
            raise InvariantError("not exactly the leaders are propagated")
        if self._leaders.keys() != set(self._manager.propagated):
            raise InvariantError("the leaders are not those of the filters that are propagated")
        dependents: dict[str, set[str]] = {}
        for key, representative in self._representatives.items():
            self._check_representative(key, representative)
            if representative != key:
                dependents.setdefault(representative, set()).add(key)
        if dependents != {key: set(keys) for key, keys in self._dependents.items()}:
            raise InvariantError("the dependents are not those of the representatives")

    def _check_representative(self, key: str, representative: str) -> None:
        if representative not in self._propagated:
            raise InvariantError(f"{key} relies on {representative}, which is not propagated")
        wanted, told = self._filters[key], self._propagated[representative]
        # Of other filters a cover may be known over a third one that `covers` does not see.
        is_certain = has_one_form(wanted) and has_one_form(told)
        if is_certain and not told.covers(wanted):
            raise InvariantError(f"{key} relies on {representative}, which does not cover it")

    def _is_first(self, key: str, filter: W) -> bool:
        """Add a candidate; true if it is the only one with its filter."""
        members = self._members.setdefault(filter, key)
        if members is key:
            return True
        if isinstance(members, str):
            self._members[filter] = {members: None, key: None}
        else:
            members[key] = None
        return False

    def _lead(self, key: str) -> None:
        """Make a subscription the propagated one of its filter."""
        wanted = self._filters[key]
        self._leaders[wanted] = key
        self._propagated[key] = wanted

    def _step_down(self, filters: Sequence[W]) -> tuple[str, ...]:
        """Withdraw filters that a newcomer covers; it becomes their representative."""
        keys = tuple(self._leaders.pop(one) for one in filters)
        for key in keys:
            del self._propagated[key]
        for key in keys:
            for dependent in (key, *self._dependents.pop(key, ())):
                self._rely(dependent)
        return keys

    def _rely(self, key: str) -> None:
        """Make the leader of the filter's representative that of the candidate."""
        found = self._leaders[self._manager.representative(self._filters[key])]
        self._representatives[key] = found
        if found != key:
            self._dependents.setdefault(found, {})[key] = None

    def _leave(self, key: str) -> None:
        """Forget the representative of a candidate that goes."""
        representative = self._representatives.pop(key)
        if representative != key:
            dependents = self._dependents[representative]
            del dependents[key]
            if not dependents:
                del self._dependents[representative]


def _eldest(members: str | dict[str, None]) -> str:
    """The first of the candidates with one filter."""
    return members if isinstance(members, str) else next(iter(members))


def extent(content: AdvertisedContent) -> tuple[object, ...]:
    """A sort key by which most covers of a content come before it."""
    if isinstance(content, Filter):
        return (0, *content.extent)
    if not isinstance(content, TreePattern):
        return (2,)  # nothing orders paths by generality but a comparison
    # A cover of a pattern requires no more levels; a pattern without twigs covers itself only.
    levels = min((twig.reach for twig in content.twigs), default=math.inf)
    return (1, levels, len(str(content)))
