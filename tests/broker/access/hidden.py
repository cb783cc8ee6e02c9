"""Two runs of an overlay that differ only in what one client may not see, and what it receives.

A *world* is one of the two runs. Steps that are visible are done in both, and of a secret step each
world does its own part. Everything that the observer receives is kept, by stream: the order between
an answer and a delivery is a matter of time, that within a stream is not.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from sapwood.broker.access.identities import token_digest
from sapwood.model.publication import Publication
from sapwood.wire.durable import (
    SEALED_FIRST,
    AcknowledgeRequest,
    DurableDeliveries,
    DurableReply,
    DurableRequest,
    DurablesAction,
    DurablesReply,
    DurablesRequest,
    DurableState,
    Since,
)
from sapwood.wire.explaining import ExplainRequest, Search
from sapwood.wire.greetings import Credentials
from sapwood.wire.messages import (
    AcceptedReply,
    CheckRequest,
    Delivery,
    FiltersRequest,
    PublicationRefused,
    PublishRequest,
    ReplayRequest,
    SubscribedReply,
    SubscribeRequest,
    SubscriptionRefused,
    UnsubscribedReply,
    UnsubscribeRequest,
)
from sapwood.wire.publications import encode_publication
from sapwood.wire.status import StatusRequest
from tests.broker.helpers import ANY_PORT, Raw, Story, running, settings, soon
from tests.broker.http.helpers import Gate, Web

Record: TypeAlias = dict[str, Any]

GRANTS: Final = """
[[grant]]
to = ["ann"]
subscribe = "region = 'eu'"
subscribe_xpath = ["//order"]
publish = "region = 'eu'"
durable = ["ann-*"]
[[grant]]
to = ["feed"]
subscribe = "true"
subscribe_xpath = ["//*"]
publish = "true"
publish_xpath = ["//*"]
durable = ["*"]
operate = true
"""
SITES: Final = ("near", "far")
"""The places at which clients publish or subscribe; the observer is at the first of them."""

QUESTIONS: Final = (
    StatusRequest(),
    CheckRequest(),
    FiltersRequest(),
    ReplayRequest(0, 100),
    ExplainRequest(search=Search(filter="price > 0", covers=True)),
    ExplainRequest(search=Search(client="feed/far")),
)
PAGES: Final = ("/metrics", "/healthz", "/readyz", "/api/status", "/api/clients", "/api/journal")
END: Final = 10_000
"""The price of what ends a run: every filter that the observer may have accepts it."""


# Steps -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Publish:
    """Somebody who may everything publishes a record, or a document, at a site."""

    site: str
    id: str
    record: Record | None
    document: bytes | None = None


@dataclass(frozen=True)
class Subscribe:
    """Somebody else subscribes at a site, under an id, or durably under a name."""

    site: str
    id: str
    filter: str
    durable: str = ""
    is_change: bool = False


@dataclass(frozen=True)
class Unsubscribe:
    """Somebody else withdraws a subscription, if it is there."""

    site: str
    id: str


@dataclass(frozen=True)
class Watch:
    """The observer subscribes, from a place in the journal on where there is a `since`."""

    id: str
    filter: str
    durable: str = ""
    since: Since | None = None
    last_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Say:
    """The observer publishes a record."""

    id: str
    record: Record


@dataclass(frozen=True)
class Ask:
    """The observer asks about durable subscriptions, or what it may not, or by HTTP."""

    what: DurablesRequest | int | str


@dataclass(frozen=True)
class Secret:
    """The steps in which the two worlds differ."""

    one: Sequence[Publish | Subscribe | Unsubscribe]
    other: Sequence[Publish | Subscribe | Unsubscribe]


Step: TypeAlias = Publish | Subscribe | Unsubscribe | Watch | Say | Ask | Secret


# A run -------------------------------------------------------------------------------------------


@dataclass
class Other:
    """A client that may everything, and waits for the answer to all that it says."""

    raw: Raw
    sent: int = 0
    names: set[str] = field(default_factory=set)

    async def do(self, step: Publish | Subscribe | Unsubscribe) -> None:
        """Do a step; when this returns the overlay has it."""
        if isinstance(step, Publish):
            self.sent += 1
            body = encode_publication(Publication(step.id, step.record, step.document))
            self.raw.say(PublishRequest(self.sent, body))
            while True:
                found = await self.raw.next()
                if isinstance(found, AcceptedReply) and found.through >= self.sent:
                    return
        elif isinstance(step, Subscribe) and step.id not in self.names:
            self.names.add(step.id)
            if step.durable:
                asked = DurableRequest(step.id, step.durable, step.filter, window=1)
                self.raw.say(msgspec.structs.replace(asked, is_change=step.is_change))
            else:
                self.raw.say(SubscribeRequest(step.id, step.filter))
            await self._until(step.id, SubscribedReply, DurableReply)
        elif isinstance(step, Unsubscribe) and step.id in self.names:
            self.names.discard(step.id)
            self.raw.say(UnsubscribeRequest(step.id))
            await self._until(step.id, UnsubscribedReply)

    async def _until(self, id_: str, *kinds: type[Any]) -> None:
        while True:
            found = await self.raw.next()
            if getattr(found, "id", None) == id_ and not isinstance(found, DurableDeliveries):
                if isinstance(found, SubscriptionRefused):  # the name has another filter
                    self.names.discard(id_)
                    return
                assert isinstance(found, kinds), found
                return


class Observer:
    """The client that may see little, and all that it has received, by stream."""

    def __init__(self, raw: Raw, gate: Gate, stream: Web) -> None:
        self._raw = raw
        self._gate = gate
        self._stream = stream
        self._address = gate.broker.address
        self.seen: dict[str, list[Any]] = defaultdict(list)
        self._sent = 0
        self._probes = 0
        #: what has come last to the subscription that gets everything
        self._last = ""
        #: its subscriptions: whether what ends a run has come
        self._ended: dict[str, bool] = {}

    async def watch(self, step: Watch) -> None:
        """Subscribe, and wait for the answer."""
        if step.id in self._ended:
            self._raw.say(UnsubscribeRequest(step.id))
            await self._answered(step.id)
        if step.durable or step.since is not None:
            asked = DurableRequest(
                step.id, step.durable, step.filter, step.since, window=1000, last_by=step.last_by
            )
            self._raw.say(asked)
        else:
            self._raw.say(SubscribeRequest(step.id, step.filter))
        answer = await self._answered(step.id)
        self._ended.pop(step.id, None)
        if not isinstance(answer, SubscriptionRefused):
            self._ended[step.id] = False

    async def publish(self, step: Say) -> None:
        """Publish a record, and wait for the answer."""
        self._sent += 1
        body = encode_publication(Publication(step.id, step.record))
        self._raw.say(PublishRequest(self._sent, body))
        while True:
            found = await self._next()
            if isinstance(found, AcceptedReply) and found.through >= self._sent:
                return

    async def ask(self, what: DurablesRequest | int | str) -> None:
        """Ask, and keep the answer; what one may not ask ends the connection it was asked on."""
        if isinstance(what, DurablesRequest):
            self._raw.say(what)
            while not isinstance(await self._next(), DurablesReply):
                pass
        elif isinstance(what, str):
            shown = {"Authorization": "Bearer ann"}
            answer = await self._gate.ask("GET", what, shown)
            body = b"" if answer.status == 200 and what == "/metrics" else answer.body
            self.seen[f"page {what}"].append((answer.status, body))
        else:
            self._probes += 1
            who = Credentials("", "ann")
            raw = await Raw.client(self._address, f"probe{self._probes}", credentials=who)
            raw.say(QUESTIONS[what])
            self.seen[f"question {what}"].append(await raw.next())
            await raw.close()

    async def until(self, id_: str) -> None:
        """Wait until a publication has come."""
        while self._last != id_:
            await self._next()

    async def end(self) -> None:
        """Wait until what ends the run has come to every subscription, and by HTTP."""
        while not all(self._ended.values()):
            await self._next()
        while True:
            event = await self._stream.event()
            mark = event.pop("id").rpartition("/")[2]
            assert int(mark) >= SEALED_FIRST, "a place was told as it is"
            self.seen["stream"].append(event)
            if msgspec.json.decode(event["data"])["attributes"]["price"] == END:
                return

    async def _answered(self, id_: str) -> Any:
        while True:
            found = await self._next()
            if getattr(found, "id", None) == id_ and not isinstance(found, DurableDeliveries):
                return found

    async def _next(self) -> Any:
        """The next message; it is kept."""
        found = await self._raw.next()
        if isinstance(found, Delivery):
            self._delivered(found.subscriptions, found.publication)
            for id_ in found.subscriptions:
                self.seen[f"deliveries {id_}"].append(found.publication)
        elif isinstance(found, DurableDeliveries):
            columns = (found.numbers, found.attempts, found.publications, found.places)
            for number, attempt, publication, place in zip(*columns, strict=True):
                self.seen[f"deliveries {found.id}"].append((number, attempt, publication))
                assert place >= SEALED_FIRST, "a place was told as it is"
                self._delivered((found.id,), publication)
            self._raw.say(AcknowledgeRequest(found.id, 1, (found.numbers[0], found.numbers[-1])))
        elif isinstance(found, DurableReply):
            self.seen["answers"].append(msgspec.structs.replace(found, generation="drawn"))
        elif isinstance(found, DurablesReply):
            timeless = tuple(map(_timeless, found.durables))
            self.seen["answers"].append(msgspec.structs.replace(found, durables=timeless))
        elif isinstance(found, SubscriptionRefused):
            self._ended.pop(found.id, None)  # it may be turned away later
            self.seen["answers"].append(found)
        elif isinstance(found, PublicationRefused):
            self.seen["refused"].append(found)
        elif getattr(found, "id", None) is not None and not hasattr(found, "serial"):
            self.seen["answers"].append(found)
        return found

    def _delivered(self, ids: Sequence[str], publication: bytes) -> None:
        name = msgspec.msgpack.decode(publication)[0]
        for id_ in ids:
            if name == "end" and id_ in self._ended:
                self._ended[id_] = True
            if id_ == "all":
                self._last = name


def _timeless(state: DurableState) -> DurableState:
    """A state without what differs from run to run, and what an acknowledgement may not be in."""
    return msgspec.structs.replace(
        state, generation="drawn", oldest_s=0, last_seen_s=0, out=0, waiting=0, bytes=0, first=0
    )


@asynccontextmanager
async def world(folder: Path, protocol: str) -> AsyncIterator[tuple[Observer, dict[str, Other]]]:
    """An overlay of three brokers in a line: the observer is at one end, others at both."""
    folder.mkdir()
    names = ("ann", "feed")
    who = "".join(
        f'[[identity]]\nname = "{n}"\ntoken = "sha256:{token_digest(n).hex()}"\n' for n in names
    )
    (folder / "identities.toml").write_text(who + GRANTS)
    async with AsyncExitStack() as stack:
        more: dict[str, Any] = {"protocol": protocol}
        trusted = [dict(more, data=folder / one) for one in ("far", "middle")]
        far = await stack.enter_async_context(running(settings("far", **trusted[0])))
        middle = await stack.enter_async_context(
            running(settings("middle", far.address, **trusted[1]))
        )
        story = Story()
        guarded: dict[str, Any] = {
            "identities": folder / "identities.toml",
            "data": folder / "data",
            "http": ANY_PORT,
            "gateway": True,
            "console": True,
        }
        near = await stack.enter_async_context(
            running(settings("near", middle.address, **guarded, **more), story)
        )
        await soon(asyncio.gather(near.until_linked("middle"), middle.until_linked("far")))
        feed = Credentials("", "feed")
        others = {
            "near": Other(await Raw.client(near.address, "near", credentials=feed)),
            "far": Other(await Raw.client(far.address, "far")),
        }
        raw = await Raw.client(near.address, "desk", credentials=Credentials("", "ann"))
        gate = Gate(near, story)
        stream = await stack.enter_async_context(
            gate.stream("filter=true", Authorization="Bearer ann")
        )
        try:
            yield Observer(raw, gate, stream), others
        finally:
            for one in (raw, *(other.raw for other in others.values())):
                await one.close()


async def observed(
    folder: Path, protocol: str, steps: Sequence[Step], *, is_one: bool
) -> dict[str, list[Any]]:
    """The messages that the observer receives in one of the two worlds."""
    async with world(folder, protocol) as (observer, others):
        await observer.watch(Watch("all", "true"))
        for number, step in enumerate(steps):
            match step:
                case Watch():
                    await observer.watch(step)
                case Say():
                    await observer.publish(step)
                case Ask(what):
                    await observer.ask(what)
                case Secret(one, other):
                    for hidden in one if is_one else other:
                        await others[hidden.site].do(hidden)
                case _:
                    await others[step.site].do(step)
            # What comes behind all that came of the step, from where it was done.
            for site in SITES:
                id_ = f"tick {number} {site}"
                await others[site].do(Publish(site, id_, {"region": "eu", "price": 1}))
                await observer.until(id_)
        for site in SITES:
            id_ = "end" if site == SITES[-1] else "before the end"
            await others[site].do(Publish(site, id_, {"region": "eu", "price": END}))
        await observer.end()
        await observer.ask(DurablesRequest(DurablesAction.LIST))
        return dict(observer.seen)
