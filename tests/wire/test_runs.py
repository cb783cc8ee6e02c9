"""Runs: the messages of a connection are the same, found together or one by one."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.limits import (
    BODY_BYTES_AT_ONCE,
    FRAME_BYTES_FLOOR,
    FRAME_OVERHEAD_BYTES,
    RECORD_VALUES_MAX,
)
from sapwood.limits.timing import TTL_MS_MAX
from sapwood.matching.publication_batch import PublicationBatch
from sapwood.matching.readiness import RECORDS, KernelSet
from sapwood.model.envelope import Envelope
from sapwood.model.publication import Publication
from sapwood.routing.messages import OnTree, Publish, PublishMany
from sapwood.wire.codec import Decoder, append_message, greeting_frame
from sapwood.wire.frames import frame
from sapwood.wire.greetings import Greeting, Hello, Role
from sapwood.wire.messages import Message, Part, Ping, PublishRequest
from sapwood.wire.publications import decode_publication, encode_publication
from sapwood.wire.runs import FRAMES, RequestRun, Run, RunFinder
from sapwood.xml import Document
from tests.wire.strategies import (
    bodies,
    client_messages,
    cuts,
    link_messages,
    publications,
)

CLIENT = Hello(role=Role.CLIENT, name="c", session="s")
BROKER = Hello(role=Role.BROKER, name="b", session="s", frame_bytes_max=FRAME_BYTES_FLOOR)
Item = Greeting | Message | Run

points = st.lists(st.integers(0, 2000), max_size=6)


@pytest.fixture(scope="module", autouse=True)
def _kernels() -> None:
    FRAMES.load()
    RECORDS.load()


@cache
def odd_bodies() -> st.SearchStrategy[bytes]:
    """Bodies in the place of a publication: forms that nobody writes, bad ones, and noise."""
    packed = msgspec.msgpack.encode
    values = st.sampled_from(
        (
            *(packed(value) for value in (1, "x", None, True, 2.5, [1, {"k": [None]}], {"n": 1})),
            *(b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", b"\xcb\x7f\xf8\0\0\0\0\0\0"),
            *(b"\xca\x3f\x80\0\0", b"\xd9\x01a", b"\xa1\xff", b"\xc4\x01a", b"\xc1", b"\xd4\1\1"),
        )
    )
    names = st.sampled_from((packed("a"), packed("b.c"), b"\xd9\x01a", b"\xa1\xff", b"\x01"))
    pairs = st.lists(st.tuples(names, values).map(b"".join), max_size=3)
    maps = st.builds(lambda held: bytes((0x80 + len(held),)) + b"".join(held), pairs)
    ids = st.sampled_from((packed("p"), packed("größe"), packed(""), b"\xda\0\1p", b"\x01"))
    ends = st.sampled_from((b"\xc0", packed(b"<a/>"), packed(b"<a>"), b"\xc0\xc0", b""))
    whole = st.builds(lambda *parts: b"\x93" + b"".join(parts), ids, maps | st.just(b"\xc0"), ends)
    short = st.builds(lambda *parts: b"\x92" + b"".join(parts), ids, maps)
    changed = st.builds(_changed, bodies(), st.integers(0, 60), st.integers(0, 255))
    return whole | short | changed | st.binary(max_size=12)


@cache
def limited_bodies() -> st.SearchStrategy[bytes]:
    """Publications with envelopes: of a time to live alone mostly, and near misses of that."""
    span = f"00-{'1' * 32}-{'2' * 16}-01"
    times = st.sampled_from((1, 127, 128, 255, 256, 65_535, 65_536, 2**32, TTL_MS_MAX))
    envelopes = st.one_of(
        times.map(Envelope),
        times.map(Envelope),
        st.sampled_from((Envelope(), Envelope(None, span), Envelope(5, span, "a=1"))),
    )
    payloads = st.sampled_from((None, None, b"", b"\xc0\xc0\xc2\x93\x05\xc0\xc0"))
    whole = st.builds(
        lambda plain, envelope, payload: encode_publication(
            Publication(plain.id, plain.attributes, plain.document, payload, envelope=envelope)
        ),
        *(publications(), envelopes, payloads),
    )
    # Endings that look like a time to live, behind what may be no record that ends there.
    ends = st.sampled_from(
        (
            *(
                b"\xc0\xc0\xc2\x93\x05\xc0\xc0",
                b"\xc0\xc0\xc2\x92\x05\xc0",
                b"\xc0\xc0\xc2\x91\x05",
            ),
            *(
                b"\xc0\xc0\xc2\x93\x00\xc0\xc0",
                b"\xc0\xc0\xc3\x93\x05\xc0\xc0",
                b"\xc0\xc0\xc2\xc0",
            ),
            *(b"\xc0\xc0\xc2\x93\xcc\x05\xc0\xc0", b"\xc0\xc0\xc2\x93\xd0\x05\xc0\xc0"),
            *(
                b"\xc0\xc0\xc2\x93\xcf" + b"\xff" * 8 + b"\xc0\xc0",
                b"\xc0\xc4\1x\xc2\x93\x05\xc0\xc0",
            ),
            *(b"\xc0\xc0\xc2\x93\xce\xc0\xc0\xc2\x93\xc0\xc0", b"\xc0\xc0\xc2\x93\x05\xa1x\xc0"),
        )
    )
    records = st.sampled_from(
        (
            b"\x80",
            b"\x81\xa1n\1",
            b"\xc0",
            b"\x81\xa1n",
            b"\x81\xa1n\xc0\xc0\xc2\x93\x05",
            b"\x90",
            b"",
        )
    )
    made = st.builds(lambda record, end: b"\x96\xa1p" + record + end, records, ends)
    changed = st.builds(_changed, whole, st.integers(0, 60), st.integers(0, 255))
    return whole | whole | made | changed


def _changed(body: bytes, at: int, value: int) -> bytes:
    at %= len(body)
    return body[:at] + bytes((value,)) + body[at + 1 :]


@cache
def requests() -> st.SearchStrategy[bytes]:
    """Frames of a client: publications mostly, numbered without gaps, and other things between."""
    some = st.lists(bodies() | odd_bodies() | limited_bodies(), min_size=1, max_size=6)
    first = st.sampled_from((1, 127, 255, 65_535, 2**32 - 1))
    others = client_messages().map(_framed)
    numbered = st.builds(
        lambda first, some: b"".join(
            _framed(PublishRequest(number, body)) for number, body in enumerate(some, first)
        ),
        first,
        some,
    )
    return st.lists(numbered | others, max_size=4).map(b"".join)


@cache
def forwards() -> st.SearchStrategy[bytes]:
    """Frames of a neighbor: publications mostly, many with one envelope, on a tree or not."""
    names = st.sampled_from(("r1", "größe"))
    inner = st.tuples(names, st.sampled_from((1, 200, 1023)))
    trees = st.none() | st.tuples(names, st.sampled_from((0, 300)))
    digests = st.sampled_from((b"", b"", b"k7"))
    carried = st.tuples(bodies() | odd_bodies() | limited_bodies(), digests)
    said = st.builds(_said, trees, inner, st.lists(carried, min_size=1, max_size=5))
    return st.lists(said | link_messages().map(_framed) | odd_frames(), max_size=4).map(b"".join)


@cache
def odd_frames() -> st.SearchStrategy[bytes]:
    """Bodies that begin as messages with publications do."""
    heads = st.sampled_from((b"\x93\x0c", b"\x94\x22", b"\x95\x22", b"\x94\x2c"))
    return st.builds(lambda head, rest: frame(head + rest), heads, st.binary(max_size=20))


def _said(
    tree: tuple[str, int] | None, inner: tuple[str, int], carried: list[tuple[bytes, bytes]]
) -> bytes:
    packed = msgspec.msgpack.encode
    frames = []
    for body, digest in carried:
        message = [34, *inner, body, digest] if digest else [34, *inner, body]
        frames.append(frame(packed(message if tree is None else [44, *tree, message])))
    return b"".join(frames)


def _contents(batch: PublicationBatch, place: int) -> Document | None:
    return None if batch.documents is None else batch.documents[place]


def _is_bare(batch: PublicationBatch, place: int) -> bool:
    return batch.bare is not None and bool(batch.bare[place])


def _check_envelope(batch: PublicationBatch, place: int, envelope: Envelope | None) -> None:
    """A publication of a run has a time to live, at most, and the batch knows it."""
    ttl_ms = 0 if batch.ttls_ms is None else int(batch.ttls_ms[place])
    assert envelope is None or envelope == Envelope(envelope.ttl_ms)
    assert ttl_ms == (0 if envelope is None else envelope.ttl_ms or 0)
    rest = batch[place:].ttls_ms
    assert rest is None or rest[0] == ttl_ms


def _framed(message: Message) -> bytes:
    buffer = bytearray()
    append_message(buffer, message)
    return bytes(buffer)


def spelled(found: list[Item]) -> list[Any]:
    """The messages, those in runs as well."""
    return [
        message
        for item in found
        for message in (item.messages() if isinstance(item, RequestRun | PublishMany) else (item,))
    ]


def both(data: bytes, where: list[int]) -> tuple[list[Item], Decoder]:
    """The items of a stream, found with runs, after a comparison with those found without."""
    plain, finding = Decoder(None), Decoder(None, runs=RunFinder())
    one_by_one: list[Item] = []
    together: list[Item] = []
    for chunk in cuts(data, where):
        one_by_one += plain.feed(chunk)
        together += finding.feed(chunk)
        assert spelled(together) == one_by_one
        assert (type(finding.error), str(finding.error)) == (type(plain.error), str(plain.error))
    return together, finding


@given(requests(), points)
def test_a_client_says_the_same_in_runs_wherever_the_stream_is_cut(
    said: bytes, where: list[int]
) -> None:
    found, _ = both(greeting_frame(CLIENT) + said, where)
    for item in found:
        if isinstance(item, RequestRun):
            for place, publication in enumerate(item.batch):
                assert decode_publication(item.batch.body(place)) == publication
                assert item.batch.records[place] == publication.record
                assert _contents(item.batch, place) == publication.read_document()
                assert _is_bare(item.batch, place) == (publication.attributes is None)
                _check_envelope(item.batch, place, publication.envelope)


@given(forwards(), points)
@example(_said(("r1", 3), ("r2", 4), [(b"\x93\xa1p\x80\xc0", b"")] * 3), [])
def test_a_neighbor_says_the_same_in_runs_wherever_the_stream_is_cut(
    said: bytes, where: list[int]
) -> None:
    found, _ = both(greeting_frame(BROKER) + said, where)
    for item in found:
        if isinstance(item, PublishMany):
            assert isinstance(item.batch, PublicationBatch)
            for place, publication in enumerate(item.batch):
                _check_envelope(item.batch, place, publication.envelope)


def test_publications_with_times_to_live_are_one_run_and_traced_ones_stand_alone() -> None:
    times = (Envelope(1), Envelope(1000), None, Envelope(70_000), Envelope(TTL_MS_MAX))
    span = f"00-{'1' * 32}-{'2' * 16}-01"
    some = [
        Publication(f"p{number}", {"a": number}, envelope=envelope)
        for number, envelope in enumerate((*times, Envelope(5, span), Envelope(6)))
    ]
    some.append(Publication("d", None, b"<a/>", envelope=Envelope(7)))
    some.append(Publication("l", {"a": 1}, b"<a/>", b"x", envelope=Envelope(8)))
    said = b"".join(
        _framed(PublishRequest(number, encode_publication(one)))
        for number, one in enumerate(some, 1)
    )
    found, _ = both(greeting_frame(CLIENT) + said, [])
    kinds = [type(item) for item in found[1:]]
    assert kinds == [RequestRun, PublishRequest, RequestRun]
    runs = [item for item in found if isinstance(item, RequestRun)]
    assert [list(one.batch) for one in runs] == [some[:5], some[6:]]
    limits = [one.batch.ttls_ms for one in runs if one.batch.ttls_ms is not None]
    assert [one.tolist() for one in limits] == [[1, 1000, 0, 70_000, TTL_MS_MAX], [6, 7, 8]]


def test_what_is_plain_is_one_run_and_what_is_odd_stands_between_two() -> None:
    some = [Publication(f"p{number}", {"a": number}) for number in range(5)]
    encoded = [encode_publication(one) for one in some]
    encoded[2] = encode_publication(Publication("größe", {"a": 2}))
    encoded[4] = encode_publication(Publication("d", {"a": 4}, b"<d>"))
    said = b"".join(_framed(PublishRequest(n, body)) for n, body in enumerate(encoded, 7))
    found, _ = both(greeting_frame(CLIENT) + said, [])
    kinds = [type(item) for item in found[1:]]
    assert kinds == [RequestRun, PublishRequest, RequestRun, PublishRequest]
    assert isinstance(found[1], RequestRun)
    assert isinstance(found[3], RequestRun)
    assert (found[1].sequence, list(found[1].batch)) == (7, some[:2])
    assert (found[3].sequence, list(found[3].batch)) == (10, some[3:4])


def test_a_run_of_a_neighbor_has_one_envelope() -> None:
    p, q = Publication("p", {"a": 1}), Publication("q", {"b": 2})
    messages: list[Message] = [
        *(Publish("r1", 2, p), Publish("r1", 2, q, b"k"), Publish("r1", 3, p)),
        *(OnTree("s", 5, Publish("r1", 3, p)), OnTree("s", 5, Publish("r1", 3, q))),
    ]
    found, _ = both(greeting_frame(BROKER) + b"".join(map(_framed, messages)), [])
    runs = [item for item in found if isinstance(item, PublishMany)]
    assert [(run.origin, run.hops, run.tree, run.digests, list(run.batch)) for run in runs] == [
        ("r1", 2, None, (b"", b"k"), [p, q]),
        ("r1", 3, None, (), [p]),
        ("r1", 3, ("s", 5), (), [p, q]),
    ]


@pytest.mark.parametrize("extra", [0, 1])
def test_a_publication_at_the_bound_is_in_a_run_and_a_longer_one_is_not(extra: int) -> None:
    bound = min(FRAME_BYTES_FLOOR - FRAME_OVERHEAD_BYTES, BODY_BYTES_AT_ONCE, RECORD_VALUES_MAX)
    bare = len(encode_publication(Publication("p", {"a": ""})))
    body = encode_publication(Publication("p", {"a": "x" * (bound - bare - 2 + extra)}), 1 << 22)
    assert len(body) == bound + extra
    decoder = Decoder(None, FRAME_BYTES_FLOOR, RunFinder())
    decoder.feed(greeting_frame(CLIENT))
    [item] = decoder.feed(_framed(PublishRequest(1, body)))
    assert isinstance(item, RequestRun) is not bool(extra)


def test_between_the_parts_of_a_message_there_are_no_runs() -> None:
    body = _framed(Publish("r1", 2, Publication("p", {"a": 1})))[4:]
    said: list[Message] = [Part(body[:9], more=True), Ping(), Part(body[9:])]
    both(greeting_frame(BROKER) + b"".join(map(_framed, said)), [])
    both(greeting_frame(BROKER) + _framed(said[0]) + frame(body), [])


class Written:
    """A loader that writes down what it hears, and loads nothing."""

    def __init__(self) -> None:
        self.heard: dict[str, int] = {}

    def expected(self, kernels: KernelSet) -> None:
        """There is nothing to load before it pays."""

    def worked(self, kernels: KernelSet, work: int) -> None:
        self.heard[kernels.name] = self.heard.get(kernels.name, 0) + work


def test_a_loader_hears_of_publications_as_long_as_kernels_are_not_at_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(KernelSet, "compiled", None)
    loader = Written()
    decoder = Decoder(None, runs=RunFinder(loader))
    decoder.feed(greeting_frame(CLIENT))
    request = _framed(PublishRequest(1, encode_publication(Publication("p", {"a": 1}))))
    assert all(type(item) is PublishRequest for item in decoder.feed(request * 10_000))
    assert loader.heard == {"frames": 200_000, "records": 200_000}
    monkeypatch.undo()
    found = decoder.feed(request * 100)
    assert isinstance(found[-1], RequestRun)


@given(st.lists(publications(), max_size=4))
def test_documents_stand_in_runs_as_they_were_read(some: list[Publication]) -> None:
    said = b"".join(
        _framed(PublishRequest(number, encode_publication(one)))
        for number, one in enumerate(some, 1)
    )
    found, _ = both(greeting_frame(CLIENT) + said, [])
    for item in found:
        if isinstance(item, RequestRun):
            for place, one in enumerate(item.batch):
                assert _contents(item.batch, place) == one.read_document()


def test_an_array_that_ends_behind_the_record_is_left_to_be_refused() -> None:
    bodies = [b"\x93\xa1p\x80", b"\x92\xa1p\x80", b"\x93\xa1p\x80\xc4\4<a/>"]
    said = b"".join(_framed(PublishRequest(n, body)) for n, body in enumerate(bodies, 1))
    found, _ = both(greeting_frame(CLIENT) + said, [])
    assert [type(item) for item in found[1:]] == [PublishRequest, RequestRun]
    assert isinstance(found[2], RequestRun)
    assert [one.document for one in found[2].batch] == [None, b"<a/>"]


def test_a_document_is_read_once_and_its_publication_keeps_it() -> None:
    some = [Publication(f"p{number}", None, b"<a><b/></a>") for number in range(3)]
    said = b"".join(
        _framed(PublishRequest(number, encode_publication(one)))
        for number, one in enumerate(some, 1)
    )
    found, _ = both(greeting_frame(CLIENT) + said, [])
    run = found[1]
    assert isinstance(run, RequestRun)
    part = run.batch[1:]
    assert run.batch.documents is not None
    assert list(part) == some[1:]
    assert all(one.readable_document is run.batch.documents[at] for at, one in enumerate(part, 1))


def test_a_run_ends_with_the_document_that_makes_it_as_long_as_what_is_read_at_once() -> None:
    body = encode_publication(Publication("p", None, b"<a>" + b"x" * 20_000 + b"</a>"))
    assert 3 * len(body) < BODY_BYTES_AT_ONCE < 4 * len(body)
    said = b"".join(_framed(PublishRequest(number, body)) for number in range(1, 11))
    found, _ = both(greeting_frame(CLIENT) + said, [])
    assert [len(item.batch) for item in found if isinstance(item, RequestRun)] == [4, 4, 2]
