"""`sapwood simulate`: a whole overlay in virtual time, judged by the oracle."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from sapwood.cli.comparing import run_comparison
from sapwood.cli.conditions import are_given, conditions_of, conditions_options, fault_words
from sapwood.cli.explaining import explained_members, explained_text
from sapwood.cli.output import (
    ExitStatus,
    dtd_option,
    input_file,
    json_option,
    print_json,
    progress,
    say,
    strict_option,
)
from sapwood.cli.protocol_choice import chosen_protocol
from sapwood.cli.semantic import Inputs, check_options, run_overlay
from sapwood.cli.summary import Summary
from sapwood.files import (
    STANDARD_INPUT,
    STANDARD_OUTPUT,
    Counts,
    DeliveryWriter,
    RejectedFile,
    StrictRejections,
    rejected_path,
    replacing,
)
from sapwood.matching.readiness import InPlace, loading
from sapwood.model.amounts import amount

if TYPE_CHECKING:
    from sapwood.files.scenarios import ScenarioFiles
    from sapwood.routing.strategies import Protocol
    from sapwood.simulation.evaluation import Evaluation
    from sapwood.simulation.oracle import Pair
    from sapwood.simulation.scenario import Scenario


@click.command
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    help="See `sapwood protocols`. With --compare it may be given several times. Under those that "
    "begin with semantic- each subscription is a peer that finds its neighbors by its interest: "
    "--topology and homes mean nothing, and --faults names a file of [[churn]].",
)
@dtd_option
@click.option(
    "--topology",
    help="line:5, star:8, tree:31 or tree:31:2 (routers, branching), random:50, transit-stub, "
    "planetlab, ring:8, mesh:20:40 (routers, links), or a TOML file. Where links form circles, "
    "each router's publications take a tree of their own.",
)
@click.option("--subscriptions", type=input_file, help="JSON Lines file, or -.")
@click.option("--publications", type=input_file, help="JSON Lines file, or -.")
@click.option(
    "--advertisements",
    type=input_file,
    help="JSON Lines file (id, filter or xpath or paths, home), or -: what the publisher at each "
    "router advertises. [default: nothing; everything, where the protocol routes by "
    "advertisements]",
)
@click.option(
    "--faults",
    type=input_file,
    help="TOML file: what fails and returns, or comes and goes, and when.",
)
@conditions_options
@click.option(
    "--backup",
    "backups",
    multiple=True,
    metavar="ROUTER=ROUTER,...",
    help="Under failover, where a router goes when the neighbor on the way to the first router is "
    "gone for long, in this order; may be given once for each router.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="For all that is drawn.")
@click.option("--out", help="File for the deliveries, or -.  [default: -]")
@click.option("--metrics", help="File for the figures, as JSON.")
@click.option(
    "--picture",
    metavar="FILE",
    help="Under a semantic overlay: draw it at the end as SVG, with its communities, who is busy, "
    "and the way of the last publication.",
)
@click.option(
    "--rejected",
    help="File for lines that cannot be used.  [default: the name of the deliveries, or else of "
    "the publications, with .rejected added]",
)
@click.option(
    "--swarm",
    type=click.IntRange(min=1),
    metavar="N",
    help="Run N random scenarios instead, of the seed and those after it: overlay, languages, "
    "churn and faults are drawn; no file is needed.",
)
@click.option(
    "--compare",
    is_flag=True,
    help="Run each protocol on the files, print what they cost beside each other, and say which "
    "one to take; no deliveries are written. Without --protocol, those that differ most.",
)
@click.option(
    "--explain",
    nargs=2,
    multiple=True,
    metavar="PUBLICATION SUBSCRIPTION",
    help="Say hop by hop why a publication came to a subscription, or did not, by their ids: what "
    "of the filter failed, who was told what, which link was down. May be given several times. "
    "Deliveries go only to --out.",
)
@json_option
@strict_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    protocols: tuple[str, ...],
    dtd: str | None,
    topology: str | None,
    subscriptions: str | None,
    publications: str | None,
    advertisements: str | None,
    faults: str | None,
    backups: tuple[str, ...],
    seed: int,
    out: str | None,
    metrics: str | None,
    picture: str | None,
    rejected: str | None,
    swarm: int | None,
    compare: bool,
    explain: tuple[tuple[str, str], ...],
    as_json: bool,
    strict: bool,
) -> None:
    """Run an overlay of routers in virtual time, and check every delivery.

    All advertise and subscribe first; then one publication is sent every 10 ms of virtual time, and
    faults count from the first. Homes that no line names are drawn with the seed. Deliveries are
    those of `sapwood match`. Who has advertised is refused what its advertisements do not accept.

    Exit status: 1 also when publications were refused, 2 also when the oracle finds something lost,
    unexpected, duplicated, reordered, wrongly refused or accepted, stuck or diverged.
    """
    ctx.with_resource(loading(InPlace(say)))
    from sapwood.files.scenarios import open_scenario

    alone = (swarm, out, metrics, picture, *explain, *backups) if compare else None
    _check_choice(ctx, protocols, alone)
    _run_without_topology(ctx)
    if topology is None or subscriptions is None or publications is None:
        raise _missing(ctx, topology=topology, subscriptions=subscriptions)
    _check_standard_input(subscriptions, publications, advertisements)
    out = None if out == STANDARD_OUTPUT else out
    aside = rejected or rejected_path(subscriptions, publications, out)
    with RejectedFile(aside) as rejected_file, ExitStack() as stack:
        files = open_scenario(
            topology,
            subscriptions,
            publications,
            advertisements=advertisements,
            faults=faults,
            fault_words=fault_words(ctx),
            seed=seed,
            conditions=conditions_of(ctx),
            rejections=StrictRejections() if strict else rejected_file,
        )
        if compare:
            ctx.exit(_compared(files, protocols, dtd, aside, as_json=as_json))
        chosen = chosen_protocol(protocols[0], dtd)
        stream = _stream(stack, out, explain)
        by_default = advertisements is None and chosen.clients_advertise
        with progress("reading", "lines") as advance:
            scenario = files.scenario(advertise_everything=by_default, advance=advance)
        result = _evaluated(scenario, chosen, backups, faults=files.faults, explain=explain)
        count = write_deliveries(stream, scenario, result.pairs)
        if metrics is not None:
            stack.enter_context(replacing(metrics)).write(result.metrics.to_json())
    summary = Summary(files.subscriptions.counts, files.publications.counts, count, aside)
    advertised = None if files.advertisements is None else files.advertisements.counts
    about = advertisement_lines(advertised, aside, by_default=by_default)
    is_aside = out is None and not explain
    ctx.exit(_told(summary, advertised, result, about, as_json=as_json, err=is_aside))


def _evaluated(
    scenario: Scenario,
    chosen: Protocol,
    backups: tuple[str, ...],
    *,
    faults: Sequence[object] | None,
    explain: Sequence[tuple[str, str]],
) -> Evaluation:
    """Carry a scenario out; where there are faults, probe the overlay after them."""
    from sapwood.simulation.evaluation import evaluate
    from sapwood.simulation.optimizing import fitted

    chosen, probed = _with_backups(chosen, scenario, backups), faults is not None
    scenario = fitted(scenario, chosen)
    return evaluate(scenario, chosen, with_probes=probed, watch=progress, explain=explain)


def _stream(stack: ExitStack, out: str | None, explain: Sequence[tuple[str, str]]) -> BinaryIO:
    """The output of deliveries: none where an explanation is requested and no file is named."""
    if out is not None:
        return stack.enter_context(replacing(out))
    if explain:
        return stack.enter_context(Path(os.devnull).open("wb"))
    return sys.stdout.buffer


def _told(
    summary: Summary,
    advertised: Counts | None,
    result: Evaluation,
    about: Sequence[str],
    *,
    as_json: bool,
    err: bool,
) -> ExitStatus:
    """Report the results; JSON goes to standard error where deliveries take standard output."""
    if as_json:
        told = {**summary.members(), "metrics": result.metrics.to_builtins()}
        if result.explained:
            told["explained"] = [explained_members(one) for one in result.explained]
        print_json(told, err=err)
    else:
        for one in result.explained:
            click.echo(explained_text(one))
        say("\n".join((summary.text(), *about, *result_lines(result))))
    return _status(summary, advertised, result)


def _status(summary: Summary, advertised: Counts | None, result: Evaluation) -> ExitStatus:
    if not result.is_right:
        return ExitStatus.FAILED
    unusable = summary.rejected + (advertised.rejected if advertised else 0)
    return ExitStatus.REJECTED if unusable or result.metrics.refused else ExitStatus.DONE


def _compared(
    files: ScenarioFiles, protocols: Sequence[str], dtd: str | None, aside: str, *, as_json: bool
) -> ExitStatus:
    """Compare protocols on the content of the files."""
    with progress("reading", "lines") as advance:
        lines = files.read(advance)
    by_file = files.advertisements is not None
    status = run_comparison(lines, protocols, dtd, by_file=by_file, as_json=as_json)
    return max(status, _unusable(files, aside))


def _unusable(files: ScenarioFiles, aside: str) -> ExitStatus:
    """Report the number of lines that could not be used, if any."""
    readings = (files.subscriptions, files.publications, files.advertisements)
    rejected = sum(one.counts.rejected for one in readings if one is not None)
    if rejected:
        say(f"{amount(rejected, 'line')} rejected: see {aside}")
    return ExitStatus.REJECTED if rejected else ExitStatus.DONE


def _check_choice(
    ctx: click.Context, protocols: Sequence[str], beside: Sequence[object] | None
) -> None:
    """Raise a `UsageError` unless the protocols go with the options `beside` a comparison.

    `beside` is `None` where nothing is compared.
    """
    if beside is not None:
        if any(option is not None for option in beside):
            raise click.UsageError(
                "--compare prints one table: leave out --swarm, --out, --metrics, --picture, "
                "--backup and --explain"
            )
    elif not protocols:
        [option] = [one for one in ctx.command.params if one.name == "protocols"]
        raise click.MissingParameter(ctx=ctx, param=option)
    elif len(protocols) > 1:
        raise click.UsageError(
            f"one protocol at a time runs, not {len(protocols)}: give one, or add --compare"
        )


def _run_without_topology(ctx: click.Context) -> None:
    """Run what needs no topology, and end the command: a semantic overlay, or a swarm."""
    from sapwood.simulation.semantic.protocols import is_semantic

    given = ctx.params
    _check_conditions(ctx)
    name, *others = given["protocols"] or ("",)
    if is_semantic(name) and not others:
        unfit = ("swarm", "compare", "advertisements", "backups")
        check_options({option: given[option] for option in unfit})
        files = [given[option] for option in ("subscriptions", "publications", "faults")]
        if None in files[:2]:
            raise _missing(ctx, subscriptions=files[0])
        _check_standard_input(*files)
        options = (
            "subscriptions",
            "publications",
            "faults",
            "out",
            "metrics",
            "rejected",
            "picture",
        )
        inputs = Inputs(**{option: given[option] for option in options})
        switches = {switch: given[switch] for switch in ("as_json", "strict")}
        ctx.exit(run_overlay(name, inputs, given["seed"], **switches))
    if given["picture"] is not None:
        raise click.UsageError(
            "--picture draws peers and their communities: give it with --protocol semantic-tree or "
            "semantic-graph"
        )
    if given["swarm"] is not None:
        ctx.exit(_swarm(name, given["seed"], given["swarm"], as_json=given["as_json"]))


def _check_conditions(ctx: click.Context) -> None:
    """Raise a `UsageError` where conditions are given and mean nothing."""
    from sapwood.simulation.semantic.protocols import is_semantic

    given = ctx.params
    is_drawn = given["swarm"] is not None
    if are_given(ctx) and (is_drawn or any(map(is_semantic, given["protocols"]))):
        raise click.UsageError(
            "a swarm draws what links, clocks and routers are like, and semantic overlays have "
            "none: leave out --loss, --duplication, --reordering, --delay, --jitter, --drift, "
            "--processing and --fault"
        )


def _swarm(protocol: str, seed: int, count: int, *, as_json: bool) -> ExitStatus:
    from sapwood.cli.swarm import run_swarm

    is_right = run_swarm(protocol, seed, count, as_json=as_json)
    return ExitStatus.DONE if is_right else ExitStatus.FAILED


def _with_backups(chosen: Protocol, scenario: Scenario, backups: tuple[str, ...]) -> Protocol:
    """The protocol with the backups that options name, if any does."""
    from sapwood.simulation.simulator import protocol_on

    if not backups:
        return chosen
    return protocol_on(scenario.topology, chosen, _backups_by_router(backups))


def _backups_by_router(backups: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The backups by router: an option is a router, an equals sign, and backups with commas."""
    found: dict[str, tuple[str, ...]] = {}
    for text in backups:
        router, equals, names = text.partition("=")
        if not equals or not all((router, *names.split(","))):
            raise click.BadParameter(
                f"{text!r} is not like r5=r2,r3: a router, and where it goes", param_hint="--backup"
            )
        if router in found:
            raise click.BadParameter(
                f"{router} is there twice: name all its backups at once", param_hint="--backup"
            )
        found[router] = tuple(names.split(","))
    return found


def _check_standard_input(*files: str | None) -> None:
    if files.count(STANDARD_INPUT) > 1:
        raise click.UsageError("only one of the files can be standard input")


def _missing(ctx: click.Context, **given: str | None) -> click.MissingParameter:
    """The error where an option is missing that only a swarm can do without."""
    name = next((name for name, value in given.items() if value is None), "publications")
    [option] = [parameter for parameter in ctx.command.params if parameter.name == name]
    return click.MissingParameter(ctx=ctx, param=option)


def advertisement_lines(
    counts: Counts | None, rejected_file: str, *, by_default: bool
) -> list[str]:
    """The lines about advertisements, from a file or `by_default`, for a person."""
    if by_default:
        return ["every publisher advertised everything (see --advertisements)"]
    if counts is None:
        return []
    lines = [f"{amount(counts.good, 'advertisement')} in force"]
    if counts.rejected:
        rejected = amount(counts.rejected, "line")
        lines.append(f"{rejected} of the advertisements rejected: see {rejected_file}")
    return lines


def result_lines(result: Evaluation) -> list[str]:
    """The result for a person."""
    figures, judgment = result.metrics, result.judgment
    messages = amount(sum(figures.messages.values()), "message")
    use = figures.false_positives
    cost = (
        f"{figures.protocol} on {amount(figures.routers, 'router')}: {messages}, "
        f"{figures.virtual_seconds:,.3f} s of virtual time; publications crossed "
        f"{amount(use.crossings, 'link')}, {use.needless:,} of them for nobody"
    )
    lines = [cost]
    if figures.unsent:
        unsent = amount(figures.unsent, "publication")
        lines.append(f"{unsent} not sent, because the home router was down")
    if figures.refused:
        refused = amount(figures.refused, "publication")
        lines.append(f"{refused} refused, because the publisher had not advertised it")
    if judgment.checked < figures.publications:
        checked = amount(judgment.checked, "publication")
        lines.append(f"checked for losses: {checked}, drawn with the seed")
    lines.append(
        f"deliveries that must be: {judgment.must:,}, that may be: {judgment.may:,}; "
        + ("all is right" if result.is_right else "SOMETHING IS WRONG")
    )
    for word in ("lost", "unexpected", "duplicated", "reordered"):
        finding = getattr(judgment, word)
        if finding.count:
            named = ", ".join(map(in_words, finding.examples[:3]))
            lines.append(f"{word}: {finding.count:,} ({named}{', …' * (finding.count > 3)})")
    for word, stories in (
        ("wrongly accepted", judgment.admitted),
        ("wrongly refused", judgment.rebuffed),
        ("stuck", judgment.stuck),
        ("diverged", result.diverged),
    ):
        if stories:
            lines.append(f"{word}: {len(stories):,} ({stories[0]})")
    if figures.messages_lost:
        lines.append(f"{amount(figures.messages_lost, 'message')} lost on links")
    if figures.links_closed:
        lines.append(f"{amount(figures.links_closed, 'link')} closed by a router")
    return lines


def write_deliveries(stream: BinaryIO, scenario: Scenario, pairs: Mapping[str, list[str]]) -> int:
    """Write all pairs in the order of the scenario's publications; returns how many."""
    from sapwood.simulation.scenario import PublishAction

    deliveries = DeliveryWriter(stream)
    for step in scenario.steps:
        if isinstance(step.action, PublishAction):
            id_ = step.action.publication.id
            deliveries.write(id_, sorted(pairs.get(id_, ())))
    stream.flush()
    return deliveries.count


def in_words(pair: Pair) -> str:
    """A pair for a person."""
    return f"{pair.publication} for {pair.subscription.id} at {pair.subscription.home}"
