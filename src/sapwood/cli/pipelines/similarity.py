"""`sapwood pipeline similarity`: subscriptions in, the near pairs of their filters out."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sapwood.cli.output import (
    ExitStatus,
    dialect_option,
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
    usage_line,
)
from sapwood.model.amounts import amount

if TYPE_CHECKING:
    from sapwood.pipeline.similarity.job import SimilaritySummary
    from sapwood.pipeline.similarity.workers import Known


@click.command("similarity")
@click.option("--subscriptions", required=True, help="JSON Lines or Parquet: id, filter or xpath.")
@click.option("--out", required=True, help="Folder for the tables pairs, filters and members.")
@click.option(
    "--threshold",
    type=click.FloatRange(0.5, 1, min_open=True),
    default=0.75,
    show_default=True,
    help="The least mean of both similarities of a pair.",
)
@click.option("--synopsis", help="What `pipeline synopsis` wrote: XPaths are compared by it.")
@click.option("--dtd", help="A DTD that documents are valid for, beside a synopsis or alone.")
@click.option("--root", help="The document element of the DTD.")
@dialect_option
@rejected_option
@master_option
@explain_option
@json_option
@strict_option
@click.pass_context
def similarity_command(
    ctx: click.Context,
    *,
    subscriptions: str,
    out: str,
    threshold: float,
    synopsis: str | None,
    dtd: str | None,
    root: str | None,
    dialect: str | None,
    rejected: str | None,
    master: str | None,
    explain: bool,
    as_json: bool,
    strict: bool,
) -> None:
    """Find all pairs of subscriptions whose filters want much the same.

    None is missed at or above the threshold. What cannot be used is set aside with file, line and
    reason; filters that cannot be compared are in the table of filters, with the reason.
    """
    from sapwood.pipeline.similarity.job import SimilarityJob

    check_inputs(master, subscriptions)
    job = SimilarityJob(
        subscriptions,
        out,
        known_of(synopsis, dtd, root),
        threshold,
        aside=rejected,
        strict=strict,
        dialect=dialect,
    )
    with session(master, "comparing") as spark:
        if explain:
            click.echo(job.explain(spark))
            return
        summary = job.run(spark)
    if as_json:
        print_json(asdict(summary))
    else:
        say(_text(summary))
    is_whole = not (summary.rejected or summary.uncompared)
    ctx.exit(ExitStatus.DONE if is_whole else ExitStatus.REJECTED)


def known_of(synopsis: str | None, dtd: str | None, root: str | None) -> Known:
    """The knowledge of documents from files; raises `InputError` for files that cannot be used."""
    from sapwood.errors import FileFormatError
    from sapwood.files.synopses import load_synopsis
    from sapwood.pipeline.similarity.workers import read_known
    from sapwood.similarity import to_bytes

    data = None
    if dtd is not None:
        try:
            data = Path(dtd).read_bytes()
        except OSError as error:
            raise FileFormatError(dtd, f"cannot be read: {error.strerror}") from error
    counted = None if synopsis is None else to_bytes(load_synopsis(synopsis))
    return read_known(counted, data, root)


def _text(summary: SimilaritySummary) -> str:
    lines = [
        (
            f"{amount(summary.pairs, 'near pair')} of {amount(summary.filters, 'filter')} "
            f"({amount(summary.subscriptions, 'subscription')}) in {summary.out}"
        )
    ]
    if summary.uncompared:
        left = amount(summary.uncompared, "filter")
        lines.append(f"{left} not compared: see {summary.out}/filters")
    if summary.rejected:
        lines.append(f"{amount(summary.rejected, 'line')} rejected: see {summary.aside}")
    if summary.usage is not None:
        lines.append(usage_line(summary.usage))
    return "\n".join(lines)
