"""A subscriber of a campaign, durable or not.

`python -m sapwood_lab.chaos.subscriber ADDRESS NAME FILTER FOLDER durable|plain` prints `ready`
when its subscription is in force, and writes the id of each publication as a line, before it
acknowledges it. What comes again after it was killed in between it knows from its own file.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final

import sapwood
from sapwood.client.durable import DurableDelivery
from sapwood_lab.chaos.publisher import keep_trying

UNACKNOWLEDGED_MAX: Final = 1024
"""Of the last publications before it was killed some may not have been acknowledged."""


def log_of(folder: Path, name: str) -> Path:
    """The file of a subscriber's log."""
    return folder / f"{name}.log"


def read(log: Path) -> list[str]:
    """The ids that a subscriber got, in order; a line that was not finished does not count."""
    return log.read_text().split("\n")[:-1] if log.exists() else []


async def subscribe(address: str, name: str, filter_: str, folder: Path, *, durable: bool) -> None:
    """Write down what comes, until killed."""
    log = log_of(folder, name)
    with log.open("a+b") as written:
        written.truncate(sum(len(id_) + 1 for id_ in read(log)))  # without the half of a line
    again = set(read(log)[-UNACKNOWLEDGED_MAX:])
    with log.open("ab", buffering=0) as written:
        if not durable:
            async with sapwood.connect(address, name) as client:
                plain = await client.subscribe(filter_)
                print("ready", flush=True)  # noqa: T201 - to the campaign
                async for delivery in plain:
                    written.write(delivery.id.encode() + b"\n")
            return
        async with sapwood.connect(address, name, state=folder / f"{name}.state") as client:
            kept = await client.subscribe(filter_, durable=name)
            print("ready", flush=True)  # noqa: T201 - to the campaign
            async for delivery in kept:
                if delivery.id not in again:
                    written.write(delivery.id.encode() + b"\n")
                assert isinstance(delivery, DurableDelivery), "it comes out of a mailbox"
                delivery.acknowledge()


if __name__ == "__main__":
    given = sys.argv
    to, durable = (given[1], given[2], given[3], Path(given[4])), given[5] == "durable"
    asyncio.run(keep_trying(lambda: subscribe(*to, durable=durable)))
