"""The six strategies in small: the order that was published."""

from __future__ import annotations

import pytest

from sapwood.errors import UnknownNameError
from sapwood_lab.experiments import strategies
from sapwood_lab.experiments.strategies import COLUMNS, PUBLISHED, STRATEGIES, run


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategies, "ROUTERS", (7,))
    monkeypatch.setattr(strategies, "DOCUMENTS", 1)
    monkeypatch.setattr(strategies, "SAMPLE", 3)


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_covering_and_advertisements_save_messages_and_table_entries() -> None:
    done: list[int] = []
    report = run((40,), seed=2, advance=done.append)
    assert done == [40] * len(STRATEGIES)
    assert report.columns == COLUMNS
    assert report.column("strategy") == list(STRATEGIES)
    messages = dict(zip(STRATEGIES, report.column("messages"), strict=True))
    tables = dict(zip(STRATEGIES, report.column("table_mean"), strict=True))
    counts = [count for count in messages.values() if isinstance(count, int)]
    assert counts[0] == max(counts)
    for wide, narrow in (
        ("no-Adv-no-Cov", "no-Adv-with-Cov"),
        ("no-Adv-no-Cov", "with-Adv-no-Cov"),
        ("with-Adv-no-Cov", "with-Adv-with-Cov"),
        ("no-Adv-with-Cov (kept)", "no-Adv-with-Cov"),
    ):
        more, less = tables[wide], tables[narrow]
        assert isinstance(more, int | float)
        assert isinstance(less, int | float)
        assert more > less
    assert all(isinstance(cell, float) and cell > 0 for cell in report.column("match_ms"))
    published = [PUBLISHED.get((7, strategy), (None, None)) for strategy in STRATEGIES]
    assert report.column("published_messages_pct") == [one for one, _ in published]
    assert report.column("published_delay_pct") == [one for _, one in published]


@pytest.mark.usefixtures("small")
@pytest.mark.long
def test_strategies_are_the_same_for_the_same_seed() -> None:
    measured = COLUMNS.index("match_ms")
    first, again, other = (
        [(*row[:measured], *row[measured + 1 :]) for row in run((12,), seed=s).rows]
        for s in (1, 1, 2)
    )
    assert first == again
    assert first != other


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_merging_saves_messages_and_delay_and_advertisements_leave_the_delay() -> None:
    report = run((120,), seed=1)
    messages, delays = (
        [cell for cell in report.column(name) if isinstance(cell, int | float)]
        for name in ("messages", "delay_pct")
    )
    by_strategy = dict(zip(STRATEGIES, zip(messages, delays, strict=True), strict=True))
    covering, perfect, imperfect = (
        by_strategy[f"with-Adv-with-Cov{suffix}"] for suffix in ("", "PM", "IPM")
    )
    assert covering[0] > max(perfect[0], imperfect[0])
    assert 100.0 == by_strategy["with-Adv-no-Cov"][1] > covering[1]
    assert covering[1] > max(perfect[1], imperfect[1])
    assert by_strategy["no-Adv-with-Cov"][1] < 100.0


def test_strategies_need_a_dtd_that_exists() -> None:
    with pytest.raises(UnknownNameError):
        run((10,), source="nonsense")
