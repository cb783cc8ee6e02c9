from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError, InputError
from sapwood_lab.sweep.job import SweepJob, read_configurations
from tests_lab.sweep.test_tasks import NAME


def test_configurations_are_lines_or_a_grid(tmp_path: Path) -> None:
    lines, grid = tmp_path / "c.jsonl", tmp_path / "c.toml"
    lines.write_text('{"n": 1}\n\n{"n": 2}\n')
    assert read_configurations(str(lines)) == [{"n": 1}, {"n": 2}]
    grid.write_text('[constants]\nk = "x"\n[grid]\na = [1, 2]\nb = ["u", "v"]\n')
    assert read_configurations(str(grid)) == [
        {"k": "x", "a": a, "b": b} for a in (1, 2) for b in ("u", "v")
    ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("c.jsonl", "[1]\n", "line 1: a configuration is an object"),
        ("c.jsonl", "{\n", "holds no configurations"),
        ("c.toml", "a = [", "holds no configurations"),
        ("c.toml", "other = 1", "unknown member 'other'"),
        ("c.toml", "[grid]\na = 1", "grid.a is a list"),
        ("c.toml", "grid = 1", "are tables"),
    ],
)
def test_what_is_no_configuration_is_refused(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FileFormatError, match=said):
        read_configurations(str(tmp_path / name))
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_configurations(str(tmp_path / "none"))


@pytest.mark.spark
@pytest.mark.long
def test_a_sweep_goes_on_where_it_was(spark: Any, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    configurations = [{"n": n, "marks": str(marks)} for n in range(5)]
    out = str(tmp_path / "out")
    first = SweepJob(NAME, configurations[:2], out, wave=2).run(spark)
    assert (first.done, first.skipped, first.failed) == (2, 0, 0)
    (tmp_path / "fail-3").touch()
    told: list[int] = []
    job = SweepJob(NAME, configurations, out, wave=2, on_wave=told.append)
    second = job.run(spark)
    assert (second.configurations, second.done, second.skipped, second.failed) == (5, 2, 2, 1)
    assert second.first_error == "ValueError: told to fail"
    assert told == [2, 3]
    (tmp_path / "fail-3").unlink()
    third = job.run(spark)
    assert (third.done, third.skipped, third.failed) == (1, 4, 0)
    assert sorted(marks.read_text().split()) == ["0", "1", "2", "3", "3", "4"]
    rows = spark.read.parquet(f"{out}/table").orderBy("n").collect()
    assert [(row["n"], row["square"]) for row in rows] == [(n, n * n) for n in range(5)]
    assert job.results(spark) == [[{"square": n * n}] for n in range(5)]
    unfinished = SweepJob(NAME, [{"n": 9, "marks": str(marks)}, *configurations], out)
    with pytest.raises(InputError, match="1 configurations are not done"):
        unfinished.results(spark)
    with pytest.raises(InputError, match="at least one configuration"):
        SweepJob(NAME, configurations, out, wave=0).run(spark)
