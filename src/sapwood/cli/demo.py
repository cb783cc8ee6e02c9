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
    from sapwood.cli.tour.second import SecondWay


@click.command
@click.option(
    "--out",
    default="demo-output",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the files of the tour.",
)
@click.option("--flights", type=click.IntRange(min=1), help="Stop after so many.  [default: all]")
@click.option(
    "--spark/--no-spark",
    "with_spark",
    default=None,
    help="Insist on Spark, or do without.  [default: Spark where it is installed]",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context, *, out: Path, flights: int | None, with_spark: bool | None, as_json: bool
) -> None:
    """Carry a year of real flights through three brokers and through Spark, and compare.

    The flights that left New York in 2013 are published at their airports' brokers; some hundred
    interests are subscribed to at three desks. Then Spark matches the same two files, and the
    deliveries are compared pair by pair.

    Without Spark and a Java, one process matches the files instead; without the package of the
    flights, some are invented. With all of it: pip install 'sapwood[demo]'.
    """
    from sapwood.cli.tour.comparison import compare, read_json_lines
    from sapwood.cli.tour.inputs import write_inputs
    from sapwood.cli.tour.overlay import run_overlay
    from sapwood.cli.tour.second import in_one_process, missing, on_spark

    lack = None if with_spark is False else missing()
    if lack and with_spark:
        raise lack
    say(f"1. Writing the flights and the interests into {out}/ ...")
    with progress("writing", "flights") as advance:
        inputs = write_inputs(out, flights, advance)
    say(
        f"   {inputs.publications:,} {'' if inputs.are_real else 'invented '}flights, "
        f"{len(inputs.subscriptions)} interests, such as\n   {inputs.subscriptions[0].filter}"
    )
    say("2. Three brokers on TCP, in a line: JFK - EWR - LGA. Publishing ...")
    with progress("publishing", "flights") as advance:
        overlay = run_overlay(inputs, out, advance)
    say(
        f"   {overlay.pairs:,} deliveries; "
        f"{overlay.publications / overlay.publishing_s:,.0f} flights a second"
    )
    if with_spark is False or lack:
        say("3. The same files through one process ..." + (f"\n   ({lack})" if lack else ""))
        second = in_one_process(inputs, out)
    else:
        say("3. The same files through Spark ...")
        second = on_spark(inputs, out)
    say(f"   $ {second.command}")
    say("4. Comparing pair by pair ...")
    comparison = compare(read_json_lines(overlay.deliveries_file), second.pairs())
    if as_json:
        print_json(_figures(inputs, overlay, second, comparison))
    else:
        _print_summary(inputs, overlay, second, comparison)
    say(f"\nLook at the files in {out}/:")
    for file in (
        inputs.subscriptions_file,
        inputs.publications_file,
        overlay.deliveries_file,
        second.deliveries,
    ):
        say(f"  {file}")
    if not comparison.equal:
        say("\nThe two disagree, which is a defect of sapwood; please report it.")
        ctx.exit(ExitStatus.FAILED)


def _print_summary(
    inputs: TourInputs, overlay: OverlayResult, second: SecondWay, comparison: Comparison
) -> None:
    print_table(
        ("", "brokers on TCP", second.name),
        [
            ("flights published", f"{overlay.publications:,}", f"{inputs.publications:,}"),
            ("interests", f"{len(inputs.subscriptions)}", f"{len(inputs.subscriptions)}"),
            ("deliveries (flight, interest)", f"{comparison.left:,}", f"{comparison.right:,}"),
            ("found there alone", f"{len(comparison.only_left)}", f"{len(comparison.only_right)}"),
            ("seconds", f"{overlay.publishing_s:.1f}", f"{second.total_s:.1f} with start-up"),
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
    inputs: TourInputs, overlay: OverlayResult, second: SecondWay, comparison: Comparison
) -> dict[str, object]:
    return {
        "flights": inputs.publications,
        "real": inputs.are_real,
        "interests": len(inputs.subscriptions),
        "overlay": {
            "deliveries": comparison.left,
            "subscribing_s": overlay.subscribing_s,
            "publishing_s": overlay.publishing_s,
            "file": str(overlay.deliveries_file),
        },
        "second": {
            "name": second.name,
            "deliveries": comparison.right,
            "total_s": second.total_s,
            "path": str(second.deliveries),
        },
        "equal": comparison.equal,
        "only_overlay": comparison.only_left,
        "only_second": comparison.only_right,
        "duplicated": comparison.duplicated,
    }
