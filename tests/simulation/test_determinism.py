"""One seed, one history: in one process, and in two that hash differently."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

import pytest

from sapwood.simulation.scenario_document import encode_scenario
from sapwood.simulation.swarm import draw_scenario
from tests.simulation.changes import adding
from tests.simulation.helpers import PROTOCOLS, Trial, run

SEEDS = range(1)
every_seed = pytest.mark.parametrize(
    "seeds", [SEEDS, pytest.param(range(1, 24), marks=pytest.mark.long)], ids=["gate", "long"]
)
CIRCLES = "mesh+advertisement+covering"
ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import sys
from tests.simulation.test_determinism import histories

print(*histories(range(*map(int, sys.argv[1:]))), sep="\\n")
"""


def histories(seeds: Iterable[int]) -> Iterator[str]:
    """A line for each scenario, and one for each run of it under some protocol."""
    for seed in seeds:
        scenario = draw_scenario(seed)
        yield blake2b(encode_scenario(scenario)).hexdigest()
        for protocol in PROTOCOLS:
            yield history(run(scenario, protocol))
        for protocol in ("covering+recover", "mesh+covering+recover"):
            yield run(scenario, protocol).metrics.trace
        yield history(run(adding(seed, failing=True, churn=True), CIRCLES))


def history(trial: Trial) -> str:
    """The trace, the deliveries and the figures of a run."""
    return f"{trial.metrics.trace} {trial.pairs} {trial.metrics.to_json()!r}"


def output_under(hash_seed: str, seeds: range) -> str:
    """What a process prints of the histories whose hashes are made with a seed."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(seeds.start), str(seeds.stop)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return finished.stdout


@every_seed
def test_the_same_seed_gives_the_same_trace_twice(seeds: range) -> None:
    for seed in seeds:
        for protocol in PROTOCOLS:
            first, second = (run(draw_scenario(seed), protocol) for _ in range(2))
            assert first.metrics == second.metrics
            assert first.pairs == second.pairs


def test_other_seeds_and_other_protocols_give_other_traces() -> None:
    digests = {
        run(draw_scenario(seed), protocol).metrics.trace
        for seed in SEEDS
        for protocol in ("simple", "flooding")
    }
    assert len(digests) == 2 * len(SEEDS)


@every_seed
def test_the_trace_does_not_depend_on_the_order_of_hashes(seeds: range) -> None:
    # This process has another seed: one that was given, or one of 2 ** 32 that was drawn.
    other = output_under("2" if os.environ.get("PYTHONHASHSEED") == "1" else "1", seeds)
    assert other.splitlines() == list(histories(seeds))
    assert len(other.splitlines()) == len(seeds) * (4 + len(PROTOCOLS))
