"""A publisher of a campaign: `... chaos.publisher ADDRESS NAME COUNT SECONDS PAUSE FOLDER`.

It spreads its publications over the seconds of a campaign, so that faults meet some on their way:
some of them every `PAUSE` seconds. It writes `tried N` before it publishes the numbers below N, and
`accepted N` when these are accepted, behind `refused N` for each of them that was not. Killed and
started again it goes on behind what was accepted, so that what was in doubt is published again,
under the same ids.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic
from typing import Final

import sapwood
from sapwood.errors import ConnectionLostError, HandshakeError
from sapwood_lab.chaos.judge import Published
from sapwood_lab.chaos.workload import number_of, publication

WINDOW: Final = 2048
"""Publications between two lines of the log, at most."""

AGAIN_S: Final = 0.1


def log_of(folder: Path, name: str) -> Path:
    """The file of a publisher's log."""
    return folder / f"{name}.log"


def read(log: Path) -> Published:
    """Read a publisher's log; a line that was not finished does not count."""
    found: dict[str, list[int]] = {"tried": [0], "accepted": [0], "refused": []}
    if log.exists():
        for line in log.read_text().split("\n")[:-1]:
            word, number = line.split()
            found[word].append(int(number))
    return Published(max(found["accepted"]), max(found["tried"]), frozenset(found["refused"]))


async def publish(
    address: str, name: str, folder: Path, *, count: int, seconds: float, pause: float
) -> None:
    """Publish all that is not accepted yet, at the pace of `count` in `seconds` seconds, or slower.

    What was not published in time, as the broker was not there, is not made up for in a burst.
    """
    log = log_of(folder, name)
    done = read(log).accepted
    window = min(WINDOW, max(1, round(count / seconds * pause)))
    pause = window * seconds / count
    with log.open("ab", buffering=0) as written:
        async with sapwood.connect(address, name, state=folder / f"{name}.state") as client:
            while done < count:
                began = monotonic()
                following = min(count, done + window)
                written.write(b"tried %d\n" % following)
                result = await client.publish_many(
                    publication(name, number) for number in range(done, following)
                )
                for refused in result.refused:
                    written.write(b"refused %d\n" % number_of(refused.id)[1])
                done = following
                written.write(b"accepted %d\n" % done)
                await asyncio.sleep(began + pause - monotonic())


async def keep_trying(work: Callable[[], Awaitable[None]]) -> None:
    """Do the work, again from the beginning where no broker answers at first, or not in time."""
    while True:
        try:
            await work()
        except (ConnectionLostError, HandshakeError):
            await asyncio.sleep(AGAIN_S)
        else:
            return


if __name__ == "__main__":
    _, address, name, *numbers, folder = sys.argv
    asyncio.run(
        keep_trying(
            lambda: publish(
                address,
                name,
                Path(folder),
                count=int(numbers[0]),
                seconds=float(numbers[1]),
                pause=float(numbers[2]),
            )
        )
    )
