"""`sapwood experiment`: make a published figure or table again, beside what was published."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from sapwood.cli.output import json_option, print_json, print_table, progress, say
from sapwood.cli.pipelines.common import master_option, session
from sapwood.errors import EnvironmentMissingError

if TYPE_CHECKING:
    from sapwood_lab.book.chapters import Chapter, Runner
    from sapwood_lab.experiments.catalogue import Experiment
    from sapwood_lab.experiments.design import Choices, Design
    from sapwood_lab.experiments.report import Cell, Report


def _sizes(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    if value is None:
        return None
    parts = value.replace("_", "").split(",")
    if not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise click.BadParameter(f"{value!r} is not whole numbers above 0 between commas")
    return tuple(sorted({int(part) for part in parts}))


@click.command
@click.argument("name", required=False)
@click.option("--list", "as_list", is_flag=True, help="List the experiments.")
@click.option(
    "--sizes",
    callback=_sizes,
    metavar="N,N,...",
    help="Numbers of subscriptions or operations (those published).",
)
@click.option(
    "--workload",
    "source",
    help="Where it is a choice: a DTD (news, proteins; for XPEs a file, too) or, for XRoute, a "
    "record workload.",
)
@click.option("--all", "is_all", is_flag=True, help="Make all of them, as a book (hours).")
@click.option(
    "--quick",
    "is_quick",
    is_flag=True,
    help="With smaller parameters, those that an experiment has for this; without NAME, the book "
    "in less than twenty minutes.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    help="How often something is measured, where it is a choice (as often as published).",
)
@click.option("--seed", default=1, show_default=True, help="Other numbers draw other overlays.")
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    metavar="N",
    help="The book: how many configurations are carried out at a time (one for each processor).",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the table (text, Parquet) and pictures (SVG); the book has `book` by default.",
)
@click.option(
    "--spark",
    "on_spark",
    is_flag=True,
    help="Run as a Spark job, one configuration a task, kept in --out: a run that was stopped "
    "goes on where it was.",
)
@master_option
@json_option
def command(
    *,
    name: str | None,
    as_list: bool,
    sizes: tuple[int, ...] | None,
    source: str | None,
    repeats: int | None,
    is_all: bool,
    is_quick: bool,
    seed: int,
    processes: int | None,
    out: Path | None,
    on_spark: bool,
    master: str | None,
    as_json: bool,
) -> None:
    """Make a published figure or table again, and print it beside what was published.

    What can be compared are orders, ratios and shapes, not seconds; which of those that were
    published hold is said below the table. Without NAME the experiments are listed,
    or with --all or --quick carried out and bound as a book: one page, `book.html`. What is done is
    kept beside it, so that a run that was stopped goes on where it was.
    """
    from sapwood_lab.experiments.catalogue import EXPERIMENTS, experiment
    from sapwood_lab.experiments.design import Choices, run

    if is_all or (is_quick and name is None and not as_list):
        if name is not None or as_list or as_json or sizes or source or repeats:
            raise click.UsageError(
                "the book is of all experiments, each with its own parameters: leave out NAME, "
                "--list, --json, --sizes, --workload and --repeats"
            )
        _bind(_Book(out or Path("book"), is_quick, seed, processes, on_spark, master))
        return
    if processes is not None:
        raise click.UsageError("--processes is for the book: give --all or --quick without NAME")
    if as_list or name is None:
        experiments, unusable = EXPERIMENTS.usable()
        for error in unusable:
            say(str(error))
        _list([(e.name, e.source, e.summary) for e in experiments], as_json=as_json)
        return
    design = experiment(name).load()
    choices = Choices(sizes, seed, source, repeats)
    if is_quick:
        less = design.quick
        choices = Choices(sizes or less.sizes, seed, source or less.source, repeats or less.repeats)
    if on_spark:
        report = _run_on_spark(design, choices, name, out, master)
    elif master is not None:
        raise click.UsageError("--master is where --spark runs: give that as well")
    else:
        with progress(name, "configurations") as advance:
            report = run(design, choices, advance)
    if as_json:
        _print_as_json(report)
    else:
        click.echo(_heading(report))
        print_table(report.columns, _cells(report))
        for line in _conclusions(report):
            click.echo(line)
    if out is not None:
        for path in _write(report, name, out):
            say(f"wrote {path}")


def _run_on_spark(
    design: Design, choices: Choices, name: str, out: Path | None, master: str | None
) -> Report:
    from sapwood_lab.experiments.on_spark import run_on_spark

    if out is None:
        raise click.UsageError("--spark keeps what is done in a folder: give --out as well")
    with session(master, name) as spark:
        return run_on_spark(spark, design, choices, str((out / f"{name}.sweep").absolute()))


class _Book(NamedTuple):
    """The options of a book, and where and how it is carried out."""

    folder: Path
    is_quick: bool
    seed: int
    processes: int | None
    on_spark: bool
    master: str | None


def _chapters(book: _Book, experiments: Sequence[Experiment]) -> tuple[Chapter, ...]:
    """Carry out all experiments, as Spark jobs or in processes of this machine."""
    from sapwood_lab.book.chapters import carry_out_beforehand, here, make_chapters, on_spark

    def bound(runner: Runner) -> tuple[Chapter, ...]:
        return make_chapters(experiments, runner, is_quick=book.is_quick, seed=book.seed)

    if book.on_spark:
        with session(book.master, "book") as spark:
            return bound(on_spark(spark, book.folder))
    processes = book.processes or os.cpu_count() or 1
    with progress("book", "configurations") as advance:
        carry_out_beforehand(
            experiments, book.folder, processes, advance, is_quick=book.is_quick, seed=book.seed
        )
    return bound(here(book.folder))


def _bind(book: _Book) -> None:
    """Make the book of all experiments in a folder."""
    from sapwood_lab.benchmarks.machine import describe_machine
    from sapwood_lab.book.pages import page
    from sapwood_lab.experiments.catalogue import EXPERIMENTS

    if book.on_spark and book.processes is not None:
        raise click.UsageError("--spark has tasks of its own: leave out --processes")
    if book.master is not None and not book.on_spark:
        raise click.UsageError("--master is where --spark runs: give that as well")
    folder = book.folder
    folder.mkdir(parents=True, exist_ok=True)
    experiments, unusable = EXPERIMENTS.usable()
    for error in unusable:
        say(str(error))
    chapters = _chapters(book, experiments)
    for chapter in chapters:
        for section in chapter.sections:
            _write(section.report, section.experiment.name, folder)
    parameters = "smaller than published (--quick)" if book.is_quick else "as published"
    about = {
        "parameters": parameters,
        "made": f"{datetime.now(UTC):%Y-%m-%d}",
        **describe_machine(),
    }
    bound = folder / "book.html"
    bound.write_text(page(chapters, about), encoding="utf-8")
    say(f"wrote {bound}, with tables and pictures beside it")


def _print_as_json(report: Report) -> None:
    print_json(
        {
            "title": report.title,
            "settings": dict(report.settings),
            "rows": [dict(zip(report.columns, row, strict=True)) for row in report.rows],
            "findings": [
                {
                    "claim": one.claim,
                    "holds": one.holds,
                    "shown": one.shown,
                    "why": one.why,
                    "needs": one.needs,
                }
                for one in report.findings
            ],
        }
    )


def _list(rows: list[tuple[str, str, str]], *, as_json: bool) -> None:
    if as_json:
        print_json([dict(zip(("name", "source", "summary"), row, strict=True)) for row in rows])
    else:
        print_table(("NAME", "SOURCE", "SUMMARY"), rows)


def _heading(report: Report) -> str:
    settings = ", ".join(f"{name} {value}" for name, value in report.settings.items())
    return f"{report.title}; {settings}"


def _cells(report: Report) -> list[tuple[str, ...]]:
    return [tuple(map(_text, row)) for row in report.rows]


def _text(cell: Cell) -> str:
    if cell is None:
        return "-"
    return cell if isinstance(cell, str) else f"{cell:,}"


def _conclusions(report: Report) -> list[str]:
    return [*map(str, report.findings), f"Compare {report.compare}"]


def _write(report: Report, name: str, folder: Path) -> list[Path]:
    """Write table and pictures; returns the files."""
    from sapwood.charts.pictures import line_chart

    folder.mkdir(parents=True, exist_ok=True)
    text = folder / f"{name}.txt"
    lines = [_heading(report), "\t".join(report.columns)]
    lines.extend("\t".join(row) for row in _cells(report))
    text.write_text("\n".join((*lines, *_conclusions(report), "")), encoding="utf-8")
    written = [text, _write_parquet(report, folder / f"{name}.parquet")]
    for chart in report.charts:
        if not chart.drawn:
            continue
        picture = folder / f"{name}-{chart.name}.svg"
        drawn = line_chart(
            chart.title,
            chart.x_label,
            chart.y_label,
            chart.drawn,
            linear_x=chart.linear_x,
            linear_y=chart.linear_y,
        )
        picture.write_text(drawn, encoding="utf-8")
        written.append(picture)
    return written


def _write_parquet(report: Report, path: Path) -> Path:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise EnvironmentMissingError(
            "Parquet tables need pyarrow: install sapwood[spark], or leave --out out"
        ) from error
    columns = {column: report.column(column) for column in report.columns}
    pq.write_table(pa.table(columns), path)
    return path
