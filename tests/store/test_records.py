"""Records in a log: what comes back is equal, and nothing was parsed."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter, parse_xpath
from sapwood.errors import InvariantError
from sapwood.language.advertisements import parse_advertisement
from sapwood.language.interests import Interests
from sapwood.model.publication import Publication
from sapwood.routing.inputs import (
    AttachClient,
    Change,
    ClientAdvertise,
    ClientPublish,
    ClientPublishMany,
    ClientSubscribe,
    ClientSubscribeMany,
    ClientUnadvertise,
    ClientUnsubscribe,
    ClientUnsubscribeMany,
    DetachClient,
    Drained,
    LinkDown,
    LinkUp,
    Note,
    Receive,
    ReceiveMany,
    Record,
    Renewal,
    Tick,
)
from sapwood.routing.messages import (
    Advertise,
    OnTree,
    Publish,
    PublishMany,
    Stamped,
    Subscribe,
    SubscribeMany,
    UpkeepNote,
)
from sapwood.store.layout import Publications, Remembered, State
from sapwood.store.records import CODES, bodies_of, entry_of, publications_of, record_of, size_of
from sapwood.wire.publications import decode_publication, encode_publication
from tests import strategies
from tests.batches import batch_of

WANTED = parse_filter("x > 1 and y = 'a' or z like 'a%b%c'")
PATTERN = parse_xpath("//a[b='1']//p:c", {"p": "urn:p"})
RECORD = Publication("p1", {"a": 1, "b": {"c": "text"}})
DOCUMENT = Publication("p2", None, b"<a/>")
MANY = (RECORD, DOCUMENT, Publication("p3", {}))

STATES: tuple[Record, ...] = (
    AttachClient("c"),
    DetachClient("c"),
    ClientSubscribe("c", "s", WANTED),
    ClientSubscribe("c", "s", PATTERN),
    ClientUnsubscribe("c", "s"),
    ClientSubscribeMany("c", (("s", WANTED), ("t", PATTERN))),
    ClientUnsubscribeMany("c", ("s", "t")),
    ClientAdvertise("c", "a", WANTED),
    ClientUnadvertise("c", "a"),
    LinkUp("r2"),
    LinkUp("r2", inbound=False),
    LinkDown("r2"),
    Drained("r2"),
    Receive("r2", Subscribe("k", WANTED, 3)),
    Receive("r2", SubscribeMany(("k", "l"), Interests((WANTED, PATTERN)), 4)),
    Receive("r2", Advertise("k", WANTED, 3)),
    Receive("r2", OnTree("r3", 4, Subscribe("k", PATTERN, 1))),
    Receive("r2", UpkeepNote(b"note", True)),
    Receive("r2", Stamped(b"\x01", Subscribe("k", WANTED, 3))),
)
PUBLICATIONS: tuple[Record, ...] = (
    ClientPublish("c", RECORD),
    ClientPublish("c", DOCUMENT),
    ClientPublishMany("c", MANY),
    Receive("r2", Publish("r3", 2, RECORD)),
    Receive("r2", Publish("r3", 2, DOCUMENT, b"digest")),
    Receive("r2", OnTree("r3", 5, Publish("r3", 2, RECORD))),
    Receive("r2", Stamped(b"\x07", OnTree("r3", 5, Publish("r3", 2, RECORD)))),
    Receive("r2", Stamped(b"\x07", Publish("r3", 2, RECORD))),
    ReceiveMany("r2", PublishMany("r3", 2, MANY)),
    ReceiveMany("r2", PublishMany("r3", 2, MANY, (b"1", b"", b"3"), ("r3", 4))),
)


def spelled(record: Record) -> Any:
    """A record with its batch in a form that can be compared."""
    match record:
        case ClientPublishMany(client, publications):
            return client, tuple(publications)
        case ReceiveMany(neighbor, many):
            return neighbor, tuple(many.messages())
        case _:
            return record


@pytest.mark.parametrize("record", STATES, ids=lambda record: type(record).__name__)
def test_a_state_record_comes_back(record: Record) -> None:
    entry = entry_of(record)
    assert isinstance(entry, State)
    assert record_of(entry) == record
    assert publications_of(record) == ()


@pytest.mark.parametrize("record", PUBLICATIONS, ids=lambda record: type(record).__name__)
def test_publications_come_back_with_their_bytes(record: Record) -> None:
    entry = entry_of(record, 1.5, ("session", 3))
    assert isinstance(entry, Publications)
    assert entry.at == 1.5
    assert entry.is_ours == isinstance(record, ClientPublish | ClientPublishMany)
    found = publications_of(record)
    assert bodies_of(entry) == [encode_publication(one) for one in found]
    assert size_of(record) == len(entry.bodies)
    assert spelled(record_of(entry)) == spelled(record)


def test_a_batch_may_come_back_without_its_beginning() -> None:
    part = record_of(entry_of(PUBLICATIONS[-1]), 1)  # type: ignore[arg-type]
    wanted = ReceiveMany("r2", PublishMany("r3", 2, MANY[1:], (b"", b"3"), ("r3", 4)))
    assert spelled(part) == spelled(wanted)
    ours = record_of(entry_of(PUBLICATIONS[2]), 2)  # type: ignore[arg-type]
    assert spelled(ours) == ("c", MANY[2:])


def test_a_note_is_remembered_by_name() -> None:
    assert entry_of(Note("n", b"v")) == Remembered("n", b"v")
    assert record_of(Remembered("n", b"v")) == Note("n", b"v")


def test_paths_of_a_publisher_come_back() -> None:
    paths = parse_advertisement("/news/body(/list)+/p")
    record = ClientAdvertise("c", "a", paths)
    assert record_of(entry_of(record)) == record  # type: ignore[arg-type]


def test_every_change_has_a_code() -> None:
    coded = {*CODES.values(), ClientPublish}
    assert coded == {*get_args(Change), Renewal}


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(InvariantError, match="a Tick is no record"):
        entry_of(Tick())  # type: ignore[arg-type]


@given(strategies.filters())
def test_a_filter_comes_back_without_being_parsed(wanted: Any) -> None:
    entry = entry_of(ClientSubscribe("c", "s", wanted))
    assert isinstance(entry, State)
    found = record_of(entry)
    assert isinstance(found, ClientSubscribe)
    assert found.filter == wanted


@given(st.lists(strategies.nested_records(), min_size=1, max_size=5))
def test_publications_that_came_as_bytes_go_as_these_bytes(records: list[Any]) -> None:
    given_ = [Publication(f"p{at}" * (1 + 40 * at), one) for at, one in enumerate(records)]
    bodies = [encode_publication(one) for one in given_]
    read = [decode_publication(body) for body in bodies]
    entry = entry_of(ClientPublishMany("c", read))
    assert isinstance(entry, Publications)
    assert bodies_of(entry) == bodies
    assert spelled(record_of(entry)) == ("c", tuple(given_))


@given(st.lists(st.sampled_from(["x", "yy"]), min_size=1, max_size=6))
def test_bodies_are_joined_whether_they_are_equally_long_or_not(texts: list[str]) -> None:
    batch = batch_of([Publication(f"p{at}", {"t": text}) for at, text in enumerate(texts)])
    apart = batch.take(np.arange(0, len(batch), 2))  # others lie between them
    for one in (batch, apart):
        entry = entry_of(ClientPublishMany("c", one))
        assert isinstance(entry, Publications)
        assert bodies_of(entry) == [one.body(at) for at in range(len(one))]
