"""What a propagation strategy is: which neighbor learns of which subscription.

`SubscriptionPropagation` is all of it at one router. Where subscriptions travel one by one
(`entries.py`), a strategy is the state of one outgoing link, a `Propagation`: each link has
*candidates* (all subscriptions that came from elsewhere) and what was *propagated* over it, a part
of the candidates. A strategy keeps the rule that makes the part sufficient: every candidate has a
*representative* among the propagated, whose filter accepts all that the candidate accepts.
Publications that any candidate wants will therefore come back over the link.
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
from sapwood.routing.propagation.telling import Reason, Reasons
from sapwood.routing.tables import Entries, LocalEntry, W


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be said on the link: first all of `propagate`, then all of `withdraw`.

    That order leaves no gap in which a candidate has no representative at the neighbor; what is
    withdrawn can go with the last that is propagated (`Replace`).
    """

    propagate: tuple[str, ...] = ()
    withdraw: tuple[str, ...] = ()


NOTHING_TO_SAY: Final = Change()

NO_ADVERTISEMENTS: Final[Mapping[str, Mapping[str, AdvertisedContent]]] = MappingProxyType({})


def net_change(changes: Iterable[Change]) -> Change:
    """What several changes, one after the other, come to: nothing is said only to be taken back.

    Said at once, it leaves no gap either: what the neighbor knows in between is all that it knew
    before and all that it is to know.
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
        """Take in the candidates of a link that has just come up."""
        ...

    def add(self, key: str, filter: W) -> Change:
        """Take in one more candidate."""
        ...

    def add_many(self, candidates: Sequence[tuple[str, W]]) -> Change:
        """Take in several more, in order: what `add` of one after the other comes to."""
        ...

    def remove(self, key: str) -> Change:
        """Give up a candidate."""
        ...

    def remove_many(self, keys: Sequence[str]) -> Change:
        """Give up several, in order: what `remove` of one after the other comes to."""
        ...

    @property
    def is_gradual(self) -> bool:
        """Whether `start` tells so much that it is better left out, and all is added bit by bit."""
        ...

    @property
    def rank(self) -> Callable[[W], Any] | None:
        """What is best added first where all is added bit by bit: what has the lowest of these."""
        ...

    def representative(self, key: str) -> str | None:
        """The propagated subscription that stands for a candidate.

        `None` where nothing needs to be propagated for the candidate to be served.
        """
        ...

    def why(self, key: str) -> Reasons:
        """How the neighbor knows of a candidate, or why it does not."""
        ...

    @property
    def propagated(self) -> Mapping[str, W]:
        """What the neighbor has been told and not been told to forget."""
        ...

    @property
    def advertisements(self) -> Mapping[str, AdvertisedContent] | None:
        """Those that came over the link; `None` for a strategy that looks at none."""
        ...

    def advertised(self, key: str, filter: AdvertisedContent) -> Change:
        """An advertisement came over the link."""
        ...

    @property
    def waiting(self) -> int:
        """How many candidates an advertisement that comes may make wanted."""
        ...

    def put_off(self, key: str, filter: AdvertisedContent) -> list[str]:
        """An advertisement came: give up the candidates that are `waiting`; returns their keys.

        They are added again bit by bit, and are wanted then if they are.
        """
        ...

    def unadvertised(self, key: str, at_once: int | None = None) -> Change:
        """An advertisement of the link is gone.

        What it made wanted is looked at: `at_once`, and the rest by `review`.
        """
        ...

    @property
    def is_doubtful(self) -> bool:
        """Whether more is to be looked at by `review`."""
        ...

    def review(self, count: int) -> Change:
        """Withdraw what of so many that are doubtful is not wanted."""
        ...

    def validate(self, candidates: Mapping[str, W]) -> None:
        """Check the rule of the strategy against the true candidates; raises `InvariantError`."""
        ...


class OneByOne(ABC, Generic[W]):
    """What strategies share that have no faster way for several candidates at once."""

    __slots__ = ()

    @abstractmethod
    def add(self, key: str, filter: W) -> Change:
        """Take in one more candidate."""

    @abstractmethod
    def remove(self, key: str) -> Change:
        """Give up a candidate."""

    def add_many(self, candidates: Sequence[tuple[str, W]]) -> Change:
        """Take in several more, one after the other."""
        if len(candidates) == 1:
            return self.add(*candidates[0])
        return net_change([self.add(key, filter_) for key, filter_ in candidates])

    def remove_many(self, keys: Sequence[str]) -> Change:
        """Give up several, one after the other."""
        if len(keys) == 1:
            return self.remove(keys[0])
        return net_change([self.remove(key) for key in keys])

    @property
    def is_gradual(self) -> bool:
        """Everything is told."""
        return True

    @property
    def rank(self) -> Callable[[W], Any] | None:
        """All are alike."""
        return None


class Unconditional(OneByOne[W]):
    """What strategies share under which every candidate is wanted, whatever is advertised."""

    __slots__ = ()

    @property
    def advertisements(self) -> Mapping[str, AdvertisedContent] | None:
        """None are looked at."""
        return None

    def advertised(self, key: str, filter: AdvertisedContent) -> Change:  # noqa: ARG002
        """Say nothing."""
        return NOTHING_TO_SAY

    @property
    def waiting(self) -> int:
        """None: all are wanted."""
        return 0

    def put_off(self, key: str, filter: AdvertisedContent) -> list[str]:  # noqa: ARG002
        """Nothing is put off that is told anyway."""
        return []

    def unadvertised(self, key: str, at_once: int | None = None) -> Change:  # noqa: ARG002
        """Say nothing."""
        return NOTHING_TO_SAY

    @property
    def is_doubtful(self) -> bool:
        """Nothing is: all are wanted."""
        return False

    def review(self, count: int) -> Change:  # noqa: ARG002
        """There is nothing to look at."""
        return NOTHING_TO_SAY


class ToldLink(Protocol):
    """What one neighbor has been told."""

    @property
    def propagated(self) -> Collection[Any]:
        """The keys, or the filters, that it knows from this router."""
        ...


class SubscriptionPropagation(Protocol):
    """All subscriptions of one router: known from clients and neighbors, told to neighbors.

    `ClientEntries` says what clients ask of it.
    """

    @property
    def entries(self) -> Entries[Interest]:
        """What is known, and from which side."""
        ...

    @property
    def links(self) -> Mapping[str, ToldLink]:
        """The neighbors that are told anything, and what they have been told."""
        ...

    @property
    def unconfirmed(self) -> int:
        """How much waits for confirmations, of clients and of neighbors."""
        ...

    def told(self) -> Iterable[tuple[str, str, Interest]]:
        """Neighbor, key and filter of all that neighbors have been told.

        The key is empty where subscriptions travel as counts.
        """
        ...

    def why(self, neighbor: str, key: str) -> Reasons:
        """How a neighbor that is there knows of an entry, or why it does not."""
        ...

    def held_as(self, neighbor: str, told: Reason) -> str | None:
        """The key under which that is here which a neighbor says it has told; `None` if none is."""
        ...

    # Clients: as in `ClientEntries` ---------------------------------------------------------------

    def in_force(self, key: str) -> bool:
        """Whether all that has to know of a client's subscription has confirmed it."""
        ...

    def attach(self, client: str) -> None:
        """A client has come, with nothing."""
        ...

    def detach(self, client: str, at_once: int | None = None) -> list[Effect]:
        """A client has left; its subscriptions go: `at_once`, and the rest as `drained` says."""
        ...

    def own(self, client: str) -> dict[str, LocalEntry[Interest]]:
        """The subscriptions of an attached client, by its ids."""
        ...

    def register(self, client: str, id_: str, filter: Interest) -> LocalEntry[Interest]:
        """Take in a subscription under a free id."""
        ...

    def announce(self, entry: LocalEntry[Interest]) -> list[Effect]:
        """Let the overlay know of it."""
        ...

    def register_many(
        self, client: str, named: Sequence[tuple[str, Interest]]
    ) -> list[LocalEntry[Interest]]:
        """Take in several, under ids that are free and different."""
        ...

    def announce_many(
        self, entries: Sequence[LocalEntry[Interest]], filters: Sequence[Interest]
    ) -> list[Effect]:
        """Let the overlay know of several, in order, which have these filters."""
        ...

    def release_many(self, entries: Sequence[LocalEntry[Interest]]) -> list[Effect]:
        """A client withdraws several, in order."""
        ...

    def repeated(self, present: LocalEntry[Interest], filter: Interest) -> list[Effect]:
        """What a client hears that subscribes under an id again."""
        ...

    def change(self, present: LocalEntry[Interest], filter: Interest) -> list[Effect]:
        """A client wants something else under an id than it has there."""
        ...

    def settle(self, effects: list[Effect]) -> list[Effect]:
        """What comes of an input, with what follows from what is in force now."""
        ...

    def unknown(self, client: str, id_: str) -> list[Effect]:
        """What a client hears that withdraws what it never subscribed to."""
        ...

    def release(self, entry: LocalEntry[Interest]) -> list[Effect]:
        """A client withdraws a subscription."""
        ...

    # Links -------------------------------------------------------------------------------------

    def link_up(self, neighbor: str, *, is_told: bool = True) -> None:
        """A link is there, over which nothing was told so far, or never will be."""
        ...

    def replay(self, neighbor: str, at_once: int) -> list[Effect]:
        """Tell a neighbor all that it needs to know: `at_once`, and the rest as `drained` says."""
        ...

    @property
    def behind(self) -> Collection[str]:
        """The neighbors that are not told everything yet, and `CLIENTS` as `Router.behind` says."""
        ...

    def drained(self, neighbor: str, at_once: int) -> list[Effect]:
        """Tell a neighbor that is behind of so many more subscriptions, or fewer.

        With `CLIENTS`, withdraw so many of those that clients, or links, have left behind.
        """
        ...

    def link_down(self, neighbor: str, at_once: int | None = None) -> list[Effect]:
        """A link is gone: drop it and all that came over it.

        Others are told of `at_once`, and of the rest as `drained` says for `CLIENTS`.
        """
        ...

    def on_message(self, neighbor: str, message: SubscriptionMessage) -> Outcome:
        """A neighbor says something of subscriptions."""
        ...

    def advertised(
        self, neighbor: str, key: str, filter: AdvertisedContent, at_once: int | None = None
    ) -> list[Effect]:
        """An advertisement came over a link: what it makes wanted is said there.

        Of more than `at_once` that may be wanted some, and the rest as `drained` says: the neighbor
        is behind until then, and the advertisement is not to be confirmed before.
        """
        ...

    def unadvertised(self, neighbor: str, key: str, at_once: int | None = None) -> list[Effect]:
        """An advertisement of a link is gone, and with it what only it made wanted there.

        That of `at_once`, and the rest as `drained` says.
        """
        ...

    def validate(
        self, advertisements: Mapping[str, Mapping[str, AdvertisedContent]] = NO_ADVERTISEMENTS
    ) -> None:
        """Check all against what was advertised over each link; raises `InvariantError`."""
        ...
