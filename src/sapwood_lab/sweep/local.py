"""Sweeps on this machine, kept in the files of the job: either goes on where the other stopped."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, cast

from sapwood.errors import EnvironmentMissingError
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Report, Row
from sapwood_lab.sweep.origin import code_of
from sapwood_lab.sweep.tasks import RUNS, experiment_named, figures_rows, run_id

Measure: TypeAlias = Callable[[Configuration], Sequence[Row]]

_COLUMNS: Final = tuple(column.split()[0] for column in RUNS.split(", "))


def run_kept(
    design: Design, choices: Choices, out: Path, advance: Callable[[int], None] = lambda _: None
) -> Report:
    """Carry out an experiment as a sweep that is kept in the folder `out` (`sweep/job.py`).

    A configuration that the same code has done before, here or as a Spark task, is not done again;
    each is kept as soon as it is done. `advance` is called for every configuration. Raises
    `EnvironmentMissingError` without pyarrow.
    """
    folder = _runs(out)
    kept, code = _kept(folder), code_of(design.task)
    found: list[list[Row]] = []
    for configuration in design.configurations(choices):
        run = run_id(design.task, configuration, code)
        if run not in kept:
            kept[run] = _carry_out(design.task, design.measure, configuration, folder)
        # What is new takes the way over JSON, too: a report is the same whenever it is made.
        found.append(list(figures_rows(kept[run])))
        advance(1)
    return design.assemble(choices, found)


class Sweep(NamedTuple):
    """An experiment, what was chosen for it, and the folder where it is kept."""

    design: Design
    choices: Choices
    out: Path


def keep_beforehand(
    sweeps: Iterable[Sweep], processes: int, advance: Callable[[int], None] = lambda _: None
) -> None:
    """Do all that `run_kept` would have to do for these sweeps, in several processes.

    Each takes one configuration after the other, of whichever sweep, in this order. Where one
    fails, those that have begun are done and kept, and then its error is raised; an interrupt ends
    those, too.
    """
    todo: list[tuple[str, Configuration, Path]] = []
    for design, choices, out in sweeps:
        folder = _runs(out)
        kept, code = _kept(folder), code_of(design.task)
        for configuration in design.configurations(choices):
            if run_id(design.task, configuration, code) in kept:
                advance(1)
            else:
                todo.append((design.task, configuration, folder))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        begun: list[Future[None]] = [pool.submit(_carry_out_by_name, *one) for one in todo]
        try:
            for one in as_completed(begun):
                one.result()
                advance(1)
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):  # a configuration can take an hour
                for worker in multiprocessing.active_children():
                    worker.terminate()
                    worker.join()
            raise


def _carry_out_by_name(task: str, configuration: Configuration, folder: Path) -> None:
    """Carry out one configuration in a process that knows nothing yet."""
    _carry_out(task, cast("Measure", experiment_named(task)), configuration, folder)


def _carry_out(task: str, measure: Measure, configuration: Configuration, folder: Path) -> str:
    """Carry out one configuration, and keep its figures (JSON), which are returned."""
    import msgspec

    code = code_of(task)
    rows = [dict(row) for row in measure(configuration)]
    figures = msgspec.json.encode(rows, order="deterministic").decode()
    told = msgspec.json.encode(dict(configuration), order="deterministic").decode()
    run = run_id(task, configuration, code)
    _keep(folder / f"{run}.parquet", (run, task, told, figures, None, code))
    return figures


def _runs(out: Path) -> Path:
    """The folder for runs in the folder of a sweep."""
    folder = out / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _kept(folder: Path) -> dict[str, str]:
    """The figures of the runs that ended well, by run."""
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise EnvironmentMissingError(
            "what is done is kept as Parquet, which needs pyarrow: install sapwood[spark]"
        ) from error
    kept: dict[str, str] = {}
    for path in sorted(folder.glob("[!._]*.parquet")):
        table = pq.read_table(path, columns=["run", "figures", "error"])
        kept.update(
            (row["run"], row["figures"]) for row in table.to_pylist() if row["error"] is None
        )
    return kept


def _keep(path: Path, row: tuple[str | None, ...]) -> None:
    """Write the file of one run, as a whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [pa.array([cell], pa.string()) for cell in row]
    begun = path.with_name(f".{path.name}")
    pq.write_table(pa.table(columns, names=list(_COLUMNS)), begun)
    begun.rename(path)
