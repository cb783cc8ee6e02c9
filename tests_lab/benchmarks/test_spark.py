from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sapwood.cli.tour.flights import flights, interests
from sapwood.errors import EnvironmentMissingError
from sapwood.matching.index import Index
from sapwood_lab.benchmarks import spark as bench

ROWS = 300


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_the_figures_are_those_of_what_was_matched(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """With the session that is there already in place of a process for each figure."""
    try:
        published = list(flights(ROWS))
    except EnvironmentMissingError as missing:
        pytest.skip(str(missing))
    index = Index(records="counting")
    for subscription in interests():
        index.add(subscription.id, subscription.filter)

    def in_this_process(folder: Path, master: str, seconds: float) -> dict[str, Any]:
        bench.main(str(folder), master, str(seconds))
        found: dict[str, Any] = json.loads(capsysbinary.readouterr().out)
        assert len(found["seconds"]) == bench.RUNS_MIN
        return found

    monkeypatch.setattr(bench, "_in_a_process", in_this_process)
    figures = bench.run_pipeline_bench(0.0, rows=ROWS)
    assert figures["publications"] == ROWS
    assert figures["subscriptions"] == len(index)
    assert figures["deliveries"] == sum(map(len, index.match_many(published)))
    for master in ("local[1]", "local[2]"):
        median = figures[f"{master}_publications_per_s"]
        assert figures[f"{master}_publications_per_s_best"] >= median > 0


def test_a_process_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bench, "__name__", "sapwood.no_such_module")
    with pytest.raises(EnvironmentMissingError, match=r"No module named sapwood\.no_such_module"):
        bench._in_a_process(tmp_path, "local[1]", 0.0)


def test_measuring_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(EnvironmentMissingError, match=r"pip install 'sapwood\[spark\]'"):
        bench.run_pipeline_bench(0.0, rows=1)
