"""One seed, one history: in one process, and in two that hash differently."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sapwood.simulation.swarm import draw_scenario
from tests.simulation.helpers import PROTOCOLS, run

SEEDS = range(1)
every_seed = pytest.mark.parametrize(
    "seeds", [SEEDS, pytest.param(range(1, 24), marks=pytest.mark.long)], ids=["gate", "long"]
)
CIRCLES = "mesh+advertisement+covering"
ROOT = Path(__file__).resolve().parents[2]

PROGRAM = f"""
import sys
from sapwood.simulation.scenario_document import encode_scenario
from sapwood.simulation.swarm import draw_scenario
from tests.simulation.changes import adding
from tests.simulation.helpers import PROTOCOLS, run
from hashlib import blake2b

for seed in range(*map(int, sys.argv[1:])):
    scenario = draw_scenario(seed)
    print(blake2b(encode_scenario(scenario)).hexdigest())
    for protocol in PROTOCOLS:
        trial = run(scenario, protocol)
        print(trial.metrics.trace, trial.pairs, trial.metrics.to_json())
    for protocol in ("covering+recover", "mesh+covering+recover"):
        print(run(scenario, protocol).metrics.trace)
    trial = run(adding(seed, failing=True, churn=True), {CIRCLES!r})
    print(trial.metrics.trace, trial.pairs, trial.metrics.to_json())
"""


def output_under(hash_seed: str, seeds: range) -> str:
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
    first = output_under("1", seeds)
    assert first == output_under("2", seeds)
    assert len(first.splitlines()) == len(seeds) * (4 + len(PROTOCOLS))
