"""What enters a router: the only arguments `Router.handle` takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sapwood.matching.prepared import Prepared
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.messages import Message, PublishMany


@dataclass(frozen=True, slots=True)
class AttachClient:
    """A client has come to its home router. Its name is unique among the router's clients."""

    client: str


@dataclass(frozen=True, slots=True)
class DetachClient:
    """A client has left; its subscriptions and advertisements go with it."""

    client: str


@dataclass(frozen=True, slots=True)
class ClientSubscribe:
    """A client subscribes under an id of its own choice (unique per client).

    The same id with an equal filter again is answered as the first time and changes nothing; with
    another filter the subscription is changed to that one, and answered when that is in force. What
    both accept is delivered once all the while, and what only the former one accepts until then.
    """

    client: str
    subscription: str
    filter: Interest


@dataclass(frozen=True, slots=True)
class ClientUnsubscribe:
    """A client withdraws one of its subscriptions."""

    client: str
    subscription: str


@dataclass(frozen=True, slots=True)
class ClientSubscribeMany:
    """A client subscribes to several filters, each under an id, in this order.

    What comes of it is what comes of one `ClientSubscribe` after the other.
    """

    client: str
    subscriptions: tuple[tuple[str, Interest], ...]


@dataclass(frozen=True, slots=True)
class ClientUnsubscribeMany:
    """A client withdraws several of its subscriptions, in this order."""

    client: str
    subscriptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClientAdvertise:
    """A client says what it will publish, under an id of its own choice (unique per client).

    The same id again is answered with an equal filter, and refused with another.
    """

    client: str
    advertisement: str
    filter: AdvertisedContent


@dataclass(frozen=True, slots=True)
class ClientUnadvertise:
    """A client withdraws one of its advertisements."""

    client: str
    advertisement: str


@dataclass(frozen=True, slots=True)
class ClientPublish:
    """A client publishes.

    Refused where the client's advertisements do not allow it: see `Router`.
    """

    client: str
    publication: Publication


@dataclass(frozen=True, slots=True)
class ClientPublishMany:
    """Several `ClientPublish` of one client that follow each other.

    Only of those that are not refused: see `Router.refused`.
    """

    client: str
    publications: Sequence[Publication]

    def requests(self) -> Iterator[ClientPublish]:
        """The inputs that it is, in order."""
        return (ClientPublish(self.client, one) for one in self.publications)


ClientInput: TypeAlias = (
    AttachClient
    | DetachClient
    | ClientSubscribe
    | ClientUnsubscribe
    | ClientSubscribeMany
    | ClientUnsubscribeMany
    | ClientAdvertise
    | ClientUnadvertise
    | ClientPublish
)
"""What clients ask for, and that they come and go."""


@dataclass(frozen=True, slots=True)
class LinkUp:
    """The link to a neighbor carries messages from now on (first time or again).

    Where publications never come from there (not `inbound`), the neighbor is told of no
    subscription. `dialed`: this router asked for the link, and not the neighbor. Of what a link
    that `is_lossy` carries, messages may be lost, come twice, or in another order. `address` is
    where the neighbor listens, in the terms of the shell; empty where its name is enough.
    """

    neighbor: str
    inbound: bool = True
    dialed: bool = False
    is_lossy: bool = False
    address: str = ""


@dataclass(frozen=True, slots=True)
class LinkDown:
    """The link to a neighbor is gone, with everything that was on it.

    It may come up again, unless it is gone `for_good`: nobody waits for the neighbor any more.
    """

    neighbor: str
    for_good: bool = False


@dataclass(frozen=True, slots=True)
class Drained:
    """The link to a neighbor that is behind (`Router.behind`) takes more.

    Without a name, others have had their turn: more of what clients have left behind can go.
    """

    neighbor: str


@dataclass(frozen=True, slots=True)
class Receive:
    """A message from a neighbor.

    What it says is at most `age_ns` old, in real nanoseconds and over all links so far; `None`
    where nothing is known of that. `place` is that of its record, where it is a publication that
    was persisted.
    """

    neighbor: str
    message: Message
    place: int | None = field(default=None, compare=False)
    age_ns: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ReceiveMany:
    """Several `Receive` of publications from one neighbor that follow each other.

    `place` is that of the first one, where they were persisted.
    """

    neighbor: str
    publications: PublishMany
    place: int | None = field(default=None, compare=False)

    def messages(self) -> Iterator[Receive]:
        """The inputs that it is, in order."""
        for number, message in enumerate(self.publications.messages()):
            place = None if self.place is None else self.place + number
            yield Receive(self.neighbor, message, place)


BatchInput: TypeAlias = ClientPublishMany | ReceiveMany
"""Several inputs in one: what comes of it is, for each destination, what comes of these."""


@dataclass(frozen=True, slots=True)
class Tick:
    """The time that next_deadline asked for has come."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A neighbor is suspected to have failed, for some seconds at least, whatever it says.

    That may be wrong. Who has no failure detector ignores it.
    """

    neighbor: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Measured:
    """How far another router is that `effects.Measure` asked for, `None` if it does not answer.

    `delay_s` is in seconds, there or there and back: the same of all. `address` is the one asked.
    """

    router: str
    delay_s: float | None
    address: str = ""


@dataclass(frozen=True, slots=True)
class Compare:
    """Compare tables with the neighbors now, if upkeep can; what comes of it is asked later."""


Change: TypeAlias = ClientInput | LinkUp | LinkDown | Drained | Receive
"""What changes routing state, and publications: a router's state is what came of its changes, one
after the other, and of nothing else."""


@dataclass(frozen=True, slots=True)
class Note:
    """What an upkeep strategy wants to remember under a name of its own.

    A later note of the same name takes the place of the earlier one.
    """

    name: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The routing state as an upkeep strategy writes it: takes the place of what led to it.

    That is all records before it, publications and notes excepted. The parts are the strategy's own
    and can be written one by one; they count when all of them are there. Beside it engines may have
    been `prepared` of the filters in it.
    """

    parts: Sequence[bytes]
    prepared: Prepared | None = None


@dataclass(frozen=True, slots=True)
class Renewal:
    """The router begins anew, as another incarnation: nothing that came before it counts.

    What its clients have stated is persisted again behind it, and so are its links.
    """

    incarnation: int


Record: TypeAlias = Change | BatchInput | Note | Checkpoint | Renewal
"""What survives a crash: see `effects.Persist`, and `records` for the kinds of it."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What an earlier life of this router has persisted; comes before all other inputs.

    Notes come first, each once; then the last checkpoint, if there is one; then, in the order in
    which they were persisted, all changes since and the publications that were not released
    (`effects.Release`), of which the first has the place `first`. They are asked for once, one
    by one. Its clients count as gone until they are attached again, its links as down.
    """

    records: Iterable[Record]
    first: int = 0


@dataclass(frozen=True, slots=True)
class Recalled:
    """Publications that `effects.Recall` asked for, with their places, in the order asked.

    Those that the store has lost are not among them.
    """

    publications: Sequence[tuple[int, Publication]]
    asked: tuple[int, ...]


Input: TypeAlias = Change | BatchInput | Tick | Restored | Recalled | Suspicion | Measured | Compare
