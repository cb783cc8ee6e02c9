"""Experiments as Spark jobs: the same report, and nothing is done twice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.sessions import spark

from sapwood.errors import InputError
from sapwood_lab.experiments.catalogue import EXPERIMENTS, experiment
from sapwood_lab.experiments.design import Choices, Configuration, Design, run
from sapwood_lab.experiments.on_spark import run_on_spark
from sapwood_lab.experiments.report import Report, Row, table

__all__ = ["spark"]

COLUMNS = ("n", "square")
QUICK = {
    "xpe-processing": Choices((40, 20), 3, "proteins"),
}
SLOW = {
    "xroute-tables": Choices((40, 20), 3),
    "xroute-delays": Choices((30,), 3),
    "xroute-registrations": Choices((30, 20), 3),
    "xroute-types": Choices((20,), 3, repeats=1),
    "strategies": Choices((8,), 3),
    "xpe-tables": Choices((40, 60), 3),
    "covering-time": Choices((100,), 3),
    "xpe-delays": Choices((70,), 3, "proteins", repeats=1),
    "reporting-modes": Choices((100,), 3, repeats=1),
    "planetlab": Choices((24,), 3),
    "lookup-reuse": Choices((40,), 3),
    "sketch-errors": Choices((40,), 3),
    "approximate-covering": Choices((60,), 3),
    "curve-runs": Choices((9,), 3),
    "link-outages": Choices((4,), 3),
    "lease-times": Choices((4,), 3),
    "lease-uncertainty": Choices((20,), 3),
    "processing-bounds": Choices((100,), 3),
    "skiptree-fingers": Choices(seed=3),
    "delay-bounds": Choices((300,), 3),
    "clock-rates": Choices((30,), 3),
    "irbr-messages": Choices((20,), 3),
    "irbr-runs": Choices((3,), 3),
    "irbr-faults": Choices((6,), 3),
    "irbr-stretch": Choices((4,), 3),
    "semantic-tree": Choices((60,), 3, repeats=3),
    "semantic-costs": Choices((60,), 3, repeats=3),
    "semantic-leaves": Choices((60,), 3, repeats=3),
    "semantic-graph": Choices((40,), 3, repeats=3),
    "semantic-repairs": Choices((40,), 3, repeats=3),
    "xsearch": Choices((60,), 3),
    "xpe-tree": Choices((30,), 3, "proteins"),
    "xpe-covering": Choices((40,), 3, "proteins"),
    "routing-trees": Choices((60,), 3),
    "prefix-updates": Choices((90,), 3),
    "bloom-false-positives": Choices((60,), 3, repeats=20),
    "bloom-structures": Choices((40,), 3),
    "bloom-brokers": Choices((60,), 3),
    "bit-unions": Choices(seed=3),
    "query-log": Choices((20,), 3),
}


def lasting(report: Report) -> list[tuple[Any, ...]]:
    kept = [at for at, name in enumerate(report.columns) if name not in report.timed]
    return [tuple(row[at] for at in kept) for row in report.rows]


def by_spark_is_as_here(spark: Any, out: Path, name: str, choices: Choices) -> None:
    design = experiment(name).load()
    by_spark = run_on_spark(spark, design, choices, str(out))
    here = run(design, choices)
    assert by_spark.columns == here.columns
    assert by_spark.timed == here.timed
    assert by_spark.settings == here.settings
    assert lasting(by_spark) == lasting(here)


@pytest.mark.spark
@pytest.mark.parametrize("name", QUICK)
def test_the_table_by_spark_is_the_one_made_in_process(
    spark: Any, tmp_path: Path, name: str
) -> None:
    by_spark_is_as_here(spark, tmp_path, name, QUICK[name])


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("name", SLOW)
def test_the_table_by_spark_is_the_one_made_in_process_of_every_experiment(
    spark: Any, tmp_path: Path, name: str
) -> None:
    by_spark_is_as_here(spark, tmp_path, name, SLOW[name])


def test_every_experiment_is_compared() -> None:
    assert {*QUICK, *SLOW} == set(EXPERIMENTS)


def configurations(choices: Choices) -> list[Configuration]:
    assert choices.source is not None
    return [{"n": size, "marks": choices.source} for size in choices.sizes or ()]


def squares(configuration: Configuration) -> list[Row]:
    """Leaves a mark each time it runs, and fails where a file tells it to."""
    marks = Path(configuration["marks"])
    with marks.open("a", encoding="utf-8") as file:
        file.write(f"{configuration['n']}\n")
    if (marks.parent / f"fail-{configuration['n']}").exists():
        raise ValueError("told to fail")
    return [{"square": configuration["n"] ** 2}]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    return Report("Squares", {"seed": choices.seed}, COLUMNS, table(COLUMNS, rows), "nothing")


SQUARES = Design(configurations, squares, report)


@pytest.mark.spark
@pytest.mark.long
def test_an_experiment_goes_on_where_it_was(spark: Any, tmp_path: Path) -> None:
    marks, out = tmp_path / "marks", str(tmp_path / "out")
    choices = Choices((4, 1, 3), source=str(marks))
    (tmp_path / "fail-3").touch()
    with pytest.raises(InputError, match=r"1 of 3 configurations failed.*told to fail"):
        run_on_spark(spark, SQUARES, choices, out)
    (tmp_path / "fail-3").unlink()
    told: list[int] = []
    found = run_on_spark(spark, SQUARES, choices, out, wave=2, advance=told.append)
    assert found.rows == ((4, 16), (1, 1), (3, 9)), "in the order of the configurations"
    assert told == [1]
    assert sorted(marks.read_text().split()) == ["1", "3", "3", "4"]
    assert run_on_spark(spark, SQUARES, choices, out) == found
