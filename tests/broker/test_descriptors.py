"""Open files of a broker: taken as far as the system gives them, and missed without noise."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys
from typing import Any, ClassVar

import pytest

from sapwood.broker.descriptors import LoopFaults, with_descriptors
from sapwood.limits import CONNECTIONS_MAX, DESCRIPTORS_RESERVED
from tests.broker.helpers import Story, settings
from tests.patience import PATIENCE_S


class System:
    """The limits of a process, and whether they can be raised."""

    def __init__(self, soft: int, hard: int, *, raises: bool = True) -> None:
        self.limits = soft, hard
        self.raises = raises

    def getrlimit(self, _: int) -> tuple[int, int]:
        return self.limits

    def setrlimit(self, _: int, limits: tuple[int, int]) -> None:
        if not self.raises:
            raise OSError("not here")
        self.limits = limits


NEEDED = 5000 + DESCRIPTORS_RESERVED


@pytest.mark.parametrize(
    ("system", "connections", "soft"),
    [
        (System(1024, 100_000), 5000, NEEDED),
        (System(1024, resource.RLIM_INFINITY), 5000, NEEDED),
        (System(NEEDED, 100_000), 5000, NEEDED),
        (System(resource.RLIM_INFINITY, resource.RLIM_INFINITY), 5000, resource.RLIM_INFINITY),
        (System(1024, 4096), 4096 - DESCRIPTORS_RESERVED, 4096),
        (System(1024, 100_000, raises=False), 1024 - DESCRIPTORS_RESERVED, 1024),
        (System(10, 10), 1, 10),
    ],
)
def test_the_limit_is_raised_or_there_are_fewer_connections(
    system: System, connections: int, soft: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", system.getrlimit)
    monkeypatch.setattr(resource, "setrlimit", system.setrlimit)
    story = Story()
    given = with_descriptors(settings(connections_max=5000), story.log)
    assert (given.connections_max, system.limits[0]) == (connections, soft)
    assert [entry["connections_max"] for entry in story.entries] == (
        [] if connections == 5000 else [connections]
    )


def test_nobody_is_warned_of_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", System(1024, 4096).getrlimit)
    monkeypatch.setattr(resource, "setrlimit", System(1024, 4096).setrlimit)
    story = Story()
    given = with_descriptors(settings(connections_max=CONNECTIONS_MAX), story.log)
    assert given.connections_max == 4096 - DESCRIPTORS_RESERVED
    assert story.entries == []


def test_other_reports_of_the_loop_are_as_they_were() -> None:
    class Loop:
        reports: ClassVar[list[dict[str, Any]]] = []

        def default_exception_handler(self, context: dict[str, Any]) -> None:
            self.reports.append(context)

    story, loop = Story(), Loop()
    LoopFaults(story.log)(loop, {"message": "something else"})
    assert loop.reports == [{"message": "something else"}]
    assert story.entries == []


STARVED = """
import resource
from sapwood.broker import descriptors
from sapwood.cli.main import main

descriptors.DESCRIPTORS_RESERVED = 0  # so that descriptors run out before connections do
resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
main(["broker", "--listen", "127.0.0.1:0", "--name", "r1", "--log-level", "error"])
"""


@pytest.mark.network
def test_a_lack_of_descriptors_is_one_line_a_second() -> None:
    with subprocess.Popen(
        (sys.executable, "-c", STARVED), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        host, _, port = process.stdout.readline().split()[2].rpartition(":")
        connected = [socket.create_connection((host, int(port)), PATIENCE_S) for _ in range(60)]
        lines = [json.loads(process.stderr.readline()) for _ in range(2)]
        for one in connected:
            one.close()
        process.terminate()
        rest = process.communicate(timeout=PATIENCE_S)[1]
    assert {line["event"] for line in lines} == {"cannot accept"}
    assert "Too many open files" in lines[0]["reason"]
    first, second = (line["timestamp"] for line in lines)
    assert first[:19] != second[:19]
    assert "Traceback" not in rest
