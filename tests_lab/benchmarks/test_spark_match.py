from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import EnvironmentMissingError, InvalidValueError
from sapwood.pipeline.matching.output import Output
from sapwood_lab.benchmarks import spark_match as bench
from sapwood_lab.benchmarks.spark_match import (
    CASES,
    LAKE,
    PEERS,
    TABLE,
    Case,
    Measured,
    Sizes,
    run_spark_match,
)
from sapwood_lab.benchmarks.spark_peer import FORMULATIONS

SIZES = Sizes(subscriptions=120, publications=300)


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_the_peer_delivers_the_same_and_every_bar_has_a_value(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """With the session that is there already in place of a process for each case."""
    monkeypatch.setattr(bench, "ROUNDS", 1)
    monkeypatch.setattr(bench, "FEW", 100)
    # It would hold this process, and all later tests, to one core.
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)

    def in_this_process(folder: Path, name: str, sizes: Sizes, case: Case) -> dict[str, Any]:
        subscriptions, publications = map(str, sizes)
        bench.main(str(folder), name, subscriptions, publications, case.name)
        found: dict[str, Any] = json.loads(capsysbinary.readouterr().out)
        return found

    monkeypatch.setattr(bench, "_in_a_process", in_this_process)
    report = run_spark_match(["eq"], SIZES)
    assert {row["where"] for row in report["rows"]} == {*(case.name for case in CASES), "no Spark"}
    assert len(report["bars"]) == len(LAKE) * (len(FORMULATIONS) + 2) + 1
    assert "VOID" not in {value for row in report["rows"] for value in row.values()}
    assert all(isinstance(bar["value"], float) for bar in report["bars"])
    whats = {row["what"] for row in report["rows"]}
    assert whats == {*LAKE.values(), *PEERS.values(), TABLE, "transport", "match_many"}


@pytest.mark.parametrize(
    ("delivers_other", "wrong", "bars"),
    [
        (
            PEERS["grouped", Output.PAIRS, False],
            {PEERS["grouped", Output.PAIRS, stored] for stored in (False, True)},
            {1, 13},
        ),
        (
            PEERS["join", Output.COUNTS, False],
            {PEERS["join", Output.COUNTS, stored] for stored in (False, True)},
            {8, 20},
        ),
        (TABLE, {TABLE, LAKE[Output.PAIRS, False]}, {0, 1}),
        (LAKE[Output.LISTS, True], {LAKE[Output.LISTS, True]}, {16, 17}),
    ],
)
def test_what_delivers_something_else_is_void(
    monkeypatch: pytest.MonkeyPatch, delivers_other: str, wrong: set[str], bars: set[int]
) -> None:
    figures = Measured(100, 1.0, 0.5, 0.5)._asdict()

    def told(_folder: Path, _name: str, _sizes: Sizes, case: Case) -> dict[str, Any]:
        whats = [*LAKE.values(), TABLE, "transport", *(PEERS.values() if case.peers else ())]
        sums = {what: ["7", "2" if what == delivers_other else "1"] for what in whats}
        return {"sums": sums, "measured": dict.fromkeys(whats, figures)}

    monkeypatch.setattr(bench, "_in_a_process", told)
    report = run_spark_match(["mix"], Sizes(20, 300))
    *rates_of, cost = (bar["value"] for bar in report["bars"])
    assert rates_of == ["VOID" if place in bars else 1.0 for place in range(24)]
    assert isinstance(cost, float)
    rates = {row["what"]: row["publications/s"] for row in report["rows"]}
    assert {what for what, rate in rates.items() if rate == "VOID"} == wrong
    assert rates["transport"] == 100.0


def test_what_the_peer_cannot_have_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="choose mix or eq"):
        run_spark_match(["rng"])
    with pytest.raises(InvalidValueError, match="at least 257 publications"):
        run_spark_match(["eq"], Sizes(10, 256))


def test_a_process_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bench, "__name__", "sapwood.no_such_module")
    with pytest.raises(EnvironmentMissingError, match=r"No module named sapwood\.no_such_module"):
        bench._in_a_process(tmp_path, "mix", SIZES, CASES[0])
