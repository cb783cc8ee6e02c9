"""Frames that are composed together are, byte for byte, those that are encoded one by one."""

from __future__ import annotations

from collections import defaultdict
from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.limits import FRAME_BYTES_MAX
from sapwood.matching.publication_batch import PublicationBatch
from sapwood.matching.readiness import KernelSet
from sapwood.model.filter import NOTHING
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.client_rows import ClientRows
from sapwood.routing.effects import DeliverMany
from sapwood.routing.holders import NOBODY, Holders, KeyBatch
from sapwood.routing.messages import PublishMany
from sapwood.routing.tables import Entries, LocalEntry
from sapwood.wire.codec import append_delivery, append_message, append_routing
from sapwood.wire.composer import Composer, forwards
from sapwood.wire.messages import Delivery
from sapwood.wire.publications import encode_publication
from sapwood.wire.runs import FRAMES
from tests.batches import batch_of, records

Found = list[list[tuple[str, str]]]
"""Client and id of each subscription that accepts each publication."""


@pytest.fixture(scope="module", autouse=True)
def _kernels() -> None:
    FRAMES.load()


def to_deliver(batch: PublicationBatch, found: Found) -> DeliverMany:
    """The effect that says so; each distinct publication's subscriptions hold one filter."""
    holders, rows = Holders(), ClientRows()
    entries = [
        LocalEntry[Interest](f"{client}.{id_}", client, id_, NOTHING)
        for client, id_ in dict.fromkeys(one for some in found for one in some)
    ]
    known: Entries[Interest] = Entries(by_client={entry.client: {} for entry in entries})
    for entry in entries:
        known.add(entry)
        holders.take(entry.key, NOBODY)
    rows.follow(holders, known)
    several = KeyBatch.of(
        [[holders.numbers[f"{client}.{id_}"] for client, id_ in some] for some in found], holders
    )
    return DeliverMany(batch, several, rows)


def one_by_one(effect: DeliverMany, frame_bytes_max: int = FRAME_BYTES_MAX) -> dict[str, bytes]:
    buffers: dict[str, bytearray] = defaultdict(bytearray)
    for one in effect.each():
        body = encode_publication(one.publication)
        append_delivery(buffers[one.client], one.subscriptions, body, frame_bytes_max)
    return {client: bytes(buffer) for client, buffer in buffers.items()}


def composed(effect: DeliverMany, bytes_max: int = FRAME_BYTES_MAX) -> dict[str, bytes]:
    """The frames for each client, composed in pieces of so many bytes."""
    composer, place = Composer(), 0
    buffers: dict[str, bytes] = defaultdict(bytes)
    while place < len(effect.keys):
        piece = composer.deliveries(effect, place, FRAME_BYTES_MAX, bytes_max)
        assert piece is not None
        assert piece.end > place
        for client, frames, count in piece.by_client():
            buffers[client] += bytes(frames)
            part = DeliverMany(effect.batch, effect.keys.first(piece.end), effect.rows)
            assert count == sum(one.client == client for one in part.each(place))
        place = piece.end
    return dict(buffers)


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=3)
ids = names | st.text(st.sampled_from("ab\0"), min_size=6, max_size=20)


@st.composite
def deliveries(draw: st.DrawFn) -> DeliverMany:
    some = draw(records())
    one = st.tuples(draw(st.sampled_from((names, st.just("c")))), ids)
    found = [draw(st.lists(one, max_size=8, unique=True)) for _ in some]
    return to_deliver(batch_of(some), found)


@given(deliveries(), st.integers(1, 400))
def test_deliveries_are_those_that_are_encoded_one_by_one(
    effect: DeliverMany, bytes_max: int
) -> None:
    assert composed(effect) == one_by_one(effect)
    assert composed(effect, bytes_max) == one_by_one(effect)


@pytest.mark.parametrize("count", [1, 15, 16, 24, 25, 100, 700, 70_000])
def test_ids_are_sorted_as_texts_however_many(count: int) -> None:
    numbers = [(number * 7919) % 1_000_003 for number in range(count)]
    same = [("c", f"a-long-beginning-{number}") for number in numbers]
    effect = to_deliver(batch_of([Publication("p", {"a": 1})]), [same])
    assert composed(effect) == one_by_one(effect)


@pytest.mark.parametrize("size", [31, 32, 255, 256, 512])
def test_ids_of_all_lengths_have_the_heads_that_the_encoder_writes(size: int) -> None:
    effect = to_deliver(batch_of([Publication("p", {"a": 1})]), [[("c", "i" * size)]])
    assert composed(effect) == one_by_one(effect)


@pytest.mark.parametrize("size", [0, 240, 250, 65_530, 70_000])
def test_publications_of_all_lengths_have_the_heads_that_the_encoder_writes(size: int) -> None:
    batch = batch_of([Publication("p", {"a": "x" * size})])
    assert composed(effect := to_deliver(batch, [[("c", "s")]])) == one_by_one(effect)
    many = PublishMany("r1", 3, batch)
    assert bytes(forwards(many) or b"") == b"".join(encoded(many))


def test_what_is_longer_than_a_frame_is_left_to_be_encoded_one_by_one() -> None:
    ids = [("c", f"{number:0300}") for number in range(40)]
    batch = batch_of([Publication("p", {"a": 1}), Publication("q", {"a": 1})])
    effect = to_deliver(batch, [[("c", "s")], ids])
    composer = Composer()
    body_max = 4096
    assert composer.deliveries(effect, 0, body_max, FRAME_BYTES_MAX) is None
    first = composer.deliveries(effect, 0, body_max, 1)
    assert first is not None
    assert first.end == 1
    assert composer.deliveries(effect, 1, body_max, FRAME_BYTES_MAX) is None
    longest = bytearray()
    append_message(longest, Delivery(tuple(sorted(id_ for _, id_ in ids)), batch.body(1)))
    assert composer.deliveries(effect, 0, len(longest) - 4, FRAME_BYTES_MAX) is not None
    assert composer.deliveries(effect, 0, len(longest) - 5, FRAME_BYTES_MAX) is None


def encoded(many: PublishMany) -> list[bytes]:
    frames = []
    for message in many.messages():
        buffer = bytearray()
        append_routing(buffer, message, FRAME_BYTES_MAX)
        frames.append(bytes(buffer))
    return frames


@given(
    records(),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=40),
    st.integers(0, 70_000),
    st.none() | st.tuples(names, st.integers(0, 300)),
)
@example([], "r1", 1, None)
def test_forwards_are_the_messages_that_are_encoded_one_by_one(
    some: list[Publication], origin: str, hops: int, tree: tuple[str, int] | None
) -> None:
    many = PublishMany(origin, hops, batch_of(some), tree=tree)
    frames = forwards(many)
    assert frames is not None
    assert bytes(frames) == b"".join(encoded(many))


def test_what_has_digests_or_is_no_batch_of_bytes_is_left_to_be_encoded_one_by_one() -> None:
    some = [Publication("p", {"a": 1})]
    assert forwards(PublishMany("r1", 1, batch_of(some), (b"k",))) is None
    assert forwards(PublishMany("r1", 1, some)) is None
    effect = to_deliver(batch_of(some), [[("c", "s")]])
    plain = DeliverMany(some, effect.keys, effect.rows)
    assert Composer().deliveries(plain, 0, FRAME_BYTES_MAX, FRAME_BYTES_MAX) is None


def test_a_batch_without_kernels_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    effect = to_deliver(batch_of([Publication("p", {"a": 1})]), [[("c", "s")]])
    nothing: ModuleType | None = None
    monkeypatch.setattr(KernelSet, "compiled", nothing)
    with pytest.raises(InvariantError):
        forwards(PublishMany("r1", 1, effect.batch))
    with pytest.raises(InvariantError):
        composed(effect)
