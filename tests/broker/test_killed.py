"""A broker that is killed while it is published to has every publication once, in order."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from sapwood.client.blocking import connect
from sapwood.model.publication import Publication
from sapwood.store.lines import read_lines
from sapwood.store.segments import segments
from sapwood.store.store import JOURNAL
from sapwood.testing.overlay import BrokerProcesses
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.network

KILLS = 2
AT_ONCE = 400


@pytest.mark.parametrize(
    ("protocol", "durability"),
    [
        ("recover+covering", "none"),
        pytest.param("covering", "fsync", marks=pytest.mark.long),
    ],
)
def test_what_is_published_through_kills_is_there_once(
    tmp_path: Path, protocol: str, durability: str
) -> None:
    options = ("--durability", durability, "--log-level", "error")
    brokers = BrokerProcesses(
        ["r1"], [], protocol=protocol, engine="counting", options=options, data=tmp_path
    )
    published: list[str] = []
    progress, is_over = threading.Event(), threading.Event()

    def publish(address: str) -> None:
        with connect(address, reconnect_s=60.0) as client:
            while not is_over.is_set():
                some = [f"p{len(published) + n}" for n in range(AT_ONCE)]
                done = client.publish_many(Publication(id_, {"n": 1}) for id_ in some)
                assert (done.accepted, done.refused) == (AT_ONCE, ())
                published.extend(some)
                progress.set()

    with brokers:
        publisher = threading.Thread(target=publish, args=(brokers.addresses["r1"],))
        publisher.start()
        try:
            for _ in range(KILLS):
                progress.clear()
                assert progress.wait(PATIENCE_S)
                brokers.stop("r1", kill=True)
                brokers.restart("r1")
        finally:
            is_over.set()
            publisher.join()
    found = [
        line.text for one in segments(tmp_path / "r1" / JOURNAL) for line in read_lines(one, 0)
    ]
    assert [json.loads(line)["id"] for line in found] == published
    assert len(published) > KILLS * AT_ONCE
