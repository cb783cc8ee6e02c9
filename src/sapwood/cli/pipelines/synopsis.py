"""`sapwood pipeline synopsis`: publications in, the synopsis of their documents out."""

from __future__ import annotations

from dataclasses import asdict

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
    explain_option,
    master_option,
    rejected_option,
    session,
)
from sapwood.model.amounts import amount


@click.command("synopsis")
@click.option("--publications", required=True, help="JSON Lines or Parquet files, or a journal.")
@click.option("--out", required=True, help="File for the synopsis.")
@click.option("--attributes/--no-attributes", default=True, help="Count attributes as well.")
@rejected_option
@master_option
@json_option
@strict_option
@explain_option
@click.pass_context
def synopsis_command(
    ctx: click.Context,
    *,
    publications: str,
    out: str,
    attributes: bool,
    rejected: str | None,
    master: str | None,
    as_json: bool,
    strict: bool,
    explain: bool,
) -> None:
    """Count how many documents have each path of names.

    The file is what `sapwood.files.synopses` loads. Publications without a document are passed
    over; documents that cannot be read are written with file, line and reason to a folder beside
    it. No row is lost: the sums are checked.
    """
    from sapwood.pipeline.synopsis.job import SynopsisJob

    job = SynopsisJob(publications, out, attributes=attributes, aside=rejected, strict=strict)
    check_inputs(master, publications)
    with session(master, "counting") as spark:
        if explain:
            click.echo(job.explain(spark))
            return
        summary = job.run(spark)
    if as_json:
        aside = summary.aside if summary.rejected else None
        print_json({**asdict(summary), "aside": aside})
    else:
        documents = amount(summary.documents, "document")
        say(f"{amount(summary.paths, 'path')} of {documents} in {summary.out}")
        if summary.others:
            say(f"{amount(summary.others, 'publication')} without a document passed over")
        if summary.rejected:
            say(f"{amount(summary.rejected, 'line')} rejected: see {summary.aside}")
    ctx.exit(ExitStatus.REJECTED if summary.rejected else ExitStatus.DONE)
