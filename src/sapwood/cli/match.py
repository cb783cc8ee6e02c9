"""`sapwood match`: files in, deliveries out; one process, no network."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

import click

from sapwood.cli.idle import say_idle
from sapwood.cli.output import (
    ExitStatus,
    dialect_option,
    engines_option,
    id_member_option,
    input_file,
    json_option,
    print_json,
    progress,
    say,
    strict_option,
)
from sapwood.cli.summary import Summary
from sapwood.files import (
    STANDARD_INPUT,
    STANDARD_OUTPUT,
    DeliveryWriter,
    PublicationReading,
    Reading,
    RejectedFile,
    Rejections,
    StrictRejections,
    read_publications,
    read_subscriptions,
    rejected_path,
    replacing,
)
from sapwood.language.never import why_never
from sapwood.matching.engine_names import Engines, chosen_engines
from sapwood.matching.readiness import InPlace, loading
from sapwood.model.subscription import Subscription

if TYPE_CHECKING:
    from sapwood.matching.index import Index

BATCH: Final = 1024
"""Publications matched in one call: enough to pay for the call, few enough to stay in cache."""

T = TypeVar("T")


@click.command
@click.option("--subscriptions", type=input_file, required=True, help="JSON Lines file, or -.")
@click.option("--publications", type=input_file, required=True, help="JSON Lines file, or -.")
@engines_option
@click.option("--out", help="File for the deliveries, or -.  [default: -]")
@click.option(
    "--rejected",
    help="File for lines that cannot be used.  [default: the name of the deliveries, or else of "
    "the publications, with .rejected added]",
)
@id_member_option
@dialect_option
@json_option
@strict_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    subscriptions: str,
    publications: str,
    engines: tuple[str, ...],
    out: str | None,
    rejected: str | None,
    id_member: str | None,
    dialect: str | None,
    as_json: bool,
    strict: bool,
) -> None:
    """Match publications against subscriptions, records and documents, from files.

    Deliveries are JSON Lines, one line per pair, in the order of the publications and then of the
    subscriptions' ids. A bad line does not stop the run: it is counted, and written with its line
    number and the reason to a file of rejected lines. The summary goes to standard error; with
    --json it is JSON, and goes to standard output if the deliveries do not.
    """
    if subscriptions == publications == STANDARD_INPUT:
        raise click.UsageError("only one of the two files can be standard input")
    if out == STANDARD_OUTPUT:
        out = None
    chosen = chosen_engines(engines, Engines())
    aside = rejected or rejected_path(subscriptions, publications, out)
    with ExitStack() as stack:
        stack.enter_context(loading(InPlace(say)))
        rejected_file = stack.enter_context(RejectedFile(aside))
        rejections: Rejections = StrictRejections() if strict else rejected_file
        stream = stack.enter_context(replacing(out)) if out else sys.stdout.buffer
        filters = read_subscriptions(subscriptions, rejections, dialect=dialect)
        published = read_publications(publications, rejections, id_member=id_member)
        deliveries = DeliveryWriter(stream)
        index = _build(filters, chosen, is_strict=strict)
        _match(index, published, deliveries)
        stream.flush()
    summary = Summary(filters.counts, published.counts, deliveries.count, aside)
    if as_json:
        print_json(summary.members(), err=out is None)
    else:
        say(summary.text(first_rejected=rejected_file.first))
    ctx.exit(ExitStatus.REJECTED if summary.rejected else ExitStatus.DONE)


def _build(filters: Reading[Subscription], engines: Engines, *, is_strict: bool) -> Index:
    """The index of a file's subscriptions; reports those that can never match, or fails."""
    from sapwood.matching.index import Index

    index = Index(*engines, warns=False)
    idle: list[tuple[int, str]] = []
    with progress("reading", "subscriptions") as advance:
        for batch in _batches(filters.lines()):
            for line in batch:
                why = why_never(line.value.filter)
                if why is not None and is_strict:
                    filters.reject(line.number, f"can never match: {why}", line.text)
                if why is not None:
                    idle.append((line.number, why))
                index.add(line.value.id, line.value.filter)
            advance(len(batch))
    say_idle(idle)
    return index


def _match(index: Index, published: PublicationReading, deliveries: DeliveryWriter) -> None:
    with progress("matching", "publications") as advance:
        for batch in published.batches():
            matches = index.match_flat(batch.records, batch.documents)
            for publication, ids in zip(batch.ids, matches, strict=True):
                if ids:
                    deliveries.write(publication, ids)
            advance(len(batch.ids))


def _batches(values: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(values)
    while batch := list(islice(iterator, BATCH)):
        yield batch
