"""A broker that is killed and started again, measured: it is what it was, and delivers the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.testing.overlay import BrokerProcesses
from sapwood_lab.benchmarks import restarting

TEXTS = [f"a = {number}" for number in range(300)]


def _overlay(folder: Path) -> BrokerProcesses:
    return BrokerProcesses([restarting.NAME], (), protocol="covering+recover", data=folder)


@pytest.mark.long
@pytest.mark.network
def test_what_a_restart_takes_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarting, "CALM_S", 0.1)
    with _overlay(tmp_path) as overlay:
        first = overlay.processes[restarting.NAME].process.pid
        row = restarting.restarted(TEXTS, overlay, tmp_path)
        assert overlay.processes[restarting.NAME].process.pid != first
    assert row["subscriptions"] == len(TEXTS)
    assert row["records_in_checkpoint"] == 0, "so few are no reason for one"
    assert min(row["mib_before"], row["mib_after"]) > 1
    assert 0 < row["accepting_s"] <= row["in_force_s"]


@pytest.mark.long
@pytest.mark.network
def test_what_waits_in_a_mailbox_is_delivered_and_measured(tmp_path: Path) -> None:
    with _overlay(tmp_path) as overlay:
        row = restarting.backlog(TEXTS, overlay, 500)
    assert row["publications"] == 500
    rates = [row[name] for name in ("live_plain", "live", "backlog", "backlog_restarted")]
    assert min(rates) > 0
    assert row["of_live"] == pytest.approx(row["backlog"] / row["live"], abs=0.02)
