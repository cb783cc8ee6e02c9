"""`sapwood pipeline stream`: files that come into a folder, matched as they come."""

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
    await_end,
    check_inputs,
    count_members,
    declared_by,
    engine_option,
    explain_option,
    master_option,
    rejected_option,
    schema_option,
    session,
)
from sapwood.errors import FileFormatError, InputError
from sapwood.model.amounts import amount

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sapwood.pipeline.matching.subscriptions import SubscriptionSet
    from sapwood.pipeline.stream.following import FollowedSet
    from sapwood.pipeline.tables.summaries import BatchSummary


@click.command("stream")
@click.option(
    "--subscriptions",
    required=True,
    help="JSON Lines or Parquet: id, filter; or a compiled set, at its newest version.",
)
@click.option(
    "--publications",
    required=True,
    help="Folder into which JSON Lines files come; or a journal, that of the broker at HOST:PORT "
    "or in a folder.",
)
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
@explain_option
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
    explain: bool,
) -> None:
    """Match files as they come into a folder.

    Each is matched exactly once, whatever is stopped and restarted. The command says what each
    batch did; with --json as one JSON object a line. Rejected lines are written beside the output.
    A new version of a compiled set comes into force with the next batch.
    """
    from sapwood.pipeline.spark.faults import spark_faults
    from sapwood.pipeline.spark.session import is_connect
    from sapwood.pipeline.stream.stream import StreamJob
    from sapwood.pipeline.tables.decoding import JSONDecoder

    done: list[BatchSummary] = []

    def tell(batch: BatchSummary) -> None:
        done.append(batch)
        if as_json:
            print_json(_batch_members(batch))
        else:
            say(_batch_text(batch))

    check_inputs(master, subscriptions, publications)
    declared = declared_by(schema)
    with session(master, "matching") as spark:
        if is_connect(spark):
            raise InputError(
                "a client of Spark Connect does not see what batches do; use spark-submit, or "
                "sapwood.pipeline.StreamJob in a program of your own"
            )
        compiled, bad = _wanted(spark, subscriptions, engine=engine, strict=strict)
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
        if explain:
            click.echo(job.explain(spark))
            return
        with spark_faults(publications):
            await_end(job.start(spark, every_s=every_s), endless=every_s is not None)
    rejects = bad + sum(batch.publications.rejected for batch in done)
    ctx.exit(ExitStatus.REJECTED if rejects else ExitStatus.DONE)


def _wanted(
    spark: SparkSession, path: str, *, engine: str, strict: bool
) -> tuple[SubscriptionSet | FollowedSet, int]:
    """The subscriptions at a path, and how many rows of them could not be used."""
    from sapwood.pipeline.matching.subscription_source import compile_path
    from sapwood.pipeline.matching.versions import latest_report
    from sapwood.pipeline.stream.following import FollowedSet

    if latest_report(spark, path) is not None:
        return FollowedSet(path), 0
    compiled = compile_path(spark, path, engine=engine)
    if strict and compiled.rejected:
        bad = compiled.rejected[0]
        raise FileFormatError(bad.file or path, bad.reason, bad.line)
    return compiled, len(compiled.rejected)


def _batch_members(summary: BatchSummary) -> dict[str, Any]:
    return {
        "batch": summary.batch,
        "publications": count_members(summary.publications),
        "deliveries": summary.deliveries,
        **({} if summary.version is None else {"version": summary.version}),
    }


def _batch_text(summary: BatchSummary) -> str:
    parts = [
        amount(summary.publications.good, "publication"),
        amount(summary.deliveries, "delivery", "deliveries"),
    ]
    if summary.publications.rejected:
        parts.append(f"{amount(summary.publications.rejected, 'line')} rejected")
    if summary.version is not None:
        parts.append(f"version {summary.version} of the subscriptions")
    return f"batch {summary.batch}: {', '.join(parts)}"
