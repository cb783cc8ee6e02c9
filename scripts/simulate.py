"""Random scenarios, churn and faults included, under every protocol, judged by the oracle.

`make simulate SEED=7` runs the scenario of one seed, `make simulate SEED=1 COUNT=1000` a swarm. The
same seed always gives the same run; a run that goes wrong prints its story and ends with status 1.
With `--rewiring`, routers and links come and go as well, which are other scenarios; with `--small`
they have few routers and rounds. `--protocol NAME`, which can be repeated, names the protocols;
without it they are all that are listed:

    make simulate COUNT=10000 PROTOCOL=xroute+recover
"""

# ruff: noqa: T201 - it talks to the person who called it

from __future__ import annotations

import argparse
import sys
import time

from sapwood.routing.protocols import PROTOCOLS
from sapwood.simulation.examination import draw_for, examine
from sapwood.simulation.scenario import Scenario


def main() -> int:
    """Run the seeds that were asked for, until one goes wrong; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--count", type=int, default=1, help="how many seeds")
    parser.add_argument("--rewiring", action="store_true", help="let routers and links come and go")
    parser.add_argument("--old-state", action="store_true", help="let disks have older states")
    parser.add_argument("--changes", action="store_true", help="let clients change filters")
    parser.add_argument("--protocol", action="append", help="one to run; all, by default")
    parser.add_argument(
        "--small", action="store_true", help="few routers and rounds, for more seeds"
    )
    options = parser.parse_args()
    protocols = options.protocol or list(PROTOCOLS)
    started = time.monotonic()
    for seed in range(options.seed, options.seed + options.count):
        for protocol in protocols:
            scenario = draw_for(
                protocol,
                seed,
                rewiring=options.rewiring,
                relapses=options.old_state,
                changes=options.changes,
                small=options.small,
            )
            if not run_scenario(scenario, seed, protocol, verbose=options.count == 1):
                return 1
    seconds = time.monotonic() - started
    seeds = f"{options.count} seeds" if options.count != 1 else f"seed {options.seed}"
    print(f"simulate: {seeds} under {', '.join(protocols)}: all right ({seconds:.1f} s)")
    return 0


def run_scenario(scenario: Scenario, seed: int, protocol: str, *, verbose: bool) -> bool:
    """Run the scenario of one seed under one protocol; whether all was right."""
    examined = examine(scenario, protocol)
    world, judgment = examined.outcome.world, examined.judgment
    if examined.found:
        print("\n".join(examined.outcome.world.trace.story))
        print(f"\nsimulate: seed {seed} under {protocol} went wrong: {dict(examined.found)}")
    elif verbose:
        print(
            f"{protocol:<23} {len(scenario.topology.routers)} routers, "
            f"{len(scenario.steps)} steps, {len(world.history.deliveries)} deliveries "
            f"({judgment.must} due, {judgment.may} allowed)"
        )
    return not examined.found


if __name__ == "__main__":
    sys.exit(main())
