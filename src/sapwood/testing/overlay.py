"""Broker processes on this machine, linked to an overlay: for tests, measurements and the demo."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import IO, Final, Self

from sapwood.errors import EnvironmentMissingError, InputError, UnknownNameError
from sapwood.routing.protocols import protocol as protocol_named

START_S: Final = 60.0
"""Seconds that a broker may take to start or to link: a cold interpreter on a busy machine."""

STOP_S: Final = 15.0
"""Seconds that a broker may take to stop in good order."""

LOG_TAIL_CHARS: Final = 2000


def started(
    arguments: Sequence[str], log: IO[bytes], environment: Mapping[str, str] = MappingProxyType({})
) -> subprocess.Popen[bytes]:
    """The command `sapwood` in a process of its own, with its errors in `log`.

    It has this process's environment, changed by `environment`.
    """
    return subprocess.Popen(  # noqa: S603 - our own command
        (sys.executable, "-m", "sapwood", *arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
    )


class BrokerProcess:
    """One broker process, and the lines of its standard output."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.name = name
        self.address = ""
        #: neighbors whose links are up
        self.linked: set[str] = set()
        # The process shares the file's position, which must not move its writing: so it appends.
        self._log: IO[bytes] = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - closed in `close`
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._ended = False
        self.process = started(("broker", "--name", name, *arguments), self._log, environment)
        self._reader = threading.Thread(target=self._read, name=f"read {name}", daemon=True)
        self._reader.start()

    def wait_until(self, what: str, condition: Callable[[], bool], timeout_s: float) -> None:
        """Read lines until `condition` holds; raises `EnvironmentMissingError` where it never does.

        `what` says in the error what was waited for.
        """
        deadline = time.monotonic() + timeout_s
        self._understand_all()
        while not condition():
            remaining_s = deadline - time.monotonic()
            if self._ended or remaining_s <= 0.0:
                how = "before it ended" if self._ended else f"within {timeout_s:g} s"
                log = self.log()
                raise EnvironmentMissingError(f"broker {self.name} was not {what} {how}:\n{log}")
            with suppress(queue.Empty):
                self._understand(self._lines.get(timeout=remaining_s))
            self._understand_all()

    def log(self) -> str:
        """The end of what the broker wrote to its log."""
        end = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, end - LOG_TAIL_CHARS))
        return self._log.read().decode(errors="replace")

    def stop(self, *, kill: bool = False) -> int:
        """End the process, in good order or at once; returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        try:
            status = self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status

    def close(self) -> None:
        """Stop, and let go of the log."""
        if not self._log.closed:
            self.stop()
            self._log.close()

    def _read(self) -> None:
        """Read lines, in the thread."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.decode().rstrip("\n"))
        self._lines.put(None)

    def _understand_all(self) -> None:
        """Take in all lines that are there."""
        with suppress(queue.Empty):
            while True:
                self._understand(self._lines.get_nowait())

    def _understand(self, line: str | None) -> None:
        if line is None:
            self._ended = True
            return
        match line.split(" "):
            case ["listening", "on", address, "as", _]:
                self.address = address
            case ["link", "up", name]:
                self.linked.add(name)
            case ["link", "down", name]:
                self.linked.discard(name)


@dataclass(slots=True)
class BrokerProcesses:
    """Broker processes in an overlay; a context manager that starts and ends them.

    `names` are the brokers' names and `edges` the links, as pairs of names. When it is entered,
    all links are up. `options` are further arguments of `sapwood broker`, for every broker, and
    `environment` changes the environment of this process for them; with `data`, each has a folder
    of its name there for what it keeps.

    Raises `InputError` for links that are no tree, unless the protocol lets them form circles, and
    `EnvironmentMissingError` with the end of a broker's log where one does not start.
    """

    names: Sequence[str]
    edges: Sequence[tuple[str, str]]
    protocol: str = "covering"
    engine: str = "auto"
    options: Sequence[str] = ()
    data: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    #: the processes by name, in the order they were started
    processes: dict[str, BrokerProcess] = field(default_factory=dict, init=False)
    #: each broker's neighbors that start before it, which it dials
    _dialed: dict[str, list[str]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._dialed = _dialed(self.names, self.edges)
        count, is_tree = len(self.edges), len(self.edges) == len(self.names) - 1
        if not is_tree and not protocol_named(self.protocol).allows_circles:
            raise InputError(f"{count} links do not join {len(self.names)} brokers to one tree")

    def __enter__(self) -> Self:
        try:
            for name, dialed in self._dialed.items():
                for other in dialed:
                    self._wait_listening(other)
                self._launch(name)
            for name in self.names:
                self._wait_listening(name)
            self.wait_linked()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def addresses(self) -> dict[str, str]:
        """`host:port` of each broker by name, as `sapwood.connect` takes it."""
        return {name: process.address for name, process in self.processes.items()}

    def stop(self, name: str, *, kill: bool = False) -> int:
        """End one broker, in good order or at once; returns its exit status."""
        return self._process(name).stop(kill=kill)

    def restart(self, name: str) -> None:
        """Start a broker again that was stopped, at its address; returns when it is linked."""
        stopped = self._process(name)
        stopped.close()
        for neighbor in self._neighbors(name):
            self.wait_unlinked(neighbor, name)
        self._launch(name, listen=stopped.address)
        self._wait_listening(name)
        self.wait_linked()

    def wait_linked(self, timeout_s: float = START_S) -> None:
        """Return when all links are up at both ends."""
        for name in self.names:
            process, expected = self._process(name), self._neighbors(name)
            what = f"linked with {', '.join(sorted(expected))}"
            process.wait_until(what, partial(expected.issubset, process.linked), timeout_s)

    def wait_unlinked(self, name: str, neighbor: str, timeout_s: float = START_S) -> None:
        """Return when broker `name` has noticed that its link to `neighbor` is down."""
        process = self._process(name)
        what = f"rid of its link to {neighbor}"
        process.wait_until(what, lambda: neighbor not in process.linked, timeout_s)

    def close(self) -> None:
        """End all brokers."""
        for process in self.processes.values():
            if process.process.poll() is None:
                process.process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            process.close()

    def _launch(self, name: str, listen: str = "127.0.0.1:0") -> None:
        peers = [("--peer", self._process(other).address) for other in self._dialed[name]]
        keeping = () if self.data is None else ("--data", str(self.data / name))
        self.processes[name] = BrokerProcess(
            name,
            (
                *("--listen", listen, "--protocol", self.protocol, "--engine", self.engine),
                *chain.from_iterable(peers),
                *keeping,
                *self.options,
            ),
            self.environment,
        )

    def _wait_listening(self, name: str) -> None:
        process = self._process(name)
        process.wait_until("listening", lambda: bool(process.address), START_S)

    def _neighbors(self, name: str) -> set[str]:
        return {other for edge in self.edges if name in edge for other in edge if other != name}

    def _process(self, name: str) -> BrokerProcess:
        if name not in self.processes:
            raise UnknownNameError("broker", name, self.processes)
        return self.processes[name]


def _dialed(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Each broker's neighbors that stand before it, in an order that begins with the first name.

    Neighbors of the same router follow each other, so that they start at the same time.
    """
    neighbors: dict[str, list[str]] = {name: [] for name in names}
    if len(neighbors) != len(names) or not names:
        raise InputError("an overlay needs at least one broker, and each needs its own name")
    for one, other in edges:
        for name in (one, other):
            if name not in neighbors:
                raise UnknownNameError("broker", name, names)
        if one == other or other in neighbors[one]:
            raise InputError(f"a link joins two brokers, once: not {one!r} and {other!r}")
        neighbors[one].append(other)
        neighbors[other].append(one)
    dialed: dict[str, list[str]] = {names[0]: []}
    reached = [names[0]]
    for name in reached:
        for neighbor in neighbors[name]:
            if neighbor not in dialed:
                dialed[neighbor] = []
                reached.append(neighbor)
    if len(dialed) != len(names):
        raise InputError(f"the links do not join all {len(names)} brokers")
    for place, name in enumerate(reached):
        dialed[name] = [other for other in reached[:place] if other in neighbors[name]]
    return dialed
