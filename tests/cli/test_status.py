"""`sapwood status`: one broker's state for people and for programs, and where there is none."""

from __future__ import annotations

import json
import socket

import pytest
from click.testing import CliRunner, Result

from sapwood import __version__
from sapwood.cli.main import main
from tests.broker.helpers import broker_in_a_thread

pytestmark = pytest.mark.network


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["status", *arguments])


def test_a_program_gets_one_object() -> None:
    with broker_in_a_thread(name="hub") as address:
        ended = run(address, "--json")
    assert ended.exit_code == 0
    found = json.loads(ended.stdout)
    assert (found["broker"], found["version"], found["routing"]) == ("hub", __version__, "covering")
    assert (found["clients"], found["links"], found["store"]) == (1, [], None)
    assert found["engines"] == {"records": "auto", "documents": "auto"}
    assert found["tables"]["local"] == found["events"]["publications"] == 0
    assert found["uptime_s"] >= 0


def test_a_person_gets_tables() -> None:
    with broker_in_a_thread(name="hub") as address:
        ended = run(address)
    assert ended.exit_code == 0
    rows = [line.split() for line in ended.stdout.splitlines()]
    assert rows[0] == ["broker", "hub"]
    assert ["protocol", "covering"] in rows
    assert ["store", "none"] in rows
    assert ["publications", "0"] in rows


def test_an_address_where_nobody_listens_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = run(address)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert f"no broker at {address}" in ended.stderr
