from __future__ import annotations

import json
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from sapwood import parse_filter
from sapwood.client.blocking import connect
from sapwood.errors import ConnectionLostError, InputError
from sapwood.limits import REPLAY_LINES_MAX
from sapwood.model.publication import Publication
from sapwood.pipeline.journals import places as journals
from sapwood.pipeline.journals.places import (
    Part,
    bounds,
    cut,
    is_address,
    is_journal,
    offset_of,
    read,
)
from sapwood.wire.address import parse_address
from tests.broker.helpers import broker_in_a_thread, part_at_once
from tests.store.journals import write_journal


def test_addresses_and_folders_are_told_apart() -> None:
    assert is_address("localhost:7411")
    assert is_address("10.0.0.1:1")
    assert is_address("[::1]:7411")
    for path in ("data/journal", "/data/journal", "journal", "./a:1", "C:/journal"):
        assert not is_address(path)
        assert not is_journal(path)
    assert is_journal("localhost:7411")


def test_a_folder_is_read_like_a_broker(tmp_path: Path) -> None:
    publications = [Publication(f"p{number}", {"n": number}) for number in range(30)]
    first = write_journal(tmp_path, publications, segment_bytes_max=200, kept=5)
    assert first > 0
    place = str(tmp_path)
    assert bounds(place) == (first, 30)
    assert is_journal(place)
    some = [json.loads(line)["id"] for line in read(Part(place, 25, 29), parse_filter("n <> 26"))]
    assert some == ["p25", "p27", "p28"]
    assert len(list(read(Part(place, first, 30)))) == 30 - first
    with pytest.raises(InputError, match="does not keep offset 0 any more"):
        list(read(Part(place, 0, 30)))
    with pytest.raises(InputError, match="ends with offset 30, and 31 were read"):
        list(read(Part(place, 25, 31)))


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    assert bounds(str(tmp_path)) == (0, 0)
    with pytest.raises(InputError, match="no journal here"):
        bounds(str(tmp_path / "none"))
    with pytest.raises(ConnectionLostError, match="no broker at"):
        bounds("127.0.0.1:1")
    with broker_in_a_thread() as address, pytest.raises(InputError, match="keeps no journal"):
        bounds(address)


def test_reading_goes_on_where_it_was_when_the_broker_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "_PAUSE_S", 0.01)
    part_at_once(monkeypatch)
    with ExitStack() as first:
        address = first.enter_context(broker_in_a_thread(data=tmp_path))
        with connect(address) as client:
            # More than one answer of the broker holds, so that it is asked again after the restart.
            many = (Publication(f"p{n}", {"n": n}) for n in range(2 * REPLAY_LINES_MAX))
            client.publish_many(many)
        lines = read(Part(address, 0, 2 * REPLAY_LINES_MAX), parse_filter("n <> 7"))
        some = [next(lines) for _ in range(10)]
    with ExitStack() as second:
        listen = parse_address(address)
        threading.Timer(
            0.2, lambda: second.enter_context(broker_in_a_thread(data=tmp_path, listen=listen))
        ).start()
        found = [offset_of(line) for line in (*some, *lines)]
        assert found == [n for n in range(2 * REPLAY_LINES_MAX) if n != 7]


def test_a_broker_that_stays_away_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "_PAUSE_S", 0.01)
    monkeypatch.setattr(journals, "JOURNAL_RECONNECT_S", 0.05)
    with pytest.raises(ConnectionLostError, match="no broker at"):
        list(read(Part("127.0.0.1:1", 0, 1)))
    with pytest.raises(ConnectionLostError, match="no broker at"):
        bounds("127.0.0.1:1", 0.05)


def test_parts_are_cut_into_pieces_without_a_gap() -> None:
    pieces = cut(Part("j", 3, 11), 4)
    assert pieces == [Part("j", 3, 7), Part("j", 7, 11)]
    assert cut(Part("j", 3, 3), 4) == []
