"""`sapwood pipeline`: the Spark jobs. They run under spark-submit too (`sapwood.pipeline.job`)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from sapwood.cli.contributed import PIPELINE_COMMANDS, contributed_command
from sapwood.cli.groups import CommandGroup
from sapwood.cli.pipelines.backfill import backfill_command
from sapwood.cli.pipelines.compile import compile_command
from sapwood.cli.pipelines.ingest import ingest_command
from sapwood.cli.pipelines.match import match_command
from sapwood.cli.pipelines.report import report_command
from sapwood.cli.pipelines.similarity import similarity_command
from sapwood.cli.pipelines.stream import stream_command
from sapwood.cli.pipelines.synopsis import synopsis_command

JOB_MODULE: Final = "sapwood.pipeline.job"

SWEEP: Final = "Run an experiment once for each configuration, as Spark jobs."
"""The line of the help for the command that the lab contributes."""


class PipelineGroup(CommandGroup):
    """The jobs, and `sweep`, which the lab contributes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all jobs, sorted."""
        return sorted((*super().list_commands(ctx), "sweep"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The job of that name."""
        if cmd_name == "sweep":
            return contributed_command(PIPELINE_COMMANDS, cmd_name, SWEEP)
        return super().get_command(ctx, cmd_name)


@click.group(name="pipeline", cls=PipelineGroup)
def command() -> None:
    """Run the Spark jobs: bring files in, compile subscriptions, match, stream.

    Paths are files, folders or patterns, wherever Spark can read and write. Exit status: 0 all
    done, 1 done but something was rejected, 2 could not be done.
    """


command.add_command(ingest_command)
command.add_command(compile_command)
command.add_command(match_command)
command.add_command(stream_command)
command.add_command(backfill_command)
command.add_command(report_command)
command.add_command(synopsis_command)
command.add_command(similarity_command)


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


@command.command("pack")
@click.argument("archive", type=click.Path(dir_okay=False, path_type=Path))
def pack_command(archive: Path) -> None:
    """Pack this package, and those that bring further jobs, for executors without them.

    Prints the options for spark-submit that bring it to them, as in
    spark-submit $(sapwood pipeline pack sapwood.zip) --master spark://host:7077
    "$(sapwood pipeline job)" match --subscriptions ...
    """
    import shlex

    from sapwood.cli.contributed import contributing_packages
    from sapwood.pipeline.spark.shipping import PACKAGE, pack_packages, submit_options

    packages = (PACKAGE, *contributing_packages())
    click.echo(shlex.join(submit_options(str(pack_packages(archive, packages)))))
