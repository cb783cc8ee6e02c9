"""Deliveries as applications see them; a publication is decoded when it is first read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from math import inf, nextafter
from typing import Any, Self, TypeAlias

from sapwood.errors import FrameError, InputError
from sapwood.model.publication import Publication
from sapwood.timing.local import LocalClock
from sapwood.wire.publications import WholeBody, decode_body, has_envelope, publication_of

Reader: TypeAlias = Callable[[str, Mapping[str, Any] | None], Any]
"""Makes an object of the id and the record of a publication, which may have no record."""


class Delivery:
    """A publication that matched, as it was published. Never changes.

    `attributes` is empty and `has_record` false where the publication carries no record, `document`
    and `payload` are `None` where it carries none. `subscriptions` are the ids of the client's
    subscriptions that match, sorted.

    A client that only counts deliveries, or looks at `subscriptions`, pays for nothing else: the
    publication stays bytes until another attribute is read for the first time. That read raises
    `FrameError` for bytes that are no publication, which no broker sends.

    An upper bound of its age is known, without any synchronized clock, where all brokers on its way
    know the bounds of their links (`age_bound`).

    #: _body or _encoded is there
    #: _born is a reading of _clock, before which the publication was not made; None: not known
    """

    __slots__ = (
        *("_body", "_born", "_clock", "_encoded", "_max_age_ns", "_reader", "_subscriptions"),
        "_value",
    )

    def __init__(
        self,
        id: str,
        attributes: Mapping[str, Any],
        subscriptions: tuple[str, ...],
        document: bytes | None = None,
        payload: bytes | None = None,
        *,
        has_record: bool = True,
    ) -> None:
        self._subscriptions = subscriptions
        self._encoded: bytes | None = None
        self._born: int | None = None
        self._clock: LocalClock | None = None
        self._max_age_ns: int | None = None
        self._reader: Reader | None = None
        self._value: Any = None
        self._body: WholeBody | None = WholeBody(
            id, attributes if has_record else None, document, payload
        )

    @classmethod
    def of(
        cls,
        encoded: bytes,
        subscriptions: tuple[str, ...],
        born: int | None = None,
        clock: LocalClock | None = None,
    ) -> Self:
        """The delivery of an encoded publication (`sapwood.wire.publications`).

        The publication was not made before the clock showed `born`.
        """
        delivery = cls.__new__(cls)
        delivery._born, delivery._clock, delivery._max_age_ns = born, clock, None
        delivery._reader = delivery._value = None
        delivery._subscriptions = subscriptions
        delivery._encoded = encoded
        delivery._body = None
        return delivery

    @property
    def subscriptions(self) -> tuple[str, ...]:
        """The ids of the client's subscriptions that match, sorted."""
        return self._subscriptions

    @property
    def size(self) -> int:
        """The number of bytes that are not decoded yet: 0 once the publication has been decoded."""
        return 0 if self._encoded is None else len(self._encoded)

    @property
    def age_bound(self) -> float | None:
        """An upper bound of the publication's present age, in seconds.

        The age counts from the call to `publish`, over all links and brokers; the bound is never
        too small as long as the clocks on the way keep their drift. `None` where it is not known:
        for a publication that waited in a mailbox or a journal, and for the first ones on a link.
        """
        age_ns = self._age_ns()
        return None if age_ns is None else nextafter(age_ns / 1e9, inf)

    @property
    def timely(self) -> bool:
        """True if the publication is certainly not older than the `max_age` of its subscription.

        `False` may be a false alarm, `True` never is. Without `max_age` any known age is timely.
        """
        age_ns = self._age_ns()
        return age_ns is not None and (self._max_age_ns is None or age_ns <= self._max_age_ns)

    def within(self, max_age_ns: int) -> Self:
        """The same delivery, for a subscription with this `max_age`."""
        delivery = copy(self)
        delivery._max_age_ns = max_age_ns
        return delivery

    def read_by(self, reader: Reader) -> Self:
        """The same delivery, for a subscription with a type: `reader` makes its `value`."""
        delivery = copy(self)
        delivery._reader = reader
        return delivery

    @property
    def value(self) -> Any:
        """The record as an object of its subscription's type, the same one each time.

        Raises `UnfitDeliveryError` where the record does not fit the type, and `InputError` where
        the subscription has no type.
        """
        if self._value is None:
            if self._reader is None:
                raise InputError("a delivery has a value where the subscription was given a type")
            body = self._decoded()
            self._value = self._reader(body.id, body.attributes)
        return self._value

    @property
    def may_expire(self) -> bool:
        """True if the publication may have a time to live; nothing is decoded."""
        encoded = self._encoded
        if encoded is not None:
            return has_envelope(encoded)
        return self._decoded().envelope is not None

    @property
    def has_expired(self) -> bool:
        """True if the time to live may have passed: the publication is not handed out then."""
        if not self.may_expire:
            return False
        envelope, age_ns = self._decoded().envelope, self._age_ns()
        if envelope is None or envelope.ttl_ns is None or age_ns is None:
            return False
        return age_ns > envelope.ttl_ns

    @property
    def ttl(self) -> float | None:
        """The time to live of the publication, in seconds; `None`: it has none."""
        envelope = self._decoded().envelope
        return None if envelope is None or envelope.ttl_ms is None else envelope.ttl_ms / 1000

    @property
    def traceparent(self) -> str | None:
        """The span of the publication (W3C Trace Context), if its publisher sent one."""
        envelope = self._decoded().envelope
        return None if envelope is None else envelope.traceparent

    @property
    def tracestate(self) -> str | None:
        """The vendor part of the trace context, as the publisher sent it."""
        envelope = self._decoded().envelope
        return None if envelope is None else envelope.tracestate

    def _age_ns(self) -> int | None:
        if self._clock is None:
            return None
        return self._clock.drift.age_ns(self._born, self._clock.read())

    @property
    def id(self) -> str:
        """The id of the publication."""
        return self._decoded().id

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The record as it was published; empty where there is none."""
        attributes = self._decoded().attributes
        return {} if attributes is None else attributes

    @property
    def document(self) -> bytes | None:
        """The document as it was published; `None` where there is none."""
        return self._decoded().document

    @property
    def payload(self) -> bytes | None:
        """The payload as it was published; `None` where there is none."""
        return self._decoded().payload

    @property
    def has_record(self) -> bool:
        """True if the publication carries a record, which may be empty."""
        return self._decoded().attributes is not None

    def publication(self) -> Publication:
        """The publication as a value of the model, which has the flat view that filters see."""
        return publication_of(self._decoded())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Delivery):
            return NotImplemented
        mine, others = self._decoded(), other._decoded()
        return self._subscriptions == other._subscriptions and mine == others

    __hash__ = None  # type: ignore[assignment]  # records are no keys

    def __repr__(self) -> str:
        body = self._decoded()
        parts = [repr(body.id), repr(self.attributes), repr(self._subscriptions)]
        if body.document is not None:
            parts.append(f"document={body.document!r}")
        if body.payload is not None:
            parts.append(f"payload={body.payload!r}")
        if body.attributes is None:
            parts.append("has_record=False")
        return f"Delivery({', '.join(parts)})"

    def _decoded(self) -> WholeBody:
        if self._body is None:
            assert self._encoded is not None, "a delivery without a publication"
            try:
                self._body = decode_body(self._encoded)
            except InputError as error:
                raise FrameError(f"a delivery holds no publication: {error}") from error
            self._encoded = None
        return self._body
