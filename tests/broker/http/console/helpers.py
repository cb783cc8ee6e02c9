"""Brokers in a line whose first one has a console, and questions to that."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import urlencode

from sapwood.broker.broker import Broker
from tests.broker.helpers import ANY_PORT, Story, running, settings, soon
from tests.broker.http.helpers import Answer, Gate, Web


class Shown(Gate):
    """A broker with a console, and others behind it by name."""

    announces = "console at "

    def __init__(self, broker: Broker, story: Story, others: Mapping[str, Broker]) -> None:
        super().__init__(broker, story)
        self.others = others

    async def get(self, what: str, token: str | None = None, /, **given: object) -> Answer:
        """The answer to a question under `/api`."""
        shown = {} if token is None else {"Authorization": f"Bearer {token}"}
        query = f"?{urlencode(given)}" if given else ""
        return await self.ask("GET", f"/api/{what}{query}", shown)

    async def told(self, what: str, /, **given: object) -> Any:
        """The answer to a question, which must succeed."""
        answer = await self.get(what, **given)
        assert answer.status == 200, answer.body
        return answer.json

    async def explained(self, **asked: object) -> Answer:
        return await self.ask("POST", "/api/explain", body=json.dumps(asked).encode())

    @asynccontextmanager
    async def stream(self, query: str, **headers: str) -> AsyncIterator[Web]:
        """A stream under `/api` that has begun."""
        async with self.events(f"/api/{query}", headers) as web:
            yield web


async def until(web: Web, name: str) -> Any:
    """The data of the next event of a name."""
    while True:
        event = await web.event()
        assert event, f"the stream has ended, and no {name} came"
        if event["event"] == name:
            return json.loads(event["data"])


@asynccontextmanager
async def shown(*others: str, **more: Any) -> AsyncIterator[Shown]:
    """A broker `hub` with a console on a free port; others, each of which dials the one before.

    What they keep is in folders of their own.
    """
    story = Story()
    async with AsyncExitStack() as stack:
        given = {"http": ANY_PORT, "console": True, **more}
        hub = await stack.enter_async_context(running(settings("hub", **given), story))
        brokers, last = {}, hub
        for name in others:
            alike: dict[str, Any] = {"protocol": more.get("protocol", "covering")}
            if "data" in more:
                alike["data"] = more["data"] / name
            other = await stack.enter_async_context(running(settings(name, last.address, **alike)))
            await soon(last.until_linked(name))
            await soon(other.until_linked(last.name))
            brokers[name] = last = other
        yield Shown(hub, story, brokers)
