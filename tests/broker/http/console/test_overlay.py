"""Other brokers, as the console asks them: as whom, and how often those that do not answer."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sapwood.broker.http.console import overlay
from sapwood.broker.http.console.overlay import Neighborhood, shown_to_others
from sapwood.errors import ConnectionLostError
from sapwood.limits.console import CONSOLE_BROKERS_MAX, CONSOLE_SILENT_S
from sapwood.session.settings import ConnectionSettings, TlsFiles
from sapwood.wire.explaining import ExplainReply
from sapwood.wire.greetings import Credentials
from sapwood.wire.status import StatusReply
from tests.broker.helpers import running, settings


class Readers:
    """Connections that are made to brokers of these neighbors; addresses are names."""

    def __init__(self, neighbors: dict[str, tuple[str, ...]]) -> None:
        self.neighbors = neighbors
        self.made: list[str] = []
        self.closed: list[str] = []

    def __call__(self, address: str, _settings: ConnectionSettings, **_patience: float) -> Reader:
        self.made.append(address)
        if address not in self.neighbors:
            raise ConnectionLostError(f"no broker at {address}")
        return Reader(self, address)


class Reader:
    def __init__(self, readers: Readers, address: str) -> None:
        self._readers, self._address = readers, address

    def status(self) -> StatusReply:
        if self._address not in self._readers.neighbors:
            raise ConnectionLostError(f"{self._address} has gone")
        return StatusReply(self._address, "1", "p", 1.0, 0, (), {}, {}, {}, None, ("a", "b"), ())

    def about(self) -> ExplainReply:
        there = self._readers.neighbors[self._address]
        return ExplainReply(self._address, "p", addresses={name: name for name in there})

    def __exit__(self, *_: object) -> None:
        self._readers.closed.append(self._address)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_brokers_are_found_from_neighbor_to_neighbor_by_one_connection_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readers = Readers({"r2": ("hub", "r3"), "r3": ("r2", "r4"), "r4": ("r3", "hub")})
    monkeypatch.setattr(overlay, "_Reader", readers)
    others = Neighborhood("hub", ConnectionSettings())
    for _ in range(3):
        found = others.look({"r2": "r2"})
        assert [(one.name, one.status is not None) for one in found] == [
            *(("r2", True), ("r3", True), ("r4", True)),
        ]
    assert readers.made == ["r2", "r3", "r4"]
    readers.neighbors["r2"] = ()
    assert [one.name for one in others.look({"r2": "r2"})] == ["r2"]
    assert sorted(readers.closed) == ["r3", "r4"]
    others.close()
    assert sorted(readers.closed) == ["r2", "r3", "r4"]


def test_one_that_does_not_answer_is_left_alone_for_a_while(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    readers = Readers({"r2": ()})
    monkeypatch.setattr(overlay, "_Reader", readers)
    others = Neighborhood("hub", ConnectionSettings())
    near = {"r2": "r2", "gone": "gone"}
    for clock[0] in (0.0, CONSOLE_SILENT_S / 2, CONSOLE_SILENT_S - 1):
        by_name = {one.name: one for one in others.look(near)}
        assert by_name["r2"].status is not None
        assert (by_name["gone"].status, by_name["gone"].why) == (None, "no broker at gone")
    assert readers.made.count("gone") == 1
    clock[0] = CONSOLE_SILENT_S
    readers.neighbors["gone"] = ()
    assert all(one.status is not None for one in others.look(near))
    del readers.neighbors["gone"]
    by_name = {one.name: one for one in others.look(near)}
    assert by_name["gone"].why == "gone has gone"
    assert readers.closed == ["gone"]


def test_no_more_brokers_are_asked_than_a_drawing_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    many: dict[str, tuple[str, ...]] = {
        f"r{n}": (f"r{n + 1}",) for n in range(2 * CONSOLE_BROKERS_MAX)
    }
    monkeypatch.setattr(overlay, "_Reader", Readers(many))
    found = Neighborhood("hub", ConnectionSettings()).look({"r0": "r0"})
    assert len(found) == CONSOLE_BROKERS_MAX


async def test_a_brokers_own_certificate_speaks_for_nobody_who_has_an_identity(
    tmp_path: Path,
) -> None:
    async with running(settings()) as broker:
        files = TlsFiles("ca.pem", "own.pem", "own.key")
        broker.connecting = ConnectionSettings(tls=files)
        who = Credentials("ann", "secret")
        assert shown_to_others(broker, None).tls == files
        object.__setattr__(broker.settings, "identities", tmp_path)
        shown = shown_to_others(broker, who)
        assert (shown.credentials, shown.tls) == (who, TlsFiles("ca.pem"))
