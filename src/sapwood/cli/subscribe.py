"""`sapwood subscribe`: what matches a filter, as it is published."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from sapwood.cli.output import ExitStatus, json_option, say

if TYPE_CHECKING:
    from sapwood.client import ClientSubscription, Delivery

TAKE: Final = 1024
"""Deliveries that are written in one go, if so many wait."""


@click.command
@click.argument("filter_text", metavar="FILTER")
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
    filter_text: str,
    broker: str,
    count: int | None,
    subscription_id: str,
    name: str | None,
    reconnect: bool,
    as_json: bool,
) -> None:
    """Print publications that match FILTER, as they are published.

    Ends after --count publications, or when it is interrupted. With --json each line is an object
    with `id`, `attributes` (an infinite number, which JSON cannot say, is null) and
    `subscriptions`. Standard error says when the subscription is in force.
    """
    import asyncio

    asyncio.run(
        _follow(
            filter_text,
            broker=broker,
            count=count,
            subscription_id=subscription_id,
            name=name,
            reconnect=reconnect,
            as_json=as_json,
        )
    )
    ctx.exit(ExitStatus.DONE)


async def _follow(
    filter_text: str,
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
            subscription = await client.subscribe(filter_text, subscription_id)
            say(f"subscribed to {subscription.filter} as {subscription.id} at {broker}")
            await _print(subscription, count, as_json=as_json)
    except asyncio.CancelledError:
        if not interrupted.is_set():
            raise


async def _print(subscription: ClientSubscription, count: int | None, *, as_json: bool) -> None:
    printed = 0
    while count is None or printed < count:
        wanted = TAKE if count is None else min(TAKE, count - printed)
        deliveries = await subscription.take(wanted)
        if not deliveries:
            return
        render = _json_line if as_json else _text_line
        sys.stdout.buffer.write(b"".join(render(delivery) for delivery in deliveries))
        sys.stdout.buffer.flush()
        printed += len(deliveries)


def _json_line(delivery: Delivery) -> bytes:
    import msgspec

    members = {
        "id": delivery.id,
        "attributes": delivery.attributes,
        "subscriptions": delivery.subscriptions,
    }
    return msgspec.json.encode(members) + b"\n"


def _text_line(delivery: Delivery) -> bytes:
    """The id and the attributes; both come from others, so control characters are escaped."""
    import msgspec

    id_ = delivery.id if delivery.id.isprintable() else repr(delivery.id)
    return id_.encode() + b" " + msgspec.json.encode(delivery.attributes) + b"\n"
