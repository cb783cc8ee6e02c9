"""`sapwood pipeline match`: publications and subscriptions in, deliveries out."""

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
    engine_option,
    explain_option,
    master_option,
    rejected_option,
    session,
)
from sapwood.model.amounts import amount

if TYPE_CHECKING:
    from sapwood.pipeline.tables.summaries import MatchSummary


@click.command("match")
@click.option(
    "--subscriptions", required=True, help="JSON Lines or Parquet: id, filter; or a compiled set."
)
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
@click.option(
    "--output",
    type=click.Choice(["pairs", "lists", "counts", "homes"]),
    default="pairs",
    show_default=True,
    help="A row for each pair, publication or subscription; homes are for a compiled set.",
)
@click.option(
    "--layout",
    type=click.Choice(["auto", "broadcast", "sharded"]),
    default="auto",
    show_default=True,
    help="Bring the whole index to the publications, or publications to parts of it; auto goes by "
    "the size of the subscriptions.",
)
@click.option(
    "--shards", type=click.IntRange(min=1), help="Parts of a sharded index.  [default: by size]"
)
@engine_option
@master_option
@explain_option
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
    output: str,
    layout: str,
    shards: int | None,
    engine: str,
    master: str | None,
    explain: bool,
    as_json: bool,
    strict: bool,
) -> None:
    """Match publications against subscriptions: one row per pair, or as --output says.

    An earlier result in the same folder is replaced. Rejected rows and lines are written, with
    file, line and reason, to a folder beside it.
    """
    from sapwood.pipeline.matching.job import MatchJob
    from sapwood.pipeline.matching.output import Output
    from sapwood.pipeline.matching.sharding import Layout

    job = MatchJob(
        subscriptions=subscriptions,
        publications=publications,
        out=out,
        aside=rejected,
        engine=engine,
        id_columns=id_columns,
        strict=strict,
        output=Output(output),
        layout=Layout(layout),
        shards=shards,
    )
    check_inputs(master, subscriptions, publications)
    with session(master, "matching") as spark:
        if explain:
            click.echo(job.explain(spark))
            return
        summary = job.run(spark)
    if as_json:
        print_json(_match_members(summary))
    else:
        say(_match_text(summary))
    ctx.exit(ExitStatus.REJECTED if summary.rejected else ExitStatus.DONE)


def _match_members(summary: MatchSummary) -> dict[str, Any]:
    """The summary as JSON, with the names of `sapwood match --json`."""
    return {
        "subscriptions": count_members(summary.subscriptions),
        "publications": count_members(summary.publications),
        "deliveries": summary.deliveries,
        "layout": summary.layout,
        "output": summary.output,
        "out": summary.out,
        "rejected_file": summary.aside if summary.rejected else None,
    }


def _match_text(summary: MatchSummary) -> str:
    subscribed, published = summary.subscriptions, summary.publications
    publications = amount(published.good, "publication")
    subscriptions = amount(subscribed.good, "subscription")
    deliveries = amount(summary.deliveries, "delivery", "deliveries")
    lines = [f"{publications} matched against {subscriptions}: {deliveries} in {summary.out}"]
    if summary.rejected:
        lines.append(
            f"{amount(summary.rejected, 'row')} rejected ({subscribed.rejected:,} of the "
            f"subscriptions, {published.rejected:,} of the publications): see {summary.aside}"
        )
    return "\n".join(lines)
