"""Advertisement-based routing: subscriptions travel only to where publications can begin.

XSiena 2.6, in the declarative form of the XPath dissemination work (2.17): on the link to n the
candidates are the subscriptions that came from elsewhere; a candidate is *wanted* iff an
advertisement that came over n intersects it; the inner strategy determines the propagated ones from
the wanted ones.

XSiena's literal rules forget a subscription that no advertisement intersects (2.45, 2.50), so that
a later advertisement cannot revive it. Here it waits as a candidate.

Intersections are computed with each advertisement of the link when a candidate comes, with each
waiting candidate when an advertisement comes, and, when one goes, with the advertisements left for
each candidate that it had made wanted: a scan each time, at some microseconds a pair.
`Filter.intersects` errs only by being true, which costs a message and never a publication.

Where many candidates wait, the answer to an advertisement is computed chunk by chunk: `put_off`
gives the candidates up, and they come again as those of a link that is behind do (`backlog.py`). A
candidate that comes meanwhile is examined at once. Likewise, where an advertisement goes that made
many wanted: these are *doubtful*, and wanted as before, until `review` has examined them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sapwood.errors import InvariantError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.routing.propagation.protocol import (
    NO_CHANGE,
    Change,
    Propagation,
)
from sapwood.routing.propagation.reasons import Reason, Reasons, Treatment


class AdvertisedLinks:
    """Makes the states of a router's links; `make_inner` makes those of their inner strategy."""

    __slots__ = ("_make_inner",)

    def __init__(self, make_inner: Callable[[], Propagation[Interest]]) -> None:
        self._make_inner = make_inner

    def __call__(self) -> Advertised:
        """Make the state of one more link."""
        return Advertised(self._make_inner)


class Advertised:
    """The state of a link on which an inner strategy propagates the wanted candidates only.

    `make_inner` makes the inner strategy of one link.

    #: advertisements are those that came over the link
    #: _reasons[s] intersects s and is in advertisements, for exactly the wanted candidates s,
    #: except for those in _doubtful, whose reason may be gone
    #: the candidates of the inner strategy are the wanted ones
    """

    __slots__ = (
        *("_candidates", "_doubtful", "_inner", "_make_inner", "_reasons"),
        "advertisements",
    )

    def __init__(self, make_inner: Callable[[], Propagation[Interest]]) -> None:
        self._make_inner = make_inner
        self._inner = make_inner()
        self._candidates: dict[str, Interest] = {}
        self._reasons: dict[str, str] = {}
        self._doubtful: dict[str, None] = {}
        self.advertisements: dict[str, AdvertisedContent] = {}

    def start(self, candidates: Iterable[tuple[str, Interest]]) -> Change:
        """Propagate nothing: no advertisement came over a link that has just come up."""
        self._candidates = dict(candidates)
        return NO_CHANGE

    def add(self, key: str, filter: Interest) -> Change:
        """Add a candidate, and pass it to the inner strategy if it is wanted."""
        self._candidates[key] = filter
        return self._inner.add(key, filter) if self._is_wanted(key) else NO_CHANGE

    def add_many(self, candidates: Sequence[tuple[str, Interest]]) -> Change:
        """Add several candidates, and pass the wanted ones to the inner strategy together."""
        self._candidates.update(candidates)
        if not self.advertisements:
            return NO_CHANGE
        wanted = [one for one in candidates if self._is_wanted(one[0])]
        return self._inner.add_many(wanted) if wanted else NO_CHANGE

    def remove(self, key: str) -> Change:
        """Remove a candidate."""
        del self._candidates[key]
        self._doubtful.pop(key, None)
        return NO_CHANGE if self._reasons.pop(key, None) is None else self._inner.remove(key)

    def remove_many(self, keys: Sequence[str]) -> Change:
        """Remove several candidates, and the wanted ones from the inner strategy together."""
        for key in keys:
            del self._candidates[key]
            self._doubtful.pop(key, None)
        wanted = [key for key in keys if self._reasons.pop(key, None) is not None]
        return self._inner.remove_many(wanted) if wanted else NO_CHANGE

    @property
    def waiting(self) -> int:
        """The number of candidates that are not wanted."""
        return len(self._candidates) - len(self._reasons)

    def put_off(self, key: str, filter: AdvertisedContent) -> list[str]:
        """Register an advertisement, and remove the candidates that it may make wanted.

        Returns their keys. The caller adds them again, in any order and number.
        """
        self.advertisements[key] = filter
        waiting = [other for other in self._candidates if other not in self._reasons]
        for other in waiting:
            del self._candidates[other]
        return waiting

    def advertised(self, key: str, filter: AdvertisedContent) -> Change:
        """Register an advertisement of the link: waiting candidates may become wanted."""
        self.advertisements[key] = filter
        waiting = [other for other in self._candidates if other not in self._reasons]
        is_first = len(waiting) == len(self._candidates)
        wanted = [
            (other, self._candidates[other])
            for other in waiting
            if filter.intersects(self._candidates[other])
        ]
        self._reasons.update((other, key) for other, _ in wanted)
        if is_first:  # all at once, so that the inner strategy can choose
            self._inner = self._make_inner()
            return self._inner.start(wanted)
        return self._inner.add_many(wanted) if wanted else NO_CHANGE

    def unadvertised(self, key: str, at_once: int | None = None) -> Change:
        """Remove an advertisement of the link: candidates that only it made wanted wait again."""
        del self.advertisements[key]
        concerned = [other for other, reason in self._reasons.items() if reason == key]
        if at_once is None or len(concerned) <= at_once:
            return self._reconsider(concerned)
        self._doubtful.update(dict.fromkeys(concerned))
        return self.review(at_once)

    @property
    def is_doubtful(self) -> bool:
        """True if candidates are propagated that may be wanted no more."""
        return bool(self._doubtful)

    def review(self, count: int) -> Change:
        """Examine up to `count` doubtful candidates, the newest first; unwanted ones wait again."""
        doubtful = self._doubtful
        some = [doubtful.popitem()[0] for _ in range(min(count, len(doubtful)))]
        return self._reconsider(some)

    def _reconsider(self, concerned: Sequence[str]) -> Change:
        """Find a new reason for candidates that were wanted, and remove those that have none."""
        for other in concerned:
            del self._reasons[other]
        unwanted = [other for other in concerned if not self._is_wanted(other)]
        if not self._reasons:  # no representative is needed for the candidates left
            told, self._inner = tuple(self._inner.propagated), self._make_inner()
            return Change(withdraw=told)
        return self._inner.remove_many(unwanted) if unwanted else NO_CHANGE

    def representative(self, key: str) -> str | None:
        """The representative of the inner strategy; `None` for a candidate that is not wanted."""
        return self._inner.representative(key) if key in self._reasons else None

    def why(self, key: str) -> Reasons:
        """The reasons of the inner strategy, if the candidate is wanted."""
        return self._inner.why(key) if key in self._reasons else (Reason(Treatment.UNWANTED),)

    @property
    def is_gradual(self) -> bool:
        """True: nothing is propagated at first, but all candidates are added."""
        return True

    @property
    def rank(self) -> Callable[[Interest], Any] | None:
        """The rank of the inner strategy."""
        return self._inner.rank

    @property
    def propagated(self) -> Mapping[str, Interest]:
        """The candidates that the inner strategy has propagated."""
        return self._inner.propagated

    def validate(self, candidates: Mapping[str, Interest]) -> None:
        """Compute the wanted candidates by the rule, and let the inner strategy check the rest."""
        if self._candidates != candidates:
            raise InvariantError("advertisement routing does not know exactly the candidates")
        wanted = {
            key: candidate
            for key, candidate in candidates.items()
            if any(filter_.intersects(candidate) for filter_ in self.advertisements.values())
        }
        doubtful = self._doubtful.keys()
        if not doubtful <= self._reasons.keys():
            raise InvariantError("something is doubtful that is not wanted")
        if self._reasons.keys() - doubtful != wanted.keys() - doubtful:
            raise InvariantError("not exactly those are wanted that an advertisement intersects")
        for key, reason in self._reasons.items():
            if key in doubtful:
                continue
            if reason not in self.advertisements:
                raise InvariantError(f"{key} is wanted because of {reason}, which is gone")
            if not self.advertisements[reason].intersects(candidates[key]):
                raise InvariantError(f"{key} is wanted because of {reason}, which is apart from it")
        self._inner.validate({key: candidates[key] for key in self._reasons})

    def _is_wanted(self, key: str) -> bool:
        """True if an advertisement intersects a candidate; remembers the first that does."""
        candidate = self._candidates[key]
        for reason, filter_ in self.advertisements.items():
            if filter_.intersects(candidate):
                self._reasons[key] = reason
                return True
        return False
