"""Deliveries as applications see them; what a publication holds is decoded when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from sapwood.errors import FrameError, InputError
from sapwood.model.publication import Publication
from sapwood.wire.publications import PublicationBody, decode_body


class Delivery:
    """A publication that matched, as it was published. Never changes.

    `attributes` is empty and `has_record` false where it carries a document alone, `document` is
    `None` where it carries none. `subscriptions` are the ids of the client's subscriptions that
    match, sorted.

    A client that only counts deliveries, or looks at `subscriptions`, pays for nothing else: the
    publication stays bytes until one of the others is read for the first time. That raises
    `FrameError` for bytes that are no publication, which no broker sends.

    #: _body or _encoded is there
    """

    __slots__ = ("_body", "_encoded", "_subscriptions")

    def __init__(
        self,
        id: str,
        attributes: Mapping[str, Any],
        subscriptions: tuple[str, ...],
        document: bytes | None = None,
        *,
        has_record: bool = True,
    ) -> None:
        self._subscriptions = subscriptions
        self._encoded: bytes | None = None
        self._body: PublicationBody | None = PublicationBody(
            id, attributes if has_record else None, document
        )

    @classmethod
    def of(cls, encoded: bytes, subscriptions: tuple[str, ...]) -> Self:
        """The delivery of an encoded publication (`sapwood.wire.publications`)."""
        delivery = cls.__new__(cls)
        delivery._subscriptions = subscriptions
        delivery._encoded = encoded
        delivery._body = None
        return delivery

    @property
    def subscriptions(self) -> tuple[str, ...]:
        """The ids of the client's subscriptions that match, sorted."""
        return self._subscriptions

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
    def has_record(self) -> bool:
        """Whether the publication carries a record, which may be empty."""
        return self._decoded().attributes is not None

    def publication(self) -> Publication:
        """The publication as a value of the model, which has the flat view that filters see."""
        body = self._decoded()
        return Publication(body.id, body.attributes, body.document)

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
        if body.attributes is None:
            parts.append("has_record=False")
        return f"Delivery({', '.join(parts)})"

    def _decoded(self) -> PublicationBody:
        if self._body is None:
            assert self._encoded is not None, "a delivery without a publication"
            try:
                self._body = decode_body(self._encoded)
            except InputError as error:
                raise FrameError(f"a delivery holds no publication: {error}") from error
            self._encoded = None
        return self._body
