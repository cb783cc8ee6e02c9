"""The broker's end of a client session: requests to router inputs, effects to replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from sapwood.errors import FrameError, InputError, InvariantError, LimitError
from sapwood.language.plain import plain_filter
from sapwood.limits import FRAME_OVERHEAD_BYTES, SUBSCRIPTIONS_AT_ONCE_MAX
from sapwood.limits.bulk import REGISTERED_AT_ONCE_MAX, SUBSCRIPTIONS_AT_FIRST
from sapwood.matching.costs import cost_of
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.inputs import (
    ClientAdvertise,
    ClientPublish,
    ClientPublishMany,
    ClientSubscribe,
    ClientSubscribeMany,
    ClientUnadvertise,
    ClientUnsubscribe,
    ClientUnsubscribeMany,
    Input,
)
from sapwood.session.changes_together import ChangeRun, WithdrawMany
from sapwood.session.connection import Connection, shortened
from sapwood.session.grants import SEPARATOR, Gate
from sapwood.session.judging import JUDGED, Judge, Judgement, Request
from sapwood.session.ledger import PublisherLedger
from sapwood.session.quotas import Account, Quota, Size, conjunctions_of
from sapwood.wire.durable import DurableRequest
from sapwood.wire.greetings import Greeting
from sapwood.wire.messages import (
    AcceptedReply,
    AdvertisedReply,
    AdvertisementRefused,
    AdvertiseRequest,
    AllStated,
    Cause,
    Message,
    NeverNotice,
    PublicationRefused,
    PublishRequest,
    SubscribedManyReply,
    SubscribedReply,
    SubscribeManyRequest,
    SubscribeRequest,
    SubscriptionRefused,
    SuppliedNotice,
    UnadvertisedReply,
    UnadvertiseRequest,
    UnsubscribedManyReply,
    UnsubscribedReply,
    UnsubscribeManyRequest,
    UnsubscribeRequest,
    UnsuppliedNotice,
)
from sapwood.wire.publications import encode_publication
from sapwood.wire.runs import RequestRun, Run

_OTHERS_COUNT: Final = 2
"""As how many plain filters another one counts in a part of a bulk request."""

MANY: Final = (SubscribeManyRequest, UnsubscribeManyRequest)
"""Requests that are handled in parts: see `ClientSessionAtBroker.portions`."""


@dataclass(frozen=True, slots=True)
class ReadMany:
    """Requests for subscriptions whose filters are parsed: a part of a `SubscribeManyRequest`.

    Or of a `ChangeRun`; then `is_bulk` is false, and it does not wait for kernels.
    """

    judged: Sequence[Judgement]
    is_bulk: bool = True


PARTS: Final = (ReadMany, WithdrawMany)
"""Parts of what a client has requested, which only `portions` and `together` make."""

CHANGES: Final = (SubscribeRequest, UnsubscribeRequest, ReadMany, WithdrawMany)
"""What single requests of a client come as: see `ClientSessionAtBroker.together`."""


@dataclass(slots=True)
class Restated:
    """The ids that a client has requested again, of those that its broker restored at its start.

    A refused request is among them: it is answered, and its entry is no longer in force.
    """

    subscriptions: set[str] = field(default_factory=set)
    advertisements: set[str] = field(default_factory=set)


class ClientSessionAtBroker:
    """The broker's session with one connected client.

    `interpret` turns a request into at most one input for the router; the other methods send the
    replies. `judging` parses the contents of requests; all sessions of a broker share it.

    Acknowledgements are cumulative: they are appended to the outgoing bytes when these are taken.

    #: _acknowledged <= ledger.through
    """

    __slots__ = (
        "_account",
        "_acknowledged",
        "_at_once",
        "_is_silent",
        "_judged",
        "_judging",
        "_singly",
        "connection",
        "delivered",
        "gate",
        "ledger",
        "name",
        "restated",
    )

    def __init__(
        self,
        name: str,
        connection: Connection,
        ledger: PublisherLedger,
        *,
        acknowledged: int,
        judging: Judge | None = None,
        is_remembered: bool = False,
        gate: Gate | None = None,
        account: Account | None = None,
    ) -> None:
        self.name = name
        #: the gate of the client's grants, where they are limited
        self.gate = gate
        #: the account of the client's quota, where that is limited
        self._account = account
        self.connection = connection
        #: the number of deliveries sent to the client on this connection
        self.delivered = 0
        self.ledger = ledger
        #: the last publication up to which an acknowledgement was sent
        self._acknowledged = acknowledged
        self._judging = Judge() if judging is None else judging
        #: the last judgement, until its request is interpreted
        self._judged: Judgement | None = None
        #: the ids that a returning client has requested, until it reports that these are all
        self.restated: Restated | None = Restated() if is_remembered else None
        #: the number of subscriptions in the next part of a bulk request
        self._at_once = SUBSCRIPTIONS_AT_FIRST
        #: requests are being carried out that the client has not sent
        self._is_silent = False
        #: the ids of runs of single requests that are yet to be answered, each by itself
        self._singly: set[str] = set()
        for sequence, reason in ledger.resume(acknowledged):
            connection.send(PublicationRefused(sequence, reason))

    @property
    def kept_session(self) -> str:
        """The value that identifies this session after a restart of the broker: see `Gate`."""
        return self.ledger.session + ("" if self.gate is None else self.gate.tag)

    @property
    def identity(self) -> str:
        """The identity that the client belongs to; empty where the broker has no identities."""
        name, separator, _ = self.name.partition(SEPARATOR)
        return name if separator else ""

    @property
    def quota(self) -> Quota:
        """The quota of the client."""
        return Quota() if self._account is None else self._account.usage.quota

    # Requests ----------------------------------------------------------------------------------

    def judge(
        self, message: Greeting | Message | ReadMany | WithdrawMany | Run
    ) -> Callable[[], None] | None:
        """The work, if it is much, that has to be done beside the loop before `interpret`.

        The function that is returned raises nothing.
        """
        if not isinstance(message, JUDGED):
            return None
        if isinstance(message, PublishRequest) and not self._is_to_be_read(message):
            return None
        found = self._judging.judge(message)
        if isinstance(found, Judgement):
            self._judged = found
            return None
        return lambda: self._take(found())

    def _take(self, judged: Judgement) -> None:
        self._judged = judged

    def _judgement(self, request: Request) -> Judgement:
        """The judgement of a request: the one made beside the loop, or else one made now."""
        judged, self._judged = self._judged, None
        if judged is not None and judged.request is request:
            return judged
        found = self._judging.judge(request)
        return found if isinstance(found, Judgement) else found()

    def _is_to_be_read(self, request: PublishRequest) -> bool:
        """True if a publication is new, and short enough to be parsed."""
        size = len(request.publication)
        return request.sequence > self.ledger.received and size <= self._publication_bytes_max

    @property
    def _publication_bytes_max(self) -> int:
        return self.connection.frame_bytes_max - FRAME_OVERHEAD_BYTES

    def interpret(self, message: Greeting | Message | ReadMany | WithdrawMany) -> Input | None:
        """The router's input in a message; `None` where the client is answered from here.

        Raises `FrameError` for a message that a client must not send.
        """
        if isinstance(message, PublishRequest):
            return self._publish(message)
        if isinstance(message, SubscribeRequest):
            self._restate(message.id)
            interest = self._read(message, SubscriptionRefused)
            if interest is None:
                return None
            granted = self._granted(message.id, interest)
            return None if granted is None else ClientSubscribe(self.name, message.id, granted)
        if isinstance(message, ReadMany):
            return self._subscribe_many(message)
        if isinstance(message, WithdrawMany):
            self._singly.update(message.ids)
        if isinstance(message, UnsubscribeManyRequest | WithdrawMany):
            if self._account is not None:
                self._account.withdraw(message.ids)
            return ClientUnsubscribeMany(self.name, tuple(message.ids))
        if isinstance(message, UnsubscribeRequest):
            if self._account is not None:
                self._account.withdraw((message.id,))
            return ClientUnsubscribe(self.name, message.id)
        if isinstance(message, AdvertiseRequest):
            if self.restated is not None:
                self.restated.advertisements.add(message.id)
            advertised = self._read(message, AdvertisementRefused)
            if advertised is None:
                return None
            return ClientAdvertise(self.name, message.id, advertised)
        if isinstance(message, UnadvertiseRequest):
            return ClientUnadvertise(self.name, message.id)
        if isinstance(message, AllStated):
            return None
        raise FrameError(f"a {type(message).__name__} is nothing a client says")

    def filter_of(self, request: DurableRequest) -> Interest | None:
        """The filter in a request for a durable subscription, if it has one.

        A filter that cannot be parsed is refused here.
        """
        if request.filter is None:
            return None
        interest = self._read(request, SubscriptionRefused)
        return None if interest is None else self._granted(request.id, interest, is_durable=True)

    def admit(self, run: RequestRun) -> ClientPublishMany | None:
        """The router's input in consecutive publications, without those that were admitted before.

        `None` where they are to be interpreted one by one.
        """
        known = self.ledger.admit_many(run.sequence, len(run.batch))
        if known is None:
            return None
        batch = run.batch[known:]
        batch.born = self.connection.born
        if len(batch):
            self.ledger.pass_on_many(run.sequence + known, batch)
            if self._account is not None:
                self._account.usage.take(len(batch), int((batch.ends - batch.starts).sum()))
        return ClientPublishMany(self.name, batch)

    def ungranted(self, run: RequestRun, refused: Sequence[int]) -> Sequence[int]:
        """The places in a run that are `refused` already, or that the client may not publish.

        The latter are the publications outside of the client's grants and those beyond its quota.
        """
        if self.gate is not None:
            refused = sorted({*refused, *self.gate.refused(run.batch)})
        if self._account is None:
            return refused
        known = max(0, self.ledger.received + 1 - run.sequence)
        asked = sorted({*range(known, len(run.batch))}.difference(refused))
        sizes = run.batch.ends - run.batch.starts
        passing, _ = self._account.usage.passing(sizes[asked].tolist(), self._heard)
        return sorted({*refused, *asked[passing:]})

    @property
    def _heard(self) -> float:
        """The time at which the message being handled arrived, in seconds."""
        return self.connection.keepalive.heard

    def portions(
        self, message: SubscribeManyRequest | UnsubscribeManyRequest
    ) -> Iterator[Message | ReadMany]:
        """A message about many subscriptions in parts that are short to handle, in order.

        Filters that take long to parse are yielded one by one, to be judged beside the loop.
        """
        if isinstance(message, UnsubscribeManyRequest):
            for some in _some(message.ids):
                yield UnsubscribeManyRequest(some)
            return
        read: list[Judgement] = []
        room, self._at_once = self._at_once, REGISTERED_AT_ONCE_MAX
        for id_, text in zip(message.ids, message.filters, strict=True):
            request = SubscribeRequest(id_, text)
            # Most filters are plain: they are parsed at once, as that is hardly any work.
            plain = plain_filter(text) if isinstance(text, str) else None
            if plain is not None:
                read.append(Judgement(request, plain))
                room -= 1
                if room <= 0:
                    yield ReadMany(read)
                    read, room = [], REGISTERED_AT_ONCE_MAX
                continue
            judged = self._judging.judge(request)
            is_read = isinstance(judged, Judgement)
            if isinstance(judged, Judgement):
                read.append(judged)
                room -= _OTHERS_COUNT
            if read and (room <= 0 or not is_read):
                yield ReadMany(read)
                read, room = [], REGISTERED_AT_ONCE_MAX
            if not is_read:
                yield request
        if read:
            yield ReadMany(read)

    def together(self, run: ChangeRun) -> Iterator[Message | ReadMany | WithdrawMany]:
        """The requests of a run, in as few steps as lead to the same.

        A filter that is not plain comes by itself, to be judged. What a quota allows depends on
        the order of the requests, so the subscriptions of a step precede its withdrawals then.
        """
        read: dict[str, Judgement] = {}
        gone: dict[str, None] = {}
        for request in run.requests:
            plain, goes_on = None, request.id not in read and request.id not in gone
            if isinstance(request, SubscribeRequest):
                plain = plain_filter(request.filter) if isinstance(request.filter, str) else None
                goes_on &= plain is not None and not (gone and self._account is not None)
            if not goes_on:
                yield from _steps(read, gone)
                read, gone = {}, {}
            if not isinstance(request, SubscribeRequest):
                gone[request.id] = None
            elif plain is None:
                yield request
            else:
                read[request.id] = Judgement(request, plain)
        yield from _steps(read, gone)

    def _subscribe_many(self, many: ReadMany) -> ClientSubscribeMany | None:
        """The router's input of the filters that could be parsed; the others are refused here."""
        read: list[tuple[str, Interest]] = []
        for judged in many.judged:
            request, wanted = judged.request, judged.value
            assert isinstance(request, SubscribeRequest), "subscriptions were requested"
            self._restate(request.id)
            if judged.refusal is not None:
                refused = SubscriptionRefused(request.id, shortened(str(judged.refusal)))
                self.connection.send(refused)
            elif (granted := self._granted(request.id, wanted)) is not None:
                read.append((request.id, granted))
        if not many.is_bulk:
            self._singly.update(id_ for id_, _ in read)
        return ClientSubscribeMany(self.name, tuple(read)) if read else None

    def _granted(
        self,
        id_: str,
        asked: AdvertisedContent | Publication | None,
        *,
        is_durable: bool = False,
    ) -> Interest | None:
        """The part of a filter that the client may subscribe to; an empty one is refused.

        The client gets a notice if the filter can never match. The filter of a durable subscription
        is measured, and not counted: it is in force while the client is away.
        """
        assert isinstance(asked, Interest), "paths are refused as subscriptions"
        never = self._judging.why_never(asked)
        if never is not None and self._judging.is_strict:
            self.connection.send(SubscriptionRefused(id_, shortened(never)))
            return None
        if never is not None:
            self.connection.send(NeverNotice(id_, shortened(never)))
        if self.gate is not None:
            try:
                asked = self.gate.grant.narrowed(asked)
            except InputError as error:
                self.connection.send(SubscriptionRefused(id_, shortened(str(error)), Cause.GRANT))
                return None
        cost = self._judging.cost_of(asked)
        if cost is not None and (dear := self._judging.why_dear(cost)) is not None:
            self.connection.send(SubscriptionRefused(id_, shortened(dear), Cause.QUOTA))
            return None
        if self._account is not None:
            if cost is None and self._account.usage.quota.cost is not None:
                cost = cost_of(asked)
            size = Size(conjunctions_of(asked), cost)
            refusal = self._account.refusal(id_, size)
            if refusal is not None:
                self.connection.send(SubscriptionRefused(id_, shortened(refusal), Cause.QUOTA))
                return None
            if not is_durable:
                self._account.state(id_, size)
        return asked

    def left(self) -> None:
        """Close the account of a client that has gone."""
        if self._account is not None:
            self._account.close()

    def _restate(self, id_: str) -> None:
        if self.restated is not None:
            self.restated.subscriptions.add(id_)

    def _publish(self, request: PublishRequest) -> ClientPublish | None:
        if not self.ledger.admit(request.sequence):
            return None
        size, bound = len(request.publication), self._publication_bytes_max
        refusal: InputError | None
        if size > bound:
            subject = "the size of a publication"
            refusal = LimitError("FRAME_BYTES_MAX", bound, size, subject)
        else:
            judged = self._judgement(request)
            refusal = judged.refusal
        if refusal is not None:
            self._refuse_publication(request.sequence, str(refusal))
            return None
        publication = judged.value
        assert isinstance(publication, Publication), "what is not refused has been read"
        if self.gate is not None and self.gate.refused([publication]):
            reason = "this identity may not publish that"
            self._refuse_publication(request.sequence, reason, Cause.GRANT)
            return None
        if self._account is not None:
            usage = self._account.usage
            passing, reason = usage.passing((size,), self._heard)
            if not passing:
                after_s = usage.after_s(self._heard)
                self._refuse_publication(request.sequence, reason, Cause.QUOTA, after_s)
                return None
            usage.take(1, size)
        publication.keep_born(self.connection.born)
        self.ledger.pass_on(request.sequence, publication.id)
        return ClientPublish(self.name, publication)

    def _read(
        self,
        request: SubscribeRequest | AdvertiseRequest | DurableRequest,
        refused: type[SubscriptionRefused | AdvertisementRefused],
    ) -> AdvertisedContent | None:
        """The filter of a request; one that cannot be parsed is refused here."""
        judged = self._judgement(request)
        if judged.refusal is not None:
            self.connection.send(refused(request.id, shortened(str(judged.refusal))))
            return None
        assert not isinstance(judged.value, Publication), "a filter was asked for"
        return judged.value

    # Replies -----------------------------------------------------------------------------------

    @contextmanager
    def unasked(self) -> Iterator[None]:
        """Suppress the confirmations of withdrawals that the client has not requested."""
        self._is_silent = True
        try:
            yield
        finally:
            self._is_silent = False

    def deliver(self, subscriptions: tuple[str, ...], publication: Publication) -> None:
        """Send a publication that matches these subscriptions of the client."""
        body = publication.encoded or encode_publication(publication)
        self.delivered += 1
        self.connection.mark(publication.born)
        self.connection.send_delivery(subscriptions, body)

    def subscribed(self, subscription: str) -> None:
        """Confirm that a subscription is in force."""
        self._singly.discard(subscription)
        self.connection.send(SubscribedReply(subscription))

    def subscribed_many(self, subscriptions: Sequence[str]) -> None:
        """Confirm that several subscriptions are in force."""
        together = self._left_of(subscriptions, self.subscribed)
        if together:
            self.connection.send_ids(SubscribedManyReply, together)

    def _left_of(self, ids: Sequence[str], answer: Callable[[str], None]) -> Sequence[str]:
        """Answer requests that were single ones, each by itself; returns the ids of the others."""
        if not self._singly:
            return ids
        together = [id_ for id_ in ids if id_ not in self._singly]
        for id_ in ids:
            if id_ in self._singly:
                answer(id_)
        return together

    def supplied(self, subscriptions: Sequence[str], *, is_there: bool) -> None:
        """Send a notice that an advertisement for these subscriptions exists, or that none does."""
        notice = SuppliedNotice if is_there else UnsuppliedNotice
        self.connection.send_ids(notice, subscriptions)

    def unsubscribed_many(self, subscriptions: Sequence[str]) -> None:
        """Confirm that several subscriptions are withdrawn."""
        together = self._left_of(subscriptions, self.unsubscribed)
        if together and not self._is_silent:
            self.connection.send_ids(UnsubscribedManyReply, together)

    def unsubscribed(self, subscription: str) -> None:
        """Confirm that a subscription is withdrawn."""
        self._singly.discard(subscription)
        if not self._is_silent:
            self.connection.send(UnsubscribedReply(subscription))

    def advertised(self, advertisement: str) -> None:
        """Confirm that an advertisement is in force."""
        self.connection.send(AdvertisedReply(advertisement))

    def unadvertised(self, advertisement: str) -> None:
        """Confirm that an advertisement is withdrawn."""
        if not self._is_silent:
            self.connection.send(UnadvertisedReply(advertisement))

    def refused(self, request: Input, reason: str, subject: str = "") -> None:
        """Refuse a request, or its part about `subject` where it is about several."""
        if self._is_silent:
            return
        match request:
            case ClientPublish(_, publication):
                self._refuse_publication(self.ledger.settle(publication.id), reason)
            case ClientSubscribe(_, subscription, _) | ClientUnsubscribe(_, subscription):
                self.connection.send(SubscriptionRefused(subscription, shortened(reason)))
            case ClientSubscribeMany() | ClientUnsubscribeMany():
                self._singly.discard(subject)
                self.connection.send(SubscriptionRefused(subject, shortened(reason)))
            case ClientAdvertise(_, advertisement, _) | ClientUnadvertise(_, advertisement):
                self.connection.send(AdvertisementRefused(advertisement, shortened(reason)))
            case _:
                raise InvariantError(f"nothing a client asked for: {request!r}")

    def _refuse_publication(
        self, sequence: int, reason: str, cause: Cause = Cause.REQUEST, after_s: float = 0.0
    ) -> None:
        reason = shortened(reason)
        self.ledger.refuse(sequence, reason)
        self.connection.send(PublicationRefused(sequence, reason, cause, after_s))

    def acknowledge(self) -> None:
        """Acknowledge the publications that were answered since the last acknowledgement."""
        through = self.ledger.through
        if through > self._acknowledged and self.connection.open:
            self._acknowledged = through
            self.connection.send(AcceptedReply(through))


def _steps(
    read: Mapping[str, Judgement], gone: Mapping[str, None]
) -> Iterator[Message | ReadMany | WithdrawMany]:
    """The new subscriptions of a part of a run, and the withdrawals."""
    if read:
        yield ReadMany([*read.values()], is_bulk=False)
    if len(gone) > 1:
        yield WithdrawMany([*gone])
    else:
        yield from map(UnsubscribeRequest, gone)


def _some(ids: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The ids in parts that are short to handle."""
    for start in range(0, len(ids), SUBSCRIPTIONS_AT_ONCE_MAX):
        yield ids[start : start + SUBSCRIPTIONS_AT_ONCE_MAX]
