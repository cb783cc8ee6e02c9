from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import InputError
from sapwood.model.publication import Publication
from sapwood.pipeline.report.job import ReportJob
from sapwood.store.table_sizes import TableSizes
from tests.pipeline.stored import rows_at
from tests.store.journals import write_journal

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
    deliveries, out, publications, subscriptions, crossings = (
        str(tmp_path / name) for name in ("d.jsonl", "out", "p.jsonl", "s.jsonl", "c.jsonl")
    )
    return ReportJob(deliveries, out, publications, subscriptions, crossings)


def table(job: ReportJob, name: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in rows_at(f"{job.out}/{name}"))


def test_report_counts_everything_and_makes_a_page(spark: Any, job: ReportJob) -> None:
    summary = job.run(spark)
    totals = summary.totals
    assert (totals.deliveries, totals.publications_wanted, totals.fan_out_max) == (8, 3, 5)
    assert (totals.subscriptions_served, totals.subscribed, totals.dead) == (5, 7, 2)
    assert (totals.published, totals.crossings, totals.needless) == (4, 3, 2)
    assert table(job, "served") == [("s0", 3), ("s1", 2), ("s2", 1), ("s3", 1), ("s4", 1)]
    assert table(job, "fan_out_classes") == [(0, 0, 1), (1, 1, 1), (2, 3, 1), (4, 7, 1)]
    assert table(job, "dead") == [("s5",), ("s6",)]
    assert table(job, "links") == [("r1-r2", 3, 2)]
    assert [row[1:] for row in table(job, "rates")] == [(2, 7), (1, 1)]
    # Of p1 and p2, published at 12:00:00; the delivery of p3, an hour later, was before it.
    assert table(job, "delays")[0] == (0.5, 2.25)
    assert table(job, "delays")[-1] == (1.0, 6.25)
    assert table(job, "skew") == [(0.2, 3 / 8), (0.4, 5 / 8), (1.0, 1.0)]
    text = Path(summary.page).read_text()
    for word in ("Fan-out", "Skew", "Deliveries over time", "false positives", "of 3", "Delay"):
        assert word in text


@pytest.mark.long
def test_report_says_how_large_routing_tables_were(
    spark: Any, job: ReportJob, tmp_path: Path
) -> None:
    for name, run in (("r1", (0, 3, 1)), ("r2", (0, 2))):
        write_journal(tmp_path / name, [Publication("p", {})])
        sizes = TableSizes(tmp_path / name, name)
        for second, local in enumerate(run):
            sizes.write({"local": local, "received": 0, "unconfirmed": local}, float(second))
        sizes.close()
    (tmp_path / "more.jsonl").write_text(
        '{"broker": "r3", "table": "local", "at": "1970-01-01T00:00:01Z", "entries": 7}\n'
        '{"broker": "r3", "table": "local", "at'
    )
    places = (str(tmp_path / "r1"), str(tmp_path / "r2"), str(tmp_path / "more.jsonl"))
    summary = replace(job, table_sizes=places).run(spark)
    rows = rows_at(f"{job.out}/table_sizes")
    assert sum(row["broker"] == "r1" for row in rows) == 3 + 2 + 2
    at = "unix_seconds(largest_at) second"
    found = spark.read.parquet(f"{job.out}/table_peaks").selectExpr("* EXCEPT (largest_at)", at)
    assert sorted(map(tuple, found.where("largest > 0").collect())) == [
        ("r1", "all", 1, 3, 1),
        ("r1", "local", 1, 3, 1),
        ("r1", "unconfirmed", 1, 3, 1),
        ("r2", "all", 2, 2, 1),
        ("r2", "local", 2, 2, 1),
        ("r2", "unconfirmed", 2, 2, 1),
        ("r3", "all", 7, 7, 1),
        ("r3", "local", 7, 7, 1),
    ]
    text = Path(summary.page).read_text()
    assert "from 1970-01-01 00:00:00 to 1970-01-01 00:00:02, all on one scale" in text
    assert text.count("<path") == 3


@pytest.mark.long
def test_report_says_that_a_journal_has_no_table_sizes(
    spark: Any, job: ReportJob, tmp_path: Path
) -> None:
    write_journal(tmp_path / "journal", [Publication("p1", {})])
    read = replace(job, publications=str(tmp_path / "journal"))
    text = Path(read.run(spark).page).read_text()
    assert f"There are no table sizes in {tmp_path}/journal." in text
    assert table(job, "table_sizes") == []


@pytest.mark.long
def test_report_of_nothing_is_a_page_as_well(spark: Any, tmp_path: Path) -> None:
    spark.createDataFrame([], "publication STRING, subscription STRING").write.parquet(
        str(tmp_path / "d")
    )
    job = ReportJob(str(tmp_path / "d"), str(tmp_path / "out"))
    summary = job.run(spark)
    assert job.run(spark) == summary
    assert (summary.totals.deliveries, summary.totals.dead) == (0, None)
    assert "Nothing was delivered." in Path(summary.page).read_text()


def test_report_refuses_a_page_that_is_not_on_this_machine(spark: Any) -> None:
    with pytest.raises(InputError, match="name a file with --page"):
        ReportJob("d.jsonl", "hdfs://nowhere/out").run(spark)
