"""Random scenarios, churn and faults included, under every protocol, judged by the oracle.

`make simulate SEED=7` runs the scenario of one seed, `make simulate SEED=1 COUNT=1000` a swarm. The
same seed always gives the same run; a run that goes wrong prints its story and ends with status 1.
"""

# ruff: noqa: T201 - it talks to the person who called it

from __future__ import annotations

import argparse
import sys
import time

from tests.simulation.helpers import faults_found, run_with

from sapwood.routing.protocols import PROTOCOLS
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import Mixture, draw_scenario

ADVERTISING_EVERY = 4
"""Under protocols that do not route by advertisements, every so many seeds clients advertise."""

DOCUMENTS_EVERY = 2
"""Every so many seeds clients speak of documents, too."""


def main() -> int:
    """Run the seeds that were asked for, until one goes wrong; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--count", type=int, default=1, help="how many seeds")
    options = parser.parse_args()
    started = time.monotonic()
    for seed in range(options.seed, options.seed + options.count):
        for protocol in PROTOCOLS:
            if not run_seed(seed, protocol, verbose=options.count == 1):
                return 1
    seconds = time.monotonic() - started
    seeds = f"{options.count} seeds" if options.count != 1 else f"seed {options.seed}"
    print(f"simulate: {seeds} under {', '.join(PROTOCOLS)}: all right ({seconds:.1f} s)")
    return 0


def run_seed(seed: int, protocol: str, *, verbose: bool) -> bool:
    """Run the scenario of one seed under one protocol; whether all was right."""
    advertising = PROTOCOLS[protocol].advertised or seed % ADVERTISING_EVERY == 0
    mixture = Mixture(advertisements=advertising, documents=seed % DOCUMENTS_EVERY == 0)
    scenario = draw_scenario(seed, mixture)
    make_router = router_maker(protocol)
    trial = run_with(scenario, make_router, protocol)
    found = faults_found(trial, make_router)
    if found:
        print("\n".join(trial.outcome.world.trace.story))
        print(f"\nsimulate: seed {seed} under {protocol} went wrong: {found}")
    elif verbose:
        print(
            f"{protocol:<23} {len(scenario.topology.routers)} routers, "
            f"{len(scenario.steps)} steps, {trial.metrics.deliveries} deliveries "
            f"({trial.judgment.must} due, {trial.judgment.may} allowed)"
        )
    return not found


if __name__ == "__main__":
    sys.exit(main())
