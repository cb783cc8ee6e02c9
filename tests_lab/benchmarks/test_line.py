"""A line of routers that is measured: every protocol delivers the same, and digests travel."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError, UnknownNameError
from sapwood_lab.benchmarks import line

SMALL = line.Choices(sizes=(300,), densities=(0.02,), routers=(3,))


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "PUBLICATIONS", 48)
    monkeypatch.setattr(line, "BATCH", 32)
    monkeypatch.setattr(line, "ROUNDS", 1)


def test_every_protocol_has_a_row_in_each_line_and_delivers_the_same() -> None:
    rows = [*line.run_forwarding(SMALL)]
    assert [(row["homes"], row["protocol"]) for row in rows] == [
        (homes, protocol) for homes in line.HOMES for protocol in line.PROTOCOLS
    ]
    for row in rows:
        assert row["deliveries"] > 0
        assert row["hops"] > 0
        parts = row["routing_us"] + row["read_us"] + row["deliver_us"] + row["send_us"]
        assert row["total_us"] == pytest.approx(parts, abs=0.05)
    sizes = {row["protocol"]: row["hop_bytes"] for row in rows if row["homes"] == "last"}
    bare = sizes[line.EVERY_HOP]
    assert all(sizes[one] > bare for one in line.PROTOCOLS if "+" in one)


def test_publications_match_the_share_that_was_asked_for() -> None:
    filters, reads = line.drawn(line.PAIRS, 1_000, 0.02, 1)
    assert len(filters) == 1_000
    assert [len(read) > 0 for read in reads] == [True, True]
    (row,) = line.run_forwarding(
        line.Choices(
            sizes=(1_000,), densities=(0.02,), routers=(1,), homes=("all",), protocols=("simple",)
        )
    )
    assert row["hops"] == 0
    assert row["routing_ratio"] == 1
    assert 48 * line.CLIENTS * 0.6 < row["deliveries"] <= 48 * line.CLIENTS


def test_a_workload_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownNameError):
        line.drawn("nonsense", 10, 0.1, 1)
    assert len(line.drawn("eq", 10, 0.1, 1)[0]) == 10


def test_a_protocol_that_delivers_less_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = line.measure

    def measure(protocol: str, *rest: object) -> dict[str, object]:
        found = made(protocol, *rest)  # type: ignore[arg-type]
        found["delivered_bytes"] -= "+" in protocol
        return found

    monkeypatch.setattr(line, "measure", measure)
    with pytest.raises(InvariantError):
        [*line.run_forwarding(SMALL)]
