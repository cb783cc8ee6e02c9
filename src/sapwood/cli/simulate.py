"""`sapwood simulate`: a whole overlay in virtual time, judged by the oracle."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar

import click

from sapwood.cli.match import STANDARD_OUTPUT, Summary, rejected_path
from sapwood.cli.output import (
    Advance,
    ExitStatus,
    amount,
    dtd_option,
    input_file,
    json_option,
    print_json,
    progress,
    say,
    strict_option,
)
from sapwood.cli.protocol_choice import chosen_protocol
from sapwood.errors import FileFormatError, InputError
from sapwood.files import (
    STANDARD_INPUT,
    AdvertisementLine,
    DeliveryWriter,
    PublicationLine,
    Reading,
    RejectedFile,
    Rejections,
    StrictRejections,
    decode_advertisement,
    decode_publication,
    decode_subscription,
    replacing,
)
from sapwood.model.subscription import Subscription

if TYPE_CHECKING:
    from sapwood.overlay.topology import Overlay
    from sapwood.routing.strategies import Protocol
    from sapwood.simulation.history import History
    from sapwood.simulation.metrics import Metrics
    from sapwood.simulation.oracle import Judgment, Pair
    from sapwood.simulation.scenario import Action, Scenario

ENGINE: Final = "counting"
"""The routers' matching engine: the one that is cheapest to change."""

PROBES: Final = 5
"""Publications that are sent once more after faults, from everywhere, to compare with an overlay
built afresh."""

T = TypeVar("T")
H = TypeVar("H", Subscription, PublicationLine, AdvertisementLine)


@click.command
@click.option("--protocol", required=True, help="See `sapwood protocols`.")
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
@click.option("--faults", type=input_file, help="TOML file: what fails and returns when.")
@click.option("--seed", type=int, default=0, show_default=True, help="For all that is drawn.")
@click.option("--out", help="File for the deliveries, or -.  [default: -]")
@click.option("--metrics", help="File for the figures, as JSON.")
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
@json_option
@strict_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    protocol: str,
    dtd: str | None,
    topology: str | None,
    subscriptions: str | None,
    publications: str | None,
    advertisements: str | None,
    faults: str | None,
    seed: int,
    out: str | None,
    metrics: str | None,
    rejected: str | None,
    swarm: int | None,
    as_json: bool,
    strict: bool,
) -> None:
    """Run an overlay of routers in virtual time, and check every delivery.

    All advertise and subscribe first; when all is confirmed, one publication is sent every 10 ms of
    virtual time, and faults count from the first one. Homes that a line does not name are drawn
    with the seed. Deliveries are JSON Lines, one line per pair, in the order of the publications
    and then of the subscriptions' ids, as `sapwood match` writes them.

    A publisher that has advertised is refused what its advertisements do not accept.

    Exit status: 1 also when publications were refused, 2 also when the oracle finds something lost,
    unexpected, duplicated, reordered, wrongly refused or accepted, stuck or diverged.
    """
    chosen = chosen_protocol(protocol, dtd)
    if swarm is not None:
        ctx.exit(_swarm(protocol, seed, swarm, as_json=as_json))
    if topology is None or subscriptions is None or publications is None:
        raise _missing(ctx, topology=topology, subscriptions=subscriptions)
    if [subscriptions, publications, advertisements].count(STANDARD_INPUT) > 1:
        raise click.UsageError("only one of the files can be standard input")
    by_default = advertisements is None and chosen.clients_advertise
    overlay = read_topology(topology, seed)
    timed_faults = read_faults(faults, overlay, seed) if faults is not None else None
    if out == STANDARD_OUTPUT:
        out = None
    aside = rejected or rejected_path(subscriptions, publications, out)
    with ExitStack() as stack:
        rejected_file = stack.enter_context(RejectedFile(aside))
        rejections: Rejections = StrictRejections() if strict else rejected_file
        stream = stack.enter_context(replacing(out)) if out else sys.stdout.buffer
        files = Files.of(subscriptions, publications, advertisements, rejections, overlay)
        scenario = files.scenario(
            overlay, timed_faults or (), seed, advertise_everything=by_default
        )
        result = run(scenario, chosen, with_probes=timed_faults is not None)
        count = write_deliveries(stream, scenario, result.pairs)
        stream.flush()
        if metrics is not None:
            stack.enter_context(replacing(metrics)).write(result.metrics.to_json())
    summary = Summary(files.subscriptions.counts, files.publications.counts, count, aside)
    if as_json:
        members = {**summary.members(), "metrics": result.metrics.to_builtins()}
        print_json(members, err=out is None)
    else:
        lines = [summary.text(), *files.advertisement_lines(aside), *result.lines()]
        if by_default:
            lines.insert(1, "every publisher advertised everything (see --advertisements)")
        say("\n".join(lines))
    if not result.is_right:
        ctx.exit(ExitStatus.FAILED)
    incomplete = summary.rejected or files.advertisements_rejected or result.metrics.refused
    ctx.exit(ExitStatus.REJECTED if incomplete else ExitStatus.DONE)


def _swarm(protocol: str, seed: int, count: int, *, as_json: bool) -> ExitStatus:
    from sapwood.cli.swarm import run_swarm

    is_right = run_swarm(protocol, seed, count, as_json=as_json)
    return ExitStatus.DONE if is_right else ExitStatus.FAILED


def _missing(ctx: click.Context, **given: str | None) -> click.MissingParameter:
    """What to raise where an option is missing that only a swarm does without."""
    name = next((name for name, value in given.items() if value is None), "publications")
    [option] = [parameter for parameter in ctx.command.params if parameter.name == name]
    return click.MissingParameter(ctx=ctx, param=option)


def read_topology(text: str, seed: int) -> Overlay:
    """The topology that a name (`tree:31:2`) or a TOML file describes."""
    from sapwood.overlay.document import decode_topology
    from sapwood.overlay.shapes import parse_topology

    if text.endswith(".toml") or Path(text).is_file():
        return read_toml(text, decode_topology)
    return parse_topology(text, Random(f"{seed}/topology").randrange)  # noqa: S311 - reproducible


def read_faults(path: str, topology: Overlay, seed: int) -> list[tuple[float, Action]]:
    """What a TOML file says will fail and return, in the order of time."""
    from sapwood.simulation.faults import decode_faults

    return read_toml(path, lambda document: decode_faults(document, topology, seed))


def read_toml(path: str, decode: Callable[[Mapping[str, Any]], T]) -> T:
    """What a TOML file holds; all that is wrong with it becomes a `FileFormatError`."""
    import tomllib

    try:
        with click.open_file(path, "rb") as stream:
            return decode(tomllib.load(stream))
    except FileNotFoundError:
        raise FileFormatError(path, "there is no such file") from None
    except (InputError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileFormatError(path, str(error)) from error


@dataclass(frozen=True, slots=True)
class Files:
    """The input files, as they are read; homes that the overlay does not have are refused.

    A line of the advertisements has the form of a subscription's, or `paths` of documents.
    """

    subscriptions: Reading[Subscription]
    publications: Reading[PublicationLine]
    advertisements: Reading[AdvertisementLine] | None

    @classmethod
    def of(
        cls,
        subscriptions: str,
        publications: str,
        advertisements: str | None,
        rejections: Rejections,
        topology: Overlay,
    ) -> Files:
        """Open the files for one overlay."""
        return cls(
            Reading(
                subscriptions,
                rejections,
                lambda line: at_home(decode_subscription(line), topology),
                lambda value: (value.id, 0),
            ),
            Reading(
                publications,
                rejections,
                lambda line: at_home(decode_publication(line), topology),
                lambda value: (value.publication.id, value.publication.invisible),
            ),
            None
            if advertisements is None
            else Reading(
                advertisements,
                rejections,
                lambda line: at_home(decode_advertisement(line), topology),
                lambda value: (value.id, 0),
            ),
        )

    @property
    def advertisements_rejected(self) -> int:
        """Lines of the advertisements that could not be used."""
        return 0 if self.advertisements is None else self.advertisements.counts.rejected

    def advertisement_lines(self, rejected_file: str) -> list[str]:
        """What a person is to know about the advertisements."""
        if self.advertisements is None:
            return []
        lines = [f"{amount(self.advertisements.counts.good, 'advertisement')} in force"]
        if self.advertisements_rejected:
            rejected = amount(self.advertisements_rejected, "line")
            lines.append(f"{rejected} of the advertisements rejected: see {rejected_file}")
        return lines

    def scenario(
        self,
        topology: Overlay,
        faults: Iterable[tuple[float, Action]],
        seed: int,
        *,
        advertise_everything: bool,
    ) -> Scenario:
        """Everything that is to happen."""
        from sapwood.simulation.scenario import subscribe_then_publish

        with progress("reading", "lines") as advance:
            wanted = list(counted(self.subscriptions, advance))
            published = list(counted(self.publications, advance))
            promised = list(counted(self.advertisements or (), advance))
        return subscribe_then_publish(
            "simulate",
            topology,
            wanted,
            ((line.publication, line.home) for line in published),
            advertisements=None
            if advertise_everything
            else ((one.id, one.filter, one.home) for one in promised),
            faults=faults,
            seed=seed,
        )


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a simulation.

    `pairs` holds, for each publication, the ids of the subscriptions it was delivered for, once
    for each time. `diverged` says in words where the overlay differs from one built afresh.
    """

    metrics: Metrics
    judgment: Judgment
    pairs: Mapping[str, list[str]]
    diverged: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether nothing went wrong."""
        closed = self.metrics.links_closed
        return self.judgment.is_clean and not self.diverged and not closed

    def lines(self) -> list[str]:
        """The result for a person."""
        figures, judgment = self.metrics, self.judgment
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
            + ("all is right" if self.is_right else "SOMETHING IS WRONG")
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
            ("diverged", self.diverged),
        ):
            if stories:
                lines.append(f"{word}: {len(stories):,} ({stories[0]})")
        if figures.links_closed:
            lines.append(f"{amount(figures.links_closed, 'link')} closed by a router")
        return lines


def run(scenario: Scenario, protocol: Protocol, *, with_probes: bool) -> Result:
    """Simulate, judge and measure; probe for divergence if there were faults."""
    from sapwood.simulation.divergence import divergences
    from sapwood.simulation.metrics import measure
    from sapwood.simulation.oracle import judge
    from sapwood.simulation.simulator import protocol_on, router_maker, simulate

    protocol = protocol_on(scenario.topology, protocol)
    make_router = router_maker(protocol, ENGINE)
    with progress("simulating", "steps") as advance:
        outcome = simulate(scenario, make_router, validate=False, progress=lambda _: advance(1))
    world = outcome.world
    with progress("judging", "publications") as advance:
        judgment = judge(
            world.history,
            world.network.delay_max_s,
            advertised=protocol.clients_advertise,
            stuck=outcome.stuck,
            seed=scenario.seed,
            progress=lambda _: advance(1),
        )
    figures = measure(outcome, judgment, protocol=protocol.name, engine=ENGINE, seed=scenario.seed)
    pairs = delivered_pairs(world.history)
    diverged: tuple[str, ...] = ()
    if with_probes:
        published = islice(world.history.publications.values(), PROBES)
        probes = [one.publication for one in published]
        links = not protocol.routes_depend_on_order
        diverged = divergences(world, make_router, probes, links=links)
        figures = figures.with_diverged(len(diverged))
    return Result(figures, judgment, pairs, diverged)


def delivered_pairs(history: History) -> dict[str, list[str]]:
    """Publication to the ids of the subscriptions it was delivered for."""
    pairs: dict[str, list[str]] = {}
    for delivery in history.deliveries:
        pairs.setdefault(delivery.publication, []).append(delivery.subscription.id)
    return pairs


def write_deliveries(stream: BinaryIO, scenario: Scenario, pairs: Mapping[str, list[str]]) -> int:
    """Write all pairs in the order of the scenario's publications; returns how many."""
    from sapwood.simulation.scenario import PublishAction

    deliveries = DeliveryWriter(stream)
    for step in scenario.steps:
        if isinstance(step.action, PublishAction):
            id_ = step.action.publication.id
            deliveries.write(id_, sorted(pairs.get(id_, ())))
    return deliveries.count


def at_home(value: H, topology: Overlay) -> H:
    """A line's value, if the overlay has the home it names."""
    if value.home is not None:
        topology.known(value.home)
    return value


def counted(values: Iterable[T], advance: Advance) -> Iterator[T]:
    """The same values, each reported as it passes."""
    for value in values:
        advance(1)
        yield value


def in_words(pair: Pair) -> str:
    """A pair for a person."""
    return f"{pair.publication} for {pair.subscription.id} at {pair.subscription.home}"
