"""One end of a link between brokers: messages to router inputs, and back."""

from __future__ import annotations

from typing import cast

from sapwood.errors import FrameError, InputError
from sapwood.matching.publication_batch import PublicationBatch, oldest
from sapwood.routing import messages as routing
from sapwood.routing.inputs import Receive, ReceiveMany
from sapwood.routing.messages import PublishMany
from sapwood.session.connection import Connection
from sapwood.session.phases import Phase
from sapwood.wire.composer import forwards
from sapwood.wire.greetings import Greeting
from sapwood.wire.messages import LinkCongestion, LinkEstablished, LinkState, Message
from sapwood.wire.publications import encode_publication


class LinkSession:
    """The link to one neighbor, at either end.

    The end that connected sends `LinkEstablished` when it takes the link into use; so each end
    knows that the other counts the link as up before the first routing message arrives. `session`
    is the neighbor's, and distinguishes its runs; `listens` is the address at which brokers may
    connect to it, if it has announced one.
    """

    __slots__ = ("came", "connection", "is_lossy", "listens", "name", "sent", "session")

    def __init__(
        self,
        name: str,
        session: str,
        connection: Connection,
        *,
        is_lossy: bool = False,
        listens: str = "",
    ) -> None:
        self.name = name
        self.listens = listens
        #: messages may be lost, repeated and reordered
        self.is_lossy = is_lossy
        self.session = session
        self.connection = connection
        #: the numbers of publications sent to the neighbor, and received from it
        self.sent = self.came = 0

    def establish(self) -> None:
        """Take a link into use that the neighbor welcomed."""
        self.connection.send(LinkEstablished())

    def interpret(
        self, message: Greeting | Message
    ) -> Receive | LinkCongestion | LinkState | LinkEstablished:
        """The router's input in a message, or a message about the link itself.

        Raises `FrameError` for a message that a neighbor must not send (now).
        """
        if isinstance(message, LinkEstablished):
            if self.connection.phase is not Phase.AGREEING:
                raise FrameError("the link was established twice")
            return message
        if not self.connection.open:
            raise FrameError("the neighbor uses a link that it has not established")
        if isinstance(message, routing.RoutingMessage):
            self.came += self._check(message)
            return Receive(self.name, message, age_ns=self.connection.age_ns())
        if isinstance(message, LinkCongestion | LinkState):
            return message
        raise FrameError(f"a {type(message).__name__} is nothing a neighbor says")

    def admit(self, run: PublishMany) -> ReceiveMany | None:
        """The router's input in consecutive publications.

        `None` where they are to be interpreted one by one.
        """
        if not self.connection.open:
            return None
        if isinstance(run.batch, PublicationBatch):
            run.batch.born = self.connection.born
        self.came += len(run.batch)
        return ReceiveMany(self.name, run)

    def _check(self, message: routing.Message) -> bool:
        """Parse the filters of a message, and check the length of its publication.

        True for a publication. One that does not fit into the frames of clients came in parts, or
        in a frame with less beside it than hops may add. Raises `FrameError`.
        """
        inner = routing.carried(message)
        try:
            if isinstance(inner, routing.Publish):
                encode_publication(inner.publication, self.connection.frame_bytes_max)
                inner.publication.keep_born(self.connection.born)
            elif isinstance(inner, routing.SubscribeMany | routing.RangeEntries):
                inner.filters.read()
        except InputError as error:
            raise FrameError(
                f"the neighbor passed on what it should have refused: {error}"
            ) from error
        return isinstance(inner, routing.Publish)

    def send(self, message: routing.Message, age_ns: int | None = 0) -> None:
        """Send a router's message, whose content is `age_ns` old; a publication has its own age."""
        inner = routing.carried(message)
        if isinstance(inner, routing.Publish):
            self.connection.mark(inner.publication.born)
            self.sent += 1
        else:
            self.connection.mark_age(age_ns)
        self.connection.send_routing(message)

    def send_many(self, publications: PublishMany) -> None:
        """Send consecutive publications."""
        self.sent += len(publications.batch)
        frames = forwards(publications)
        if frames is not None:
            self.connection.mark(oldest(publications.batch))
            self.connection.send_frames(frames)
            return
        batch = publications.batch
        for message, publication in zip(publications.messages(), batch, strict=True):
            self.connection.mark(publication.born)
            self.connection.send_routing(message)

    def tell(self, state: LinkState) -> None:
        """Send the neighbor the links of a broker."""
        self.connection.send(state)

    def congested(self, *, congested: bool) -> None:
        """Report to the neighbor whether publications pile up on this side.

        A lossy link gets no report, as the report of the end could be lost; its publications may
        be, too.
        """
        if self.is_lossy:
            return
        self.connection.send(LinkCongestion(congested))


def states_many(message: object) -> bool:
    """True for a neighbor's message that states many subscriptions at once."""
    if not isinstance(message, routing.RoutingMessage):
        return False
    return isinstance(routing.carried(cast("routing.Message", message)), routing.SubscribeMany)
