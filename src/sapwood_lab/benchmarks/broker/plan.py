"""The cells to measure: those chosen, or a choice that takes about four minutes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sapwood.errors import EnvironmentMissingError, UnknownNameError
from sapwood.store.durability import Durability
from sapwood_lab.benchmarks.apart import run_apart
from sapwood_lab.benchmarks.broker.cells import Settings, measure_cell
from sapwood_lab.benchmarks.broker.load import DOCUMENTS, Load, make_load
from sapwood_lab.benchmarks.broker.peers import HOW_TO_GET, PEERS, installed, versions
from sapwood_lab.benchmarks.broker.systems import Sapwood, System
from sapwood_lab.benchmarks.network import raw_echo

CLIENTS: Final = 10
MANY_CLIENTS: Final = 1000
SIZES: Final = (1, 100, 10_000, 100_000)
WORKLOADS: Final = ("eq", "mix")


@dataclass(frozen=True, slots=True)
class Choices:
    """The options of the command line; empty means the default.

    `peers` are names, or `none`; without any all that are installed are measured, and those that
    keep what is published only beside Sapwood that does. Sapwood is measured once more with a store
    for each of `durabilities`. With `cold_seconds` brokers start once more, for that time, with an
    empty cache of compiled code.
    """

    sizes: tuple[int, ...] = ()
    workloads: tuple[str, ...] = ()
    clients: tuple[int, ...] = ()
    hops: tuple[int, ...] = ()
    peers: tuple[str, ...] = ()
    durabilities: tuple[str, ...] = ()
    seconds: float = 1.0
    fill_seconds: float = 10.0
    cold_seconds: float = 0.0
    data: Path | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """The load of a cell, and whether peers are measured under it, too."""

    workload: str
    size: int
    clients: int = CLIENTS
    hops: int = 1
    with_peers: bool = False


DEFAULT: Final = (
    Cell("eq", 1),
    Cell("eq", 100, with_peers=True),
    *(Cell(workload, 10_000, with_peers=True) for workload in WORKLOADS),
    *(Cell(workload, 100_000) for workload in WORKLOADS),
    Cell("flights", 10_000),
    Cell(DOCUMENTS, 10_000),
    Cell("eq", 10_000, MANY_CLIENTS),
    Cell("eq", 10_000, hops=3),
)


def cells_of(choices: Choices) -> Iterator[Cell]:
    """The cells to measure: the default ones, or all combinations of what was chosen."""
    if not (choices.sizes or choices.workloads or choices.clients or choices.hops):
        yield from DEFAULT
        return
    for workload in choices.workloads or WORKLOADS:
        for size in choices.sizes or SIZES:
            for clients in choices.clients or (CLIENTS,):
                for hops in choices.hops or (1,):
                    yield Cell(workload, size, clients, hops, with_peers=True)


def run_broker(choices: Choices, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure all cells, one after the other, and the raw echo beside them.

    Returns the figures of the echo, the versions of peers, the cells (`cells.FIGURES`), and why
    peers and workloads were left out, by name. Raises `UnknownNameError` for a name that no peer
    has, `InputError` for what is no durability.
    """
    for durability in choices.durabilities:
        Durability.parse(durability)
    settings = Settings(choices.seconds, choices.fill_seconds, choices.cold_seconds)
    peers, left_out = _peers(choices.peers, keeping=bool(choices.durabilities))
    warm_up()
    rows: list[dict[str, Any]] = []
    for cell in cells_of(choices):
        try:
            load = make_load(cell.workload, cell.size, cell.clients, choices.data)
        except EnvironmentMissingError as error:
            left_out[cell.workload] = str(error)
            continue
        keeping = [Sapwood(durability=one) for one in choices.durabilities]
        for system in (Sapwood(), *keeping, *(peers if cell.with_peers else ())):
            rows.append(measure_cell(system, load, cell.hops, settings))
            say(f"{_named(system, load, cell)}: {rows[-1]['reason'] or rows[-1]['verdict']}")
    known = versions()
    return {
        "echo": raw_echo(choices.seconds),
        "peers": {peer.name: known.get(peer.name, "") for peer in peers},
        "cells": rows,
        "left_out": left_out,
    }


def warm_up() -> None:
    """Compile Sapwood's kernels, as is recommended before a broker is put to work.

    Raises `EnvironmentMissingError` where that fails.
    """
    run_apart("sapwood", ("warm-up",), "brokers")


def _named(system: System, load: Load, cell: Cell) -> str:
    return f"{system.name}, {load.size:,} {load.workload}, {load.clients} clients, hops {cell.hops}"


def _peers(names: tuple[str, ...], *, keeping: bool) -> tuple[list[System], dict[str, str]]:
    """The peers to measure, and why the others are not."""
    if names == ("none",):
        return [], {}
    known = {peer.name: peer for peer in PEERS}
    for name in names:
        if name not in known:
            raise UnknownNameError("peer", name, (*known, "none"))
    chosen, left_out = list[System](), dict[str, str]()
    for name in names or [name for name, peer in known.items() if keeping or not peer.keeps]:
        peer = installed(known[name])
        if isinstance(peer, str):
            left_out[name] = f"{peer}; {HOW_TO_GET}"
        else:
            chosen.append(peer)
    return chosen, left_out
