"""Experiments as Spark jobs: one configuration a task, and what is done is not done again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sapwood.errors import InputError
from sapwood_lab.experiments.design import Choices, Design
from sapwood_lab.experiments.report import Report
from sapwood_lab.sweep.job import SweepJob

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WAVE: Final = 8
"""Configurations that run, and are written, together."""


def run_on_spark(
    spark: SparkSession,
    design: Design,
    choices: Choices,
    out: str,
    *,
    wave: int = WAVE,
    advance: Callable[[int], None] | None = None,
) -> Report:
    """Carry out an experiment as a sweep that is kept in the folder `out`.

    A run that was cut short, or in which a configuration failed, goes on where it was when it is
    started again with the same folder. `advance` is called with the number done of the remaining
    ones. Raises `InputError` where configurations failed, with the error of one of them.
    """
    job = SweepJob(design.task, design.configurations(choices), out, wave=wave, on_wave=advance)
    summary = job.run(spark)
    if summary.failed:
        raise InputError(
            f"{summary.failed} of {summary.configurations} configurations failed, one of them with "
            f"{summary.first_error}; what is done is in {out}, and the same command tries the "
            "others again"
        )
    return design.assemble(choices, job.results(spark))
