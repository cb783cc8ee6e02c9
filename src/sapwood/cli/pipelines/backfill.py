"""`sapwood pipeline backfill`: new subscriptions over history, then live."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sapwood.cli.output import (
    ExitStatus,
    json_option,
    print_json,
    say,
)
from sapwood.cli.pipelines.common import (
    await_end,
    check_inputs,
    engine_option,
    explain_option,
    master_option,
    session,
)
from sapwood.errors import InputError
from sapwood.model.amounts import amount

if TYPE_CHECKING:
    from sapwood.pipeline.tables.summaries import BatchSummary


@click.command("backfill")
@click.option("--subscriptions", required=True, help="JSON Lines or Parquet: id, filter.")
@click.option(
    "--journal", required=True, help="HOST:PORT of a broker with --data, or its journal's folder."
)
@click.option(
    "--lake",
    help="Publications that were ingested before.  [default: the journal is all the history]",
)
@click.option("--out", required=True, help="Folder for history, live and the seam between them.")
@click.option("--follow", is_flag=True, help="Go on with what the journal has had since.")
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Go on for ever, and look this often; implies --follow.",
)
@engine_option
@master_option
@json_option
@explain_option
@click.pass_context
def backfill_command(
    ctx: click.Context,
    *,
    subscriptions: str,
    journal: str,
    lake: str | None,
    out: str,
    follow: bool,
    every_s: float | None,
    engine: str,
    master: str | None,
    as_json: bool,
    explain: bool,
) -> None:
    """Match new subscriptions with history, then live, without a gap or a double.

    History is the lake and what the journal holds when the command begins for the first time; from
    there on it is live. Run it again after an interruption: it goes on where it was.
    """
    from sapwood.pipeline.spark.faults import spark_faults
    from sapwood.pipeline.spark.session import is_connect
    from sapwood.pipeline.stream.backfill import BackfillJob

    rejected = 0

    def tell(batch: BatchSummary) -> None:
        nonlocal rejected
        rejected += batch.publications.rejected
        if as_json:
            print_json({"batch": batch.batch, "deliveries": batch.deliveries})
        else:
            say(f"live, batch {batch.batch}: {amount(batch.deliveries, 'delivery', 'deliveries')}")

    check_inputs(master, subscriptions, journal, lake)
    with session(master, "matching") as spark:
        job = BackfillJob(subscriptions, journal, out, lake=lake, engine=engine)
        if explain:
            click.echo(job.explain(spark))
            return
        going_on = follow or every_s is not None
        if going_on and is_connect(spark):
            raise InputError(
                "a client of Spark Connect does not see what batches do; leave --follow"
            )
        summary = job.run(spark)
        if as_json:
            print_json({"seam": summary.seam, "deliveries": summary.deliveries})
        else:
            found = amount(summary.deliveries, "delivery", "deliveries")
            state = "in" if summary.is_new else "were already in"
            say(f"{found} {state} {out}/history; live from offset {summary.seam} of {journal}")
        if going_on:
            with spark_faults(journal):
                query = job.follow(spark, every_s=every_s, on_batch=tell)
                await_end(query, endless=every_s is not None)
    rejected += summary.rejected
    ctx.exit(ExitStatus.REJECTED if rejected else ExitStatus.DONE)
