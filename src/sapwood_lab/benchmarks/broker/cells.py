"""One system under one load, in phases.

Start, subscribe, publish as fast as can be and at fixed rates, ping, ping while subscriptions come
and go, kill and come back; then, where that is chosen, once more from an empty cache of compiled
code on. Each phase is judged; a cell with one wrong delivery is void, and marked so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from sapwood.errors import EnvironmentMissingError
from sapwood_lab.benchmarks.broker.churn import Churned, Schedule, answer_ms, judge_churn
from sapwood_lab.benchmarks.broker.judge import RECEIVED, Received, Verdict, delivery_count, judge
from sapwood_lab.benchmarks.broker.load import Load, Numbers
from sapwood_lab.benchmarks.broker.servers import most_bytes, usage
from sapwood_lab.benchmarks.broker.systems import CHURNING, ROLES, Server, System
from sapwood_lab.benchmarks.broker.tasks import PROGRESS, Task
from sapwood_lab.benchmarks.broker.workers import Worker, WorkerError

WINDOW_MAX: Final = 1024
"""Publications under way while a publisher is as fast as can be: half a megabyte."""

WINDOW_MIN: Final = 32
"""As many to get warm; a system that is slow gets no more than it delivers in half of the time,
because what is under way has to be waited for."""

WARM_UPS_MAX: Final = 6
WARM_GAIN: Final = 1.2
"""The most warm-up rounds of a system, and the gain that it must show for another one: compilers of
virtual machines, and Sapwood's kernels, come in while it serves."""

_IDLE_SHARE: Final = 0.05
_IDLE_S: Final = 0.2
_AT_WORK_S: Final = 20.0
"""After a warm-up round a server has ended the work that it began beside it, as the compaction of
its index, when it uses less than this part of a processor for this long; and the most that it is
waited for after one round. Where it had such work, another round follows."""

SHARES: Final = (10, 50, 80)
"""Percent of the capacity at which delays are measured."""

QUANTILES: Final = (50.0, 99.0, 99.9)
ANSWER_S: Final = 60.0
"""Seconds that a worker may take for an order, beside the time that the order is about."""

QUIET_S: Final = 5.0
"""Seconds without a delivery after which those that are missing are taken for lost."""

LEAD_NS: Final = 50_000_000
"""A schedule begins so much later than it is given out."""

LEAST: Final = 8
"""Publications of a schedule at least, however slow the system is."""

COLD_RATE: Final = 1000.0
"""Publications a second at most with an empty cache: plain code serves until there is compiled
one, and half of what compiled code takes would be many times what plain code can."""

BACK_MAX_S: Final = 60.0
_ROUND_S: Final = 0.1
_ROUND_RATE: Final = 2000.0
_ROUND_QUIET_S: Final = 0.5
"""A round of publications by which coming back is noticed: how long, how fast at most, and how long
those that are missing are waited for."""

FIGURES: Final = (
    "publications_per_s",
    "deliveries_per_s",
    "server_us",
    "first_us",
    "server_delivery_us",
    "receivers_us",
    *(f"delay_{share}_p{quantile:g}_ms" for share in SHARES for quantile in QUANTILES),
    *(f"delay_{share}_sent_p99_ms" for share in SHARES),
    *(f"delay_{share}_samples" for share in SHARES),
    "pause_ms",
    "churn_p50_ms",
    "churn_p99_ms",
    "churn_pause_ms",
    "churn_answer_p99_ms",
    "cold_rate",
    "cold_first_p99_ms",
    "cold_p50_ms",
    "cold_p99_ms",
    "cold_pause_ms",
    "cold_compiled_s",
    "memory_mib",
    "memory_most_mib",
    "subscription_bytes",
    "subscribe_s",
    "back_s",
    "publications",
    "deliveries",
    "verdict",
    "reason",
)
"""The figures of a cell; `None` where they were not measured, for which `reason` gives the
reason."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The time for each figure, about, and at most until all subscriptions are in force.

    And with an empty cache of compiled code; with 0 that is left out.
    """

    seconds: float = 1.0
    fill_seconds: float = 10.0
    cold_seconds: float = 0.0


def measure_cell(system: System, load: Load, hops: int, settings: Settings) -> dict[str, Any]:
    """The figures of one cell. What cannot be done leaves them out, with the reason."""
    row: dict[str, Any] = {
        "system": system.name,
        "workload": load.workload,
        "subscriptions": load.size,
        "clients": load.clients,
        "hops": hops,
        **dict.fromkeys(FIGURES),
    }
    reason = system.refuses(load, hops)
    if reason:
        return {**row, "reason": reason}
    try:
        with _cell(system, load, hops) as cell:
            _measure(cell, row, settings)
        cold = system.with_empty_cache() if settings.cold_seconds else None
        if cold is not None:
            with _cell(cold, load, hops) as cell:
                _measure_cold(cell, row, settings)
    except EnvironmentMissingError as error:
        row["reason"] = str(error).splitlines()[0]
    return row


@contextmanager
def _cell(system: System, load: Load, hops: int) -> Iterator[_Cell]:
    """A server with its workers and files, which end with the block."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="sapwood-bench-")))
        load.write(folder, each_subscription=system.delivers_each)
        (folder / "progress").write_bytes(bytes(PROGRESS.size))
        server = system.start(folder, hops)
        stack.callback(server.close)
        task = folder / "task.json"
        told = Task(system.name, server.publish, server.subscribe, load.clients, str(folder))
        task.write_bytes(msgspec.json.encode(told))
        receivers, publisher, pinger = (
            stack.enter_context(Worker(role, *system.command(role, task))) for role in ROLES
        )
        churner = None
        if system.churns:
            churner = stack.enter_context(Worker(CHURNING, *system.command(CHURNING, task)))
        counts = load.deliveries(each_subscription=system.delivers_each)
        yield _Cell(load, counts, folder, server, receivers, publisher, pinger, churner)


def _measure(cell: _Cell, row: dict[str, Any], settings: Settings) -> None:
    """Go through all phases, and put into the row what each finds."""
    before = usage(cell.server.pids()).held_bytes
    row["subscribe_s"] = cell.subscribe(settings.fill_seconds)
    held = usage(cell.server.pids()).held_bytes
    row["memory_mib"] = held / 2**20
    row["subscription_bytes"] = (held - before) / cell.load.size
    cell.publisher.ask("connect", timeout_s=ANSWER_S)
    try:
        window, row["first_us"] = _warm_up(cell, settings.seconds)
        row |= _capacity(cell, settings.seconds, window)
        for share in SHARES:
            rate = row["publications_per_s"] * share / 100
            row |= _delays(cell, share, rate, settings.seconds)
        row |= _pause(cell, row["publications_per_s"] / 2, settings.seconds)
        if cell.churner is not None:
            row |= _churn(cell, cell.churner, row["publications_per_s"] / 2, settings.seconds)
        row["memory_most_mib"] = most_bytes(cell.server.pids()) / 2**20
        row["back_s"] = cell.come_back(settings.fill_seconds, row["publications_per_s"])
    finally:
        row["publications"], row["deliveries"] = cell.number, cell.deliveries
        row["verdict"] = str(cell.verdict)


def _measure_cold(cell: _Cell, row: dict[str, Any], settings: Settings) -> None:
    """Publish from the first second after an empty cache on, while subscriptions come and go."""
    begun = time.time()
    cell.subscribe(settings.fill_seconds)
    cell.publisher.ask("connect", timeout_s=ANSWER_S)
    assert cell.churner is not None, "systems with a cache of code churn"
    rate = min(COLD_RATE, row["publications_per_s"] / 2)
    try:
        came, pause_ms, _ = _churned(cell, cell.churner, rate, settings.cold_seconds)
    finally:
        row["publications"] += cell.number
        row["deliveries"] += cell.deliveries
        if not cell.verdict.is_exact:
            row["verdict"] = f"with an empty cache: {cell.verdict}"
    first = came.delays_ms[came.due_s < 1.0]
    row |= {
        "cold_rate": rate,
        "cold_first_p99_ms": _quantile(first, 99.0),
        "cold_p50_ms": _quantile(came.delays_ms, 50.0),
        "cold_p99_ms": _quantile(came.delays_ms, 99.0),
        "cold_pause_ms": pause_ms,
    }
    kept = [file.stat().st_mtime for file in cell.folder.glob("cache/*.nbi")]
    row["cold_compiled_s"] = max(kept) - begun if kept else None


def _warm_up(cell: _Cell, seconds: float) -> tuple[int, float]:
    """Publish until it gets hardly faster, and the server does nothing beside.

    Returns the window that fits the last rate, and the processor time of a publication in the first
    round, in microseconds.
    """
    window, rate, costs_us = WINDOW_MIN, 0.0, list[float]()
    for _ in range(WARM_UPS_MAX):
        figures = _capacity(cell, seconds, window)
        costs_us.append(figures["server_us"])
        before, rate = rate, figures["publications_per_s"]
        window = min(WINDOW_MAX, max(WINDOW_MIN, int(rate * seconds / 2)))
        was_idle = _wait_until_idle(cell.server)
        if was_idle and rate < before * WARM_GAIN:
            break
    return window, costs_us[0]


def _wait_until_idle(server: Server) -> bool:
    """Wait until a server has ended what it does beside; true if there was nothing of the kind."""
    ends = time.monotonic() + _AT_WORK_S
    is_first = True
    while True:
        before_s = usage(server.pids()).cpu_s
        time.sleep(_IDLE_S)
        is_idle = usage(server.pids()).cpu_s - before_s < _IDLE_SHARE * _IDLE_S
        if is_idle or time.monotonic() > ends:
            return is_idle and is_first
        is_first = False


def _capacity(cell: _Cell, seconds: float, window: int) -> dict[str, Any]:
    """The rate with `window` publications under way, and the cost of one."""
    before, before_receivers = usage(cell.server.pids()), cell.receivers_cpu_s()
    received, count, took_s = cell.flood(seconds, window)
    spent_s = usage(cell.server.pids()).cpu_s - before.cpu_s
    receivers_s = cell.receivers_cpu_s() - before_receivers
    deliveries = delivery_count(received)
    return {
        "publications_per_s": count / took_s,
        "deliveries_per_s": deliveries / took_s,
        "server_us": spent_s / count * 1e6,
        "server_delivery_us": spent_s / deliveries * 1e6 if deliveries else None,
        "receivers_us": receivers_s / count * 1e6,
    }


class _Delays(NamedTuple):
    """The delays of a schedule: when each delivery was due, counted from its begin, how late."""

    due_s: npt.NDArray[np.float64]
    delays_ms: npt.NDArray[np.float64]


def _delays_of(came: Received, schedule: Schedule) -> _Delays:
    """From when a publication was due until it was delivered."""
    due_ns = (came["number"] - schedule.first) / schedule.rate * 1e9
    # A delivery of several ids has several lines, and one delay.
    keys = came["number"].astype(np.int64) << 32 | came["client"].astype(np.int64)
    _, places = np.unique(keys, return_index=True)
    delays_ms = (came["time_ns"] - schedule.start_ns - due_ns) / 1e6
    return _Delays(due_ns[places] / 1e9, delays_ms[places])


def _quantile(delays_ms: npt.NDArray[np.float64], quantile: float) -> float | None:
    """A quantile, where at least one of the delays would be above it."""
    if len(delays_ms) * (100 - quantile) < 100:
        return None
    return float(np.percentile(delays_ms, quantile))


def _delays(cell: _Cell, share: int, rate: float, seconds: float) -> dict[str, Any]:
    """Quantiles of the time from when a publication was due until it was delivered."""
    delays_ms = _delays_of(*cell.scheduled(rate, seconds)).delays_ms
    found: dict[str, Any] = {f"delay_{share}_samples": len(delays_ms)}
    found[f"delay_{share}_sent_p99_ms"] = cell.late_ms
    for quantile in QUANTILES:
        found[f"delay_{share}_p{quantile:g}_ms"] = _quantile(delays_ms, quantile)
    return found


def _pause(cell: _Cell, rate: float, seconds: float) -> dict[str, Any]:
    """The longest time that a ping takes at half load; a bound where some did not come at all.

    Pings' clients connect here and not before: they answer the server only while they ping.
    """
    cell.pinger.ask("connect", timeout_s=ANSWER_S)
    cell.pinger.order("ping", seconds)
    cell.scheduled(rate, seconds)
    said = cell.pinger.answer(seconds + ANSWER_S)
    found: dict[str, Any] = {"pause_ms": said["longest_ms"]}
    if said["lost"]:
        found["reason"] = f"{said['lost']} of {said['count']} pings did not come back in time"
    return found


def _churn(cell: _Cell, churner: Worker, rate: float, seconds: float) -> dict[str, Any]:
    """The same, and delays, while subscriptions come and go."""
    came, pause_ms, answer_p99_ms = _churned(cell, churner, rate, seconds)
    return {
        "churn_p50_ms": _quantile(came.delays_ms, 50.0),
        "churn_p99_ms": _quantile(came.delays_ms, 99.0),
        "churn_pause_ms": pause_ms,
        "churn_answer_p99_ms": answer_p99_ms,
    }


def _churned(
    cell: _Cell, churner: Worker, rate: float, seconds: float
) -> tuple[_Delays, float, float]:
    """Publish, ping, and let subscriptions come and go.

    Returns the delays, the longest ping, and a quantile (99 %) of the time until a subscription
    was confirmed, both in ms.
    """
    cell.pinger.ask("connect", timeout_s=ANSWER_S)
    churner.ask("connect", timeout_s=ANSWER_S)
    cell.pinger.order("ping", seconds)
    churner.order("churn", seconds)
    came, schedule = cell.scheduled(rate, seconds)
    pause_ms = float(cell.pinger.answer(seconds + ANSWER_S)["longest_ms"])
    churner.answer(seconds + ANSWER_S)
    path = cell.folder / "churned"
    churner.ask("collect", path, timeout_s=ANSWER_S)
    churned = msgspec.msgpack.decode(path.read_bytes(), type=Churned)
    cell.verdict += judge_churn(cell.load, churned, schedule, came)
    return _delays_of(came, schedule), pause_ms, answer_ms(churned, 99.0)


@dataclass(slots=True)
class _Cell:
    """A server, its workers, and what has been published and judged so far.

    #: every publication below `number` has been published and judged, but for rounds of coming back
    """

    load: Load
    #: the number of deliveries that receivers count for each content of the pool
    counts: Numbers
    folder: Path
    server: Server
    receivers: Worker
    publisher: Worker
    pinger: Worker
    churner: Worker | None
    #: the most by which 99 % of the last schedule were late, where the publisher reports it
    late_ms: float | None = None
    number: int = 0
    deliveries: int = 0
    verdict: Verdict = field(default_factory=lambda: Verdict(0))

    def subscribe(self, timeout_s: float) -> float:
        """Seconds until all subscriptions are in force."""
        try:
            return float(self.receivers.ask("subscribe", timeout_s=timeout_s)["seconds"])
        except WorkerError as error:
            if "did not answer" not in str(error):
                raise
            count = f"{self.load.size:,} subscriptions"
            raise WorkerError(f"{count} were not in force within {timeout_s:g} s") from None

    def receivers_cpu_s(self) -> float:
        """Processor seconds of all receivers so far."""
        return usage((self.receivers.process.pid,)).cpu_s

    def flood(self, seconds: float, window: int) -> tuple[Received, int, float]:
        """Publish as fast as can be: what came, how many were published, and the seconds."""
        came = self._came()
        order = ("flood", self.number, seconds, window)
        said = self.publisher.ask(*order, timeout_s=seconds + ANSWER_S)
        count = said["count"]
        received = self._settle(count, came, QUIET_S)
        end_ns = int(received["time_ns"].max()) if len(received) else time.monotonic_ns()
        return received, count, (end_ns - said["begin_ns"]) / 1e9

    def scheduled(self, rate: float, seconds: float) -> tuple[Received, Schedule]:
        """Publish at a rate: what came, and when it was due."""
        came, first, count = self._came(), self.number, max(LEAST, int(rate * seconds))
        start_ns = time.monotonic_ns() + LEAD_NS
        order = ("schedule", first, count, rate, start_ns)
        said = self.publisher.ask(*order, timeout_s=count / rate + ANSWER_S)
        self.late_ms = said.get("late_p99_ms")
        return self._settle(count, came, QUIET_S), Schedule(first, count, rate, start_ns)

    def come_back(self, fill_seconds: float, capacity: float) -> float:
        """Seconds from when the server is killed until all is delivered again.

        What is published meanwhile may be lost or late; nothing else may come.
        """
        begin, first = time.monotonic(), self.number
        self.server.restart()
        self.subscribe(fill_seconds)
        self.publisher.ask("connect", timeout_s=ANSWER_S)
        rate = min(_ROUND_RATE, capacity / 2)
        count = max(LEAST, int(rate * _ROUND_S))
        received = np.zeros(0, RECEIVED)
        while True:
            began, number = time.monotonic(), self.number
            received = np.concatenate([received, self._round(count, rate)])
            last = judge(self.load, number, count, received[received["number"] >= number])
            everything = judge(self.load, first, self.number - first, received)
            in_time = began - begin < BACK_MAX_S
            wrong = everything.unexpected or everything.duplicated
            if wrong or last.is_exact or not in_time:
                self.deliveries += delivery_count(received)
                self.verdict += everything if wrong else last
                if wrong or not last.is_exact:
                    raise WorkerError(f"it did not come back within {BACK_MAX_S:g} s")
                return began - begin

    def _round(self, count: int, rate: float) -> Received:
        """Publish a few, by which coming back is noticed: what came."""
        came, first = self._came(), self.number
        order = ("schedule", first, count, rate, time.monotonic_ns())
        self.publisher.ask(*order, timeout_s=count / rate + ANSWER_S)
        self.number += count
        self._wait(came + self._expected(first, count), _ROUND_QUIET_S)
        return self._collected()

    def _settle(self, count: int, came: int, quiet_s: float) -> Received:
        """Wait for all deliveries of the next `count` numbers, and judge them."""
        first = self.number
        self.number += count
        self._wait(came + self._expected(first, count), quiet_s)
        received = self._collected()
        self.deliveries += delivery_count(received)
        self.verdict += judge(self.load, first, count, received)
        return received

    def _expected(self, first: int, count: int) -> int:
        """The number of deliveries due for these numbers."""
        places = (first + np.arange(count)) % len(self.load.pool)
        return int(self.counts[places].sum())

    def _wait(self, wanted: int, quiet_s: float) -> None:
        """Return when `wanted` deliveries have come in all, or none for a while."""
        seen, since = self._came(), time.monotonic()
        while seen < wanted and time.monotonic() - since < quiet_s:
            time.sleep(0.002)
            now = self._came()
            if now != seen:
                seen, since = now, time.monotonic()

    def _came(self) -> int:
        """Deliveries so far, as the receivers count them; only to know when to look."""
        return int(PROGRESS.unpack((self.folder / "progress").read_bytes())[0])

    def _collected(self) -> Received:
        path = self.folder / "received"
        self.receivers.ask("collect", path, timeout_s=ANSWER_S)
        return np.fromfile(path, RECEIVED)
