"""`sapwood pipeline sweep`: configurations of an experiment in, a table of figures out."""

from __future__ import annotations

import click

from sapwood.cli.output import (
    ExitStatus,
    input_file,
    json_option,
    print_json,
    say,
)
from sapwood.cli.pipelines.common import explain_option, master_option, session
from sapwood.model.amounts import amount
from sapwood_lab.sweep.experiments import OVERLAYS


@click.command("sweep")
@click.option(
    "--experiment",
    metavar="MODULE:FUNCTION",
    default=OVERLAYS,
    show_default=True,
    help="What to run; executors must be able to import it.",
)
@click.option(
    "--configurations",
    type=input_file,
    required=True,
    help="JSON Lines, one configuration a line; or TOML with a [grid] of lists and [constants].",
)
@click.option("--out", required=True, help="Folder for what was run and the table of figures.")
@click.option(
    "--wave",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Configurations that run, and are written, together.",
)
@master_option
@json_option
@explain_option
@click.pass_context
def sweep_command(
    ctx: click.Context,
    *,
    experiment: str,
    configurations: str,
    out: str,
    wave: int,
    master: str | None,
    as_json: bool,
    explain: bool,
) -> None:
    """Run an experiment for many configurations, one a task.

    What an earlier run has done is not done again, so a sweep that was stopped goes on where it
    was. Exit status 1 if some configurations failed; the next run tries them again.
    """
    from dataclasses import asdict

    from sapwood_lab.sweep.job import SweepJob, read_configurations

    found = read_configurations(configurations)
    with session(master, "running") as spark:
        job = SweepJob(experiment, found, out, wave)
        if explain:
            click.echo(job.explain(spark))
            return
        summary = job.run(spark)
    if as_json:
        print_json(asdict(summary))
    else:
        did = f"{amount(summary.configurations, 'configuration')}: {summary.done:,} done"
        say(f"{did}, {summary.skipped:,} done before, {summary.failed:,} failed: see {out}/table")
        if summary.first_error is not None:
            say(f"the first failure: {summary.first_error}")
    ctx.exit(ExitStatus.REJECTED if summary.failed else ExitStatus.DONE)
