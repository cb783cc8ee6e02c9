"""Brokers that are asked why a publication comes to a subscription, or does not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import sapwood
from sapwood.asking.answers import Answers, Asked, ask_overlay, overlay_members, overlay_text
from sapwood.asking.explaining import Explainer
from sapwood.broker import explaining
from sapwood.broker.broker import Broker
from sapwood.client import connect
from sapwood.errors import ConnectionLostError, InputError, SapwoodError
from sapwood.language import parse_filter
from sapwood.limits import BODY_BYTES_AT_ONCE
from sapwood.limits.explaining import EXPLAINED_NAMED_MAX
from sapwood.model.publication import Publication
from sapwood.routing.explaining.accounts import Question
from sapwood.session.settings import ConnectionSettings, with_access
from sapwood.wire.explaining import Search
from tests.broker.access.test_grants import ALL, EU, hub
from tests.broker.helpers import line, running, settings, soon

pytestmark = pytest.mark.network


async def asked(
    brokers: Sequence[Broker],
    wanted: str | None = None,
    record: dict[str, Any] | None = None,
    *,
    client: str = "",
    durable: str = "",
    source: str | None = None,
    token: str | None = None,
    follow: bool = False,
) -> Answers:
    """The answers of brokers to a question; the first of them is the publisher's."""
    shown = with_access(ConnectionSettings(), token=token)
    interest = None if wanted is None else parse_filter(wanted)
    publication = None if record is None else Publication("p", record)
    question = Asked(interest, client, durable, publication, source)
    addresses = [str(broker.address) for broker in brokers]
    return await asyncio.to_thread(ask_overlay, addresses, question, shown, follow=follow)


def only(found: dict[str, Any]) -> dict[str, Any]:
    """The one subscription of an answer."""
    (one,) = found["subscriptions"]
    assert isinstance(one, dict)
    return one


async def test_a_publication_is_followed_through_brokers_to_where_it_ends() -> None:
    async with (
        line("r1", "r2", "r3") as brokers,
        connect(str(brokers["r3"].address), name="desk") as desk,
        connect(str(brokers["r2"].address), name="wide") as wide,
    ):
        await wide.subscribe("price > 1")
        await desk.subscribe("price > 10")
        each = [brokers[name] for name in ("r1", "r2", "r3")]
        came = overlay_text(await asked(each, "price > 10", {"price": 12}))
        key = next(iter(brokers["r2"].router.tables["subscription"].sent_to("r1"))).key
        assert came.splitlines()[1:] == [
            "publication p from r1 would come to it",
            "  holds: price > 10",
            "way: r1 > r2 > r3",
            f"  r1 to r2: sent because of {key} (price > 1), which covers it",
            "  r2 to r3: sent because of the subscription itself (price > 10)",
        ]
        assert came.startswith("subscription ")
        assert " of client desk at r3: price > 10\n" in came
        failed = overlay_text(await asked(each, "price > 10", {"price": 5}))
        assert failed.splitlines()[1:] == [
            "publication p from r1 would not come to it",
            "  fails: price > 10",
            "    price > 10: 5",
            "way: r1 > r2 > r3",
            f"  r1 to r2: sent because of {key} (price > 1), which covers it",
            "  r2 to r3: not sent: nothing that r3 has told r2 of accepts it",
        ]
        told = overlay_text(await asked(each, "price > 10"))
        assert told.splitlines()[1:] == [
            "way: r1 > r2 > r3",
            "  r3 has told r2 of the subscription itself (price > 10)",
            f"  r2 has told r1 of {key} (price > 1), which covers it",
        ]


async def test_what_is_explained_is_what_then_comes() -> None:
    async with line("r1", "r2", "r3") as brokers:
        each = list(brokers.values())
        clients = [connect(str(broker.address), name=f"c-{broker.name}") for broker in each]
        async with clients[0], clients[1], clients[2]:
            filters = ("a > 0", "a > 2", "a > 2 and b = 1", "b = 1")
            streams = {}
            for number, text in enumerate(filters):
                client = clients[(number + 1) % 3]
                streams[text] = await client.subscribe(text)
            records = ({"a": 1}, {"a": 3}, {"a": 3, "b": 1}, {"b": 1}, {"c": 1})
            for record in records:
                for text in filters:
                    found = overlay_members(await asked(each, text, record))
                    one = only(found)
                    (way,) = one["ways"]
                    matches = parse_filter(text).matches(record)
                    assert way["delivered"] == matches
            for number, record in enumerate(records):
                await clients[0].publish(record, id=f"p{number}")
            await clients[0].flush()
            for text, stream in streams.items():
                due = [n for n, one in enumerate(records) if parse_filter(text).matches(one)]
                got = [(await soon(anext(stream))).id for _ in due]
                assert got == [f"p{n}" for n in due]


async def test_counts_are_followed_by_their_filters() -> None:
    async with (
        line("r1", "r2", "r3", protocol="xroute") as brokers,
        connect(str(brokers["r3"].address)) as desk,
        connect(str(brokers["r2"].address)) as wide,
    ):
        await wide.subscribe("price > 1")
        await desk.subscribe("price > 10")
        each = [brokers[name] for name in ("r1", "r2", "r3")]
        told = overlay_members(await asked(each, "price > 10", {"price": 12}))
        one = only(told)
        (way,) = one["ways"]
        assert way["delivered"]
        assert [hop["told"][0]["how"] for hop in way["hops"]] == ["covered", "itself"]
        assert all(any(b["stands"] for b in hop["because"]) for hop in way["hops"])


async def test_brokers_that_others_have_dialed_are_found_where_that_is_asked_for() -> None:
    async with line("r1", "r2", "r3") as brokers, connect(str(brokers["r1"].address)) as client:
        await client.subscribe("a > 1")
        last = [brokers["r3"]]
        near = [brokers["r1"], brokers["r3"]]
        with pytest.raises(InputError, match="no client of r3 has such a subscription"):
            await asked(last, "a > 1")
        some = await asked(near, "a > 1", {"a": 2}, source="r3")
        assert "r2 did not answer" in overlay_text(some)
        found = await asked(last, "a > 1", {"a": 2}, follow=True)
        assert set(found.brokers) == {"r1", "r2", "r3"}
        assert "publication p from r3 would come to it\n" in overlay_text(found)
        with pytest.raises(InputError, match="nobody asked is broker r9"):
            await asked(near, "a > 1", {"a": 2}, source="r9")


async def test_a_grant_that_narrows_a_subscription_is_named(tmp_path: Path) -> None:
    async with hub(tmp_path, EU, ALL) as broker:
        address = str(broker.address)
        async with sapwood.connect(address, token="ann") as ann:
            await ann.subscribe("price > 0")
            found = await asked([broker], "price > 0", token="feed")
            assert "a grant has narrowed it: its client may see only region = 'eu'" in (
                overlay_text(found)
            )
            cut = {"price": 1, "region": "us"}
            found = await asked([broker], "price > 0", cut, token="feed")
            assert "  a grant cuts it: its client may see only region = 'eu'\n" in (
                overlay_text(found)
            )
            assert "would not come to it\n" in overlay_text(found)
            whole = {"price": 1, "region": "eu"}
            found = await asked([broker], "price > 0", whole, token="feed")
            assert "grant" not in overlay_text(found)
            assert "would come to it\n" in overlay_text(found)


async def test_only_who_operates_the_broker_is_answered_and_nothing_is_read_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    monkeypatch.setattr(explaining, "from_text", lambda text, **_: read.append(text))
    monkeypatch.setattr(explaining, "decode_publication", lambda _: read.append("publication"))
    async with hub(tmp_path, EU, ALL) as broker:
        for token in ("ann", "else"):
            for record in (None, {"a": 1}):
                with pytest.raises((ConnectionLostError, SapwoodError), match="may not read"):
                    await asked([broker], "secret = 1", record, token=token)
    assert not read


async def test_a_full_mailbox_is_said_to_be_so(tmp_path: Path) -> None:
    chosen = settings("hub", data=tmp_path, protocol="recover+covering")
    async with running(chosen) as broker:
        async with connect(str(broker.address)) as client:
            await client.subscribe("a > 0", durable="desk", max_count=2)
        async with connect(str(broker.address)) as client:
            for number in range(1, 4):
                await client.publish({"a": number})
            await client.flush()
        found = await asked([broker], None, {"a": 4}, durable="desk")
        text = overlay_text(found)
        assert text.startswith("subscription of durable desk at hub: a > 0\n")
        assert "  nobody consumes it\n" in text
        assert "  in its mailbox are 2 of 2 publications, " in text
        assert ", and it is full: the oldest makes room for the next\n" in text
        assert "  its bounds have let go 1 publication so far\n" in text
        one = only(overlay_members(found))
        assert one["mailbox"]["full"]
        assert one["mailbox"]["waiting"] == 2


async def test_searches_and_what_they_name_have_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "EXPLAINED_SEARCHED_MAX", 20)
    async with running(settings()) as broker, connect(str(broker.address), name="me") as client:
        await client.subscribe_many([f"a > {n}" for n in range(30)])
        first = await asked([broker], "a > 3")
        assert len(first.each) == 1
        assert not first.is_all
        assert "there may be more such subscriptions" in overlay_text(first)
        many = await asked([broker], client="me")
        assert (len(many.each), many.is_all) == (EXPLAINED_NAMED_MAX, False)


async def test_questions_that_take_too_long_are_refused() -> None:
    async with running(settings()) as broker, connect(str(broker.address)) as client:
        await client.subscribe("a > 0")
        long = Publication("p", {"a": "x" * (BODY_BYTES_AT_ONCE + 1)})

        def ask(question: Question | Search) -> None:
            with Explainer(str(broker.address)) as explainer:
                if isinstance(question, Search):
                    explainer.search(question)
                else:
                    explainer.ask(question)

        with pytest.raises(InputError, match="BODY_BYTES_AT_ONCE"):
            await asyncio.to_thread(ask, Question("r1", publication=long, toward="r2"))
        hostile = " and ".join(f"(a{n} = 1 or b{n} = 1)" for n in range(30))
        with pytest.raises(InputError, match="limit"):
            await asyncio.to_thread(ask, Search(hostile))
        with pytest.raises(InputError, match="broker r1: "):
            await asyncio.to_thread(ask, Search("a ="))


async def test_a_protocol_without_hops_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(settings()) as broker, connect(str(broker.address)) as client:
        await client.subscribe("a > 0")
        monkeypatch.setattr(explaining, "ways", lambda *_: 0)
        with pytest.raises(InputError, match="nothing to explain hop by hop"):
            await asked([broker], "a > 0")
