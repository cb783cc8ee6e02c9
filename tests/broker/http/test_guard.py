"""The gateway's guard: browsers come from allowed origins, to names of the broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.errors import InputError
from tests.broker.access.test_doorkeeper import FEED, identities
from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import ANY_PORT, settings
from tests.broker.http.helpers import JSON, gated

__all__ = ("nothing_is_left",)

DESK = "https://desk.example.org"


@pytest.mark.parametrize(
    ("origin", "host", "status"),
    [
        (None, "127.0.0.1:80", 200),
        (None, "[::1]:80", 200),
        (None, "LocalHost", 200),
        (None, "desk.example.org", 200),
        (None, "evil.example", 403),
        (None, "", 403),
        (None, "[", 403),
        (DESK, "127.0.0.1", 200),
        ("http://127.0.0.1", "127.0.0.1", 200),
        ("http://127.0.0.1:81", "127.0.0.1", 403),
        ("https://127.0.0.1", "127.0.0.1", 403),
        ("http://evil.example", "evil.example", 403),
        ("null", "127.0.0.1", 403),
        (DESK + ".evil.example", "127.0.0.1", 403),
    ],
)
async def test_pages_come_from_allowed_origins_to_names_of_the_broker(
    origin: str | None, host: str, status: int
) -> None:
    async with gated(http_origins=(DESK,)) as gate:
        shown = {"Host": host} | ({} if origin is None else {"Origin": origin})
        told = await gate.post(b"{}", JSON, **shown)
        assert told.status == status
        allowed = origin if status == 200 else None
        assert told.headers.get("access-control-allow-origin") == allowed
        assert gate.broker.counters.publications == (status == 200)


async def test_a_browser_that_asks_first_is_told() -> None:
    async with gated(http_origins=(DESK,)) as gate:
        asked = {"Origin": DESK, "Access-Control-Request-Method": "POST"}
        told = await gate.ask("OPTIONS", "/publish", asked)
        assert told.status == 204
        assert told.headers["access-control-allow-origin"] == DESK
        assert "Authorization" in told.headers["access-control-allow-headers"]
        told = await gate.ask("OPTIONS", "/publish", asked | {"Origin": "https://else.example"})
        assert told.status == 403
        assert (await gate.ask("OPTIONS", "/subscribe")).status == 204


async def test_names_are_not_looked_at_where_everybody_says_who_it_is(tmp_path: Path) -> None:
    async with gated(identities=identities(tmp_path, FEED)) as gate:
        shown = {"Host": "hub.example.org", "Authorization": "Bearer a token"}
        assert (await gate.post(b"{}", JSON, **shown)).status == 200
        shown["Origin"] = "http://else.example"
        assert (await gate.post(b"{}", JSON, **shown)).status == 403


async def test_there_is_no_gateway_unless_it_is_asked_for() -> None:
    async with gated(http_origins=(DESK,)) as gate:
        assert (await gate.ask("GET", "/healthz", {"Host": "evil.example"})).status == 200
    with pytest.raises(InputError, match="--gateway: say where with --http"):
        settings(gateway=True)
    with pytest.raises(InputError, match="--http-origin: say where with --http"):
        settings(http_origins=(DESK,))
    for origin in ("desk.example.org", "https://desk.example.org/", "https://Desk", "*"):
        with pytest.raises(InputError, match="an origin is"):
            settings(http=ANY_PORT, gateway=True, http_origins=(origin,))
    with pytest.raises(InputError, match="--http-streams-max"):
        settings(http_streams_max=0)
