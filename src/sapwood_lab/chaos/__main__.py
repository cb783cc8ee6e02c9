"""`python -m sapwood_lab.chaos`: a campaign, by default of some minutes; see `--help`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from sapwood_lab.chaos.campaign import Campaign, Settings
from sapwood_lab.chaos.plan import MESH, TREE, draw


def main() -> int:
    """Run a campaign; status 1 where a delivery was wrong."""
    parser = argparse.ArgumentParser(prog="python -m sapwood_lab.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shape", choices=("tree", "mesh", "both"), default="both")
    parser.add_argument("--publications", type=int, default=200_000, help="of each campaign")
    parser.add_argument(
        "--kills", type=int, default=40, help="of brokers, half at points; others besides"
    )
    parser.add_argument(
        "--seconds", type=float, default=90.0, help="over which publications and faults are spread"
    )
    parser.add_argument(
        "--pause", type=float, default=0.05, help="seconds between two windows of a publisher"
    )
    parser.add_argument("--durability", default="fsync")
    parser.add_argument(
        "--keep-bytes", type=int, default=1 << 24, help="of publications nobody needs any more"
    )
    parser.add_argument("--folder", type=Path, help="kept; else a temporary one")
    given = parser.parse_args()
    right = True
    for name, shape in (("tree", TREE), ("mesh", MESH)):
        if given.shape not in (name, "both"):
            continue
        with tempfile.TemporaryDirectory(prefix="sapwood-chaos-") as temporary:
            folder = (given.folder or Path(temporary)) / name
            options = ("--durability", given.durability, "--keep-bytes", str(given.keep_bytes))
            settings = Settings(
                folder, shape, given.publications, given.seconds, given.pause, options=options
            )
            faults = draw(
                given.seed,
                shape,
                kills=given.kills,
                seconds=given.seconds,
                publishers=settings.publishers,
                subscribers=settings.durable + settings.plain,
            )
            campaign = Campaign(settings)
            begun = time.monotonic()
            verdict = asyncio.run(campaign.run(faults))
            took = round(time.monotonic() - begun, 1)
            line = {"shape": name, "seed": given.seed, "seconds": took, "faults": campaign.done}
            line["died"] = {"at points": len(campaign.died), "statements": len(set(campaign.died))}
            print(json.dumps(line | asdict(verdict)), flush=True)  # noqa: T201 - the result
            right = right and verdict.is_right
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
