"""The six strategies as configurations, with the published orders."""

from __future__ import annotations

import pytest

from sapwood_lab.experiments import strategies
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Row
from sapwood_lab.experiments.six_strategies import DESIGN, TIMED, report
from sapwood_lab.experiments.strategies import COLUMNS, PUBLISHED, STRATEGIES


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategies, "ROUTERS", (7,))
    monkeypatch.setattr(strategies, "DOCUMENTS", 1)
    monkeypatch.setattr(strategies, "SAMPLE", 3)


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_strategies_give_the_rows_of_their_table() -> None:
    found = run(DESIGN, Choices((8, 5), 2))
    assert found.columns == COLUMNS
    assert found.column("xpes") == [8] * len(STRATEGIES) + [5] * len(STRATEGIES)
    whole = strategies.run((8, 5), seed=2)
    lasting = [at for at, name in enumerate(COLUMNS) if name not in TIMED]
    for row, same in zip(found.rows, whole.rows, strict=True):
        assert [row[at] for at in lasting] == [same[at] for at in lasting]
    assert found.title == whole.title
    assert len(found.findings) == 4


def test_published_figures_are_in_the_published_order() -> None:
    rows: list[Row] = [
        {"routers": n, "xpes": 9, "strategy": name, "messages": messages, "delay_xpes": delay}
        for (n, name), (messages, delay) in PUBLISHED.items()
    ]
    assert all(finding.holds for finding in report(Choices(), rows).findings)
    worse = [{**row, "messages": 1000.0} if row["routers"] == 7 else row for row in rows]
    assert [one.holds for one in report(Choices(), worse).findings] == [False, True, True, True]
