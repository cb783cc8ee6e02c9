"""The protocols of propagation, which sends subscriptions to neighbors.

`SubscriptionPropagation` is all of it at one router. Where subscriptions travel one by one
(`entries.py`), a strategy is the state of one outgoing link, a `Propagation`: each link has
*candidates* (all subscriptions that came from elsewhere) and *propagated* ones, a part of the
candidates. A strategy keeps the rule that makes the part sufficient: every candidate has a
*representative* among the propagated, whose filter accepts all that the candidate accepts.
Publications that any candidate accepts will therefore come back over the link.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Generic, Protocol

from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.routing.client_entries import Outcome
from sapwood.routing.effects import Effect
from sapwood.routing.messages import SubscriptionMessage
from sapwood.routing.propagation.reasons import Reason, Reasons
from sapwood.routing.tables import Entries, LocalEntry, W


@dataclass(frozen=True, slots=True)
class Change:
    """The messages for a link: first all of `propagate` is sent, then all of `withdraw`.

    That order leaves no gap in which a candidate has no representative at the neighbor; withdrawn
    keys can go with the last that is propagated (`Replace`).
    """

    propagate: tuple[str, ...] = ()
    withdraw: tuple[str, ...] = ()


NO_CHANGE: Final = Change()

NO_ADVERTISEMENTS: Final[Mapping[str, Mapping[str, AdvertisedContent]]] = MappingProxyType({})


def net_change(changes: Iterable[Change]) -> Change:
    """The sum of several successive changes: nothing is propagated only to be withdrawn again.

    Sent at once, it leaves no gap either: in between, the neighbor has all entries that it had
    before and all that it is to have.
    """
    propagate: dict[str, None] = {}
    withdraw: dict[str, None] = {}
    for change in changes:
        for key in change.propagate:
            if key in withdraw:
                del withdraw[key]
            else:
                propagate[key] = None
        for key in change.withdraw:
            if key in propagate:
                del propagate[key]
            else:
                withdraw[key] = None
    return Change(tuple(propagate), tuple(withdraw))


class Propagation(Protocol[W]):
    """The propagation state of one link."""

    def start(self, candidates: Iterable[tuple[str, W]]) -> Change:
        """Add the candidates of a link that has just come up."""
        ...

    def add(self, key: str, filter: W) -> Change:
        """Add a candidate."""
        ...

    def add_many(self, candidates: Sequence[tuple[str, W]]) -> Change:
        """Add several candidates, in order; equal to `add` of one after the other."""
        ...

    def remove(self, key: str) -> Change:
        """Remove a candidate."""
        ...

    def remove_many(self, keys: Sequence[str]) -> Change:
        """Remove several candidates, in order; equal to `remove` of one after the other."""
        ...

    @property
    def is_gradual(self) -> bool:
        """True if `start` may send so much that candidates should be added chunk by chunk."""
        ...

    @property
    def rank(self) -> Callable[[W], Any] | None:
        """The sort key of candidates that are added chunk by chunk: the lowest come first."""
        ...

    def representative(self, key: str) -> str | None:
        """The propagated subscription that stands for a candidate.

        `None` where nothing needs to be propagated for the candidate to be served.
        """
        ...

    def why(self, key: str) -> Reasons:
        """The reasons why the neighbor has a candidate, or does not have it."""
        ...

    @property
    def propagated(self) -> Mapping[str, W]:
        """The subscriptions sent to the neighbor and not withdrawn."""
        ...

    @property
    def advertisements(self) -> Mapping[str, AdvertisedContent] | None:
        """The advertisements that came over the link; `None` for a strategy that ignores them."""
        ...

    def advertised(self, key: str, filter: AdvertisedContent) -> Change:
        """Register an advertisement that came over the link."""
        ...

    @property
    def waiting(self) -> int:
        """The number of candidates that the next advertisement may make wanted."""
        ...

    def put_off(self, key: str, filter: AdvertisedContent) -> list[str]:
        """Register an advertisement; removes the `waiting` candidates, and returns their keys.

        They are added again chunk by chunk, and may be wanted then.
        """
        ...

    def unadvertised(self, key: str, at_once: int | None = None) -> Change:
        """Remove an advertisement of the link.

        Up to `at_once` of the candidates that it made wanted are examined, the rest by `review`.
        """
        ...

    @property
    def is_doubtful(self) -> bool:
        """True if there are candidates to be examined by `review`."""
        ...

    def review(self, count: int) -> Change:
        """Examine up to `count` doubtful candidates, and withdraw those that are not wanted."""
        ...

    def validate(self, candidates: Mapping[str, W]) -> None:
        """Check the rule of the strategy against the true candidates; raises `InvariantError`."""
        ...


class OneByOne(ABC, Generic[W]):
    """The base of strategies that add several candidates one by one."""

    __slots__ = ()

    @abstractmethod
    def add(self, key: str, filter: W) -> Change:
        """Add a candidate."""

    @abstractmethod
    def remove(self, key: str) -> Change:
        """Remove a candidate."""

    def add_many(self, candidates: Sequence[tuple[str, W]]) -> Change:
        """Add several candidates, one after the other."""
        if len(candidates) == 1:
            return self.add(*candidates[0])
        return net_change([self.add(key, filter_) for key, filter_ in candidates])

    def remove_many(self, keys: Sequence[str]) -> Change:
        """Remove several candidates, one after the other."""
        if len(keys) == 1:
            return self.remove(keys[0])
        return net_change([self.remove(key) for key in keys])

    @property
    def is_gradual(self) -> bool:
        """True: every candidate may have to be sent."""
        return True

    @property
    def rank(self) -> Callable[[W], Any] | None:
        """`None`: all candidates rank alike."""
        return None


class Unconditional(OneByOne[W]):
    """The base of strategies under which every candidate is wanted, whatever is advertised."""

    __slots__ = ()

    @property
    def advertisements(self) -> Mapping[str, AdvertisedContent] | None:
        """`None`: advertisements are ignored."""
        return None

    def advertised(self, key: str, filter: AdvertisedContent) -> Change:  # noqa: ARG002
        """Propagate nothing."""
        return NO_CHANGE

    @property
    def waiting(self) -> int:
        """0: all candidates are wanted."""
        return 0

    def put_off(self, key: str, filter: AdvertisedContent) -> list[str]:  # noqa: ARG002
        """Remove nothing: no candidate depends on advertisements."""
        return []

    def unadvertised(self, key: str, at_once: int | None = None) -> Change:  # noqa: ARG002
        """Withdraw nothing."""
        return NO_CHANGE

    @property
    def is_doubtful(self) -> bool:
        """False: all candidates are wanted."""
        return False

    def review(self, count: int) -> Change:  # noqa: ARG002
        """Do nothing: no candidate is doubtful."""
        return NO_CHANGE


class LinkSubscriptions(Protocol):
    """The subscriptions sent to one neighbor."""

    @property
    def propagated(self) -> Collection[Any]:
        """The keys, or the filters, that the neighbor has from this router."""
        ...


class SubscriptionPropagation(Protocol):
    """All subscriptions of one router: of clients and neighbors, and those sent to neighbors.

    The methods for clients are those of `ClientEntries`.
    """

    @property
    def entries(self) -> Entries[Interest]:
        """The subscriptions known here, by side."""
        ...

    @property
    def links(self) -> Mapping[str, LinkSubscriptions]:
        """The neighbors that receive subscriptions, and those sent to each."""
        ...

    @property
    def unconfirmed(self) -> int:
        """The number of entries, of clients and of neighbors, that wait for confirmations."""
        ...

    def sent(self) -> Iterable[tuple[str, str, Interest]]:
        """Neighbor, key and filter of all subscriptions sent to neighbors.

        The key is empty where subscriptions travel as counts.
        """
        ...

    def why(self, neighbor: str, key: str) -> Reasons:
        """The reasons why a neighbor has an entry, or does not have it."""
        ...

    def held_as(self, neighbor: str, told: Reason) -> str | None:
        """The key here of the entry that a neighbor reports to have sent; `None` if missing."""
        ...

    # Clients: as in `ClientEntries` ---------------------------------------------------------------

    def in_force(self, key: str) -> bool:
        """True if every router that a client's subscription must reach has confirmed it."""
        ...

    def attach(self, client: str) -> None:
        """Attach a client without subscriptions."""
        ...

    def detach(self, client: str, at_once: int | None = None) -> list[Effect]:
        """Detach a client; its subscriptions go: `at_once` of them, and the rest by `drained`."""
        ...

    def own(self, client: str) -> dict[str, LocalEntry[Interest]]:
        """The subscriptions of an attached client, by its ids."""
        ...

    def register(self, client: str, id_: str, filter: Interest) -> LocalEntry[Interest]:
        """Register a subscription under a free id."""
        ...

    def announce(self, entry: LocalEntry[Interest]) -> list[Effect]:
        """Spread a registered subscription over the overlay."""
        ...

    def register_many(
        self, client: str, named: Sequence[tuple[str, Interest]]
    ) -> list[LocalEntry[Interest]]:
        """Register several subscriptions, under ids that are free and different."""
        ...

    def announce_many(
        self, entries: Sequence[LocalEntry[Interest]], filters: Sequence[Interest]
    ) -> list[Effect]:
        """Spread several registered subscriptions, in order, which have these filters."""
        ...

    def release_many(self, entries: Sequence[LocalEntry[Interest]]) -> list[Effect]:
        """Withdraw several subscriptions of a client, in order."""
        ...

    def repeated(self, present: LocalEntry[Interest], filter: Interest) -> list[Effect]:
        """Answer a client that subscribes again under an id that it uses."""
        ...

    def change(self, present: LocalEntry[Interest], filter: Interest) -> list[Effect]:
        """Change a client's subscription under an id to another filter."""
        ...

    def settle(self, effects: list[Effect]) -> list[Effect]:
        """Add to the effects of an input the consequences of entries that are in force now."""
        ...

    def unknown(self, client: str, id_: str) -> list[Effect]:
        """Refuse the withdrawal of an id that the client does not use."""
        ...

    def release(self, entry: LocalEntry[Interest]) -> list[Effect]:
        """Withdraw a subscription of a client."""
        ...

    # Links -------------------------------------------------------------------------------------

    def link_up(self, neighbor: str, *, is_told: bool = True) -> None:
        """Add a link, over which nothing is sent yet, or nothing ever (not `is_told`)."""
        ...

    def replay(self, neighbor: str, at_once: int) -> list[Effect]:
        """Send a neighbor the entries that it needs: `at_once`, and the rest by `drained`."""
        ...

    @property
    def behind(self) -> Collection[str]:
        """The neighbors with a backlog, and `CLIENTS` as in `Router.behind`."""
        ...

    def drained(self, neighbor: str, at_once: int) -> list[Effect]:
        """Send a neighbor that is behind up to `at_once` more subscriptions.

        For `CLIENTS`, withdraw as many entries of clients, or links, that have gone.
        """
        ...

    def link_down(self, neighbor: str, at_once: int | None = None) -> list[Effect]:
        """Remove a link, and withdraw all entries received over it.

        `at_once` entries are withdrawn now, and the rest by `drained` for `CLIENTS`.
        """
        ...

    def on_message(self, neighbor: str, message: SubscriptionMessage) -> Outcome:
        """Carry out a neighbor's message about subscriptions."""
        ...

    def advertised(
        self, neighbor: str, key: str, filter: AdvertisedContent, at_once: int | None = None
    ) -> list[Effect]:
        """Register an advertisement of a link, and send the subscriptions it makes wanted.

        If more than `at_once` may be wanted, send the first ones, and the rest by `drained`: until
        then the neighbor is behind, and the advertisement is not to be confirmed.
        """
        ...

    def unadvertised(self, neighbor: str, key: str, at_once: int | None = None) -> list[Effect]:
        """Remove an advertisement of a link, and withdraw what only it made wanted there.

        `at_once` entries are withdrawn now, and the rest by `drained`.
        """
        ...

    def validate(
        self, advertisements: Mapping[str, Mapping[str, AdvertisedContent]] = NO_ADVERTISEMENTS
    ) -> None:
        """Check all tables against the advertisements of each link; raises `InvariantError`."""
        ...
