"""Frames that are composed together are, byte for byte, those that are encoded one by one."""

from __future__ import annotations

from collections import defaultdict
from types import ModuleType

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.limits import FRAME_BYTES_MAX
from sapwood.matching.publication_batch import PublicationBatch
from sapwood.matching.readiness import KernelSet
from sapwood.model.filter import NOTHING
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.client_rows import ClientRows
from sapwood.routing.digests import DigestBatch
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
from tests.examples import examples

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
    same = [("c", f"a-long-beginning-that-is-the-same-{number}") for number in numbers]
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


def composed_within(effect: DeliverMany, body_max: int, bytes_max: int) -> dict[str, bytes]:
    piece = Composer().deliveries(effect, 0, body_max, bytes_max)
    assert piece is not None
    assert piece.end == len(effect.keys)
    return {client: bytes(frames) for client, frames, _ in piece.by_client()}


def test_ids_that_are_too_many_for_a_frame_are_told_in_several() -> None:
    ids = [("c", f"{number:0300}") for number in range(40)]
    batch = batch_of([Publication("p", {"a": 1}), Publication("q", {"a": 1})])
    effect = to_deliver(batch, [[("c", "s"), ("d", "s")], [*ids, ("d", "t")]])
    longest = bytearray()
    append_message(longest, Delivery(tuple(sorted(id_ for _, id_ in ids)), batch.body(1)))
    for body_max in (len(longest) - 4, len(longest) - 5, 4096, 610, 300):
        expected = one_by_one(effect, body_max)
        assert composed_within(effect, body_max, FRAME_BYTES_MAX) == expected
        assert composed_within(effect, body_max, 7000) == expected


def test_what_is_much_is_composed_for_those_who_take_it() -> None:
    some = [(client, f"{number:0300}") for number in range(40) for client in "cde"]
    effect = to_deliver(batch_of([Publication("p", {"a": 1})]), [some])
    expected = one_by_one(effect)
    asked = dict[str, int]()

    def takes(client: str, size: int) -> bool:
        asked[client] = size
        return client != "d"

    piece = Composer().deliveries(effect, 0, FRAME_BYTES_MAX, 1000)
    assert piece is not None
    found = {client: bytes(frames) for client, frames, _ in piece.by_client(takes)}
    assert found == {client: expected[client] for client in "ce"}
    assert asked == {client: len(frames) for client, frames in expected.items()}


def test_nothing_is_composed_for_a_client_that_has_gone() -> None:
    found = [[("c", "s"), ("d", "s")], [("d", "t")]]
    effect = to_deliver(batch_of([Publication(p, {"a": 1}) for p in "pq"]), found)
    effect.rows.disown("d")
    assert composed(effect) == one_by_one(effect)
    assert set(composed(effect)) == {"c"}


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 70), st.text("\0ab", max_size=2)),
        min_size=130,
        max_size=300,
        unique=True,
    )
)
@settings(max_examples=examples(20))
def test_ids_that_begin_alike_are_sorted_as_texts(parts: list[tuple[int, int, str]]) -> None:
    """Many share their first words, some all of them, and some are the beginning of others."""
    ids = dict.fromkeys("xyz\0"[kind] + "p" * size + end for kind, size, end in parts)
    effect = to_deliver(batch_of([Publication("p", {"a": 1})]), [[("c", one) for one in ids]])
    assert composed(effect) == one_by_one(effect)


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
    st.none() | st.lists(st.binary(max_size=300), min_size=1),
)
@example([], "r1", 1, None, None)
@example([Publication("p", {"a": 1})] * 2, "r1", 1, ("r2", 7), [b"", bytes(65_536)])
def test_forwards_are_the_messages_that_are_encoded_one_by_one(
    some: list[Publication],
    origin: str,
    hops: int,
    tree: tuple[str, int] | None,
    drawn: list[bytes] | None,
) -> None:
    digests = [] if drawn is None else [drawn[at % len(drawn)] for at in range(len(some))]
    for said in (digests, DigestBatch.of(digests[::-1])[::-1]):
        many = PublishMany(origin, hops, batch_of(some), said, tree)
        frames = forwards(many)
        assert frames is not None
        assert bytes(frames) == b"".join(encoded(many))


def test_what_is_no_batch_of_bytes_is_left_to_be_encoded_one_by_one() -> None:
    some = [Publication("p", {"a": 1})]
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
