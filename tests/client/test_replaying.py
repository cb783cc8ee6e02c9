from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pytest

from sapwood import parse_filter
from sapwood.client.blocking import connect
from sapwood.client.replaying import JournalReader
from sapwood.errors import ConnectionLostError, InputError
from sapwood.limits import REPLAY_LINES_MAX
from sapwood.model.publication import Publication
from tests.broker.helpers import broker_in_a_thread, part_at_once


def test_a_part_of_a_journal_is_read_in_as_many_answers_as_it_takes(tmp_path: Path) -> None:
    total = 2 * REPLAY_LINES_MAX + 10
    with broker_in_a_thread(data=tmp_path) as address:
        with connect(address) as client:
            client.publish_many(Publication(f"p{n}", {"n": n}) for n in range(total))
        with JournalReader(address) as reader:
            assert reader.broker == "r1"
            assert reader.bounds() == (0, total)
            some = [json.loads(line)["offset"] for line in reader.read(5, total - 5)]
            assert some == list(range(5, total - 5))
            last = list(reader.read(0, 1 << 60, parse_filter(f"n = {total - 1}")))
            assert [json.loads(line)["id"] for line in last] == [f"p{total - 1}"]
            assert list(reader.read(total, total + 5)) == []


def test_a_broker_that_goes_away_or_is_none_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part_at_once(monkeypatch)
    with broker_in_a_thread(data=tmp_path) as address:
        reader = JournalReader(address)
    with reader, pytest.raises(ConnectionLostError, match=f"broker {address}: "):
        reader.bounds()
    with pytest.raises(ConnectionLostError, match="no broker at"):
        JournalReader(address)


def test_a_broker_without_a_journal_is_told() -> None:
    with (
        broker_in_a_thread() as address,
        JournalReader(address) as reader,
        pytest.raises(InputError, match="keeps no journal"),
    ):
        reader.bounds()


def test_what_is_no_broker_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            peer, _ = server.accept()
            with peer:
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(ConnectionLostError, match="does not speak Sapwood's protocol"):
            JournalReader(f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()
