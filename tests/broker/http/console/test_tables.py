"""Long tables by pages: every row once, whatever is looked for, and no page that costs much."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker.http.console import tables
from sapwood.broker.http.console.tables import Part, page
from sapwood.client import connect
from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import running, settings, soon
from tests.broker.http.console.helpers import shown, until

__all__ = ("nothing_is_left",)

pytestmark = pytest.mark.network


@given(
    st.lists(st.text("ab", max_size=3)),
    st.text("ab", max_size=2),
    st.integers(1, 5),
    st.integers(1, 7),
)
def test_pages_have_every_row_that_is_looked_for_once_and_in_order(
    texts: list[str], search: str, rows: int, looked_max: int
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "CONSOLE_LOOKED_MAX", looked_max)
        found: list[int] = []
        first: int | None = 0
        while first is not None:
            seen: list[int] = []

            def text(at: int, seen: list[int] = seen) -> tuple[str, ...]:
                seen.append(at)
                return (texts[at],)

            numbers, about = page(len(texts), range(len(texts)), Part(first, rows, search), text)
            assert len(numbers) <= rows
            assert len(seen) <= looked_max
            found += numbers
            assert about["next"] is None or about["next"] > first
            first = about["next"]
    assert found == [at for at, text in enumerate(texts) if search in text]


async def test_subscriptions_come_by_pages() -> None:
    async with shown() as hub, connect(str(hub.broker.address), name="desk") as desk:
        await desk.subscribe_many([f"a > {number}" for number in range(120)])
        first = await hub.told("subscriptions")
        assert (first["total"], len(first["rows"]), first["next"]) == (120, 50, 50)
        last = await hub.told("subscriptions", first=100)
        assert (len(last["rows"]), last["next"]) == (20, None)
        assert last["rows"][-1]["filter"] == "a > 119"
        assert len((await hub.told("subscriptions", rows=3))["rows"]) == 3
        one = await hub.told("subscriptions", search="s77")
        assert [row["filter"] for row in one["rows"]] == ["a > 76"]
        assert not (await hub.told("subscriptions", search="nobody"))["rows"]
        assert not (await hub.told("subscriptions", first=9999))["rows"]


@pytest.mark.parametrize("query", ["first=-1", "first=x", "rows=201", "rows=", f"first={10**30}"])
async def test_a_page_that_is_none_is_refused(query: str) -> None:
    async with shown() as hub:
        refused = await hub.get(f"clients?{query}")
        assert refused.status == 400
        assert query.partition("=")[0] in refused.json["error"]


async def test_what_a_neighbor_was_told_and_has_told_of() -> None:
    async with (
        shown("r2", protocol="covering") as hub,
        connect(str(hub.broker.address)) as near,
        connect(str(hub.others["r2"].address)) as far,
    ):
        for text in ("a > 1", "a > 2", "b = 1"):
            await near.subscribe(text)
        await far.subscribe("c = 1")
        told = await hub.told("subscriptions", to="r2")
        assert sorted(row["filter"] for row in told["rows"]) == ["a > 1", "b = 1"]
        assert not any(row["merger"] for row in told["rows"])
        heard = await hub.told("subscriptions", **{"from": "r2"})
        assert [row["filter"] for row in heard["rows"]] == ["c = 1"]
        for side in ("from", "to"):
            refused = await hub.get("subscriptions", **{side: "r9"})
            assert (refused.status, "r9" in refused.json["error"]) == (400, True)


@pytest.mark.parametrize(
    ("protocol", "told"), [("covering+merging", True), ("xroute", False), ("mesh+covering", None)]
)
async def test_protocols_tell_what_they_have(protocol: str, told: bool | None) -> None:
    async with shown(protocol=protocol) as hub, connect(str(hub.broker.address)) as client:
        await client.subscribe("a = 1")
        found = await hub.get("subscriptions")
        if told is None:
            assert (found.status, protocol in found.json["error"]) == (400, True)
        else:
            assert [row["filter"] for row in found.json["rows"]] == ["a = 1"]
        assert (await hub.told("clients"))["total"] == 1


async def test_mergers_and_counts_are_shown_as_such() -> None:
    merged = {"a between 1 and 3": True}
    counted = {"a between 1 and 2": False, "a between 2 and 3": False}
    for protocol, expected in (("covering+merging", merged), ("xroute", counted)):
        async with shown(protocol=protocol) as hub, connect(str(hub.broker.address)) as client:
            for number in (1, 2):
                await client.subscribe(f"a between {number} and {number + 1}")
            other = settings("r2", hub.broker.address, protocol=protocol)
            async with running(other):  # a link that comes up is told mergers at once
                await soon(hub.broker.until_linked("r2"))
                told = await hub.told("subscriptions", to="r2")
                assert {row["filter"]: row["merger"] for row in told["rows"]} == expected


async def test_clients_are_shown_with_what_they_do() -> None:
    async with (
        shown() as hub,
        connect(str(hub.broker.address), name="desk") as desk,
        connect(str(hub.broker.address), name="feed") as feed,
    ):
        stream = await desk.subscribe("a > 0")
        await feed.publish_many([{"a": 1}, {"a": 2}])
        for _ in range(2):
            await soon(anext(stream))
        rows = {row["name"]: row for row in (await hub.told("clients"))["rows"]}
        assert (rows["desk"]["subscriptions"], rows["desk"]["delivered"]) == (1, 2)
        assert (rows["feed"]["subscriptions"], rows["feed"]["published"]) == (0, 2)
        found = await hub.told("clients", search="fee")
        assert [row["name"] for row in found["rows"]] == ["feed"]


async def test_hits_are_counted_as_long_as_a_console_is_open() -> None:
    async with (
        shown() as hub,
        connect(str(hub.broker.address), name="desk") as desk,
    ):
        every, some = await desk.subscribe("a > 0"), await desk.subscribe("a > 2")

        async def published(*numbers: int) -> list[int | None]:
            await desk.publish_many([{"a": number} for number in numbers])
            await desk.publish({"a": 1})
            await desk.flush()
            return [row["hits"] for row in (await hub.told("subscriptions"))["rows"]]

        assert await published(1, 2, 3) == [None, None]
        async with hub.stream("live") as stream:
            await until(stream, "status")
            assert await published(3, 3) == [0, 0], "from the first look on"
            assert await published(1, 2, 3) == [4, 1]
        assert every is not some


async def test_mailboxes_and_the_journal_are_those_of_the_store(tmp_path: Path) -> None:
    async with shown(data=tmp_path, protocol="recover+covering") as hub:
        async with connect(str(hub.broker.address), name="desk") as desk:
            await desk.subscribe("a > 1", durable="alerts", max_count=10)
        async with connect(str(hub.broker.address), name="feed") as feed:
            await feed.publish_many([{"a": number} for number in range(120)])
            await feed.flush()
        (one,) = (await hub.told("durables"))["rows"]
        assert (one["name"], one["filter"], one["waiting"], one["dropped"]) == (
            *("alerts", "a > 1", 10, 108),
        )
        last = await hub.told("journal")
        assert (last["end"], len(last["rows"]), last["next"]) == (120, 50, 70)
        assert [row["place"] for row in last["rows"][:2]] == [119, 118]
        assert (last["rows"][0]["text"], last["rows"][0]["home"]) == ('{"a":119}', "hub")
        seen, before = [], None
        while True:
            given: dict[str, int] = {} if before is None else {"before": before}
            found = await hub.told("journal", rows=33, filter="a >= 20 and a < 90", **given)
            seen += [row["place"] for row in found["rows"]]
            before = found["next"]
            if before is None:
                break
        assert seen == list(range(89, 19, -1))
        refused = await hub.get("journal", filter="a >")
        assert refused.status == 400
        rows = (await hub.told("subscriptions"))["rows"]
        assert [(row["durable"], row["filter"]) for row in rows] == [("alerts", "a > 1")]


async def test_a_broker_that_keeps_nothing_says_so() -> None:
    async with shown() as hub:
        assert (await hub.told("durables")) == {"kept": False, "rows": [], "next": None}
        assert (await hub.told("journal")) == {"kept": False, "rows": [], "next": None}


async def test_long_publications_of_the_journal_are_cut_and_read_a_few_at_a_time(
    tmp_path: Path,
) -> None:
    async with shown(data=tmp_path) as hub, connect(str(hub.broker.address)) as feed:
        for number in range(12):
            await feed.publish({"a": number, "text": "x" * 60_000})
        await feed.flush()
        seen, before = [], 12
        while before is not None:
            found = await hub.told("journal", before=before)
            assert all(len(row["text"]) <= 400 for row in found["rows"])
            assert found["rows"]
            seen += [row["place"] for row in found["rows"]]
            before = found["next"]
        assert seen == list(range(11, -1, -1))
