"""The console: its answers are those of the commands, and go to those alone who may ask."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from sapwood.asking.status import StatusReader
from sapwood.broker.http.console import live, trial
from sapwood.broker.http.console.console import STATIC, TYPES
from sapwood.broker.status import addresses
from sapwood.client import connect
from sapwood.errors import InputError
from sapwood.wire.status import status_members
from tests.broker.access.test_doorkeeper import identities
from tests.broker.access.test_grants import ALL, EU, WHO
from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import running, settings, soon
from tests.broker.http.console.helpers import shown, until
from tests.broker.http.helpers import gated

__all__ = ("nothing_is_left",)

pytestmark = pytest.mark.network

PAGE_BYTES_MAX = 200_000


# The page ----------------------------------------------------------------------------------------


async def test_the_page_is_small_and_takes_nothing_from_elsewhere() -> None:
    files = [path for path in STATIC.iterdir() if path.suffix in TYPES]
    assert sum(path.stat().st_size for path in files) < PAGE_BYTES_MAX
    for path in files:
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, path
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", text), path
    async with shown() as hub:
        assert (await hub.ask("GET", "/")).headers["location"] == "/console/"
        page = await hub.ask("GET", "/console/")
        assert page.status == 200
        assert page.headers["content-type"].startswith("text/html")
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        named = set(re.findall(rb'(?:src|href)="([^"#]+)"', page.body))
        assert {name.decode() for name in named} <= {path.name for path in files}
        for path in files:
            found = await hub.ask("GET", f"/console/{path.name}")
            assert (found.status, found.body) == (200, path.read_bytes())
            assert found.headers["content-type"].startswith(TYPES[path.suffix])
            tag = {"If-None-Match": found.headers["etag"]}
            again = await hub.ask("GET", f"/console/{path.name}", tag)
            assert (again.status, again.body) == (304, b"")
        for other in ("else.js", "..%2Fconsole.py", "__init__.py"):
            assert (await hub.ask("GET", f"/console/{other}")).status == 404


async def test_there_is_no_console_where_nobody_asked_for_one() -> None:
    async with gated() as gate:
        for path in ("/", "/console/", "/api/status", "/api/live"):
            assert (await gate.ask("GET", path)).status == 404
    with pytest.raises(InputError, match="--console: say where with --http"):
        settings(console=True)


async def test_a_broker_with_a_console_has_no_gateway_by_that() -> None:
    async with shown() as hub:
        assert (await hub.post(b"{}", "application/json")).status == 404


# Who may ask -------------------------------------------------------------------------------------


async def test_only_who_may_read_the_brokers_state_is_answered(tmp_path: Path) -> None:
    given = identities(tmp_path, *WHO, EU, ALL)
    questions = ("status", "clients", "subscriptions", "durables", "journal", "live")
    tries = ("filter", "trial")
    async with shown(identities=given) as hub:
        for token in (None, "nobody", "ann"):
            for question in questions:
                assert (await hub.get(question, token)).status == 401
            for question in tries:
                assert (await hub.get(question, token, filter="a > 1")).status == 401
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            assert (await hub.ask("POST", "/api/explain", headers, b"{}")).status == 401
        refused = await hub.get("status")
        assert refused.headers["www-authenticate"].startswith("Bearer")
        assert (await hub.ask("GET", "/console/")).status == 200
        found = await hub.get("clients", "feed")
        assert (found.status, found.headers["cache-control"]) == (200, "no-store")


async def test_who_may_look_no_longer_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "CONSOLE_OVERLAY_S", 0.05)
    monkeypatch.setattr(live, "CONSOLE_STATUS_S", 0.05)
    given = identities(tmp_path, *WHO, EU, ALL)
    async with (
        shown(identities=given) as hub,
        hub.stream("live", Authorization="Bearer feed") as stream,
    ):
        await until(stream, "overlay")
        identities(tmp_path, *WHO, EU)
        hub.broker.reload()
        ended = await until(stream, "end")
        assert "feed" in ended["reason"]


async def test_pages_of_other_origins_are_not_answered() -> None:
    async with shown() as hub:
        for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
            assert (await hub.ask("GET", "/api/status", headers)).status == 403
            assert (await hub.ask("GET", "/api/live", headers)).status == 403
            assert (await hub.ask("POST", "/api/explain", headers, b"{}")).status == 403


# What is there -----------------------------------------------------------------------------------


async def test_the_state_is_that_which_the_command_says() -> None:
    async with shown("r2") as hub, connect(str(hub.broker.address)) as client:
        await client.subscribe("price > 10")
        await client.subscribe("price > 20")
        await client.publish({"price": 15})
        await client.flush()
        found = await hub.told("status")

        def asked() -> dict[str, object]:
            with StatusReader(str(hub.broker.address)) as reader:
                return status_members(reader.status())

        said = json.loads(json.dumps(await asyncio.to_thread(asked)))
        for members in (found, said):  # who asks is a client, and messages go to and fro
            members["clients"] = members["uptime_s"] = members["events"]["connections"] = 0
            for link in members["links"]:
                link["delay_min_s"] = link["delay_max_s"] = 0
        assert found == said
        (link,) = found["links"]
        assert (link["known"], link["told"], link["heard"]) == (2, 1, 0), "one covers the other"


async def test_the_overlay_comes_in_with_all_brokers_and_what_links_carried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live, "CONSOLE_OVERLAY_S", 0.05)
    monkeypatch.setattr(live, "CONSOLE_STATUS_S", 0.05)
    async with (
        shown("r2", "r3") as hub,
        connect(str(hub.others["r3"].address)) as desk,
        connect(str(hub.broker.address)) as feed,
    ):
        wanted = await desk.subscribe("a > 0")
        for number in range(3):
            await feed.publish({"a": number})
        await feed.flush()
        for _ in range(2):
            await soon(anext(wanted))
        async with hub.stream("live") as stream:
            own = await until(stream, "status")
            assert own["status"]["broker"] == "hub"
            assert [link["sent"] for link in own["status"]["links"]] == [2]
            found = await until(stream, "overlay")
            by_name = {one["name"]: one for one in found["brokers"]}
            assert set(by_name) == {"r2", "r3"}, "also those that nobody here has dialed"
            assert [link["came"] for link in by_name["r3"]["status"]["links"]] == [2]
            assert all(not one["why"] for one in by_name.values())
            address = by_name["r3"]["address"]
            await hub.others["r3"].stop()
            while "r3" in by_name and by_name["r3"]["status"] is not None:
                found = await until(stream, "overlay")
                by_name = {one["name"]: one for one in found["brokers"]}
            assert "r3" not in by_name or address in by_name["r3"]["why"]


async def test_a_console_is_open_so_many_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "CONSOLE_STREAMS_MAX", 1)
    async with shown() as hub:
        async with hub.stream("live") as stream:
            await until(stream, "status")
            assert hub.broker.effect_runner.hits is not None
            refused = await hub.get("live")
            assert (refused.status, refused.headers["retry-after"]) == (503, "5")
        while hub.broker.effect_runner.hits is not None:  # until the broker has noticed
            await asyncio.sleep(0.01)
        async with hub.stream("live") as stream:
            await until(stream, "status")


async def test_a_broker_that_stops_ends_what_is_open() -> None:
    async with shown() as hub, hub.stream("live") as stream, hub.stream("trial?filter=a") as other:
        await until(stream, "status")
        await until(other, "subscribed")
        await soon(hub.broker.stop())


# What is tried and explained ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "position", "reason"),
    [
        ({"filter": "price > and"}, 8, "expected a number"),
        ({"filter": "a = 1 or"}, 8, "expected"),
        ({"xpath": "//a["}, 4, ""),
        ({"filter": "a in ()"}, 6, ""),
    ],
)
async def test_a_filter_that_cannot_be_read_is_answered_with_the_place(
    given: dict[str, str], position: int, reason: str
) -> None:
    async with shown() as hub:
        found = await hub.told("filter", **given)
        assert (found["ok"], found["position"]) == (False, position)
        assert reason in found["error"]
        refused = await hub.get("trial", **given)
        assert refused.status == 400


async def test_a_filter_that_can_be_read_is_answered_with_what_it_means() -> None:
    async with shown() as hub:
        found = await hub.told("filter", filter="not price > 10 or a = 1 and a = 2")
        assert found == {"ok": True, "normal": "price <= 10", "conjunctions": 1, "never": None}
        found = await hub.told("filter", filter="a = 1 and a = 2")
        assert found["never"]
        assert (await hub.told("filter", xpath="//a/b"))["normal"] == "//a/b"
        for given in ({}, {"filter": "a", "xpath": "//a"}):
            assert (await hub.get("filter", **given)).status == 400


async def test_a_trial_shows_what_matches_wherever_it_is_published(tmp_path: Path) -> None:
    async with (
        shown("r2", data=tmp_path) as hub,
        connect(str(hub.others["r2"].address)) as client,
        hub.stream("trial?filter=price%20%3E%2010") as stream,
    ):
        assert await until(stream, "subscribed") == {"never": None}
        for price in (5, 15, 25):
            await client.publish({"price": price}, id=f"p{price}")
        seen: dict[str, str] = {}
        while len(seen) < 2:
            found = await until(stream, "matches")
            seen |= {one["id"]: one["text"] for one in found["newest"]}
        assert seen == {"p15": '{"price":15}', "p25": '{"price":25}'}
        assert found["count"] == 2


async def test_a_trial_has_the_grants_of_who_tries(tmp_path: Path) -> None:
    both = ALL.replace('subscribe = "true"', "subscribe = \"region = 'eu'\"")
    given = identities(tmp_path, *WHO, both)
    async with shown(identities=given) as hub:
        shown_as = {"Authorization": "Bearer feed"}
        address = str(hub.broker.address)
        async with (
            hub.stream("trial?filter=a%20%3E%200", **shown_as) as stream,
            connect(address, token="feed") as client,
        ):
            await until(stream, "subscribed")
            await client.publish({"a": 1, "region": "us"}, id="us")
            await client.publish({"a": 1, "region": "eu"}, id="eu")
            found = await until(stream, "matches")
            assert [one["id"] for one in found["newest"]] == ["eu"]
        refused = await hub.get("trial", "feed", filter="region = 'us'")
        assert refused.status == 400
        assert "may be subscribed to" in refused.json["error"]


async def test_a_trial_ends_when_it_has_matched_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "CONSOLE_TRIAL_MATCHES_MAX", 5)
    async with (
        shown() as hub,
        connect(str(hub.broker.address)) as client,
        hub.stream("trial?filter=exists%20a") as stream,
    ):
        await until(stream, "subscribed")
        await client.publish_many([{"a": number} for number in range(20)])
        ended = await until(stream, "end")
        assert "which is enough" in ended["reason"]
        assert await stream.event() == {}, "and the answer is at its end"


async def test_an_explanation_is_that_of_the_command_through_all_brokers() -> None:
    async with (
        shown("r2", "r3") as hub,
        connect(str(hub.others["r3"].address), name="desk") as desk,
    ):
        await desk.subscribe("price > 10")
        given = {"filter": "price > 10", "publication": '{"price": 15}'}
        found = (await hub.explained(**given)).json
        assert found["lines"] == [
            [
                "subscription s1 of client desk at r3: price > 10",
                "publication given from hub would come to it",
                "  holds: price > 10",
                "way: hub > r2 > r3",
                "  hub to r2: sent because of the subscription itself (price > 10)",
                "  r2 to r3: sent because of the subscription itself (price > 10)",
            ]
        ]
        (one,) = found["subscriptions"]
        assert [hop["goes"] for hop in one["ways"][0]["hops"]] == [True, True]
        cut = (await hub.explained(**{**given, "publication": '{"price": 5}'})).json
        assert "publication given from hub would not come to it" in cut["lines"][0]
        by_client = (await hub.explained(client="desk")).json
        assert by_client["subscriptions"][0]["ways"][0]["path"] == ["hub", "r2", "r3"]
        alone = (await hub.explained(**given, alone=True)).json
        assert (alone["match"]["matches"], alone["lines"][0][-1]) == (True, "  holds: price > 10")


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({}, "name what to look for"),
        ({"filter": "a >"}, "the filter: "),
        ({"filter": "a > 1"}, "no client of hub has such a subscription"),
        ({"filter": "a > 1", "publication": "{"}, "not JSON"),
        ({"xpath": "//a", "publication": "<a>"}, "document, line 1"),
        ({"filter": "a > 1", "alone": True}, "give a filter and a publication"),
        ({"else": 1}, "not understood"),
        ({"filter": 1}, "not understood"),
    ],
)
async def test_a_question_that_is_none_is_refused_with_the_reason(
    asked: dict[str, object], reason: str
) -> None:
    async with shown() as hub:
        refused = await hub.explained(**asked)
        assert refused.status == 400
        assert reason in refused.json["error"]


async def test_neighbors_tell_where_they_listen_and_not_where_others_do() -> None:
    async with running(settings("r1")) as r1, running(settings("r2", r1.address)) as r2:
        await soon(r1.until_linked("r2"))
        assert addresses(r1) == {"r2": str(r2.address)}
        link = r1.connections.links["r2"].link
        assert link is not None
        link.listens = "intranet.example:80"
        assert addresses(r1) == {"r2": "127.0.0.1:80"}, "the port is believed, and no host"
        link.listens = ""
        assert addresses(r1) == {}
        assert addresses(r2)["r1"] == str(r1.address)
