"""The cost of an overlay for a publication, part by part: routers in a line, in one process.

`sapwood bench forwarding` makes a line of routers for each protocol, with the subscriptions dealt
out to their clients, or all of them at the last one. Publications enter at the first router, some
hundred together, as a read of a broker brings them. What each router does with one read is what a
broker does, without sockets and loops: publications are found in the bytes, routed, delivered to
clients and composed for the next link, whose bytes the next router reads. All of that is timed, and
reported for a publication that enters: `total_us` for the overlay, `routing_us` of it without
reading and composing. `enters_us` is what routing takes at the first router, `further_us` what it
takes at one further on, for each publication that comes there.

Every protocol has to deliver the same.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any, Final

from sapwood.errors import InvariantError, UnknownNameError
from sapwood.language import parse_filter
from sapwood.limits import FRAME_BYTES_MAX, SUBSCRIPTIONS_AT_ONCE_MAX
from sapwood.matching.engine_names import Engines
from sapwood.matching.readiness import RECORDS
from sapwood.model.filter import Filter
from sapwood.model.publication import Publication
from sapwood.routing.effects import DeliverMany, Effect, Remaining, Send, SendMany
from sapwood.routing.forwarding.reuse.kernels.choice import KEYS
from sapwood.routing.inputs import (
    AttachClient,
    ClientPublishMany,
    ClientSubscribeMany,
    Drained,
    Input,
    LinkUp,
    Receive,
    ReceiveMany,
)
from sapwood.routing.messages import PublishMany
from sapwood.routing.router import Router
from sapwood.sketches.kernels.choice import SKETCHES
from sapwood.wire.codec import append_message
from sapwood.wire.composer import Composer, forwards
from sapwood.wire.messages import PublishRequest
from sapwood.wire.publications import encode_publication
from sapwood.wire.runs import FRAMES, RequestRun, RunFinder

PROTOCOLS: Final = (
    *("identity", "identity+bloom", "simple", "simple+reuse:partial:20", "simple+reuse:always"),
)
EVERY_HOP: Final = PROTOCOLS[0]
HOMES: Final = ("all", "last")
"""The routers whose clients have subscriptions: all routers, in turn, or the last one alone."""

PAIRS: Final = "pairs"
"""The workload whose density can be chosen: `s = 'x17' and a > 4000`."""

ROUTERS: Final = 6
SIZE: Final = 100_000
DENSITIES: Final = (5e-5, 5e-4, 5e-3)
PUBLICATIONS: Final = 4_096
BATCH: Final = 256
ROUNDS: Final = 5
CLIENTS: Final = 10
"""At each router."""

_PUBLISHER: Final = "p"
_COMPOSED_BYTES: Final = 1 << 20
_RANGE: Final = 1_000_000


@dataclass(slots=True)
class Part:
    """The work of one router in one round: publications that came, and processor seconds."""

    came: int = 0
    read: float = 0.0
    route: float = 0.0
    deliver: float = 0.0
    send: float = 0.0
    deliveries: int = 0
    delivered_bytes: int = 0
    sent_bytes: int = 0
    frames: list[bytes] = field(default_factory=list)
    """The frames for the next router, one for each read."""

    @property
    def total(self) -> float:
        """All of its processor time."""
        return self.read + self.route + self.deliver + self.send


class Line:
    """Routers in a line, whose messages are handed over at once."""

    def __init__(self, protocol: str, routers: int) -> None:
        self.names: Final = [f"r{number + 1}" for number in range(routers)]
        self._routers = {name: Router(name, protocol, Engines()) for name in self.names}
        self._waiting: deque[tuple[str, Input]] = deque()
        self._finder, self._composer = RunFinder(), Composer()
        for one, other in pairwise(self.names):
            self._waiting += [(one, LinkUp(other)), (other, LinkUp(one))]
        for name in self.names:
            clients = [_PUBLISHER, *(f"c{number}" for number in range(CLIENTS))]
            self._waiting += [(name, AttachClient(client)) for client in clients]
        self._settle()

    def subscribe(self, filters: Sequence[Filter], homes: str) -> None:
        """Let clients subscribe, of all routers or of the last one, and wait until it is so."""
        names = self.names if homes == "all" else self.names[-1:]
        for at, name in enumerate(names):
            wanted = [(f"s{id_}", one) for id_, one in enumerate(filters)][at :: len(names)]
            for client in range(CLIENTS):
                own = tuple(wanted[client::CLIENTS])
                for first in range(0, len(own), SUBSCRIPTIONS_AT_ONCE_MAX):
                    some = own[first : first + SUBSCRIPTIONS_AT_ONCE_MAX]
                    self._waiting.append((name, ClientSubscribeMany(f"c{client}", some)))
                    self._settle()

    def _settle(self) -> None:
        while self._waiting:
            name, given = self._waiting.popleft()
            router = self._routers[name]
            for effect in router.handle(given, 0.0):
                if isinstance(effect, Send):
                    self._waiting.append((effect.neighbor, Receive(name, effect.message)))
            if not self._waiting:
                self._waiting += [
                    (one, Drained(neighbor))
                    for one, router in self._routers.items()
                    for neighbor in router.behind()
                ]

    def publish(self, reads: Sequence[bytes]) -> list[Part]:
        """The work of each router: of the first for the reads of a client, then of the next."""
        parts = []
        for before, name in zip((None, *self.names), self.names, strict=False):
            part = Part()
            for data in reads:
                self._take(part, name, before, data)
            parts.append(part)
            reads = part.frames
        return parts

    def _take(self, part: Part, name: str, before: str | None, data: bytes) -> None:
        """Let a router take a read; what goes on is in the frames of its part."""
        clock, frames = time.process_time, list[memoryview]()
        began = clock()
        runs, end = self._finder.find(data, 0, FRAME_BYTES_MAX, is_link=before is not None)
        part.read += clock() - began
        if end != len(data) or len(runs) != 1:
            raise InvariantError("publications of one origin were not found as one run")
        [run] = runs
        if isinstance(run, bytes):
            raise InvariantError("a publication was not plainly one")
        given: Input | None = _input(run, before)
        part.came += len(run.batch)
        while given is not None:
            began = clock()
            effects = self._routers[name].handle(given, 0.0)
            part.route += clock() - began
            given = self._carry_out(part, effects, frames)
        if frames:
            part.frames.append(b"".join(frames))
            part.sent_bytes += len(part.frames[-1])

    def _carry_out(
        self, part: Part, effects: Sequence[Effect], frames: list[memoryview]
    ) -> Input | None:
        """Compose what leaves a router; returns what it is to be handed next."""
        left: Input | None = None
        for effect in effects:
            began = time.process_time()
            if isinstance(effect, DeliverMany):
                place = 0
                while place < len(effect.keys):
                    composed = self._composer.deliveries(
                        effect, place, FRAME_BYTES_MAX, _COMPOSED_BYTES
                    )
                    assert composed is not None, "what came is bytes"
                    for _, letters, deliveries in composed.by_client():
                        part.deliveries += deliveries
                        part.delivered_bytes += len(letters)
                    place = composed.end
                part.deliver += time.process_time() - began
            elif isinstance(effect, SendMany):
                written = forwards(effect.publications)
                assert written is not None, "what came is bytes"
                part.send += time.process_time() - began
                frames.append(written)
            elif isinstance(effect, Remaining):
                left = effect.input
        return left


def _input(run: object, before: str | None) -> Input:
    if before is None:
        assert isinstance(run, RequestRun)
        return ClientPublishMany(_PUBLISHER, run.batch)
    assert isinstance(run, PublishMany)
    return ReceiveMany(before, run)


def drawn(workload: str, size: int, density: float, seed: int) -> tuple[list[Filter], list[bytes]]:
    """Filters, and reads with publications; raises `UnknownNameError` for another workload."""
    if workload == PAIRS:
        filters, publications = _pairs(size, density, seed)
    else:
        from sapwood_lab.workload.records import WORKLOADS
        from sapwood_lab.workload.records import workload as named

        if workload not in WORKLOADS:
            raise UnknownNameError("workload", workload, (PAIRS, *WORKLOADS))
        source = named(workload)
        wanted = (one.filter for one in source.subscriptions(size, seed))
        filters = [one for one in wanted if isinstance(one, Filter)]
        publications = [*source.publications(PUBLICATIONS, seed)]
    reads = []
    for first in range(0, len(publications), BATCH):
        buffer = bytearray()
        for number, one in enumerate(publications[first : first + BATCH], first + 1):
            append_message(buffer, PublishRequest(number, encode_publication(one)))
        reads.append(bytes(buffer))
    return filters, reads


def _pairs(size: int, density: float, seed: int) -> tuple[list[Filter], list[Publication]]:
    """Filters of which a publication matches that share on the mean, and publications."""
    generator = Random(seed)  # noqa: S311 - reproducible on purpose
    kinds = max(1, round(1 / (2 * density)))
    filters = [
        parse_filter(f"s = 'x{generator.randrange(kinds)}' and a > {generator.randrange(_RANGE)}")
        for _ in range(size)
    ]
    publications = [
        Publication(
            f"p{number}",
            {"s": f"x{generator.randrange(kinds)}", "a": generator.randrange(_RANGE)},
        )
        for number in range(PUBLICATIONS)
    ]
    return filters, publications


def measure(
    protocol: str, routers: int, homes: str, filters: Sequence[Filter], reads: Sequence[bytes]
) -> dict[str, Any]:
    """The cost of a line of routers under a protocol for a publication, in microseconds."""
    line = Line(protocol, routers)
    line.subscribe(filters, homes)
    rounds = [line.publish(reads) for _ in range(1 + ROUNDS)][1:]
    parts = min(rounds, key=lambda some: sum(part.total for part in some))
    count, further = parts[0].came, parts[1:]
    came = sum(part.came for part in further)

    def us(name: str, some: Sequence[Part] = parts, each: int = count) -> float:
        seconds: float = sum(getattr(part, name) for part in some)
        return round(1e6 * seconds / max(1, each), 2)

    return {
        "protocol": protocol,
        "hops": round(came / count, 2),
        "enters_us": us("route", parts[:1]),
        "further_us": us("route", further, came),
        "read_us": us("read"),
        "routing_us": us("route"),
        "deliver_us": us("deliver"),
        "send_us": us("send"),
        "total_us": us("total"),
        "hop_bytes": round(sum(part.sent_bytes for part in parts) / max(1, came)),
        "deliveries": sum(part.deliveries for part in parts),
        "delivered_bytes": sum(part.delivered_bytes for part in parts),
    }


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices, of which every combination is measured."""

    workloads: Sequence[str] = (PAIRS,)
    sizes: Sequence[int] = (SIZE,)
    densities: Sequence[float] = DENSITIES
    routers: Sequence[int] = (ROUTERS,)
    homes: Sequence[str] = HOMES
    protocols: Sequence[str] = PROTOCOLS
    seed: int = 1


def run_forwarding(choices: Choices) -> Iterator[dict[str, Any]]:
    """A row for each protocol in each line, with its share of what the first one costs.

    Raises `UnknownNameError`, and `InvariantError` where protocols deliver differently.
    """
    for kernels in (RECORDS, FRAMES, SKETCHES, KEYS):
        kernels.load()
    for workload in choices.workloads:
        for density in choices.densities if workload == PAIRS else (0.0,):
            for size in choices.sizes:
                filters, reads = drawn(workload, size, density, choices.seed)
                for routers in choices.routers:
                    for homes in choices.homes:
                        given = {"workload": workload, "subscriptions": size, "routers": routers}
                        given |= {"homes": homes} | ({"density": density} if density else {})
                        for row in _compared(choices.protocols, routers, homes, filters, reads):
                            yield given | row


def _compared(
    protocols: Sequence[str], routers: int, homes: str, filters: Sequence[Filter],
    reads: Sequence[bytes],
) -> Iterator[dict[str, Any]]:  # fmt: skip
    first: dict[str, Any] | None = None
    for protocol in protocols:
        row = measure(protocol, routers, homes, filters, reads)
        first = first or row
        for name in ("deliveries", "delivered_bytes"):
            if row[name] != first[name]:
                told = f"{row[name]}, not {first[name]} as the others"
                raise InvariantError(f"{protocol}: {name} are {told}")
        for name in ("routing", "total"):
            row[f"{name}_ratio"] = round(row[f"{name}_us"] / first[f"{name}_us"], 2)
        yield row
