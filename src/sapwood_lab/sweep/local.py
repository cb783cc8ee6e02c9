"""Sweeps in this process, kept in the files of the job: either goes on where the other stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from sapwood.errors import EnvironmentMissingError
from sapwood_lab.experiments.design import Choices, Design
from sapwood_lab.experiments.report import Report, Row
from sapwood_lab.sweep.origin import code_of
from sapwood_lab.sweep.tasks import RUNS, figures_rows, run_id

_COLUMNS: Final = tuple(column.split()[0] for column in RUNS.split(", "))


def run_kept(
    design: Design, choices: Choices, out: Path, advance: Callable[[int], None] = lambda _: None
) -> Report:
    """Carry out an experiment as a sweep that is kept in the folder `out` (`sweep/job.py`).

    A configuration that the same code has done before, here or as a Spark task, is not done again;
    each is kept as soon as it is done. `advance` hears of every configuration. Raises
    `EnvironmentMissingError` without pyarrow.
    """
    import msgspec

    folder = out / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    kept, code = _kept(folder), code_of(design.task)
    found: list[list[Row]] = []
    for configuration in design.configurations(choices):
        run = run_id(design.task, configuration, code)
        if run not in kept:
            rows = [dict(row) for row in design.measure(configuration)]
            kept[run] = msgspec.json.encode(rows, order="deterministic").decode()
            told = msgspec.json.encode(dict(configuration), order="deterministic").decode()
            _keep(folder / f"{run}.parquet", (run, design.task, told, kept[run], None, code))
        # What is new takes the way over JSON, too: a report is the same whenever it is made.
        found.append(list(figures_rows(kept[run])))
        advance(1)
    return design.assemble(choices, found)


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
