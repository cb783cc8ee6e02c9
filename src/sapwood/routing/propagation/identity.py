"""Identity-based routing: of equal subscriptions one is propagated.

XSiena 2.4 (equations 2.22 to 2.26). Equality is equality of normal forms. When the propagated one
goes, the next of its class is propagated before the withdrawal, so no publication falls into a gap;
the work withdraws first, because its neighbors would drop a duplicate, ours distinguish the two by
their keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sapwood.errors import InvariantError
from sapwood.model.interest import Interest
from sapwood.routing.propagation.protocol import NO_CHANGE, Change, Unconditional
from sapwood.routing.propagation.reasons import Reasons, stood_for


class Identity(Unconditional[Interest]):
    """The state of a link on which one candidate of each class of equal filters is propagated.

    #: every candidate is in exactly one class, that of its filter
    #: propagated holds exactly one member of each class: its leader
    """

    __slots__ = ("_classes", "_filters", "_leaders", "_propagated")

    def __init__(self) -> None:
        self._filters: dict[str, Interest] = {}
        self._classes: dict[Interest, dict[str, None]] = {}
        self._leaders: dict[Interest, str] = {}
        self._propagated: dict[str, Interest] = {}

    def start(self, candidates: Iterable[tuple[str, Interest]]) -> Change:
        """Propagate the first candidate of each class."""
        said = [self.add(key, wanted).propagate for key, wanted in candidates]
        return Change(propagate=tuple(key for keys in said for key in keys))

    def add(self, key: str, filter: Interest) -> Change:
        """Add a candidate, and propagate it if it is the first of its class."""
        self._filters[key] = filter
        self._classes.setdefault(filter, {})[key] = None
        if filter in self._leaders:
            return NO_CHANGE
        self._lead(key, filter)
        return Change(propagate=(key,))

    def remove(self, key: str) -> Change:
        """Remove a candidate; if it led its class, the next member is propagated before it goes."""
        wanted = self._filters.pop(key)
        members = self._classes[wanted]
        del members[key]
        if self._leaders[wanted] != key:
            return NO_CHANGE
        del self._propagated[key]
        heir = next(iter(members), None)
        if heir is None:
            del self._classes[wanted], self._leaders[wanted]
            return Change(withdraw=(key,))
        self._lead(heir, wanted)
        return Change(propagate=(heir,), withdraw=(key,))

    def representative(self, key: str) -> str | None:
        """The leader of the candidate's class."""
        return self._leaders[self._filters[key]]

    def why(self, key: str) -> Reasons:
        """The reason: the leader of its class is propagated."""
        return stood_for(key, self.representative(key) or key, self._filters)

    @property
    def propagated(self) -> Mapping[str, Interest]:
        """The leaders of all classes."""
        return self._propagated

    def validate(self, candidates: Mapping[str, Interest]) -> None:
        """Check classes and leaders."""
        if self._filters != candidates:
            raise InvariantError("identity routing does not know exactly the candidates")
        classes: dict[Interest, set[str]] = {}
        for key, wanted in candidates.items():
            classes.setdefault(wanted, set()).add(key)
        if classes != {wanted: set(members) for wanted, members in self._classes.items()}:
            raise InvariantError("the classes of equal filters are wrong")
        leaders = {leader: wanted for wanted, leader in self._leaders.items()}
        if leaders != self._propagated or len(leaders) != len(classes):
            raise InvariantError("not exactly the leaders are propagated")
        if any(leader not in classes[wanted] for leader, wanted in leaders.items()):
            raise InvariantError("a class is led by a subscription that is not in it")

    def _lead(self, key: str, filter: Interest) -> None:
        self._leaders[filter] = key
        self._propagated[key] = filter
