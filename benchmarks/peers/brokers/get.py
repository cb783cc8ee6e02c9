"""Fetch the servers that `sapwood bench broker` measures beside Sapwood, and build their drivers.

`python benchmarks/peers/brokers/get.py [PEER...]` puts them into `~/.cache/sapwood-peers`, or where
`SAPWOOD_PEERS` says, and nothing anywhere else; it needs no root. What cannot be had is named with
the reason, and changes nothing for the others: the exit status is 1 then.

===========  ======================================  ============================
peer         comes from                              needs
===========  ======================================  ============================
nats         Go modules                              Go
nats-python  Go modules, PyPI                        Go, pip
mosquitto    the packages of Debian or Ubuntu        apt-get, dpkg, Go (driver)
rabbitmq     the packages of Debian or Ubuntu, with  apt-get, dpkg, Go (driver)
             their Erlang
artemis      Maven                                   Java 17, Maven
kafka        Maven                                   Java 17, Maven
===========  ======================================  ============================

`kafka` is not measured: tests of the bridge run against it (`pytest --long tests/kafka`).
`nats` brings JetStream (`jetstream`, `jetstream-always`), and `rabbitmq` quorum queues
(`rabbitmq-quorum`).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

HERE: Final = Path(__file__).resolve().parent
NATS: Final = "github.com/nats-io/nats-server/v2@v2.15.2"
NATS_PYTHON: Final = "2.16.0"
ARTEMIS: Final = "2.44.0"
KAFKA: Final = "3.9.1"
"""As in `artemis/pom.xml` and `kafka/pom.xml`, where their dependencies are pinned with them."""


class MissingError(Exception):
    """A requirement of a peer is not there, or a command for it failed."""


def run(command: Sequence[str], folder: Path = HERE, **environment: str) -> str:
    """Run a command; returns what it printed. Raises `MissingError` with its last words."""
    if shutil.which(command[0]) is None:
        raise MissingError(f"{command[0]} is not installed")
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = (done.stderr + done.stdout).strip().splitlines() or ["nothing"]
        raise MissingError(f"{' '.join(command[:3])} failed: {said[-1][:200]}")
    return done.stdout


def go_driver(root: Path) -> None:
    """The driver of all peers but Artemis."""
    run(("go", "build", "-o", str(root / "bin" / "drive"), "."), HERE / "go")


def nats(root: Path) -> str:
    """NATS server, and its driver."""
    run(("go", "install", NATS), GOBIN=str(root / "bin"))
    go_driver(root)
    return NATS.rpartition("@v")[2]


def nats_python(root: Path) -> str:
    """NATS server, and its Python client with a driver."""
    run(("go", "install", NATS), GOBIN=str(root / "bin"))
    into = root / "python"
    shutil.rmtree(into, ignore_errors=True)
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(into))
    run((*pip, f"nats-py=={NATS_PYTHON}"))
    shutil.copy(HERE / "nats_python.py", into)
    return f"{NATS.rpartition('@v')[2]}, nats-py {NATS_PYTHON}"


def debian(root: Path, package: str) -> str:
    """A package with all it needs that is not installed, unpacked; returns its version."""
    archives = root / "archives"
    (archives / "partial").mkdir(parents=True, exist_ok=True)
    run(
        (
            *("apt-get", "-y", "--no-install-recommends", "--download-only"),
            *("-o", "Debug::NoLocking=1", "-o", f"Dir::Cache::archives={archives}"),
            *("install", "--reinstall", package),
        )
    )
    for archive in sorted(archives.glob("*.deb")):
        run(("dpkg", "-x", str(archive), str(root / "debian")))
    (archive,) = archives.glob(f"{package}_*.deb")
    return archive.name.split("_")[1].replace("%3a", ":")


def mosquitto(root: Path) -> str:
    """Eclipse Mosquitto, and its driver."""
    version = debian(root, "mosquitto")
    go_driver(root)
    return version


def rabbitmq(root: Path) -> str:
    """RabbitMQ with Erlang, told where they are now, and its driver."""
    version = debian(root, "rabbitmq-server")
    erlang = root / "debian" / "usr" / "lib" / "erlang"
    for script in (erlang / "bin" / "erl", erlang / "bin" / "start"):
        text = script.read_text("utf-8")
        moved = str(erlang)
        if moved not in text:
            script.write_text(text.replace("/usr/lib/erlang", moved), "utf-8")
    (home,) = (root / "debian/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*")
    (root / "debian" / "serve-rabbitmq").write_text(SERVE_RABBITMQ.format(home=home), "utf-8")
    go_driver(root)
    return version


SERVE_RABBITMQ: Final = """\
# serve-rabbitmq FOLDER PORT: RabbitMQ on this machine alone, with all it writes in FOLDER.
export HOME="$1" RABBITMQ_BASE="$1" RABBITMQ_MNESIA_BASE="$1/mnesia" RABBITMQ_LOG_BASE="$1/log"
export RABBITMQ_NODENAME="peer$2@localhost" RABBITMQ_NODE_IP_ADDRESS=127.0.0.1
export RABBITMQ_NODE_PORT="$2" RABBITMQ_DIST_PORT=$(($2 < 45000 ? $2 + 20000 : $2 - 20000))
export RABBITMQ_ENABLED_PLUGINS_FILE="$1/plugins" RABBITMQ_CONF_ENV_FILE="$1/none"
export RABBITMQ_CONFIG_FILE="$1/none" RABBITMQ_ADVANCED_CONFIG_FILE="$1/none"
export RABBITMQ_LOGS=- SYS_PREFIX="$1"
# Nobody else has to find this node by its name.
export ERL_EPMD_ADDRESS=127.0.0.1 ERL_EPMD_PORT=$(($2 < 45000 ? $2 + 10000 : $2 - 10000))
epmd &
exec sh {home}/sbin/rabbitmq-server
"""


def artemis(root: Path) -> str:
    """ActiveMQ Artemis in a program of its own, with its driver."""
    folder = HERE / "artemis"
    run(("mvn", "-q", "-B", "package", "dependency:copy-dependencies"), folder)
    into = root / "artemis"
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(folder / "target" / "dependency", into / "lib")
    shutil.copy(folder / "target" / "driver.jar", into)
    return ARTEMIS


def kafka(root: Path) -> str:
    """Apache Kafka, all of it in Java archives."""
    into = root / "kafka"
    shutil.rmtree(into, ignore_errors=True)
    goal = "dependency:copy-dependencies"
    run(("mvn", "-q", "-B", goal, f"-DoutputDirectory={into / 'lib'}"), HERE / "kafka")
    return KAFKA


PEERS: Final[Mapping[str, Callable[[Path], str]]] = MappingProxyType(
    {
        "nats": nats,
        "nats-python": nats_python,
        "mosquitto": mosquitto,
        "rabbitmq": rabbitmq,
        "artemis": artemis,
        "kafka": kafka,
    }
)

TESTED_AGAINST: Final = ("kafka",)
"""Servers that are not measured."""

BROUGHT: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"nats": ("jetstream", "jetstream-always"), "rabbitmq": ("rabbitmq-quorum",)}
)
"""Systems that are the same server, set up in another way."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch the peers that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peers", nargs="*", metavar="PEER", help=", ".join(PEERS))
    chosen = parser.parse_args(arguments).peers or [*PEERS]
    unknown = [name for name in chosen if name not in PEERS]
    if unknown:
        parser.error(f"there is no peer {unknown[0]}; there are {', '.join(PEERS)}")
    root = Path(os.environ.get("SAPWOOD_PEERS") or Path.home() / ".cache" / "sapwood-peers")
    (root / "bin").mkdir(parents=True, exist_ok=True)
    file = root / "versions.json"
    versions = json.loads(file.read_text("utf-8")) if file.exists() else {}
    failed = 0
    for name in chosen:
        try:
            versions[name] = PEERS[name](root)
            versions.update(dict.fromkeys(BROUGHT.get(name, ()), versions[name]))
            print(f"{name} {versions[name]} is in {root}")
        except MissingError as error:
            failed = 1
            print(f"{name} could not be had: {error}", file=sys.stderr)
        file.write_text(json.dumps(versions, indent=2) + "\n", "utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(main())
