"""Other servers under the same load, each set up as its documentation recommends.

================  ================================================================================
nats              one subject; every client gets all, and filters (Go)
nats-python       the same by the Python client
jetstream         a stream in files, synced every two minutes, as is its default; every client has
                  an ordered consumer that begins with what is new, gets all, and filters (Go)
jetstream-always  the same with `sync_interval: always`
mosquitto         one topic, quality of service 0, unbounded queues; every client gets all, and
                  filters (Go)
rabbitmq          a headers exchange, a binding with `x-match` a subscription, a queue a client,
                  automatic acknowledgement; equalities only
rabbitmq-quorum   a fanout exchange, a quorum queue a client, publisher confirms, persistent
                  publications, automatic acknowledgement; every client gets all, and filters (Go)
artemis           a topic and a consumer with a JMS selector a subscription; nothing persistent
================  ================================================================================

Their programs, and the drivers for them, are where `benchmarks/peers/brokers/get.py` puts
them: in the folder that `SAPWOOD_PEERS` names, `~/.cache/sapwood-peers` otherwise.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from sapwood.errors import EnvironmentMissingError
from sapwood_lab.benchmarks.broker.load import Load
from sapwood_lab.benchmarks.broker.systems import Server, System
from sapwood_lab.benchmarks.records.export import conditions

HOW_TO_GET: Final = "get it with `python benchmarks/peers/brokers/get.py`"
FOLDER_VARIABLE: Final = "SAPWOOD_PEERS"
START_S: Final = 60.0
"""Seconds that a server may take to listen; those on virtual machines take some."""

_POLL_S: Final = 0.01


@dataclass(frozen=True, slots=True)
class Command:
    """The start of a process: its arguments, and variables beside those of this one."""

    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Peer:
    """A server that is no Sapwood.

    `needs` are the files, below the folder of peers, without which it is not there. `serve` makes
    the command of a server, from that folder, a folder of its own and a port; `work` that of the
    drivers, from the first. One that `keeps` what is published stores it on a disk.
    """

    name: str
    needs: Sequence[str]
    serve: Callable[[Path, Path, int], Command]
    work: Callable[[Path], Command]
    only_equalities: bool = False
    delivers_each: bool = False
    keeps: bool = False
    churns: bool = False

    def with_empty_cache(self) -> None:
        """Peers compile nothing that they keep."""
        return

    def refuses(self, load: Load, hops: int) -> str:
        """The reason against a load: documents, several servers, or filters that it lacks."""
        if load.holds_documents:
            return "does not filter documents"
        if hops > 1:
            return "is measured with one server"
        if self.only_equalities and not _is_equalities(load):
            return "a headers exchange compares for equality alone"
        return ""

    def start(self, folder: Path, hops: int) -> Server:  # noqa: ARG002 - one, by `refuses`
        """One server."""
        port = _free_port()
        return _Process(self.name, self.serve(peers_folder(), folder, port), folder, port)

    def command(self, role: str, task: Path) -> tuple[Sequence[str], Mapping[str, str]]:
        """A driver."""
        work = self.work(peers_folder())
        return (*work.arguments, self.name, role, str(task)), work.environment


def peers_folder() -> Path:
    """The folder in which peers are installed."""
    given = os.environ.get(FOLDER_VARIABLE)
    return Path(given) if given else Path.home() / ".cache" / "sapwood-peers"


def versions() -> dict[str, str]:
    """The versions of peers by name, as far as they were noted when they were fetched."""
    file = peers_folder() / "versions.json"
    found: dict[str, str] = msgspec.json.decode(file.read_bytes()) if file.exists() else {}
    return found


def installed(peer: Peer) -> System | str:
    """The peer, or what of it is missing."""
    missing = [name for name in peer.needs if not (peers_folder() / name).exists()]
    return f"{', '.join(missing)} is not in {peers_folder()}" if missing else peer


def _is_equalities(load: Load) -> bool:
    """True if every subscription is a conjunction of equalities."""
    for interest in load.interests:
        lists = conditions(interest)  # type: ignore[arg-type]
        if len(lists) != 1 or any(len(one.get("in", ())) != 1 for one in lists[0]):
            return False
    return True


class _Process:
    """One process that listens at a port."""

    def __init__(self, name: str, command: Command, folder: Path, port: int) -> None:
        self._name, self._command, self._port = name, command, port
        self._log = folder / f"{name}.log"
        self.publish = self.subscribe = f"127.0.0.1:{port}"
        self._process = self._started()

    def pids(self) -> Sequence[int]:
        return (self._process.pid,)

    def restart(self) -> None:
        self.close()
        self._process = self._started()

    def close(self) -> None:
        with suppress(ProcessLookupError):
            # It leads a group of its own, in which all are that it has started.
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        """A process that listens."""
        with self._log.open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 - a server that was chosen
                self._command.arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self._command.environment},
                start_new_session=True,
            )
        self._process = process
        deadline = time.monotonic() + START_S
        while not _listens(self._port):
            if process.poll() is not None or time.monotonic() > deadline:
                self.close()
                said = self._log.read_text("utf-8", "replace").strip().splitlines() or ["nothing"]
                raise EnvironmentMissingError(f"{self._name} does not listen: {said[-1]}")
            time.sleep(_POLL_S)
        return process


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1.0).close()
    except OSError:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# Each peer ---------------------------------------------------------------------------------------

DEBIAN: Final = "debian"
GO_DRIVER: Final = "bin/drive"
PYTHON_DRIVER: Final = "python/nats_python.py"
ARTEMIS: Final = "artemis"


def _go_driver(root: Path) -> Command:
    return Command((str(root / GO_DRIVER),))


def _python_driver(root: Path) -> Command:
    """The driver with its client beside it, on this interpreter and its packages."""
    driver = root / PYTHON_DRIVER
    path = os.pathsep.join(filter(None, (str(driver.parent), *sys.path)))
    return Command((sys.executable, str(driver)), {"PYTHONPATH": path})


def _nats(root: Path, _folder: Path, port: int) -> Command:
    return Command((str(root / "bin" / "nats-server"), "-a", "127.0.0.1", "-p", str(port)))


def _jetstream(sync: str) -> Callable[[Path, Path, int], Command]:
    """A server that keeps streams in a folder of its own, and syncs their files so often."""

    def serve(root: Path, folder: Path, port: int) -> Command:
        file = folder / "jetstream.conf"
        kept = folder / "jetstream"
        file.write_text(
            f'host: "127.0.0.1"\nport: {port}\n'
            f'jetstream {{ store_dir: "{kept}", sync_interval: {sync} }}\n'
        )
        return Command((str(root / "bin" / "nats-server"), "-c", str(file)))

    return serve


def _mosquitto(root: Path, folder: Path, port: int) -> Command:
    file = folder / "mosquitto.conf"
    file.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n"
        "max_queued_messages 0\nlog_dest stderr\nlog_type error\n"
    )
    program = root / DEBIAN / "usr" / "sbin" / "mosquitto"
    libraries = ":".join(str(root / DEBIAN / place) for place in _LIBRARIES)
    return Command((str(program), "-c", str(file)), {"LD_LIBRARY_PATH": libraries})


_LIBRARIES: Final = ("usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "lib")


def _rabbitmq(root: Path, folder: Path, port: int) -> Command:
    erlang = root / DEBIAN / "usr" / "lib" / "erlang"
    (folder / "rabbit").mkdir(exist_ok=True)
    return Command(
        ("/bin/sh", str(root / DEBIAN / "serve-rabbitmq"), str(folder / "rabbit"), str(port)),
        {
            "PATH": f"{erlang / 'bin'}:{os.environ.get('PATH', os.defpath)}",
            "ROOTDIR": str(erlang),
        },
    )


def _java(root: Path, *arguments: str) -> Command:
    classes = f"{root / ARTEMIS / 'driver.jar'}:{root / ARTEMIS / 'lib' / '*'}"
    return Command(("java", "-cp", classes, "peers.Main", *arguments))


def _artemis(root: Path, folder: Path, port: int) -> Command:
    return _java(root, "serve", str(folder), str(port))


PEERS: Final = (
    Peer("nats", ("bin/nats-server", GO_DRIVER), _nats, _go_driver),
    Peer("nats-python", ("bin/nats-server", PYTHON_DRIVER), _nats, _python_driver),
    *(
        Peer(name, ("bin/nats-server", GO_DRIVER), _jetstream(sync), _go_driver, keeps=True)
        for name, sync in (("jetstream", '"2m"'), ("jetstream-always", "always"))
    ),
    Peer("mosquitto", (f"{DEBIAN}/usr/sbin/mosquitto", GO_DRIVER), _mosquitto, _go_driver),
    Peer(
        "rabbitmq",
        (f"{DEBIAN}/serve-rabbitmq", GO_DRIVER),
        _rabbitmq,
        _go_driver,
        only_equalities=True,
    ),
    Peer(
        "rabbitmq-quorum",
        (f"{DEBIAN}/serve-rabbitmq", GO_DRIVER),
        _rabbitmq,
        _go_driver,
        keeps=True,
    ),
    Peer("artemis", (f"{ARTEMIS}/driver.jar",), _artemis, _java, delivers_each=True),
)
"""All that there are drivers for, in the order in which they are measured."""
