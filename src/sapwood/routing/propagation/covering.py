"""Covering-based routing: a subscription is propagated unless one already propagated covers it.

XSiena 2.5 and Shen 1.5. On withdrawal the subscriptions that lose their cover are propagated first
(most general first, which keeps the propagated set small), then the withdrawal goes out: the
window of lost publications that XSiena 2.5 notes does not exist here. A subscription that arrives
after narrower ones is propagated beside them; they are not withdrawn.

Missing a cover costs messages and table entries, never a publication; claiming a cover that does
not hold would lose publications. `Filter.covers` errs only on the safe side.

Detection is a scan over the propagated filters (after a look-up of equal ones): cost linear in
their number per candidate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sapwood.errors import InvariantError
from sapwood.model.filter import Filter
from sapwood.routing.propagation.protocol import NOTHING_TO_SAY, Change


class Covering:
    """The state of a link that is told of enough candidates to cover all.

    #: set(_representatives) == set(_filters) == the candidates
    #: every representative is propagated and covers its candidates; the propagated stand for
    #: themselves
    #: _dependents[p] == the candidates, other than p, that p stands for
    #: _equal[f] is a propagated candidate with filter f
    """

    __slots__ = ("_dependents", "_equal", "_filters", "_propagated", "_representatives")

    def __init__(self) -> None:
        self._filters: dict[str, Filter] = {}
        self._propagated: dict[str, Filter] = {}
        self._representatives: dict[str, str] = {}
        self._dependents: dict[str, dict[str, None]] = {}
        self._equal: dict[Filter, str] = {}

    def start(self, candidates: Iterable[tuple[str, Filter]]) -> Change:
        """Propagate the most general candidates only."""
        self._filters = dict(candidates)
        return Change(propagate=self._place(list(self._filters)))

    def add(self, key: str, filter: Filter) -> Change:  # noqa: A002 - the field's word
        """Propagate it unless it is covered."""
        self._filters[key] = filter
        return Change(propagate=self._place([key]))

    def remove(self, key: str) -> Change:
        """Withdraw it if it was propagated; what it alone covered is propagated first."""
        wanted = self._filters.pop(key)
        representative = self._representatives.pop(key)
        if representative != key:
            del self._dependents[representative][key]
            return NOTHING_TO_SAY
        del self._propagated[key]
        if self._equal.get(wanted) == key:
            del self._equal[wanted]
        uncovered = list(self._dependents.pop(key))
        return Change(propagate=self._place(uncovered), withdraw=(key,))

    def representative(self, key: str) -> str | None:
        """The propagated subscription that covers it, or itself."""
        return self._representatives[key]

    @property
    def propagated(self) -> Mapping[str, Filter]:
        """The subscriptions the neighbor knows of."""
        return self._propagated

    def validate(self, candidates: Mapping[str, Filter]) -> None:
        """Check that everything is covered by what was propagated."""
        if self._filters != candidates or self._representatives.keys() != candidates.keys():
            raise InvariantError("covering routing does not know exactly the candidates")
        dependents: dict[str, set[str]] = {key: set() for key in self._propagated}
        for key, representative in self._representatives.items():
            if representative not in self._propagated:
                raise InvariantError(f"{key} relies on {representative}, which is not propagated")
            if not self._propagated[representative].covers(candidates[key]):
                raise InvariantError(f"{key} relies on {representative}, which does not cover it")
            if key in self._propagated and representative != key:
                raise InvariantError(f"{key} is propagated and yet relies on {representative}")
            if representative != key:
                dependents[representative].add(key)
        if dependents != {key: set(keys) for key, keys in self._dependents.items()}:
            raise InvariantError("the dependents are not those of the representatives")
        if any(self._propagated.get(key) != wanted for wanted, key in self._equal.items()):
            raise InvariantError("an equal filter is remembered that is not propagated")

    def _place(self, keys: list[str]) -> tuple[str, ...]:
        """Find a representative for each; returns those that had to be propagated."""
        uncovered = [key for key in keys if not self._rely(key)]
        propagate = self._most_general(uncovered)
        for key in propagate:
            self._propagated[key] = self._filters[key]
            self._representatives[key] = key
            self._dependents[key] = {}
            self._equal.setdefault(self._filters[key], key)
        chosen = frozenset(propagate)
        for key in uncovered:
            if key not in chosen and not self._rely(key):
                raise InvariantError(f"{key} lost its cover while it was placed")
        return tuple(propagate)

    def _rely(self, key: str) -> bool:
        """Let a propagated subscription stand for `key`, if one covers it."""
        wanted = self._filters[key]
        found = self._equal.get(wanted)
        if found is None:
            covering = (other for other, f in self._propagated.items() if f.covers(wanted))
            found = next(covering, None)
        if found is None:
            return False
        self._representatives[key] = found
        self._dependents[found][key] = None
        return True

    def _most_general(self, keys: list[str]) -> list[str]:
        """The keys whose filters none of the others covers; of equal ones the first."""
        chosen: list[str] = []
        for key in keys:
            wanted = self._filters[key]
            if not any(self._filters[other].covers(wanted) for other in chosen):
                chosen = [o for o in chosen if not wanted.covers(self._filters[o])] + [key]
        return chosen
