"""`sapwood request`: a record out, a reply in."""

from __future__ import annotations

import json
import threading

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import main
from sapwood.client import blocking
from tests.broker.helpers import broker_in_a_thread

pytestmark = pytest.mark.network


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["request", *arguments])


def test_the_first_reply_is_printed() -> None:
    with broker_in_a_thread() as address, blocking.connect(address) as answerer:
        requests = answerer.subscribe("symbol = 'SAP' and exists request.number")

        def answer() -> None:
            answerer.reply(next(requests), {"price": 120, "of": {"symbol": "SAP"}})

        thread = threading.Thread(target=answer)
        thread.start()
        ended = run('{"symbol": "SAP"}', "--broker", address, "--timeout", "30")
        thread.join()
    assert ended.exit_code == 0
    assert json.loads(ended.stdout) == {"price": 120, "of": {"symbol": "SAP"}}


def test_no_reply_in_time_is_an_error() -> None:
    with broker_in_a_thread() as address:
        ended = run('{"symbol": "SAP"}', "--broker", address, "--timeout", "0.01")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "no reply came within 0.01 s" in ended.stderr


def test_what_is_no_record_is_an_error() -> None:
    ended = run("[1]")
    assert ended.exit_code == 2
    assert "record" in ended.stderr
