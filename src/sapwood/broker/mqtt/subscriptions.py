"""The subscriptions of one MQTT client, and the answers that are due to it.

A topic filter is a subscription of the client's session. A SUBSCRIBE with a known filter replaces
it: with other options at once, with another condition as soon as the new one is in force, so that
there is no gap; until then both are in force, and a publication that matches both is delivered
once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from sapwood.broker.mqtt.packets import Asked, Properties, Suback, Subscribe, Unsuback, Unsubscribe
from sapwood.broker.mqtt.packets import Property as Key
from sapwood.broker.mqtt.reasons import MqttError, Reason
from sapwood.broker.mqtt.topics import TopicFilter
from sapwood.errors import InputError
from sapwood.language import translate_filter
from sapwood.language.parser import parse
from sapwood.limits.durable import DURABLE_WINDOW
from sapwood.limits.mqtt import MQTT_UNANSWERED_MAX
from sapwood.session.client_session import ClientSession
from sapwood.session.durable.consuming import Wanted
from sapwood.session.durable.receipts import Receipts
from sapwood.wire.durable import Policy
from sapwood.wire.names import check_name

FILTER: Final = "filter"
DIALECT: Final = "dialect"
DURABLE: Final = "durable"
"""User properties of a SUBSCRIBE: a further filter, its language, and the name of a durable
subscription."""


@dataclass(slots=True)
class _Answer:
    """The answer to a SUBSCRIBE (or UNSUBSCRIBE), which is sent when all its codes are known."""

    packet_id: int
    codes: list[Reason | None]
    reason: str = ""
    is_subscribed: bool = True

    def settle(self, place: int, code: Reason, reason: str = "") -> Iterator[Suback | Unsuback]:
        """Set one of the codes; the packet, if it was the last one."""
        self.codes[place] = code
        self.reason = self.reason or reason
        yield from self.packet()

    def packet(self) -> Iterator[Suback | Unsuback]:
        """The packet, if it is due."""
        codes = tuple(code for code in self.codes if code is not None)
        if len(codes) == len(self.codes):
            if self.is_subscribed:
                yield Suback(self.packet_id, codes, self.reason)
            else:
                yield Unsuback(self.packet_id, codes)


@dataclass(slots=True, eq=False)
class Subscription:
    """A topic filter of a client; `id` is that of its subscription at the broker.

    #: replaces is there only until this one is in force
    """

    id: str
    topic_filter: str
    topics: TopicFilter
    text: str
    durable: str
    qos: int = 0
    no_local: bool = False
    identifier: int | None = None
    is_in_force: bool = False
    replaces: Subscription | None = None
    waiting: list[tuple[_Answer, int]] = field(default_factory=list)

    @property
    def granted(self) -> Reason:
        """The code of a SUBACK that grants it."""
        return Reason.GRANTED_QOS_1 if self.qos else Reason.SUCCESS


class Subscriptions:
    """The subscriptions of one client.

    #: the newest subscription with each topic filter is in _by_filter; all that were not withdrawn
    #: in _by_id, of which _pending are not in force
    """

    def __init__(self, session: ClientSession) -> None:
        self._session = session
        self._by_filter: dict[str, Subscription] = {}
        self._by_id: dict[str, Subscription] = {}
        self._leaving: dict[str, list[tuple[_Answer, int]]] = {}
        self._serial = 0
        self._pending = 0

    def get(self, id_: str) -> Subscription | None:
        """The subscription with an id, if it was not withdrawn."""
        return self._by_id.get(id_)

    # What the client asks for ------------------------------------------------------------------

    def subscribe(self, packet: Subscribe) -> Iterator[Suback | Unsuback]:
        """Request subscriptions; the answer, if it is known. Raises `MqttError` for too many."""
        answer = _Answer(packet.packet_id, [None] * len(packet.filters))
        identifier = packet.properties.values.get(Key.SUBSCRIPTION_IDENTIFIER)
        assert identifier is None or isinstance(identifier, int), "the reader saw to it"
        for place, asked in enumerate(packet.filters):
            try:
                condition, durable = _wanted(packet.properties)
                topics = TopicFilter.parse(asked.topic_filter)
            except MqttError as error:
                answer.codes[place] = error.code
                answer.reason = answer.reason or error.reason
                continue
            text = topics.text if condition is None else f"({topics.text}) and ({condition})"
            known = self._by_filter.get(asked.topic_filter)
            if known is None or known.text != text or known.durable != durable:
                known = self._ask(asked, topics, text, durable, known)
            known.qos, known.no_local = min(asked.qos, 1), asked.no_local
            known.identifier = identifier
            if known.is_in_force:
                answer.codes[place] = known.granted
            else:
                known.waiting.append((answer, place))
        yield from answer.packet()

    def _ask(
        self,
        asked: Asked,
        topics: TopicFilter,
        text: str,
        durable: str,
        replaced: Subscription | None,
    ) -> Subscription:
        if self._pending >= MQTT_UNANSWERED_MAX:
            raise MqttError(
                Reason.QUOTA_EXCEEDED,
                f"{MQTT_UNANSWERED_MAX} topic filters wait for an answer (MQTT_UNANSWERED_MAX)",
            )
        self._serial += 1
        self._pending += 1
        id_ = str(self._serial)
        made = Subscription(id_, asked.topic_filter, topics, text, durable, replaces=replaced)
        self._by_filter[asked.topic_filter] = self._by_id[id_] = made
        if durable:
            wanted = Wanted(durable, text, None, Policy(), DURABLE_WINDOW, Receipts())
            self._session.consume(id_, wanted)
        else:
            self._session.subscribe(id_, text)
        return made

    def unsubscribe(self, packet: Unsubscribe) -> Iterator[Suback | Unsuback]:
        """Withdraw subscriptions; the answer, if it is known."""
        answer = _Answer(packet.packet_id, [None] * len(packet.filters), is_subscribed=False)
        for place, topic_filter in enumerate(packet.filters):
            known = self._by_filter.pop(topic_filter, None)
            if known is None:
                answer.codes[place] = Reason.NO_SUBSCRIPTION_EXISTED
                continue
            self._leaving.setdefault(known.id, []).append((answer, place))
            while known is not None:
                yield from self._withdraw(known)
                known = known.replaces
        yield from answer.packet()

    def _withdraw(self, known: Subscription) -> Iterator[Suback | Unsuback]:
        """Withdraw a subscription at the broker; nothing is delivered for it any more."""
        del self._by_id[known.id]
        if known.durable:
            self._session.leave(known.id)
        else:
            self._session.unsubscribe(known.id)
        yield from self._settle(known)

    def _settle(self, known: Subscription) -> Iterator[Suback | Unsuback]:
        """The answers that wait for a subscription, which was granted."""
        if not known.is_in_force:
            known.is_in_force = True
            self._pending -= 1
        waiting, known.waiting = known.waiting, []
        for answer, place in waiting:
            yield from answer.settle(place, known.granted)

    # What the broker answers -------------------------------------------------------------------

    def confirmed(self, id_: str) -> Iterator[Suback | Unsuback]:
        """Take in that a subscription is in force."""
        known = self._by_id.get(id_)
        if known is None:
            return
        replaced, known.replaces = known.replaces, None
        while replaced is not None:
            yield from self._withdraw(replaced)
            replaced = replaced.replaces
        yield from self._settle(known)

    def never(self, id_: str, reason: str) -> None:
        """Record the reason why no publication can match a subscription, for its answer."""
        known = self._by_id.get(id_)
        for answer, _ in () if known is None else known.waiting:
            answer.reason = answer.reason or reason

    def refused(self, id_: str, reason: str) -> Iterator[Suback | Unsuback]:
        """Take in that the broker refuses a subscription; the one that it was to replace stays."""
        yield from self.withdrawn(id_)
        known = self._by_id.pop(id_, None)
        if known is None:
            return
        self._pending -= not known.is_in_force
        newest = self._by_filter[known.topic_filter]
        if newest is not known:
            while newest.replaces is not known:
                assert newest.replaces is not None, "an older one is replaced by newer ones"
                newest = newest.replaces
            newest.replaces = known.replaces
        elif known.replaces is None:
            del self._by_filter[known.topic_filter]
        else:
            self._by_filter[known.topic_filter] = known.replaces
        for answer, place in known.waiting:
            yield from answer.settle(place, Reason.IMPLEMENTATION_SPECIFIC, reason)

    def withdrawn(self, id_: str) -> Iterator[Suback | Unsuback]:
        """Take in that a subscription is withdrawn."""
        for answer, place in self._leaving.pop(id_, ()):
            yield from answer.settle(place, Reason.SUCCESS)


def _wanted(properties: Properties) -> tuple[str | None, str]:
    """The condition and the name in the user properties of a SUBSCRIBE. Raises `MqttError`."""
    told: dict[str, str] = {}
    for name, value in properties.users:
        if name in (FILTER, DIALECT, DURABLE):
            if name in told:
                raise MqttError(
                    Reason.IMPLEMENTATION_SPECIFIC, f"the user property {name!r} is there twice"
                )
            told[name] = value
    condition, durable = told.get(FILTER), told.get(DURABLE, "")
    try:
        if condition is not None:
            condition = translate_filter(condition, told.get(DIALECT))
            parse(condition)
        elif DIALECT in told:
            raise InputError("a dialect is that of a filter")
        if durable:
            check_name("durable subscription", durable)
    except InputError as error:
        raise MqttError(Reason.IMPLEMENTATION_SPECIFIC, f"{error}") from None
    return condition, durable
