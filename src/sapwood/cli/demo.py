"""`sapwood demo`: a guided tour that ends in real output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sapwood.cli.output import ExitStatus, json_option, print_json, print_table, progress, say

if TYPE_CHECKING:
    from sapwood.cli.tour.comparison import Comparison
    from sapwood.cli.tour.inputs import TourInputs
    from sapwood.cli.tour.overlay import OverlayResult
    from sapwood.cli.tour.spark import SparkResult


@click.command
@click.option(
    "--out",
    default="demo-output",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the files of the tour.",
)
@click.option("--flights", type=click.IntRange(min=1), help="Stop after so many.  [default: all]")
@json_option
@click.pass_context
def command(ctx: click.Context, *, out: Path, flights: int | None, as_json: bool) -> None:
    """Carry a year of real flights through three brokers and through Spark, and compare.

    The flights that left New York in 2013 are published at their airports' brokers; some hundred
    interests are subscribed to at three desks. Then Spark matches the same two files, and the
    deliveries are compared pair by pair.
    """
    from sapwood.cli.tour.comparison import compare, read_json_lines, read_parquet
    from sapwood.cli.tour.inputs import write_inputs
    from sapwood.cli.tour.overlay import run_overlay
    from sapwood.cli.tour.spark import check_environment, run_spark

    check_environment()
    say(f"1. Writing the flights and the interests into {out}/ ...")
    with progress("writing", "flights") as advance:
        inputs = write_inputs(out, flights, advance)
    say(
        f"   {inputs.publications:,} flights, {len(inputs.subscriptions)} interests, such as\n"
        f"   {inputs.subscriptions[0].filter}"
    )
    say("2. Three brokers on TCP, in a line: JFK - EWR - LGA. Publishing ...")
    with progress("publishing", "flights") as advance:
        overlay = run_overlay(inputs, out, advance)
    say(
        f"   {overlay.pairs:,} deliveries; "
        f"{overlay.publications / overlay.publishing_s:,.0f} flights a second"
    )
    say("3. The same files through Spark ...")
    spark = run_spark(inputs, out)
    say(f"   $ {spark.command}")
    say("4. Comparing pair by pair ...")
    comparison = compare(
        read_json_lines(overlay.deliveries_file), read_parquet(spark.deliveries_folder)
    )
    if as_json:
        print_json(_figures(inputs, overlay, spark, comparison))
    else:
        _print_summary(inputs, overlay, spark, comparison)
    say(f"\nLook at the files in {out}/:")
    for file in (
        inputs.subscriptions_file,
        inputs.publications_file,
        overlay.deliveries_file,
        spark.deliveries_folder,
    ):
        say(f"  {file}")
    if not comparison.equal:
        say("\nThe two disagree, which is a defect of sapwood; please report it.")
        ctx.exit(ExitStatus.FAILED)


def _print_summary(
    inputs: TourInputs, overlay: OverlayResult, spark: SparkResult, comparison: Comparison
) -> None:
    print_table(
        ("", "brokers on TCP", "Spark"),
        [
            ("flights published", f"{overlay.publications:,}", f"{inputs.publications:,}"),
            ("interests", f"{len(inputs.subscriptions)}", f"{len(inputs.subscriptions)}"),
            ("deliveries (flight, interest)", f"{comparison.left:,}", f"{comparison.right:,}"),
            ("found there alone", f"{len(comparison.only_left)}", f"{len(comparison.only_right)}"),
            ("seconds", f"{overlay.publishing_s:.1f}", f"{spark.total_s:.1f} with start-up"),
        ],
    )
    click.echo()
    found = comparison.by_subscription
    most = found.most_common(5)
    print_table(
        ("the most wanted", "deliveries", "filter"),
        [(name, f"{count:,}", _filter_of(inputs, name)) for name, count in most],
    )
    click.echo()
    same = "yes, every pair" if comparison.equal else "NO"
    click.echo(f"Do both say the same? {same}.")


def _filter_of(inputs: TourInputs, name: str) -> str:
    return next(str(s.filter) for s in inputs.subscriptions if s.id == name)


def _figures(
    inputs: TourInputs, overlay: OverlayResult, spark: SparkResult, comparison: Comparison
) -> dict[str, object]:
    return {
        "flights": inputs.publications,
        "interests": len(inputs.subscriptions),
        "overlay": {
            "deliveries": comparison.left,
            "subscribing_s": overlay.subscribing_s,
            "publishing_s": overlay.publishing_s,
            "file": str(overlay.deliveries_file),
        },
        "spark": {
            "deliveries": comparison.right,
            "total_s": spark.total_s,
            "folder": str(spark.deliveries_folder),
        },
        "equal": comparison.equal,
        "only_overlay": comparison.only_left,
        "only_spark": comparison.only_right,
        "duplicated": comparison.duplicated,
    }
