"""The client in JavaScript in a real browser: `make console`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.broker.http.console.browser import MISSING, Browser, browser, is_there
from tests.broker.http.helpers import gated

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.network]

SCRIPT = """
const { connect, SapwoodError } = await import("/sapwood.js");
const states = [], prices = [];
const client = connect(location.origin.replace("http", "ws") + "/socket",
                       { onstate: (one) => states.push(one) });
const until = async (condition) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
};
const take = (one) => prices.push(one.publication.attributes.price);
const dear = await client.subscribe({ filter: { price: [{ numeric: [">", 10] }] }, dialect: "sns" },
                                    take);
const id = await client.publish({ id: "p1", attributes: { price: 11 } });
await client.publish({ attributes: { price: 9 } });
await until(() => prices.length === 1);
client._socket.close();
await until(() => states.length >= 3);
await client.publish({ attributes: { price: 12 } });
await until(() => prices.length === 2);
const error = await client.subscribe({ filter: "price >" }, () => {}).catch((one) => one);
await dear.unsubscribe();
client.close();
return { id, prices, states, refused: error instanceof SapwoodError && error.status };
"""


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    """The browser has sockets until it is closed."""


async def test_pages_subscribe_publish_and_go_on(tmp_path: Path) -> None:
    if not is_there():
        pytest.skip(MISSING)
    async with gated(data=tmp_path) as gate:

        def look() -> object:
            with browser() as window:
                return _told(window, gate.url)

        found = await asyncio.to_thread(look)
    assert found == {
        "id": "p1",
        "prices": [11, 12],
        "states": [True, False, True, False],
        "refused": 422,
    }


def _told(window: Browser, url: str) -> object:
    window.open(f"{url}/healthz")
    window.until("location.pathname === '/healthz'")
    return window.run(f"return (async () => {{{SCRIPT}}})()")
