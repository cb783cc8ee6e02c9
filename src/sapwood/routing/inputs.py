"""The inputs of a router: the only arguments that `Router.handle` takes."""

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
    another filter the subscription is changed to that one, and answered when it is in force. A
    publication that both filters accept is delivered once all the while; one that only the former
    filter accepts, until then.
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

    The effects are those of one `ClientSubscribe` after the other.
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
    """A client advertises what it will publish, under an id of its own choice (unique per client).

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

    It is refused where the client's advertisements do not allow it: see `Router`.
    """

    client: str
    publication: Publication


@dataclass(frozen=True, slots=True)
class ClientPublishMany:
    """Several `ClientPublish` of one client that follow each other.

    It may hold only publications that are not refused: see `Router.refused`.
    """

    client: str
    publications: Sequence[Publication]

    def requests(self) -> Iterator[ClientPublish]:
        """The single inputs of the batch, in order."""
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
"""The requests of clients, their coming and their going."""


@dataclass(frozen=True, slots=True)
class LinkUp:
    """The link to a neighbor carries messages from now on (first time or again).

    Where publications never come from there (not `inbound`), no subscription is propagated to the
    neighbor. `dialed`: this router requested the link, and not the neighbor. On a link that
    `is_lossy`, messages may be lost, come twice, or in another order. `address` is where the
    neighbor listens, in the terms of the shell; empty where its name is enough.
    """

    neighbor: str
    inbound: bool = True
    dialed: bool = False
    is_lossy: bool = False
    address: str = ""


@dataclass(frozen=True, slots=True)
class LinkDown:
    """The link to a neighbor is gone, with every message that was on it.

    It may come up again, unless it is gone `for_good`: then no work waits for the neighbor.
    """

    neighbor: str
    for_good: bool = False


@dataclass(frozen=True, slots=True)
class Drained:
    """The link to a neighbor that is behind (`Router.behind`) takes more messages.

    With the empty name, other work has had its turn: more entries of clients that have gone can
    be removed.
    """

    neighbor: str


@dataclass(frozen=True, slots=True)
class Receive:
    """A message from a neighbor.

    The state it reports is at most `age_ns` old, in real nanoseconds and over all links so far;
    `None` where the age is not known. `place` is set for a publication that was persisted: the
    place of its record.
    """

    neighbor: str
    message: Message
    place: int | None = field(default=None, compare=False)
    age_ns: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ReceiveMany:
    """Several `Receive` of publications from one neighbor that follow each other.

    `place` is that of the first publication, where they were persisted.
    """

    neighbor: str
    publications: PublishMany
    place: int | None = field(default=None, compare=False)

    def messages(self) -> Iterator[Receive]:
        """The single inputs of the batch, in order."""
        for number, message in enumerate(self.publications.messages()):
            place = None if self.place is None else self.place + number
            yield Receive(self.neighbor, message, place)


BatchInput: TypeAlias = ClientPublishMany | ReceiveMany
"""Several inputs in one; for each destination, the effects are those of the single inputs."""


@dataclass(frozen=True, slots=True)
class Tick:
    """The time that `next_deadline` returned has come."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A neighbor is suspected to have failed, for some seconds at least, whatever it sends.

    The suspicion may be wrong. Upkeep without failure detection ignores it.
    """

    neighbor: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Compare:
    """Compare tables with the neighbors now, if upkeep can; `Router.compared` has the results."""


Change: TypeAlias = ClientInput | LinkUp | LinkDown | Drained | Receive
"""The inputs that change routing state, and publications: a router's state is the result of its
changes, applied one after the other, and of nothing else."""


@dataclass(frozen=True, slots=True)
class Note:
    """A value that an upkeep strategy stores under a name of its own.

    A later note of the same name takes the place of the earlier one.
    """

    name: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The routing state as an upkeep strategy writes it; it replaces the records that led to it.

    Those are all records before it, publications and notes excepted. The parts are the strategy's
    own and can be written one by one; they count when all of them are there. Engines may have been
    `prepared` beside it, of the filters in it.
    """

    parts: Sequence[bytes]
    prepared: Prepared | None = None


@dataclass(frozen=True, slots=True)
class Renewal:
    """The router begins anew, as another incarnation: no record before this one counts.

    The requests of its clients are persisted again behind it, and so are its links.
    """

    incarnation: int


Record: TypeAlias = Change | BatchInput | Note | Checkpoint | Renewal
"""A record that survives a crash: see `effects.Persist`, and `records` for its kinds."""


@dataclass(frozen=True, slots=True)
class Restored:
    """The records that an earlier life of this router has persisted; comes before all other inputs.

    Notes come first, each once; then the last checkpoint, if there is one; then, in the order in
    which they were persisted, all changes since and the publications that were not released
    (`effects.Release`), of which the first has the place `first`. The records are read once, one
    by one. The clients in them count as gone until they are attached again, the links as down.
    """

    records: Iterable[Record]
    first: int = 0


@dataclass(frozen=True, slots=True)
class Recalled:
    """The publications that `effects.Recall` requested, with their places, in the requested order.

    Publications that the store has lost are missing. `asked` are the requested places.
    """

    publications: Sequence[tuple[int, Publication]]
    asked: tuple[int, ...]


Input: TypeAlias = Change | BatchInput | Tick | Restored | Recalled | Suspicion | Compare
