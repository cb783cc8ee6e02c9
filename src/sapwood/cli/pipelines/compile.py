"""`sapwood pipeline compile`: subscriptions in, a version of the set that brokers load out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    engine_option,
    explain_option,
    master_option,
    rejected_option,
    session,
    usage_line,
)
from sapwood.model.amounts import amount

if TYPE_CHECKING:
    from sapwood.pipeline.compile.clustering import Clustering
    from sapwood.pipeline.compile.job import CompileSummary


@click.command("compile")
@click.option("--subscriptions", required=True, help="JSON Lines or Parquet: id, filter, home.")
@click.option("--out", required=True, help="Folder for the set; each run adds a version.")
@click.option(
    "--home",
    "homes",
    multiple=True,
    metavar="ROUTER",
    help="A home router for subscriptions that name none; of several one is drawn.  [default: r1]",
)
@click.option(
    "--merge",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="DEGREE",
    help="Merge record filters; no member need accept this share of a merger (0: all perfect).",
)
@click.option(
    "--cluster",
    metavar="PUBLICATIONS",
    help="Propose which subscriptions to home together, and count with this sample what it spares.",
)
@click.option(
    "--near",
    type=click.FloatRange(0.5, 1, min_open=True),
    default=0.6,
    show_default=True,
    help="With --cluster: the least proximity of filters for one home.",
)
@click.option("--synopsis", help="With --cluster: what XPaths are compared by.")
@click.option("--seed", type=int, default=0, show_default=True, help="For drawing homes.")
@dialect_option
@rejected_option
@engine_option
@master_option
@explain_option
@json_option
@strict_option
@click.pass_context
def compile_command(
    ctx: click.Context,
    *,
    subscriptions: str,
    out: str,
    homes: tuple[str, ...],
    merge: float | None,
    cluster: str | None,
    near: float,
    synopsis: str | None,
    seed: int,
    dialect: str | None,
    rejected: str | None,
    engine: str,
    master: str | None,
    explain: bool,
    as_json: bool,
    strict: bool,
) -> None:
    """Compile subscriptions into the set that brokers load.

    Equal filters of one home become one, filters that another one of their home covers are left
    out, and the rest is written as an index. What cannot be used is set aside with file, line and
    reason. A run that finds what is there already writes nothing.
    """
    from sapwood.pipeline.compile.job import CompileJob
    from sapwood.pipeline.compile.steps import DEFAULT_HOMES

    check_inputs(master, subscriptions, cluster)
    clustering = None if cluster is None else _clustering(cluster, near, synopsis)
    with session(master, "compiling") as spark:
        job = CompileJob(
            subscriptions=subscriptions,
            out=out,
            homes=homes or DEFAULT_HOMES,
            seed=seed,
            aside=rejected,
            engine=engine,
            strict=strict,
            merge=merge,
            dialect=dialect,
            cluster=clustering,
        )
        if explain:
            click.echo(job.explain(spark))
            return
        summary = job.run(spark)
    if as_json:
        print_json(_members(summary))
    else:
        say(_text(summary))
    ctx.exit(ExitStatus.REJECTED if summary.rejected else ExitStatus.DONE)


def _clustering(sample: str, threshold: float, synopsis: str | None) -> Clustering:
    from sapwood.cli.pipelines.similarity import known_of
    from sapwood.pipeline.compile.clustering import Clustering

    return Clustering(sample, known_of(synopsis, None, None), threshold)


def _members(summary: CompileSummary) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        **asdict(summary.report),
        "new": summary.is_new,
        "out": summary.out,
        "rejected_file": summary.aside if summary.rejected else None,
        "proposal": None
        if summary.proposal is None
        else {**summary.proposal._asdict(), "saved": round(summary.proposal.saved, 4)},
        "usage": None if summary.usage is None else asdict(summary.usage),
    }


def _text(summary: CompileSummary) -> str:
    report = summary.report
    state = "" if summary.is_new else " (nothing new)"
    entries = amount(report.entries, "entry", "entries")
    read = amount(report.read, "subscription")
    homes = amount(report.homes, "home")
    gone = (
        f"{report.repeated:,} repeated, {report.covered:,} covered, {report.unsatisfiable:,} that "
        "nothing can match"
    )
    lines = [f"{read} of {homes}: {entries} in {summary.out}{state}", f"fell away: {gone}"]
    if report.budget is not None:
        made = amount(report.mergers, "merger")
        lines.append(
            f"{made} made the entries {report.merged:,} fewer; of the least perfect at most "
            f"{report.degree:.2%} is accepted by none of its members"
        )
    if report.patterns or report.covered_patterns:
        lines.append(
            f"XPaths among them: {report.patterns:,} of the entries, "
            f"{report.covered_patterns:,} of the covered filters"
        )
    if summary.rejected:
        lines.append(f"{amount(summary.rejected, 'row')} rejected: see {summary.aside}")
        lines += [f"  {count:,} x {reason}" for reason, count in report.reasons]
    if summary.proposal is not None:
        one = summary.proposal
        lines.append(
            f"proposed in {one.out}: {one.moved:,} of {amount(one.subscriptions, 'subscription')} "
            f"move; {amount(one.publications, 'publication')} of the sample reach "
            f"{one.before:,} homes as it is, {one.after:,} as proposed ({one.saved:.1%} less)"
        )
    if summary.usage is not None:
        lines.append(usage_line(summary.usage))
    return "\n".join(lines)
