"""`sapwood experiment`: make a published figure or table again, beside what was published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sapwood.cli.output import json_option, print_json, print_table, progress, say
from sapwood.errors import EnvironmentMissingError

if TYPE_CHECKING:
    from sapwood.experiments.report import Cell, Report


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
    help="Numbers of subscriptions (those published).",
)
@click.option("--workload", "source", help="A DTD (news, proteins) or a record workload.")
@click.option("--seed", default=1, show_default=True, help="Other numbers draw other overlays.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the table (text, Parquet) and pictures (SVG).",
)
@json_option
def command(
    *,
    name: str | None,
    as_list: bool,
    sizes: tuple[int, ...] | None,
    source: str | None,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Make a published figure or table again, and print it beside what was published.

    What can be compared are orders, ratios and shapes, not seconds. Without NAME the experiments
    are listed.
    """
    from sapwood.experiments.catalogue import EXPERIMENTS, experiment

    if as_list or name is None:
        _list([(e.name, e.source, e.summary) for e in EXPERIMENTS.values()], as_json=as_json)
        return
    chosen: dict[str, Any] = {"seed": seed}
    chosen.update({} if sizes is None else {"sizes": sizes})
    chosen.update({} if source is None else {"source": source})
    with progress(name, "subscriptions") as advance:
        report = experiment(name).load()(advance=advance, **chosen)
    if as_json:
        rows = [dict(zip(report.columns, row, strict=True)) for row in report.rows]
        print_json({"title": report.title, "settings": dict(report.settings), "rows": rows})
    else:
        click.echo(_heading(report))
        print_table(report.columns, _cells(report))
        click.echo(f"Compare {report.compare}")
    if out is not None:
        for path in _write(report, name, out):
            say(f"wrote {path}")


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


def _write(report: Report, name: str, folder: Path) -> list[Path]:
    """Write table and pictures; returns the files."""
    from sapwood.cli.benchmarks.charts import line_chart

    folder.mkdir(parents=True, exist_ok=True)
    text = folder / f"{name}.txt"
    lines = [_heading(report), "\t".join(report.columns)]
    lines.extend("\t".join(row) for row in _cells(report))
    text.write_text("\n".join((*lines, f"Compare {report.compare}", "")), encoding="utf-8")
    written = [text, _write_parquet(report, folder / f"{name}.parquet")]
    for chart in report.charts:
        picture = folder / f"{name}-{chart.name}.svg"
        drawn = line_chart(chart.title, chart.x_label, chart.y_label, chart.lines)
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
