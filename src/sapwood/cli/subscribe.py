"""`sapwood subscribe`: what matches a filter, as it is published."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import click

from sapwood.cli.output import ExitStatus, json_option, say

if TYPE_CHECKING:
    from sapwood.client import ClientSubscription, Delivery
    from sapwood.model.interest import Interest

TAKE: Final = 1024
"""Deliveries that are written in one go, if so many wait."""


@click.command
@click.argument("filter_text", metavar="[FILTER]", required=False)
@click.option("--xpath", help="Subscribe to documents with this XPath, in the place of FILTER.")
@click.option(
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="PREFIX=NAMESPACE",
    help="A prefix of the XPath; with one, names compare expanded. May be given several times.",
)
@click.option(
    "--broker", default="127.0.0.1:7411", show_default=True, metavar="HOST:PORT", help="Where from."
)
@click.option("--count", type=click.IntRange(min=1), help="End after so many publications.")
@click.option(
    "--id", "subscription_id", default="s1", show_default=True, help="The subscription's id."
)
@click.option("--name", help="Unique among the broker's clients.  [default: a random name]")
@click.option(
    "--reconnect",
    is_flag=True,
    help="Connect and subscribe again when the connection is lost; what is published meanwhile is "
    "not delivered.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    filter_text: str | None,
    xpath: str | None,
    namespaces: tuple[str, ...],
    broker: str,
    count: int | None,
    subscription_id: str,
    name: str | None,
    reconnect: bool,
    as_json: bool,
) -> None:
    """Print publications that match FILTER, or documents that match an XPath, as they come.

    Ends after --count publications, or when it is interrupted. With --json each line is an object
    with `id`, `attributes` (an infinite number, which JSON cannot say, is null), `document` and
    `subscriptions`; what a publication does not carry is left out. Standard error says when the
    subscription is in force.
    """
    import asyncio

    asyncio.run(
        _follow(
            wanted_interest(filter_text, xpath, namespaces),
            broker=broker,
            count=count,
            subscription_id=subscription_id,
            name=name,
            reconnect=reconnect,
            as_json=as_json,
        )
    )
    ctx.exit(ExitStatus.DONE)


def wanted_interest(
    filter_text: str | None, xpath: str | None, namespaces: tuple[str, ...]
) -> Interest:
    """The interest on the command line, in either language."""
    from sapwood.language.written import Written, read_interest

    if (filter_text is None) == (xpath is None):
        raise click.UsageError("give a FILTER for records or an --xpath for documents")
    if filter_text is not None:
        if namespaces:
            raise click.UsageError("a FILTER has no namespaces; leave --namespace out")
        return read_interest(Written("filter", filter_text))
    assert xpath is not None, "one of the two is there"
    return read_interest(Written("xpath", xpath, read_bindings(namespaces)))


def read_bindings(namespaces: tuple[str, ...]) -> tuple[tuple[str, str], ...] | None:
    """Prefixes and their namespaces, from `prefix=namespace`; `None` where none is given."""
    found: dict[str, str] = {}
    for given in namespaces:
        prefix, equals, namespace = given.partition("=")
        if not (prefix and equals and namespace):
            raise click.UsageError(f"--namespace {given}: write PREFIX=NAMESPACE")
        found[prefix] = namespace
    return tuple(sorted(found.items())) or None


async def _follow(
    interest: Interest,
    *,
    broker: str,
    count: int | None,
    subscription_id: str,
    name: str | None,
    reconnect: bool,
    as_json: bool,
) -> None:
    import asyncio
    import signal

    from sapwood.client import connect

    # An interrupt is how this command is meant to end, so it is no failure.
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    interrupted = asyncio.Event()

    def interrupt() -> None:
        interrupted.set()
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupt)
    try:
        async with connect(broker, name, reconnect=reconnect) as client:
            subscription = await client.subscribe(interest, subscription_id)
            say(f"subscribed to {subscription.filter} as {subscription.id} at {broker}")
            await _print(subscription, count, as_json=as_json)
    except asyncio.CancelledError:
        if not interrupted.is_set():
            raise


async def _print(subscription: ClientSubscription, count: int | None, *, as_json: bool) -> None:
    printed = 0
    while count is None or printed < count:
        count_max = TAKE if count is None else min(TAKE, count - printed)
        deliveries = await subscription.take(count_max)
        if not deliveries:
            return
        render = _json_line if as_json else _text_line
        sys.stdout.buffer.write(b"".join(render(delivery) for delivery in deliveries))
        sys.stdout.buffer.flush()
        printed += len(deliveries)


def _json_line(delivery: Delivery) -> bytes:
    import msgspec

    from sapwood.xml.encodings import decode_text

    members: dict[str, Any] = {"id": delivery.id, "subscriptions": delivery.subscriptions}
    if delivery.has_record:
        members["attributes"] = delivery.attributes
    if delivery.document is not None:
        members["document"] = decode_text(delivery.document)
    return msgspec.json.encode(members) + b"\n"


def _text_line(delivery: Delivery) -> bytes:
    """A publication's id and content, with control characters escaped: publishers are strangers."""
    import msgspec

    from sapwood.xml.encodings import decode_text

    id_ = delivery.id if delivery.id.isprintable() else repr(delivery.id)
    parts = [id_.encode()]
    if delivery.has_record:
        parts.append(msgspec.json.encode(delivery.attributes))
    if delivery.document is not None:
        parts.append(msgspec.json.encode(decode_text(delivery.document)))
    return b" ".join(parts) + b"\n"
