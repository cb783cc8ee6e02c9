"""The chapters of the book: a work each, with the reports of its experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sapwood_lab.experiments.catalogue import Experiment
from sapwood_lab.experiments.design import Choices, Design
from sapwood_lab.experiments.on_spark import run_on_spark
from sapwood_lab.experiments.report import Report
from sapwood_lab.sweep.local import Sweep, keep_beforehand, run_kept

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Runner: TypeAlias = Callable[[Experiment, Design, Choices], Report]
"""Carries out an experiment with what was chosen."""


class Tally(NamedTuple):
    """The numbers of findings: that hold, that might at the published sizes, and of all."""

    held: int
    open: int
    all: int


@dataclass(frozen=True, slots=True)
class Section:
    """One experiment: its report, and the command that makes it."""

    experiment: Experiment
    report: Report
    command: str

    @property
    def where(self) -> str:
        """The figures and tables that it makes again, without the name of the work."""
        return self.experiment.source.partition(", ")[2]

    @property
    def tally(self) -> Tally:
        """The tally of its findings."""
        found = self.report.findings
        return Tally(sum(f.holds for f in found), sum(f.is_open for f in found), len(found))


@dataclass(frozen=True, slots=True)
class Chapter:
    """One work, by the name that sources begin with, and its experiments."""

    work: str
    sections: tuple[Section, ...]

    @property
    def tally(self) -> Tally:
        """The tally of the findings of all sections."""
        tallies = [section.tally for section in self.sections]
        return Tally(*map(sum, zip(*tallies, strict=True))) if tallies else Tally(0, 0, 0)


def make_chapters(
    experiments: Iterable[Experiment], runner: Runner, *, is_quick: bool, seed: int
) -> tuple[Chapter, ...]:
    """Carry out experiments, those of one work after each other.

    `is_quick` takes the parameters that each of them has for this; otherwise the published ones.
    Works come in the order in which the experiments name them first.
    """
    works: dict[str, list[Experiment]] = {}
    for experiment in experiments:
        works.setdefault(experiment.source.partition(",")[0], []).append(experiment)
    return tuple(
        Chapter(work, tuple(_sections(chosen, runner, is_quick=is_quick, seed=seed)))
        for work, chosen in works.items()
    )


def here(folder: Path) -> Runner:
    """Carries out experiments in this process, each kept in a folder below `folder`."""
    return lambda experiment, design, choices: run_kept(design, choices, _sweep(folder, experiment))


def carry_out_beforehand(
    experiments: Iterable[Experiment],
    folder: Path,
    processes: int,
    advance: Callable[[int], None] = lambda _: None,
    *,
    is_quick: bool,
    seed: int,
) -> None:
    """Carry out experiments in several processes, kept where `here` finds what they measured.

    `advance` is called for every configuration.
    """
    designs = [(experiment, experiment.load()) for experiment in experiments]
    sweeps = [
        Sweep(design, _chosen(design, is_quick=is_quick, seed=seed), _sweep(folder, experiment))
        for experiment, design in designs
    ]
    keep_beforehand(sweeps, processes, advance)


def on_spark(spark: SparkSession, folder: Path) -> Runner:
    """Carries out experiments as Spark jobs, kept in the same folders."""
    return lambda experiment, design, choices: run_on_spark(
        spark, design, choices, str(_sweep(folder, experiment).absolute())
    )


def _sweep(folder: Path, experiment: Experiment) -> Path:
    """The folder where the runs of an experiment are kept."""
    return folder / f"{experiment.name}.sweep"


def _chosen(design: Design, *, is_quick: bool, seed: int) -> Choices:
    return replace(design.quick if is_quick else Choices(), seed=seed)


def _sections(
    experiments: Iterable[Experiment], runner: Runner, *, is_quick: bool, seed: int
) -> Iterator[Section]:
    for experiment in experiments:
        design = experiment.load()
        chosen = _chosen(design, is_quick=is_quick, seed=seed)
        report = runner(experiment, design, chosen)
        yield Section(experiment, report, _command(experiment.name, chosen))


def _command(name: str, choices: Choices) -> str:
    """The command line that makes the same report."""
    words = ["sapwood experiment", name]
    if choices.sizes is not None:
        words.append(f"--sizes {','.join(map(str, choices.sizes))}")
    if choices.source is not None:
        words.append(f"--workload {choices.source}")
    if choices.repeats is not None:
        words.append(f"--repeats {choices.repeats}")
    if choices.seed != 1:
        words.append(f"--seed {choices.seed}")
    return " ".join(words)
