"""The console as a person meets it, in a real browser: `make console`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sapwood.client import connect
from sapwood.client.client import Client
from tests.broker.access.test_doorkeeper import identities
from tests.broker.access.test_grants import ALL, EU, WHO
from tests.broker.http.console.browser import MISSING, Browser, browser, is_there
from tests.broker.http.console.stage import Stage, forever, stage

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.network]

VIEWS = ("overlay", "clients", "subscriptions", "durable", "journal", "try", "explain")
AXE = Path(__file__).parents[4] / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
PICTURES = AXE.parents[3] / "console"

LIVE = "document.querySelector('#pulse.live') !== null"
ROW = "[...document.querySelectorAll('main tbody tr')].find(r => r.innerText.startsWith('{}'))"
ROWS = "document.querySelectorAll('main tbody tr').length"

HOSTILE = "<svg/onload=document.title='taken'>"


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    """The brokers of all these tests, and the browser, have sockets between two of them."""


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    if not is_there():
        pytest.skip(MISSING)
    with browser() as one:
        yield one


class Busy:
    """An overlay with clients, mailboxes and traffic."""

    def __init__(self, on: Stage) -> None:
        self.on = on
        self.clients: list[Client] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        hub = self.on.hub
        desk = await self._client(str(hub.broker.address), f"desk{HOSTILE}")
        for text in ("price > 10", "price > 20", "symbol = 'IBM' and price > 100"):
            await desk.subscribe(text)
        away = await self._client(str(hub.broker.address), "audit")
        await away.subscribe("price > 50", durable="alerts", max_count=1000)
        self.clients.remove(away)
        await away.close()
        for name, other in hub.others.items():
            far = await self._client(str(other.address), f"far-{name}")
            await far.subscribe("price > 30")
        feed = await self._client(str(hub.broker.address), "feed")

        async def publish() -> None:
            await feed.publish_many([{"symbol": "IBM", "price": n, "s": HOSTILE} for n in (5, 105)])

        self.tasks.append(asyncio.create_task(forever(publish, 0.1)))

    async def _client(self, address: str, name: str) -> Client:
        client = connect(address, name=name)
        await client.__aenter__()
        self.clients.append(client)
        return client

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for client in self.clients:
            await client.close()


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    data = tmp_path_factory.mktemp("console")
    with stage("r2", "r3", data=data, protocol="recover+covering") as on:
        traffic = Busy(on)
        on.do(traffic.begin())
        yield on
        on.do(traffic.end())


def see(window: Browser, on: Stage, view: str, **look: Any) -> None:
    """Open a view, and wait until it shows something."""
    window.look(**look)
    window.open("about:blank")
    window.open(f"{on.url}#{view}")
    window.until(LIVE)
    shows = {
        "overlay": "document.querySelectorAll('.node').length > 2",
        "try": "document.querySelector('main textarea')",
        "explain": "document.querySelector('main select option[value=hub]')",
    }
    window.until(shows.get(view, "document.querySelector('main tbody tr')"))


def violations(window: Browser) -> list[tuple[str, list[str]]]:
    """The rules of axe that the page breaks, and the elements that break them."""
    if not AXE.exists():
        pytest.skip("needs axe-core, which `make console` fetches by npm")
    window.tell("Runtime.evaluate", expression=AXE.read_text())
    found = window.run("return axe.run(document, {resultTypes: ['violations']})")
    return [
        (one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found["violations"]
    ]


# How it looks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_passes_axe_and_fits_by_day_by_night_and_on_a_phone(
    window: Browser, busy: Stage, view: str, dark: bool, width: int
) -> None:
    see(window, busy, view, dark=dark, width=width, height=900)
    if view == "try":
        window.type("main textarea", "price > and")
        window.until("document.querySelector('.place mark')")
    assert not violations(window)
    wide = window.run("return document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, "nobody scrolls sideways"
    PICTURES.mkdir(parents=True, exist_ok=True)
    window.picture(PICTURES / f"{view}-{width}{'-dark' if dark else ''}.png")
    assert not window.errors()


def test_axe_sees_what_is_planted(window: Browser, busy: Stage) -> None:
    see(window, busy, "clients")
    window.run(
        "const pale = document.createElement('p'), field = document.createElement('input');"
        "pale.textContent = 'nobody can read this'; pale.style.color = '#ddd';"
        "document.querySelector('main').append(pale, field)"
    )
    assert {name for name, _ in violations(window)} == {"color-contrast", "label"}


def test_all_of_it_is_small_and_comes_from_the_broker(window: Browser, busy: Stage) -> None:
    see(window, busy, "overlay")
    entries = window.run(
        "return performance.getEntriesByType('resource').map(e => [e.name, e.transferSize])"
    )
    assert all(name.startswith(busy.hub.url) for name, _ in entries)
    page = [size for name, size in entries if "/api/" not in name]
    assert len(page) > 8
    assert sum(page) < 200_000


def test_texts_of_others_are_texts(window: Browser, busy: Stage) -> None:
    see(window, busy, "clients")
    window.until(f"document.body.innerText.includes({json.dumps(HOSTILE)})")
    for view in ("journal", "subscriptions"):
        see(window, busy, view)
    assert window.run("return document.querySelectorAll('main [onload]').length") == 0
    assert "taken" not in window.run("return document.title")


# By keyboard -------------------------------------------------------------------------------------


def test_everything_is_reached_by_keyboard_and_seen_to_be(window: Browser, busy: Stage) -> None:
    see(window, busy, "overlay")
    seen: list[str] = []
    for _ in range(60):
        window.press("Tab")
        at = window.run(
            "const e = document.activeElement, s = getComputedStyle(e);"
            "const ring = e.matches('.node') ? getComputedStyle(e.querySelector('.reach')) : s;"
            "return [e.tagName + '.' + (e.textContent || '').trim().slice(0, 20), "
            "e.matches('.node') ? ring.stroke !== 'none' : s.outlineStyle !== 'none']"
        )
        if at[0].startswith("BODY") or (seen and at[0] == seen[0]):
            break
        assert at[1], f"{at[0]} has the focus, and nobody sees it"
        seen.append(at[0])
    assert seen[0].startswith("A.Skip to")
    assert [one for one in seen if one.startswith("A.Over")]
    assert len([one for one in seen if one.startswith("g.")]) == 3, "each broker"
    assert any(" of " in one for one in seen), "what a neighbor was told"


def test_keys_change_the_view_and_go_to_its_field(window: Browser, busy: Stage) -> None:
    see(window, busy, "overlay")
    for number, view in enumerate(VIEWS, 1):
        window.press(str(number))
        window.until(f"location.hash === '#{view}'")
        current = "document.querySelector('nav [aria-current]').hash"
        assert window.until(current) == f"#{view}"
    window.press("6")
    window.until("document.querySelector('main textarea')")
    window.press("/")
    assert window.run("return document.activeElement.tagName") == "TEXTAREA"
    window.press("1")
    assert window.run("return location.hash") == "#try", "keys are text in a field"


def test_a_broker_is_chosen_by_keyboard_and_its_links_are_shown(
    window: Browser, busy: Stage
) -> None:
    see(window, busy, "overlay")
    window.until(f"{ROWS} === 4")
    window.run("document.querySelector('.node[aria-label^=r3]').focus()")
    window.press("Enter")
    window.until(f"{ROWS} === 1")
    heading = window.run("return document.querySelector('main .heading h2').innerText")
    assert heading == "Links of r3"
    window.press("Space")
    window.until(f"{ROWS} === 4")


# What it does ------------------------------------------------------------------------------------


def test_the_overlay_shows_what_links_carry_and_what_covering_saved(
    window: Browser, busy: Stage
) -> None:
    see(window, busy, "overlay")
    edge = "document.querySelector('.edge').textContent"
    assert "publications a second" in window.until(f"/[0-9]\\/s/.test({edge}) && {edge}")
    assert "% saved" in window.run(f"return {ROW.format('hub')}.innerText")
    window.click("main tbody a")
    window.until("location.hash.startsWith('#subscriptions?to=r2')")
    window.until(ROW.format("price > 10"))
    assert window.run(f"return {ROWS}") == 1, "the others are covered"


def test_hits_are_counted_while_one_looks(window: Browser, busy: Stage) -> None:
    see(window, busy, "subscriptions")
    hits = f"{ROW.format('price > 20')}.querySelector('[data-name=Hits]').innerText"
    window.until(f"Number.parseInt({hits}) > 3")


def test_a_filter_is_read_while_it_is_written_and_matches_come(
    window: Browser, busy: Stage
) -> None:
    see(window, busy, "try")
    window.type("main textarea", "price >> 10")
    assert window.until("document.querySelector('.place mark')?.textContent") == ">"
    assert "At character 8" in window.run("return document.querySelector('.said').innerText")
    assert window.run("return document.querySelector('main .primary').disabled")
    window.type("main textarea", "price > 100")
    window.until("!document.querySelector('main .primary').disabled")
    window.click("main .primary")
    window.until("document.querySelectorAll('.matches li').length > 4")
    texts = window.run("return [...document.querySelectorAll('.matches li')].map(e => e.innerText)")
    assert all('"price":105' in text for text in texts)
    window.press("Tab", "Tab")
    window.run("location.hash = 'overlay'")
    window.until("document.querySelector('.node')")
    clients = [one for one in busy.hub.broker.connections.clients if one.startswith("http/")]
    while clients:  # the trial goes with the view
        clients = [one for one in busy.hub.broker.connections.clients if one.startswith("http/")]


def test_a_publication_is_followed_hop_by_hop(window: Browser, busy: Stage) -> None:
    see(window, busy, "explain")
    window.type("main textarea", "price > 30")
    window.type("main form > .field textarea", '{"price": 40}')
    window.until("document.querySelector('main select option[value=r3]')")
    window.click("main .primary")
    window.until("document.querySelectorAll('.explained article').length === 2")
    text = window.run("return document.querySelector('.explained').innerText")
    assert "hub to r2: sent because of" in text
    window.type("main form > .field textarea", '{"price": 4}')
    window.click("main .primary")
    window.until("document.querySelector('.verdict.bad')")
    window.type("main form > .field textarea", "{")
    window.click("main .primary")
    assert "not JSON" in window.until("document.querySelector('.notice:not([hidden])')?.innerText")


def test_who_looks_is_asked_for_a_token(window: Browser, tmp_path: Path) -> None:
    with stage(identities=identities(tmp_path, *WHO, EU, ALL)) as on:
        window.look()
        window.open(on.url)
        window.until("document.querySelector('dialog').open")
        window.type("dialog [name=token]", "ann")
        window.press("Enter")
        window.until("document.querySelector('dialog[open] #ask-why')?.innerText.includes('ann')")
        window.type("dialog [name=token]", "feed")
        window.press("Enter")
        window.until(LIVE)
        window.run("location.hash = 'clients'")
        window.until("document.querySelector('main .empty:not([hidden]), main tbody tr')")
        assert window.run("return localStorage.length + document.cookie.length") == 0
        window.run("sessionStorage.clear()")
        window.errors()


def test_a_broker_that_is_gone_is_said_to_be(window: Browser) -> None:
    with stage() as on:
        window.look()
        window.open(on.url)
        window.until(LIVE)
    window.until("document.querySelector('#pulse.lost')")
    window.errors()
