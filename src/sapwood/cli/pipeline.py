"""`sapwood pipeline`: the Spark jobs. They run under spark-submit too (`sapwood.pipeline.job`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from sapwood.cli.output import (
    ExitStatus,
    amount,
    json_option,
    print_json,
    say,
    strict_option,
)
from sapwood.errors import FileFormatError, InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sapwood.pipeline.declared import DeclaredSchema
    from sapwood.pipeline.summaries import BatchSummary, Counts, IngestSummary, MatchSummary

DEFAULT_ENGINE: Final = "columnar"
JOB_MODULE: Final = "sapwood.pipeline.job"

master_option = click.option(
    "--master",
    help="Where Spark runs: local[N], spark://host:port, yarn, sc://host (Spark Connect). Not "
    "under spark-submit, which has its own option.  [default: local[2]]",
)
rejected_option = click.option(
    "--rejected", help="Folder for rejected rows.  [default: that of --out with .rejected added]"
)
schema_option = click.option(
    "--schema",
    help='Types of the attributes: Spark DDL, such as "price DOUBLE, symbol STRING", or a file '
    ".toml or .json.",
)
engine_option = click.option(
    "--engine", default=DEFAULT_ENGINE, show_default=True, help="See `sapwood engines`."
)


@click.group(name="pipeline")
def command() -> None:
    """Run the Spark jobs: bring files in, match them, match them as they arrive.

    Paths are files, folders or patterns, wherever Spark can read and write. Exit status: 0 all
    done, 1 done but something was rejected, 2 could not be done.
    """


@command.command("match")
@click.option("--subscriptions", required=True, help="JSON Lines or Parquet: id, filter.")
@click.option("--publications", required=True, help="JSON Lines or Parquet: id, attributes.")
@click.option("--out", required=True, help="Folder for the deliveries, as Parquet.")
@rejected_option
@click.option(
    "--id",
    "id_columns",
    multiple=True,
    metavar="COLUMN",
    help="Parquet of any shape: the column that identifies a row; of several the texts are joined "
    "by /.",
)
@engine_option
@master_option
@click.option("--explain", is_flag=True, help="Print the physical plan and do nothing else.")
@json_option
@strict_option
@click.pass_context
def match_command(
    ctx: click.Context,
    *,
    subscriptions: str,
    publications: str,
    out: str,
    rejected: str | None,
    id_columns: tuple[str, ...],
    engine: str,
    master: str | None,
    explain: bool,
    as_json: bool,
    strict: bool,
) -> None:
    """Match publications against subscriptions: one row per pair.

    An earlier result in the same folder is replaced. Rejected rows and lines are written, with
    file, line and reason, to a folder beside it.
    """
    from sapwood.pipeline.jobs import MatchJob

    job = MatchJob(
        subscriptions=subscriptions,
        publications=publications,
        out=out,
        aside=rejected,
        engine=engine,
        id_columns=id_columns,
        strict=strict,
    )
    with _session(master, "matching") as spark:
        if explain:
            click.echo(job.explain(spark))
            return
        summary = job.run(spark)
    if as_json:
        print_json(_match_members(summary))
    else:
        say(_match_text(summary))
    ctx.exit(ExitStatus.REJECTED if summary.rejected else ExitStatus.DONE)


@command.command("ingest")
@click.option("--publications", required=True, help="JSON Lines or CSV files.")
@click.option("--out", required=True, help="Folder for the publications, as Parquet.")
@schema_option
@click.option(
    "--format",
    "kind",
    type=click.Choice(["jsonl", "csv"]),
    help="What the files are.  [default: by the endings of their names]",
)
@click.option(
    "--id",
    "id_columns",
    multiple=True,
    metavar="COLUMN",
    help="CSV: the column that identifies a row (default: id); of several the texts are joined "
    "by /.",
)
@click.option("--null-value", help="CSV: a cell that means no value, beside the empty one.")
@click.option("--delimiter", default=",", show_default=True, help="CSV: what separates cells.")
@rejected_option
@master_option
@json_option
@strict_option
@click.pass_context
def ingest_command(
    ctx: click.Context,
    *,
    publications: str,
    out: str,
    schema: str | None,
    kind: str | None,
    id_columns: tuple[str, ...],
    null_value: str | None,
    delimiter: str,
    rejected: str | None,
    master: str | None,
    as_json: bool,
    strict: bool,
) -> None:
    """Bring files in as a Parquet table of publications.

    They are JSON Lines or CSV. Lines that do not fit the schema, and ids that were there before,
    are written with file, line and reason to a folder beside the table. No line is lost: the sums
    are checked.
    """
    from sapwood.pipeline.jobs import IngestJob
    from sapwood.pipeline.reading import FileKind

    with _session(master, "reading") as spark:
        summary = IngestJob(
            source=publications,
            out=out,
            schema=_schema(schema, id_columns, null_value),
            kind=FileKind(kind) if kind else None,
            delimiter=delimiter,
            aside=rejected,
            strict=strict,
        ).run(spark)
    if as_json:
        print_json(_ingest_members(summary))
    else:
        say(_ingest_text(summary))
    ctx.exit(ExitStatus.REJECTED if summary.rejected else ExitStatus.DONE)


@command.command("stream")
@click.option("--subscriptions", required=True, help="JSON Lines or Parquet: id, filter.")
@click.option("--publications", required=True, help="Folder into which JSON Lines files come.")
@click.option("--out", required=True, help="Folder for the deliveries, one folder a batch.")
@schema_option
@click.option(
    "--checkpoint",
    help="Folder in which Spark notes what is done.  [default: that of --out with .checkpoint "
    "added]",
)
@rejected_option
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Look for new files for ever, this often.  [default: end when all files are done]",
)
@click.option(
    "--files-per-batch",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Files that one batch takes at most.",
)
@engine_option
@master_option
@json_option
@strict_option
@click.pass_context
def stream_command(
    ctx: click.Context,
    *,
    subscriptions: str,
    publications: str,
    out: str,
    schema: str | None,
    checkpoint: str | None,
    rejected: str | None,
    every_s: float | None,
    files_per_batch: int,
    engine: str,
    master: str | None,
    as_json: bool,
    strict: bool,
) -> None:
    """Match files as they come into a folder.

    Each is matched exactly once, whatever is stopped and restarted. The command says what each
    batch did; with --json as one JSON object a line. Rejected lines are written beside the output.
    """
    from sapwood.pipeline.decoding import JSONDecoder
    from sapwood.pipeline.faults import spark_faults
    from sapwood.pipeline.jobs import compile_path
    from sapwood.pipeline.session import is_connect
    from sapwood.pipeline.stream import StreamJob

    done: list[BatchSummary] = []

    def tell(batch: BatchSummary) -> None:
        done.append(batch)
        if as_json:
            print_json(_batch_members(batch))
        else:
            say(_batch_text(batch))

    with _session(master, "matching") as spark:
        if is_connect(spark):
            raise InputError(
                "a client of Spark Connect does not see what batches do; use spark-submit, or "
                "sapwood.pipeline.StreamJob in a program of your own"
            )
        declared = _schema(schema)
        compiled = compile_path(spark, subscriptions, engine=engine)
        if strict and compiled.rejected:
            bad = compiled.rejected[0]
            raise FileFormatError(bad.file or subscriptions, bad.reason, bad.line)
        job = StreamJob(
            source=publications,
            out=out,
            decoder=JSONDecoder(declared.record if declared else None),
            compiled=compiled,
            checkpoint=checkpoint,
            aside=rejected,
            files_per_batch=files_per_batch,
            strict=strict,
            on_batch=tell,
        )
        query = job.start(spark, every_s=every_s)
        try:
            with spark_faults(publications):
                query.awaitTermination()
        except KeyboardInterrupt:
            if every_s is None:
                raise
            # Being interrupted is how a query without an end ends.
        finally:
            query.stop()
    rejects = len(compiled.rejected) + sum(batch.publications.rejected for batch in done)
    ctx.exit(ExitStatus.REJECTED if rejects else ExitStatus.DONE)


@command.command("job")
def job_command() -> None:
    """Print the path of the program for spark-submit.

    What follows it there is what follows `sapwood pipeline` here, as in
    spark-submit --master yarn "$(sapwood pipeline job)" match --subscriptions ...
    """
    from importlib.util import find_spec

    spec = find_spec(JOB_MODULE)
    assert spec is not None, "the program is part of this package"
    click.echo(spec.origin)


@contextmanager
def _session(master: str | None, description: str) -> Iterator[SparkSession]:
    """The session to work with, its progress on a terminal, its failures in one line."""
    from sapwood.pipeline.faults import first_line, is_worker_defect, spark_errors
    from sapwood.pipeline.progress import task_progress
    from sapwood.pipeline.session import running_session

    with running_session("sapwood pipeline", master=master) as spark:
        try:
            with task_progress(spark, description):
                yield spark
        except spark_errors() as error:
            if is_worker_defect(error):
                raise
            raise click.ClickException(f"Spark: {first_line(error)}") from error


def _schema(
    text_or_path: str | None,
    id_columns: tuple[str, ...] = (),
    null_value: str | None = None,
) -> DeclaredSchema | None:
    """What was declared; options go before what a schema file says."""
    from dataclasses import replace

    from sapwood.pipeline.declared import declared_schema

    if text_or_path is None:
        if id_columns or null_value is not None:
            raise InputError("--id and --null-value describe CSV, which needs a --schema as well")
        return None
    declared = declared_schema(text_or_path)
    if id_columns:
        declared = replace(declared, id_columns=id_columns)
    if null_value is not None:
        declared = replace(declared, null_value=null_value)
    return declared


def _match_members(summary: MatchSummary) -> dict[str, Any]:
    """The summary as JSON, with the names of `sapwood match --json`."""
    return {
        "subscriptions": _count_members(summary.subscriptions),
        "publications": _publication_members(summary.publications),
        "deliveries": summary.deliveries,
        "out": summary.out,
        "rejected_file": summary.aside if summary.rejected else None,
    }


def _match_text(summary: MatchSummary) -> str:
    wanted, published = summary.subscriptions, summary.publications
    publications = amount(published.good, "publication")
    subscriptions = amount(wanted.good, "subscription")
    deliveries = amount(summary.deliveries, "delivery", "deliveries")
    lines = [f"{publications} matched against {subscriptions}: {deliveries} in {summary.out}"]
    lines += _about_arrays(published)
    if summary.rejected:
        lines.append(
            f"{amount(summary.rejected, 'row')} rejected ({wanted.rejected:,} of the "
            f"subscriptions, {published.rejected:,} of the publications): see {summary.aside}"
        )
    return "\n".join(lines)


def _ingest_members(summary: IngestSummary) -> dict[str, Any]:
    return {
        "publications": _publication_members(summary.publications),
        "undeclared_attributes": list(summary.undeclared),
        "out": summary.out,
        "rejected_file": summary.aside if summary.rejected else None,
    }


def _ingest_text(summary: IngestSummary) -> str:
    lines = [f"{amount(summary.publications.good, 'publication')} in {summary.out}"]
    lines += _about_arrays(summary.publications)
    if summary.undeclared:
        names = ", ".join(summary.undeclared)
        lines.append(f"not declared by the schema, and therefore not carried: {names}")
    if summary.rejected:
        lines.append(f"{amount(summary.rejected, 'line')} rejected: see {summary.aside}")
    return "\n".join(lines)


def _batch_members(summary: BatchSummary) -> dict[str, Any]:
    return {
        "batch": summary.batch,
        "publications": _publication_members(summary.publications),
        "deliveries": summary.deliveries,
    }


def _batch_text(summary: BatchSummary) -> str:
    parts = [
        amount(summary.publications.good, "publication"),
        amount(summary.deliveries, "delivery", "deliveries"),
    ]
    if summary.publications.rejected:
        parts.append(f"{amount(summary.publications.rejected, 'line')} rejected")
    return f"batch {summary.batch}: {', '.join(parts)}"


def _count_members(counts: Counts) -> dict[str, int]:
    return {"read": counts.read, "good": counts.good, "rejected": counts.rejected}


def _publication_members(counts: Counts) -> dict[str, int]:
    return {**_count_members(counts), "invisible_arrays": counts.invisible}


def _about_arrays(counts: Counts) -> list[str]:
    if not counts.invisible:
        return []
    arrays = amount(counts.invisible, "array")
    return [f"{arrays} in publications carried, but not visible to filters"]
