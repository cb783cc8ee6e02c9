"""`sapwood simulate --protocol semantic-...`: peers instead of routers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from sapwood.cli.output import (
    ExitStatus,
    print_json,
    progress,
    say,
)
from sapwood.cli.summary import Summary
from sapwood.files import (
    STANDARD_OUTPUT,
    DeliveryWriter,
    RejectedFile,
    StrictRejections,
    rejected_path,
    replacing,
)
from sapwood.model.amounts import amount

if TYPE_CHECKING:
    from sapwood.simulation.semantic.running import SemanticRun


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files of a run."""

    subscriptions: str
    publications: str
    faults: str | None
    out: str | None
    metrics: str | None
    rejected: str | None
    picture: str | None = None


def run_overlay(name: str, inputs: Inputs, seed: int, *, as_json: bool, strict: bool) -> ExitStatus:
    """Run a semantic overlay on files; each subscription is a peer, and homes mean nothing."""
    from sapwood.files.reading import read_publications, read_subscriptions
    from sapwood.files.scenarios import read_toml
    from sapwood.simulation.semantic.churn import decode_churn
    from sapwood.simulation.semantic.protocols import semantic_protocol
    from sapwood.simulation.semantic.running import run_semantic

    protocol = semantic_protocol(name)
    out = None if inputs.out == STANDARD_OUTPUT else inputs.out
    aside = inputs.rejected or rejected_path(inputs.subscriptions, inputs.publications, out)
    churn = () if inputs.faults is None else read_toml(inputs.faults, decode_churn)
    with ExitStack() as stack:
        rejections = StrictRejections() if strict else stack.enter_context(RejectedFile(aside))
        subscriptions = read_subscriptions(inputs.subscriptions, rejections)
        publications = read_publications(inputs.publications, rejections)
        stream = stack.enter_context(replacing(out)) if out else sys.stdout.buffer
        peers, sent = tuple(subscriptions), tuple(one.publication for one in publications)
        with progress("simulating", "joins and publications") as advance:
            run = run_semantic(
                *(protocol, peers, sent),
                churn=churn,
                seed=seed,
                counts_copies=inputs.picture is not None,
                advance=advance,
            )
        deliveries = DeliveryWriter(stream)
        for one in sent:
            deliveries.write(one.id, run.pairs[one.id])
        stream.flush()
        if inputs.metrics is not None:
            import msgspec

            figures = msgspec.json.format(msgspec.json.encode(run.members()), indent=2)
            stack.enter_context(replacing(inputs.metrics)).write(figures + b"\n")
        if inputs.picture is not None:
            picture = stack.enter_context(replacing(inputs.picture))
            picture.write(picture_of(run).encode())
    summary = Summary(subscriptions.counts, publications.counts, deliveries.count, aside)
    if as_json:
        print_json({**summary.members(), "metrics": run.members()}, err=out is None)
    else:
        say("\n".join((summary.text(), *run_lines(run))))
    if not run.is_right:
        return ExitStatus.FAILED
    return ExitStatus.REJECTED if summary.rejected else ExitStatus.DONE


def picture_of(run: SemanticRun) -> str:
    """The overlay at the end of a run as SVG, with the way of the last publication.

    Raises `InputError` where nothing was published, `LimitError` for too many peers.
    """
    from sapwood.charts.overlays import overlay_picture
    from sapwood.errors import InputError
    from sapwood.simulation.semantic.drawing import drawn

    if run.last is None or run.overlay is None or not run.peers:
        raise InputError("a picture shows the way of a publication: bring one, and a subscription")
    name, way, wanting = run.last
    title = f"{run.protocol.name}, {amount(len(run.overlay), 'peer')}: the way of {name}"
    return overlay_picture(drawn(run.overlay, title, way, wanting, run.sent))


def check_options(given: Mapping[str, object]) -> None:
    """Raise a `UsageError` for an option that means nothing where there are no routers."""
    for option, value in given.items():
        if value:
            raise click.UsageError(
                f"--{option.removesuffix('s')} goes with routers; under a semantic "
                "overlay each subscription is a peer that finds its own neighbors: leave it out"
            )


def run_lines(run: SemanticRun) -> list[str]:
    """The result for a person."""
    whole = run.accuracy
    copies = sum(one.copies for one in run.publications)
    lines = [
        (
            f"{run.protocol.name} of {amount(run.peers, 'peer')} with "
            f"{amount(run.interests, 'different interest')}: "
            f"{amount(run.joins.messages, 'message')} for joins, "
            f"{run.departures.messages:,} for departures, {copies:,} for publications"
        ),
        (
            f"false positives: {whole.false_positives:,} "
            f"({whole.false_positive_ratio:.1%} of the peers; a broadcast has "
            f"{whole.uninterested_ratio:.1%}), false negatives: {whole.false_negatives:,} "
            f"({whole.false_negative_ratio:.1%} of the interested)"
        ),
    ]
    if run.checked < len(run.publications):
        checked = amount(run.checked, "publication")
        lines.append(f"checked by the reference evaluation: {checked}, drawn with the seed")
    if run.protocol.loses:
        lines.append("this overlay is approximate: what it does not deliver is no fault of the run")
    for word, pairs in (("lost", run.lost), ("unexpected", run.unexpected)):
        if pairs and (word == "unexpected" or not run.protocol.loses):
            named = ", ".join(f"{one} for {other}" for one, other in pairs[:3])
            lines.append(f"SOMETHING IS WRONG: {word}: {len(pairs):,} ({named})")
    if run.is_right and not run.protocol.loses:
        lines.append("all is right")
    return lines
