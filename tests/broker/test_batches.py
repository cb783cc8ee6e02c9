"""Publications in batches: every connection gets the bytes that it gets with one at a time.

Two overlays get the same pieces of the same streams, in the same order. One finds the publications
of a piece together, the other decodes them one by one.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import tempfile
import time
from dataclasses import asdict
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from sapwood.broker import turns
from sapwood.broker.expiry import Expiry
from sapwood.limits import TURN_S
from sapwood.matching.readiness import RECORDS
from sapwood.model.envelope import Envelope
from sapwood.model.publication import Publication
from sapwood.routing import sided_index
from sapwood.store.lines import read_lines
from sapwood.store.segments import segments
from sapwood.store.store import JOURNAL
from sapwood.wire.greetings import Hello, Role
from sapwood.wire.interests import XPathText
from sapwood.wire.messages import (
    AdvertiseRequest,
    Ping,
    PublishRequest,
    SubscribeRequest,
    UnadvertiseRequest,
    UnsubscribeRequest,
)
from sapwood.wire.publications import encode_publication
from sapwood.wire.runs import FRAMES, RunFinder
from tests.broker.helpers import Story
from tests.broker.memory import Overlay, frames, overlay
from tests.examples import examples

NAMES = ("r1", "r2", "r3")
TOKENS = [count()]
"""The tokens that brokers draw, in place of chance; begun afresh for each overlay."""

CLIENTS = {"a": "r1", "b": "r2", "c": "r3", "d": "r1"}
FILTERS = (
    *("n >= 0", "n < 3", "n >= 3 and s = 'x'", "s like '%y%'", "exists o.k", "n = 1 or n = 4"),
    *("b", "not b and n > 1", "n is null"),
    *map(XPathText, ("//e", "/d/e[@k='x']", "/d", "//d[e=1]")),
)
SPAN = f"00-{'1' * 32}-{'2' * 16}-01"
PROTOCOLS = ("covering", "flooding", "mesh+covering", "identity", "advertisement+covering")


@pytest.fixture(autouse=True)
def _the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are at hand, and nothing that brokers say depends on chance or on the clock."""
    FRAMES.load()
    RECORDS.load()
    monkeypatch.setattr(secrets, "token_hex", lambda _: f"t{next(TOKENS[0])}")
    monkeypatch.setattr(time, "time_ns", lambda: 1)
    monkeypatch.setattr(time, "thread_time", lambda: 0.0)  # no turn ever ends
    monkeypatch.setattr(turns, "PUBLICATIONS_AT_FIRST", 2)
    monkeypatch.setattr(sided_index, "KEYS_AT_ONCE", 5)


@cache
def bodies() -> st.SearchStrategy[bytes]:
    """Publications: most are as good as any, some odd, some are none."""
    records = st.fixed_dictionaries(
        {},
        optional={
            "n": st.integers(0, 5) | st.sampled_from((1.0, 2.5)),
            "s": st.sampled_from(("x", "yy", "größe", "")),
            "b": st.booleans(),
            "o": st.fixed_dictionaries({"k": st.integers(0, 2)}) | st.just([1, "x"]) | st.none(),
        },
    )
    ids = st.sampled_from(("p", "q", "r", "größe"))
    good = st.builds(lambda id_, record: encode_publication(Publication(id_, record)), ids, records)
    xml = st.sampled_from((b"<d><e/></d>", b"<d><e k='x'>1</e></d>", b"<f><d/></f>", b"<d/>\xc0"))
    documents = st.one_of(
        st.builds(
            lambda id_, record, text: encode_publication(Publication(id_, record, text)),
            *(ids, st.none() | records, xml),
        ),
        st.sampled_from(
            (
                *(b"\x93\xa1d\xc0\xc4\3<d>", b"\x93\xa1d\x80\xc4\0", b"\x93\xa1d\xc0\xc0"),
                *(b"\x93\xa1d\x81\xa1n\xc4\1x\xc4\4<d/>", b"\x93\xa1d\x90\xc4\4<d/>"),
                *(b"\x93\xa1d\x81\xa1n\1\xa4<d/>", b"\x94\xa1d\xc0\xc4\4<d/>\xc0"),
            )
        ),
    )
    payloads = st.sampled_from((b"", b"\xc0", b"<d", b"\xff\xd9\xcb\x7f\xf0", b"x" * 40))
    carrying = st.one_of(
        st.builds(
            lambda id_, record, text, payload: encode_publication(
                Publication(id_, record, text, payload)
            ),
            *(ids, records, st.none() | xml, payloads),
        ),
        st.builds(
            lambda id_, some: encode_publication(Publication(id_, payload=some)), ids, payloads
        ),
        st.builds(
            lambda id_, record, some: encode_publication(
                Publication(id_, record, payload=some, is_blind=True)
            ),
            *(ids, records, payloads),
        ),
        st.sampled_from((b"\x94\xa1p\x81\xa1n\1\xc0\xa1x", b"\x94\xa1p\x80\xc0\xc4\2x")),
    )
    limited = st.builds(
        lambda id_, record, text, payload, ttl_ms, span: encode_publication(
            Publication(id_, record, text, payload, envelope=Envelope(ttl_ms, span))
        ),
        *(ids, records, st.none() | st.none() | xml, st.none() | st.none() | payloads),
        *(st.sampled_from((1, 1000, 70_000, 10**12)), st.none() | st.none() | st.just(SPAN)),
    )
    bad = st.sampled_from(
        (
            *(b"\x93\xa1p\x81\xa1n\xcb\x7f\xf8\0\0\0\0\0\0\xc0", b"\x93\xa0\x80\xc0", b"\x90"),
            *(b"\x93\xa1p\x82\xa1n\1\xa1n\2\xc0", b"\x93\xa1p\x80", b"\x92\xa1p\xc0"),
            *(b"\x92\xa1p\x81\xa1n\1", b"\x93\xa1p\x81\xa1n\xca\x3f\x80\0\0\xc0"),
        )
    )
    return good | good | good | limited | limited | documents | documents | carrying | bad


class Streams:
    """The frames of each client, made step by step; publications are numbered without gaps."""

    def __init__(self) -> None:
        self.sequence = dict.fromkeys(CLIENTS, 0)

    def frames(self, client: str, act: tuple[str, Any]) -> bytes:
        match act:
            case ("publish", some):
                first = self.sequence[client] + 1
                self.sequence[client] += len(some)
                return frames(*(PublishRequest(n, body) for n, body in enumerate(some, first)))
            case ("again", back):
                number = max(1, self.sequence[client] - back)
                self.sequence[client] = max(self.sequence[client], number)
                body = encode_publication(Publication("p", {"n": 1}))
                return frames(PublishRequest(number, body))
            case ("subscribe", (id_, text)):
                return frames(SubscribeRequest(id_, text))
            case ("unsubscribe", id_):
                return frames(UnsubscribeRequest(id_))
            case ("advertise", (id_, text)):
                return frames(AdvertiseRequest(id_, text))
            case ("unadvertise", id_):
                return frames(UnadvertiseRequest(id_))
            case _:
                return frames(Ping())


@cache
def acts() -> st.SearchStrategy[tuple[str, Any]]:
    ids = st.sampled_from(("s1", "s2", "s10", "größe"))
    publish = st.tuples(st.just("publish"), st.lists(bodies(), min_size=1, max_size=12))
    return st.one_of(
        publish,
        publish,
        publish,
        st.tuples(st.just("subscribe"), st.tuples(ids, st.sampled_from(FILTERS))),
        st.tuples(st.just("subscribe"), st.tuples(ids, st.sampled_from(FILTERS))),
        st.tuples(st.just("unsubscribe"), ids),
        st.tuples(st.just("again"), st.integers(0, 3)),
        st.just(("ping", None)),
    )


@cache
def advertising() -> st.SearchStrategy[tuple[str, Any]]:
    """Acts with advertisements among them."""
    ids = st.sampled_from(("a1", "a2"))
    texts = st.sampled_from(("n >= 0", "s = 'x'", "exists o.k"))
    return st.one_of(
        acts(),
        acts(),
        st.tuples(st.just("advertise"), st.tuples(ids, texts)),
        st.tuples(st.just("unadvertise"), ids),
    )


@cache
def schedules(
    some: st.SearchStrategy[tuple[str, Any]],
) -> st.SearchStrategy[list[tuple[str, bytes]]]:
    """Pieces of streams, each with who says it: acts joined, and cut anywhere."""
    turns = st.lists(
        st.tuples(st.sampled_from(sorted(CLIENTS)), st.lists(some, min_size=1, max_size=4)),
        min_size=1,
        max_size=8,
    )
    return st.builds(_pieces, turns, st.lists(st.integers(1, 400), max_size=6))


def _pieces(
    turns: list[tuple[str, list[tuple[str, Any]]]], sizes: list[int]
) -> list[tuple[str, bytes]]:
    streams = Streams()
    pieces: list[tuple[str, bytes]] = []
    sizes = [*sizes, 1 << 20]
    for client, turn in turns:
        data = b"".join(streams.frames(client, act) for act in turn)
        while data:
            size = sizes[len(pieces) % len(sizes)]
            pieces.append((client, data[:size]))
            data = data[size:]
    return pieces


async def run(
    pieces: list[tuple[str, bytes]], runs: RunFinder | None, protocol: str, folder: Path | None
) -> tuple[dict[str, bytes], list[dict[str, Any]], list[dict[str, int]], list[Any]]:
    """The bytes sent to each client, the counters, the tables, and the journals' lines."""
    TOKENS[0] = count()
    story = Story()
    data = {name: folder and folder / name for name in NAMES}
    async with overlay(NAMES, runs, story, protocol=protocol, data=data) as made:
        for name, broker in CLIENTS.items():
            made.connect(name, broker, Hello(role=Role.CLIENT, name=name, session="s"))
        for name, piece in pieces:
            made.say(name, piece)
            await made.rest()
        _validate(made)
        counted = [asdict(broker.counters) for broker in made.brokers.values()]
        tables = [broker.router.table_sizes() for broker in made.brokers.values()]
        said = made.said()
    lines = [] if folder is None else [_lines(folder / name) for name in NAMES]
    return said, counted, tables, lines


def _validate(made: Overlay) -> None:
    for broker in made.brokers.values():
        assert not broker._failure.done(), broker._failure.exception()
        broker.router.validate()


def _lines(folder: Path) -> list[tuple[object, ...]]:
    """The entries of a journal, the times aside."""
    found = [line.text for one in segments(folder / JOURNAL) for line in read_lines(one, 0)]
    entries = [json.loads(line) for line in found]
    return [tuple((k, str(v)) for k, v in one.items() if k != "published_at") for one in entries]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=examples(12), phases=[Phase.explicit, Phase.generate])
@given(data=st.data())
@pytest.mark.one_in(3)
async def test_brokers_send_the_same_bytes_with_batches_and_without(
    protocol: str, data: st.DataObject
) -> None:
    acting = advertising() if "advertisement" in protocol or protocol == "covering" else acts()
    pieces = data.draw(schedules(acting))
    journal = data.draw(st.booleans())
    age_ns = data.draw(st.sampled_from((None, 2 * 10**9)))  # of all; nobody has a clock here
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Expiry, "_since_ns", lambda *_: age_ns)
        for runs in (None, RunFinder()):
            if journal:
                with tempfile.TemporaryDirectory() as folder:
                    found.append(await run(pieces, runs, protocol, Path(folder)))
            else:
                found.append(await run(pieces, runs, protocol, None))
    one_by_one, together = found
    assert together == one_by_one


async def test_between_the_parts_of_a_batch_with_many_matches_others_have_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = count()
    monkeypatch.setattr(time, "thread_time", lambda: next(clock) * TURN_S / 3)  # turns are short
    monkeypatch.setattr(turns, "PUBLICATIONS_AT_FIRST", 16)
    async with overlay(("r1",), RunFinder(), Story()) as made:
        for name in ("a", "b", "c"):
            made.connect(name, "r1", Hello(role=Role.CLIENT, name=name, session="s"))
        subscriptions = [SubscribeRequest(f"s{n}", f"n >= {-n}") for n in range(4)]
        for request in subscriptions:
            made.say("c", frames(request))
            await asyncio.sleep(0)
        made.settle()
        already = len(made.said()["c"])
        some = [encode_publication(Publication(f"p{n}", {"n": 1})) for n in range(8)]
        made.peers["a"].feed(frames(*(PublishRequest(n, body) for n, body in enumerate(some, 1))))
        made.peers["b"].feed(
            frames(PublishRequest(1, encode_publication(Publication("q", {"n": 1}))))
        )
        for _ in range(40):
            await asyncio.sleep(0)
        made.settle()
        heard = made.said()["c"][already:]
        _validate(made)
    places = [heard.index(b"\xa2p%d" % n) for n in range(8)]
    assert places == sorted(places)
    assert places[0] < heard.index(b"\xa1q") < places[-1]
