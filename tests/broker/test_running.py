"""A broker as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from sapwood.broker.running import run_broker
from sapwood.errors import InvariantError
from sapwood.routing.router import Router
from tests.broker.helpers import Story, settings


@pytest.mark.network
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_broker_process_says_where_it_listens_and_ends_on_a_signal(
    number: signal.Signals,
) -> None:
    arguments = ("--listen", "127.0.0.1:0", "--name", "r1")
    with subprocess.Popen(
        (sys.executable, "-m", "sapwood", "broker", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline().split()
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert first[:2] == ["listening", "on"]
    assert first[3:] == ["as", "r1"]
    assert out == ""
    assert [json.loads(line)["event"] for line in err.splitlines()] == ["listening", "stopped"]


def test_a_signal_ends_a_broker_in_good_order() -> None:
    story = Story()

    def announce(line: str) -> None:
        story.lines.append(line)
        os.kill(os.getpid(), signal.SIGTERM)

    run_broker(settings(), story.log, announce)
    assert story.lines[0].startswith("listening on 127.0.0.1:")
    assert story.entries[-1]["event"] == "stopped"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_defect_ends_a_broker_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def defective(*_: object) -> None:
        raise InvariantError("the tables differ")

    monkeypatch.setattr(Router, "handle", defective)
    story = Story()
    threads: list[threading.Thread] = []

    def announce(line: str) -> None:
        threads.append(threading.Thread(target=connect_once, args=(line.split()[2],)))
        threads[0].start()

    with pytest.raises(InvariantError, match="the tables differ"):
        run_broker(settings(), story.log, announce)
    threads[0].join()
    assert story.entries[-1]["event"] == "stopped"


def connect_once(address: str) -> None:
    from sapwood.client.blocking import connect
    from sapwood.errors import ConnectionLostError

    # Whether the goodbye comes before or after the welcome is a matter of chance.
    try:
        with connect(address, reconnect=False) as client:
            client.flush()
    except ConnectionLostError:
        pass
