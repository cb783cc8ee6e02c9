"""The job `sweep`: configurations of an experiment in, a table of their figures out.

::

    sweep/runs/*.parquet      run, experiment, configuration, figures, error, code: grows by waves
    sweep/table/*.parquet     a row (or several) a configuration, one column a parameter or figure
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sapwood.errors import FileFormatError, InputError
from sapwood.pipeline.results.output import check_table, exists, write_table
from sapwood.pipeline.spark.faults import spark_faults
from sapwood.pipeline.spark.frames import plan_of
from sapwood_lab.sweep.origin import code_of
from sapwood_lab.sweep.tasks import (
    RUNS,
    Figures,
    configurations_table,
    experiment_named,
    figures_rows,
    result_rows,
    run_id,
    runs,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RUN_COLUMNS: Final = ("run", "experiment", "configuration", "figures", "error")
_MEMBERS: Final = ("constants", "grid")


@dataclass(frozen=True, slots=True)
class SweepSummary:
    """The summary of a sweep: `done` now, `skipped` because done before, `failed` with an error.

    `first_error` is the error of one of them.
    """

    configurations: int
    done: int
    skipped: int
    failed: int
    first_error: str | None
    out: str


@dataclass(frozen=True, slots=True)
class SweepJob:
    """Run an experiment (`module:function`) for each configuration, `wave` at a time.

    A wave is written when all of it is done. What the same code has done before, in an earlier run
    that may have been cut short, is not done again; what failed is. `on_wave` is called with the
    number done.
    """

    experiment: str
    configurations: Sequence[Figures]
    out: str
    wave: int = 8
    on_wave: Callable[[int], None] | None = None

    def run(self, spark: SparkSession) -> SweepSummary:
        """Do it. Raises `InputError` for an experiment or an output that cannot be used."""
        experiment_named(self.experiment)
        if self.wave < 1:
            raise InputError(f"a wave has at least one configuration, not {self.wave}")
        check_table(spark, f"{self.out}/runs", RUN_COLUMNS)
        by_run = dict(zip(self._run_ids(), self.configurations, strict=True))
        known = {row["run"] for row in self._stored(spark).where("error IS NULL").collect()}
        pending = [run for run in by_run if run not in known]
        errors: list[str] = []
        with spark_faults():
            for start in range(0, len(pending), self.wave):
                errors += self._run_wave(spark, [by_run[r] for r in pending[start:][: self.wave]])
                if self.on_wave is not None:
                    self.on_wave(min(start + self.wave, len(pending)))
            self._write_table(spark, by_run)
        return SweepSummary(
            configurations=len(by_run),
            done=len(pending) - len(errors),
            skipped=len(by_run) - len(pending),
            failed=len(errors),
            first_error=errors[0] if errors else None,
            out=self.out,
        )

    def results(self, spark: SparkSession) -> list[list[Figures]]:
        """The results of each configuration, in their order: one row or more.

        Raises `InputError` unless all of them are done.
        """
        rows = self._stored(spark).where("error IS NULL").select("run", "figures").collect()
        stored = {row["run"]: row["figures"] for row in rows}
        wanted = self._run_ids()
        missing = sum(run not in stored for run in wanted)
        if missing:
            raise InputError(f"{missing} configurations are not done in {self.out}: run the sweep")
        return [figures_rows(stored[run]) for run in wanted]

    def explain(self, spark: SparkSession) -> str:
        """The physical plan of one wave; nothing is run."""
        some = list(self.configurations[: self.wave])
        table = configurations_table(spark, self.experiment, some)
        return plan_of(runs(table, self.experiment, tasks=max(len(some), 1)))

    def _run_ids(self) -> list[str]:
        code = code_of(self.experiment)
        return [run_id(self.experiment, one, code) for one in self.configurations]

    def _run_wave(self, spark: SparkSession, configurations: Sequence[Figures]) -> list[str]:
        """Run some configurations and write what came of them; the errors."""
        table = configurations_table(spark, self.experiment, configurations)
        done = runs(table, self.experiment, tasks=len(configurations)).persist()
        try:
            done.coalesce(1).write.mode("append").parquet(f"{self.out}/runs")
            return [row["error"] for row in done.where("error IS NOT NULL").collect()]
        finally:
            done.unpersist()

    def _write_table(self, spark: SparkSession, by_run: dict[str, Figures]) -> None:
        stored = self._stored(spark).where("error IS NULL").orderBy("configuration").collect()
        # Sweeps at the same time may have done a run twice: both results are the same.
        found = {
            row["run"]: (row["configuration"], row["figures"])
            for row in stored
            if row["run"] in by_run
        }
        ddl, rows = result_rows(list(found.values()))
        if rows:
            write_table(spark.createDataFrame(rows, ddl).coalesce(1), f"{self.out}/table")

    def _stored(self, spark: SparkSession) -> DataFrame:
        if not exists(spark, f"{self.out}/runs"):
            return spark.createDataFrame([], RUNS)
        return spark.read.schema(RUNS).parquet(f"{self.out}/runs")


def read_configurations(path: str) -> list[Figures]:
    """The configurations in a file: JSON Lines, one a line, or TOML with a grid.

    In TOML, `[grid]` gives a list of values to each of its names, of which all combinations are
    taken, and `[constants]` what all have in common. Raises `FileFormatError`.
    """
    import msgspec

    try:
        raw = Path(path).read_bytes()
        if path.lower().endswith(".toml"):
            return _grid(tomllib.loads(raw.decode()))
        lines = [msgspec.json.decode(line) for line in raw.splitlines() if line.strip()]
    except OSError as error:
        raise FileFormatError(path, f"cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise FileFormatError(path, f"holds no configurations: {error}") from None
    for number, line in enumerate(lines, 1):
        if not isinstance(line, dict):
            raise FileFormatError(path, "a configuration is an object of named values", number)
    return lines


def _grid(document: dict[str, Any]) -> list[Figures]:
    unknown = sorted(document.keys() - set(_MEMBERS))
    if unknown:
        raise InputError(f"unknown member {unknown[0]!r}; known: {', '.join(_MEMBERS)}")
    constants, grid = (document.get(name, {}) for name in _MEMBERS)
    if not isinstance(constants, dict) or not isinstance(grid, dict):
        raise InputError("constants and grid are tables")
    for name, values in grid.items():
        if not isinstance(values, list) or not values:
            raise InputError(f"grid.{name} is a list with at least one value")
    return [
        {**constants, **dict(zip(grid, values, strict=True))} for values in product(*grid.values())
    ]
