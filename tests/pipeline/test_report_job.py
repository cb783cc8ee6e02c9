from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError, InputError
from sapwood.pipeline.report_job import ReportJob

pytestmark = pytest.mark.spark

DELIVERED = (
    *(("p1", f"s{n}") for n in range(5)),
    *(("p2", f"s{n}") for n in range(2)),
    ("p3", "s0"),
)


@pytest.fixture
def job(tmp_path: Path) -> ReportJob:
    (tmp_path / "d.jsonl").write_text(
        "".join(
            f'{{"publication": "{p}", "subscription": "{s}", '
            f'"delivered_at": "2026-01-31T12:00:0{place}.25Z"}}\n'
            for place, (p, s) in enumerate(DELIVERED)
        )
    )
    (tmp_path / "s.jsonl").write_text("".join(f'{{"id": "s{n}"}}\n' for n in range(7)))
    times = ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z", "2026-01-31T13:00:00Z", None)
    (tmp_path / "p.jsonl").write_text(
        "".join(
            f'{{"id": "p{n}", "published_at": "{at}"}}\n' if at else f'{{"id": "p{n}"}}\n'
            for n, at in enumerate(times, 1)
        )
    )
    (tmp_path / "c.jsonl").write_text(
        '{"link": "r1-r2", "needed": true}\n' + '{"link": "r1-r2", "needed": false}\n' * 2
    )
    paths = [str(tmp_path / name) for name in ("d.jsonl", "out", "p.jsonl", "s.jsonl", "c.jsonl")]
    return ReportJob(*paths)


def table(spark: Any, job: ReportJob, name: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.read.parquet(f"{job.out}/{name}").collect())


def test_report_counts_everything_and_makes_a_page(spark: Any, job: ReportJob) -> None:
    summary = job.run(spark)
    totals = summary.totals
    assert (totals.deliveries, totals.publications_wanted, totals.fan_out_max) == (8, 3, 5)
    assert (totals.subscriptions_served, totals.subscribed, totals.dead) == (5, 7, 2)
    assert (totals.published, totals.crossings, totals.needless) == (4, 3, 2)
    assert table(spark, job, "served") == [("s0", 3), ("s1", 2), ("s2", 1), ("s3", 1), ("s4", 1)]
    assert table(spark, job, "fan_out_classes") == [(0, 0, 1), (1, 1, 1), (2, 3, 1), (4, 7, 1)]
    assert table(spark, job, "dead") == [("s5",), ("s6",)]
    assert table(spark, job, "links") == [("r1-r2", 3, 2)]
    assert [row[1:] for row in table(spark, job, "rates")] == [(2, 7), (1, 1)]
    # Of p1 and p2, published at 12:00:00; the delivery of p3, an hour later, was before it.
    assert table(spark, job, "delays")[0] == (0.5, 2.25)
    assert table(spark, job, "delays")[-1] == (1.0, 6.25)
    assert table(spark, job, "skew") == [(0.2, 3 / 8), (0.4, 5 / 8), (1.0, 1.0)]
    text = Path(summary.page).read_text()
    for word in ("Fan-out", "Skew", "Deliveries over time", "false positives", "of 3", "Delay"):
        assert word in text


def test_report_of_nothing_is_a_page_as_well(spark: Any, tmp_path: Path) -> None:
    spark.createDataFrame([], "publication STRING, subscription STRING").write.parquet(
        str(tmp_path / "d")
    )
    job = ReportJob(str(tmp_path / "d"), str(tmp_path / "out"))
    summary = job.run(spark)
    assert job.run(spark) == summary
    assert (summary.totals.deliveries, summary.totals.dead) == (0, None)
    assert "Nothing was delivered." in Path(summary.page).read_text()


def test_report_refuses_what_it_cannot_read(spark: Any, tmp_path: Path) -> None:
    other = str(tmp_path / "other")
    spark.range(1).write.parquet(other)
    with pytest.raises(FileFormatError, match="has no column 'publication'; it has id"):
        ReportJob(other, str(tmp_path / "out")).run(spark)
    with pytest.raises(FileFormatError, match="there is no such file"):
        ReportJob(str(tmp_path / "none"), str(tmp_path / "out")).run(spark)
    with pytest.raises(InputError, match="name a file with --page"):
        ReportJob(other, "hdfs://nowhere/out").run(spark)
