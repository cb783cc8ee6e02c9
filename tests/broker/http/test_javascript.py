"""The client in JavaScript, as Node runs it."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from sapwood.broker import http
from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import soon
from tests.broker.http.helpers import gated

__all__ = ("nothing_is_left",)

CLIENT = Path(http.__file__).with_name("sapwood.js")
CHECK = Path(__file__).with_name("client_check.mjs")


@cache
def node() -> tuple[str, ...]:
    """The command for a Node that knows WebSockets; nothing where there is none."""
    found = shutil.which("node")
    for command in ((found,), (found, "--experimental-websocket")) if found else ():
        asked = (*command, "-e", "process.exit(typeof WebSocket === 'function' ? 0 : 1)")
        if subprocess.run(asked, capture_output=True, check=False).returncode == 0:
            return command
    return ()


async def test_the_client_in_javascript_subscribes_publishes_and_goes_on(tmp_path: Path) -> None:
    if not node():
        pytest.skip("needs a Node with WebSockets (22, or 20 with its option)")
    async with gated(data=tmp_path) as gate:
        process = await asyncio.create_subprocess_exec(
            *node(),
            str(CHECK),
            str(CLIENT),
            gate.url,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, error = await soon(process.communicate())
        assert process.returncode == 0, error.decode()
        told = [json.loads(line) for line in out.splitlines()]
        numbers = [one["told"] for one in told if one["step"] == "number"]
        steps = {one["step"]: one["told"] for one in told}
        assert numbers == [1, 2]
        assert steps["published"] == "p1"
        assert (steps["subscribe"], steps["publish"]) == (422, 422)
        span = {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01", "tracestate": "a=1"}
        content = {"id": "q1", "attributes": {"symbol": "SAP", "price": 1}}
        assert steps["envelope"] == {**content, "ttl": 60.0, **span}
        assert (steps["seen"], steps["last"]) == ([1, 2, 3], [2, 3])
        assert steps["later"] == "p4"
        assert steps["prices"] == steps["unsubscribed"] == [11, 12, 13]
        assert steps["states"] == [True, False, True]
        assert steps["closed"] == "the client is closed"
        assert "user" in steps["ended"]


async def test_pages_get_the_client_from_the_gateway() -> None:
    async with gated() as gate:
        told = await gate.ask("GET", "/sapwood.js")
        assert (told.status, told.body) == (200, CLIENT.read_bytes())
        assert told.headers["content-type"].startswith("text/javascript")
