"""A campaign: real brokers and clients, faults on schedule, and a verdict on every delivery.

All processes listen on the loopback and reach each other through proxies, so links can be cut.
Brokers keep a store, restart on the same port with it, and are killed with SIGKILL, or kill
themselves so before a statement of their store (`planted`). When all publishers are done everything
is mended, and the campaign waits until what is due has arrived, or nothing arrives any more.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sapwood_lab.chaos import planted, publisher, subscriber
from sapwood_lab.chaos.judge import Heard, Verdict, judge
from sapwood_lab.chaos.plan import Fault, Point, Shape
from sapwood_lab.chaos.proxy import Proxy
from sapwood_lab.chaos.workload import Wish, wish

READY_S: Final = 300.0
"""The longest time until a process reports that it is ready."""

POINT_S: Final = 3.0
"""The longest wait for a broker to reach the point where it dies; then it is killed."""

CALM_S: Final = 2.0
"""The wait after all due deliveries have arrived, in which surplus ones would show."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a campaign.

    `publications` are those of all publishers together, over `seconds`, some every `pause_s`;
    `quiet_s` is how long nothing may arrive before what is missing counts as lost; `options` go to
    each broker.
    """

    folder: Path
    shape: Shape
    publications: int = 100_000
    seconds: float = 60.0
    pause_s: float = 0.05
    publishers: int = 4
    durable: int = 10
    plain: int = 6
    quiet_s: float = 20.0
    options: tuple[str, ...] = ()


@dataclass(slots=True)
class Program:
    """A process that is started again whenever it was killed, until it ends by itself.

    `order` is the file with the point at which it is to die, for programs that read one.
    """

    command: list[str]
    error: Path
    order: Path | None = None
    process: asyncio.subprocess.Process | None = None
    starts: int = 0
    lines: list[str] = field(default_factory=list)

    async def start(self, awaited: str | None) -> None:
        """Start it; wait for the line that begins with `awaited`.

        Raises `ProcessLookupError` where it comes to the point where it was to die.
        """
        with self.error.open("ab") as error:
            self.process = await asyncio.create_subprocess_exec(
                *self.command,
                stdout=asyncio.subprocess.PIPE,
                stderr=error,
                env=None if self.order is None else os.environ | {planted.ORDER: str(self.order)},
            )
        self.starts += 1
        if awaited is not None:
            try:
                async with asyncio.timeout(READY_S):
                    await self._until(awaited)
            except TimeoutError:
                if self.order is not None:  # let it write down where its threads are
                    self.signal(signal.SIGUSR1)
                    await asyncio.sleep(1.0)
                raise RuntimeError(f"{self.command[2:5]} is not ready; see {self.error}") from None

    async def _until(self, awaited: str) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            self.lines.append(line.decode().strip())
            if self.lines[-1].startswith(awaited):
                return
        status = await self.process.wait()
        if self.order is not None and status == -signal.SIGKILL:
            raise ProcessLookupError
        raise RuntimeError(f"{self.command[2:5]} ended with {status}; see {self.error}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if it runs."""
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(number)

    async def die(self, point: Point) -> None:
        """Let it die at a point; one that does not come there is killed."""
        assert self.order is not None
        assert self.process is not None
        await asyncio.to_thread(self.order.write_text, f"{point.area} {point.statements}")
        if point.area == "open":
            await self.kill()
            with suppress(ProcessLookupError):
                await self.start("listening")
        else:
            self.signal(signal.SIGUSR2)
        with suppress(TimeoutError):
            async with asyncio.timeout(POINT_S):
                await self.process.wait()
        await self.kill()
        self.order.unlink(missing_ok=True)

    async def kill(self) -> None:
        """SIGKILL."""
        self.signal(signal.SIGKILL)
        if self.process is not None:
            await self.process.wait()


class Campaign:
    """The processes of one campaign, and what was done to them.

    #: a broker that is being started again is not killed meanwhile: its lock is held
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        shape = settings.shape
        self.links = [Proxy() for _ in shape.links]
        self.doors = [Proxy() for _ in range(shape.brokers)]
        self.brokers: list[Program] = []
        self.publishers: list[Program] = []
        self.subscribers: list[Program] = []
        self.wishes: dict[str, Wish] = {}
        self.done: dict[str, int] = {}
        self._locks = [asyncio.Lock() for _ in range(shape.brokers)]

    async def run(self, faults: Sequence[Fault]) -> Verdict:
        """Carry it out, and judge."""
        try:
            await self._start()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._publish())
                started = time.monotonic()
                for fault in faults:
                    tasks.create_task(self._after(started, fault))
            self._say("mended")
            self._check_brokers()
            await self._settle()
            self._check_brokers()
        finally:
            for program in (*self.publishers, *self.subscribers, *self.brokers):
                program.signal(signal.SIGCONT)
                await program.kill()
            for proxy in (*self.links, *self.doors):
                with suppress(AssertionError):
                    await proxy.stop()
        return self.verdict()

    def verdict(self) -> Verdict:
        """The verdict on what was written down so far."""
        folder = self.settings.folder
        names = [f"p{number}" for number in range(self.settings.publishers)]
        published = {name: publisher.read(publisher.log_of(folder, name)) for name in names}
        heard = {
            name: Heard(
                wanted, subscriber.read(subscriber.log_of(folder, name)), self._may_miss(name)
            )
            for name, wanted in self.wishes.items()
        }
        return judge(published, heard)

    def _may_miss(self, name: str) -> bool:
        return name.startswith("plain")

    # Processes ---------------------------------------------------------------------------------

    async def _start(self) -> None:
        settings, shape = self.settings, self.settings.shape
        settings.folder.mkdir(parents=True, exist_ok=True)
        for proxy in (*self.links, *self.doors):
            await proxy.start()
        ports = free_ports(shape.brokers)
        for number, door in enumerate(self.doors):
            door.target = ("127.0.0.1", ports[number])
        for link, (_, to) in zip(self.links, shape.links, strict=True):
            link.target = ("127.0.0.1", ports[to])
        for number in range(shape.brokers):
            peers = [
                f"--peer=127.0.0.1:{link.port}"
                for link, (dialing, _) in zip(self.links, shape.links, strict=True)
                if dialing == number
            ]
            own = settings.folder / f"b{number}"
            command = [
                *(sys.executable, "-m", "sapwood_lab.chaos.planted"),
                *("broker", "--name", f"b{number}"),
                *("--listen", f"127.0.0.1:{ports[number]}", "--data", str(own)),
                *(*peers, "--protocol", protocol_of(shape), *settings.options),
            ]
            error, order = (settings.folder / f"b{number}.{kind}" for kind in ("err", "order"))
            self.brokers.append(Program(command, error, order))
            await self.brokers[-1].start("listening")
        for number in range(settings.durable + settings.plain):
            kind = "durable" if number < settings.durable else "plain"
            name = f"{kind}{number}"
            self.wishes[name] = wish(number)
            self.subscribers.append(
                self._client(
                    "subscriber", number, name, wish(number).filter, str(settings.folder), kind
                )
            )
        await asyncio.gather(*(one.start("ready") for one in self.subscribers))

    def _client(self, module: str, number: int, *arguments: str) -> Program:
        door = self.doors[number % len(self.doors)]
        command = [sys.executable, "-m", f"sapwood_lab.chaos.{module}", f"127.0.0.1:{door.port}"]
        return Program([*command, *arguments], self.settings.folder / f"{arguments[0]}.err")

    async def _publish(self) -> None:
        """Run the publishers until each has published all, however often it is killed."""
        settings = self.settings
        each = settings.publications // settings.publishers
        for number in range(settings.publishers):
            numbers = (each, settings.seconds, settings.pause_s)
            arguments = (f"p{number}", *map(str, numbers), str(settings.folder))
            self.publishers.append(self._client("publisher", number, *arguments))

        async def finish(program: Program) -> None:
            while True:
                await program.start(None)
                assert program.process is not None
                status = await program.process.wait()
                if status == 0:
                    return
                if status != -signal.SIGKILL:
                    raise RuntimeError(f"a publisher ended with {status}; see {program.error}")

        await asyncio.gather(*map(finish, self.publishers))

    @property
    def died(self) -> list[str]:
        """The statements before which brokers have died at a point, `file:line` each."""
        files = (program.order.with_suffix(".died") for program in self.brokers if program.order)
        return [line for file in files if file.exists() for line in file.read_text().splitlines()]

    # Faults ------------------------------------------------------------------------------------

    async def _after(self, started: float, fault: Fault) -> None:
        await asyncio.sleep(max(0.0, started + fault.at_s - time.monotonic()))
        self.done[fault.kind] = self.done.get(fault.kind, 0) + 1
        self._say(f"{fault}")
        match fault.kind:
            case "kill broker" | "kill at point" | "stop broker" | "fill disk":
                async with self._locks[fault.victim]:
                    await self._trouble(self.brokers[fault.victim], fault)
                self._say(f"over: {fault}")
            case "kill publisher":
                self.publishers[fault.victim].signal(signal.SIGKILL)
            case "kill subscriber":
                program = self.subscribers[fault.victim]
                await program.kill()
                await asyncio.sleep(fault.lasts_s)
                await program.start(None)
            case "cut" | "stall":
                proxy = self.links[fault.victim]
                proxy.cut() if fault.kind == "cut" else proxy.stall()
                await asyncio.sleep(fault.lasts_s)
                proxy.mend()

    async def _trouble(self, broker: Program, fault: Fault) -> None:
        assert broker.process is not None
        match fault.kind:
            case "kill broker":
                await broker.kill()
                await asyncio.sleep(fault.lasts_s)
                await broker.start("listening")
            case "kill at point":
                assert fault.point is not None
                await broker.die(fault.point)
                await asyncio.sleep(fault.lasts_s)
                await broker.start("listening")
            case "stop broker":
                broker.signal(signal.SIGSTOP)
                await asyncio.sleep(fault.lasts_s)
                broker.signal(signal.SIGCONT)
            case _:
                # No file of the broker may grow beyond a size that all of them have: EFBIG.
                free = resource.RLIM_INFINITY
                resource.prlimit(broker.process.pid, resource.RLIMIT_FSIZE, (0, free))
                await asyncio.sleep(fault.lasts_s)
                with suppress(ProcessLookupError):
                    resource.prlimit(broker.process.pid, resource.RLIMIT_FSIZE, (free, free))

    def _say(self, what: str) -> None:
        """Write down what happens, for whoever looks into a campaign that went wrong."""
        with (self.settings.folder / "campaign.log").open("a") as story:
            story.write(f"{datetime.now(UTC).isoformat()} {what}\n")

    def _check_brokers(self) -> None:
        """See that every broker runs. Raises `RuntimeError`: whoever ended was not killed."""
        for broker in self.brokers:
            if broker.process is None or broker.process.returncode is not None:
                raise RuntimeError(f"a broker has ended by itself; see {broker.error}")

    async def _settle(self) -> None:
        """Wait until all that is due has arrived, or nothing arrives any more."""
        before, since = -1, time.monotonic()
        while True:
            verdict = await asyncio.to_thread(self.verdict)
            if verdict.delivered != before:
                before, since = verdict.delivered, time.monotonic()
            elif time.monotonic() - since > (self.settings.quiet_s if verdict.lost else CALM_S):
                return
            await asyncio.sleep(1.0)


def protocol_of(shape: Shape) -> str:
    """The protocol of the brokers."""
    return "recover+covering" if shape.is_tree else "recover+mesh+covering"


def free_ports(count: int) -> list[int]:
    """Ports that are free now, and stay so while brokers that are killed have them again."""
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports
