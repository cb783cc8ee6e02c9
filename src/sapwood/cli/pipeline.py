"""`sapwood pipeline`: the Spark jobs. They run under spark-submit too (`sapwood.pipeline.job`)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from sapwood.cli.pipelines.backfill import backfill_command
from sapwood.cli.pipelines.compile import compile_command
from sapwood.cli.pipelines.ingest import ingest_command
from sapwood.cli.pipelines.match import match_command
from sapwood.cli.pipelines.report import report_command
from sapwood.cli.pipelines.stream import stream_command
from sapwood.cli.pipelines.sweep import sweep_command

JOB_MODULE: Final = "sapwood.pipeline.job"


@click.group(name="pipeline")
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
command.add_command(sweep_command)


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
    """Pack this package for executors that do not have it.

    Prints the options for spark-submit that bring it to them, as in
    spark-submit $(sapwood pipeline pack sapwood.zip) --master spark://host:7077
    "$(sapwood pipeline job)" match --subscriptions ...
    """
    import shlex

    from sapwood.pipeline.shipping import pack_package, submit_options

    click.echo(shlex.join(submit_options(str(pack_package(archive)))))
