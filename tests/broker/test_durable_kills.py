"""Brokers, publishers and consumers are killed, and each publication is seen as often as it must.

A consumer writes down what it sees, acknowledges it, and writes that down: so a line "done" stands
behind what it must not see again. Numbers of the mailbox tell two publications from one that came
twice.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sapwood.client.blocking import connect
from sapwood.testing import BrokerProcesses
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.network

PUBLISHER = """
import sys
from sapwood.client.blocking import connect
address, state, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with connect(address, "publisher", state=state) as client:
    while client.published < count:
        first = client.published
        some = range(first, min(first + 10, count))
        client.publish_many({"x": number} for number in some)
    client.flush()
"""

CONSUMER = """
import sys
from sapwood.client.blocking import connect
address, state, out = sys.argv[1:4]
with connect(address, state=state) as client, open(out, "a", buffering=1) as seen:
    for delivery in client.subscribe(durable="work", window=20, acknowledge_within=5):
        print("seen", delivery.attributes["x"], delivery.number, file=seen)
        delivery.acknowledge()
        print("done", delivery.attributes["x"], delivery.number, file=seen)
"""

COUNT = 300


@contextmanager
def program(text: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python process that is killed at the end."""
    with subprocess.Popen([sys.executable, "-c", text, *arguments]) as process:
        try:
            yield process
        finally:
            process.kill()


def lines(path: Path) -> list[tuple[str, int, int]]:
    """The lines that consumers have written; the last one may be broken off."""
    text = path.read_text() if path.exists() else ""
    words = [line.split() for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return [(word, int(x), int(number)) for word, x, number in words]


def until_seen(path: Path, count: int) -> None:
    """Return when so many publications were seen."""
    end = time.monotonic() + PATIENCE_S
    while len({x for _, x, _ in lines(path)}) < count:
        assert time.monotonic() < end, "what is owed does not come"
        time.sleep(0.02)


def check(path: Path) -> None:
    """Each publication was accepted once, seen at least once, and never behind a "done"."""
    numbers: dict[int, set[int]] = defaultdict(set)
    done: set[int] = set()
    for word, x, number in lines(path):
        numbers[x].add(number)
        if word == "done":
            done.add(x)
        else:
            assert x not in done, f"{x} was seen again behind its acknowledgement"
    assert {x: len(found) for x, found in numbers.items()} == dict.fromkeys(range(COUNT), 1)


@pytest.mark.long
def test_each_publication_is_seen_once_whoever_is_killed(tmp_path: Path) -> None:
    drawn = random.Random(20)
    out, publishing, consuming = tmp_path / "seen", tmp_path / "publisher", tmp_path / "consumer"
    options = ("--durability", "none")
    overlay = BrokerProcesses(
        ("near", "far"), [("near", "far")], "recover+covering", options=options, data=tmp_path
    )
    with overlay:
        with connect(overlay.addresses["far"]) as client:
            client.subscribe("exists x", durable="work")
        address = overlay.addresses
        for killed, first, last in (("far", 0, 100), ("near", 100, 200), ("", 200, COUNT)):
            with (
                program(PUBLISHER, address["near"], str(publishing), str(last)),
                program(CONSUMER, address["far"], str(consuming), str(out)),
            ):
                until_seen(out, first + drawn.randrange(20, 60))
                if killed:
                    overlay.stop(killed, kill=True)
                    overlay.restart(killed)
                else:
                    until_seen(out, last)
    check(out)
