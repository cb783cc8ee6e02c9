"""`sapwood pipeline ingest`: files of unknown quality in, a table of publications out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sapwood.cli.output import (
    ExitStatus,
    json_option,
    print_json,
    say,
    strict_option,
)
from sapwood.cli.pipelines.common import (
    check_inputs,
    count_members,
    declared_by,
    explain_option,
    master_option,
    rejected_option,
    schema_option,
    session,
)
from sapwood.model.amounts import amount

if TYPE_CHECKING:
    from sapwood.pipeline.tables.summaries import IngestSummary


@click.command("ingest")
@click.option(
    "--publications",
    required=True,
    help="JSON Lines, CSV, Parquet or XML files; or a journal, that of the broker at HOST:PORT or "
    "in a folder.",
)
@click.option("--out", required=True, help="Folder for the publications, as Parquet.")
@schema_option
@click.option(
    "--format",
    "kind",
    type=click.Choice(["jsonl", "csv", "parquet", "xml"]),
    help="What the files are.  [default: by the endings of their names]",
)
@click.option(
    "--id",
    "id_columns",
    multiple=True,
    metavar="COLUMN",
    help="CSV, or Parquet of any shape: the column that identifies a row (default: id); of several "
    "the texts are joined by /.",
)
@click.option(
    "--row-tag",
    metavar="NAME",
    help="XML: the elements that are records.  [default: each file is a document]",
)
@click.option("--null-value", help="CSV: a cell that means no value, beside the empty one.")
@click.option("--delimiter", default=",", show_default=True, help="CSV: what separates cells.")
@click.option(
    "--published-at",
    metavar="ATTRIBUTE",
    help="What holds the time of a publication.  [default: a member or column published_at]",
)
@rejected_option
@master_option
@json_option
@strict_option
@explain_option
@click.pass_context
def ingest_command(
    ctx: click.Context,
    *,
    publications: str,
    out: str,
    schema: str | None,
    kind: str | None,
    id_columns: tuple[str, ...],
    row_tag: str | None,
    null_value: str | None,
    delimiter: str,
    published_at: str | None,
    rejected: str | None,
    master: str | None,
    as_json: bool,
    strict: bool,
    explain: bool,
) -> None:
    """Bring files in as a Parquet table of publications.

    The table has the columns id, attributes, home, published_at and source. Rows that do not fit
    the schema, and ids that were there before, are written with file, line and reason to a folder
    beside it. No row is lost: the sums are checked.
    """
    from sapwood.pipeline.ingest.job import IngestJob
    from sapwood.pipeline.tables.reading import FileKind

    # What identifies a row is a part of the schema, unless the table brings its own.
    own = schema is None and null_value is None
    job = IngestJob(
        source=publications,
        out=out,
        schema=None if own else declared_by(schema, id_columns, null_value),
        id_columns=id_columns if own else (),
        kind=FileKind(kind) if kind else None,
        delimiter=delimiter,
        published_at=published_at,
        row_tag=row_tag,
        aside=rejected,
        strict=strict,
    )
    job.check()
    check_inputs(master, publications)
    with session(master, "reading") as spark:
        if explain:
            click.echo(job.explain(spark))
            return
        summary = job.run(spark)
    if as_json:
        print_json(_ingest_members(summary))
    else:
        say(_ingest_text(summary))
    ctx.exit(ExitStatus.REJECTED if summary.rejected else ExitStatus.DONE)


def _ingest_members(summary: IngestSummary) -> dict[str, Any]:
    return {
        "publications": count_members(summary.publications),
        "undeclared_attributes": list(summary.undeclared),
        "out": summary.out,
        "rejected_file": summary.aside if summary.rejected else None,
    }


def _ingest_text(summary: IngestSummary) -> str:
    lines = [f"{amount(summary.publications.good, 'publication')} in {summary.out}"]
    if summary.undeclared:
        names = ", ".join(summary.undeclared)
        lines.append(f"not declared by the schema, and therefore not carried: {names}")
    if summary.rejected:
        lines.append(f"{amount(summary.rejected, 'line')} rejected: see {summary.aside}")
    return "\n".join(lines)
