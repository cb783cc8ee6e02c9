"""`sapwood pipeline report`: deliveries in, figures as Parquet and as a page out."""

from __future__ import annotations

import click

from sapwood.cli.output import (
    json_option,
    print_json,
    say,
)
from sapwood.cli.pipelines.common import check_inputs, explain_option, master_option, session
from sapwood.model.amounts import amount


@click.command("report")
@click.option(
    "--deliveries", required=True, help="JSON Lines or Parquet: publication, subscription."
)
@click.option("--out", required=True, help="Folder for the figures, as Parquet.")
@click.option("--publications", help="All that were published: id, published_at.")
@click.option("--subscriptions", help="All that were in force: id.")
@click.option("--crossings", help="What crossed links: link, needed.")
@click.option(
    "--table-sizes",
    multiple=True,
    help="A journal's folder, or files with broker, table, at, entries; may be given several times."
    "  [default: the journal of --publications]",
)
@click.option("--page", help="File for the page.  [default: report.html in --out]")
@master_option
@json_option
@explain_option
def report_command(
    *,
    deliveries: str,
    out: str,
    publications: str | None,
    subscriptions: str | None,
    crossings: str | None,
    table_sizes: tuple[str, ...],
    page: str | None,
    master: str | None,
    as_json: bool,
    explain: bool,
) -> None:
    """Turn deliveries into figures, and into one page to look at.

    How often each subscription was served, how many each publication reached, how uneven that is;
    with the publications also rates, with the subscriptions those that got nothing, with crossings
    of links those that served nobody, and with the journals of brokers how large their routing
    tables were. The page is one file without scripts.
    """
    from dataclasses import asdict

    from sapwood.pipeline.report.job import ReportJob

    check_inputs(master, deliveries, publications, subscriptions, crossings, *table_sizes)
    with session(master, "counting") as spark:
        job = ReportJob(deliveries, out, publications, subscriptions, crossings, page, table_sizes)
        if explain:
            click.echo(job.explain(spark))
            return
        summary = job.run(spark)
    if as_json:
        print_json({**asdict(summary.totals), "out": summary.out, "page": summary.page})
        return
    deliveries_ = amount(summary.totals.deliveries, "delivery", "deliveries")
    say(f"{deliveries_}: figures in {summary.out}, page in {summary.page}")
