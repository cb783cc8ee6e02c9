"""The systems that are measured, behind one protocol: Sapwood here, peers in `peers`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

import sapwood
from sapwood.testing.overlay import BrokerProcesses
from sapwood_lab.benchmarks.broker.load import Load

ROLES: Final = ("receiving", "publishing", "pinging")
"""The workers of a cell, by the module that is Sapwood's."""

CHURNING: Final = "churning"
"""The worker whose subscriptions come and go, where there is one for a system."""


class Server(Protocol):
    """A running server, or several that are linked."""

    @property
    def publish(self) -> str:
        """The address at which publishers connect."""
        ...

    @property
    def subscribe(self) -> str:
        """The address at which subscribers connect."""
        ...

    def pids(self) -> Sequence[int]:
        """The processes whose usage counts, with all below them."""
        ...

    def restart(self) -> None:
        """Kill the server, or the one in the middle; returns when another has taken its place."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class System(Protocol):
    """A kind of server, and the workers for it."""

    @property
    def name(self) -> str:
        """The name by which it is chosen."""
        ...

    @property
    def delivers_each(self) -> bool:
        """True if a client gets a publication once for each subscription that matches."""
        ...

    @property
    def churns(self) -> bool:
        """True if there is a worker whose subscriptions come and go (`CHURNING`)."""
        ...

    def refuses(self, load: Load, hops: int) -> str:
        """The reason why the system cannot carry a load; empty where it can."""
        ...

    def with_empty_cache(self) -> System | None:
        """The same without any code compiled before, which then is in `cache` of the cell's folder.

        `None` for a system that compiles nothing.
        """
        ...

    def start(self, folder: Path, hops: int) -> Server:
        """Start servers, that many in a line; raises `EnvironmentMissingError`."""
        ...

    def command(self, role: str, task: Path) -> tuple[Sequence[str], Mapping[str, str]]:
        """The command of a worker, and its environment beside this process's."""
        ...


class Sapwood:
    """Sapwood's brokers with their default settings; `options` are further ones of the command.

    With a `durability` they have stores, in folders beside the cell's own files.
    """

    delivers_each = False
    churns = True

    def __init__(
        self, options: Sequence[str] = (), durability: str = "", *, is_cold: bool = False
    ) -> None:
        self._is_cold = is_cold
        self._durability = durability
        self.name = f"sapwood, {durability}" if durability else "sapwood"
        kept = ("--durability", durability) if durability else ()
        self._given = options
        self._options = ("--log-level", "warning", *kept, *options)
        self._keeps = bool(durability)

    def refuses(self, load: Load, hops: int) -> str:  # noqa: ARG002 - it carries all
        """Nothing is refused."""
        return ""

    def with_empty_cache(self) -> Sapwood:
        """Brokers that find no kernels."""
        return Sapwood(self._given, self._durability, is_cold=True)

    def start(self, folder: Path, hops: int) -> Server:
        """Brokers in a line."""
        names = [f"r{place + 1}" for place in range(hops)]
        data = folder / "data" if self._keeps else None
        overlay = BrokerProcesses(
            names,
            list(pairwise(names)),
            options=self._options,
            data=data,
            environment=_without_kernels(folder) if self._is_cold else {},
        )
        overlay.__enter__()
        return _Overlay(overlay)

    def command(self, role: str, task: Path) -> tuple[Sequence[str], Mapping[str, str]]:
        """The worker of this package."""
        module = f"sapwood_lab.benchmarks.broker.{role}"
        return (sys.executable, "-m", module, str(task)), MappingProxyType({})


def _without_kernels(folder: Path) -> Mapping[str, str]:
    """An environment in which a broker finds no compiled kernels, and keeps its own in `cache`.

    Kernels are looked for beside the package's modules as well: so it imports the package from a
    folder that has links to all of that, but for what was compiled.
    """
    package, imported = Path(sapwood.__file__).parent, folder / "imported" / "sapwood"
    imported.mkdir(parents=True)
    for one in package.iterdir():
        if one.name != "__pycache__":
            (imported / one.name).symlink_to(one)
    path = os.pathsep.join(filter(None, (str(imported.parent), os.environ.get("PYTHONPATH"))))
    return {"PYTHONPATH": path, "SAPWOOD_CACHE_DIR": str(folder / "cache")}


class _Overlay:
    """Brokers in a line: published at the first, subscribed at the last."""

    def __init__(self, overlay: BrokerProcesses) -> None:
        self._overlay = overlay
        self.publish = overlay.addresses[overlay.names[0]]
        self.subscribe = overlay.addresses[overlay.names[-1]]

    def pids(self) -> Sequence[int]:
        return [one.process.pid for one in self._overlay.processes.values()]

    def restart(self) -> None:
        middle = self._overlay.names[len(self._overlay.names) // 2]
        self._overlay.stop(middle, kill=True)
        self._overlay.restart(middle)

    def close(self) -> None:
        self._overlay.close()
