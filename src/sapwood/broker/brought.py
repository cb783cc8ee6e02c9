"""The publications of an input for mailboxes, by their places in it."""

from __future__ import annotations

from collections.abc import Sequence

from sapwood.errors import InvariantError
from sapwood.matching.publication_batch import PublicationBatch
from sapwood.routing.inputs import ClientPublish, ClientPublishMany, Input, Receive, ReceiveMany
from sapwood.wire.publications import encode_publication


def body_of(batch: object, at: int) -> bytes:
    """The bytes of one publication of a batch, as they are stored."""
    if isinstance(batch, PublicationBatch):
        return batch.body(at)
    assert isinstance(batch, Sequence), "a batch has places"
    return batch[at].encoded or encode_publication(batch[at])


def publication_count(request: Input) -> int:
    """The number of publications in an input."""
    match request:
        case ClientPublishMany(_, publications):
            return len(publications)
        case ReceiveMany(_, publications):
            return len(publications.batch)
        case ClientPublish() | Receive():
            return 1
        case _:
            raise InvariantError(f"a delivery without a place came of a {type(request).__name__}")


def places_by_id(request: Input) -> dict[str, int]:
    """The publications of a batch that the router delivers one by one, by their ids."""
    match request:
        case ClientPublishMany(_, publications):
            return {one.id: at for at, one in enumerate(publications)}
        case ReceiveMany(_, many):
            return {one.id: at for at, one in enumerate(many.batch)}
        case _:
            return {}
