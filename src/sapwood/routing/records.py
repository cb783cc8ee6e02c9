"""The kinds of records, and how many places they take.

*Notes* are looked up by their names. *Publications* take places, one each: 0, 1, 2 and so on, in
the order in which a router persists them; a store keeps them under these numbers. All else are
*state records*, each of which lies between two places:

::

    record                      places
    AttachClient("ann")         -           before place 0
    ClientPublish("ann", p)     0
    ReceiveMany("b", 3 of them) 1, 2, 3
    Receive("b", Subscribe)     -           between 3 and 4
    ClientPublish("ann", q)     4
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sapwood.matching.publication_batch import rows_in
from sapwood.model.publication import Publication
from sapwood.routing.inputs import (
    Checkpoint,
    ClientPublish,
    ClientPublishMany,
    ClientSubscribeMany,
    ClientUnsubscribeMany,
    Note,
    Receive,
    ReceiveMany,
    Record,
)
from sapwood.routing.messages import (
    Publish,
    PublishMany,
    SubscribeMany,
    UnsubscribeMany,
    carried,
)


def publications_in(record: Record) -> int:
    """The number of publications in a record, which is the number of places that it takes."""
    match record:
        case ClientPublish():
            return 1
        case ReceiveMany(_, many):
            return len(many.batch)
        case ClientPublishMany(_, publications):
            return len(publications)
        case Receive(_, message):
            return int(isinstance(carried(message), Publish))
        case _:
            return 0


def size_of(record: Record) -> int:
    """The number of publications or subscriptions in a record; 1 for any other record."""
    match record:
        case ClientSubscribeMany(_, several):
            return len(several)
        case ClientUnsubscribeMany(_, several):
            return len(several)
        case Receive(_, SubscribeMany(keys)) | Receive(_, UnsubscribeMany(keys)):
            return len(keys)
        case _:
            return publications_in(record) or 1


def is_state(record: Record) -> bool:
    """True if a record is neither of publications nor a note nor a checkpoint."""
    return not isinstance(record, Note | Checkpoint) and publications_in(record) == 0


def rest_of(record: Record, first: int) -> Record:
    """A record of publications, without those before the number `first` in it."""
    match record:
        case ReceiveMany(neighbor, many):
            return ReceiveMany(neighbor, many.part(first))
        case ClientPublishMany(client, publications):
            return ClientPublishMany(client, publications[first:])
        case _:
            assert first == 0, "one publication has no part"
            return record


def places_of(record: Record, first: int, batch: Sequence[Publication]) -> array[int] | None:
    """The places of the publications `batch` of a record that has the places from `first` on.

    `None` where they cannot be determined.
    """
    match record:
        case ReceiveMany(_, PublishMany(_, _, whole)) | ClientPublishMany(_, whole):
            rows = rows_in(whole, batch)
            return None if rows is None else array("q", (first + row for row in rows))
        case ClientPublish(_, one):
            return array("q", (first,)) if len(batch) == 1 and batch[0] is one else None
        case Receive(_, message):
            said = carried(message)
            is_it = isinstance(said, Publish) and len(batch) == 1 and batch[0] is said.publication
            return array("q", (first,)) if is_it else None
        case _:
            return None
