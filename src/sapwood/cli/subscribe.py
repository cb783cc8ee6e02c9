"""`sapwood subscribe`: prints publications that match a filter, as they are published."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from sapwood.cli.access import connection_settings
from sapwood.cli.output import (
    ExitStatus,
    dialect_option,
    input_file,
    json_option,
    say,
    strict_option,
)
from sapwood.cli.subscribing import SubscriptionFile

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sapwood.client import Client, ClientSubscription, Deliveries, Delivery
    from sapwood.model.interest import Interest

TAKE: Final = 1024
"""Deliveries that are written in one go, at most."""


@click.command
@click.argument("filter_text", metavar="[FILTER]", required=False)
@click.option(
    "--file",
    type=input_file,
    help="Subscribe to all subscriptions of this file (JSON Lines; - is standard input), in the "
    "place of FILTER.",
)
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
    "--id", "subscription_id", help="The subscription's id.  [default: s1; in a file, its own]"
)
@click.option("--name", help="Unique among the broker's clients.  [default: a random name]")
@click.option(
    "--reconnect",
    is_flag=True,
    help="Connect and subscribe again when the connection is lost; what is published meanwhile is "
    "not delivered.",
)
@click.option(
    "--durable",
    metavar="NAME",
    help="Take from the durable subscription of this name, which is made if it is not there: what "
    "it accepts waits at the broker while nobody takes it, and several share it.",
)
@click.option(
    "--since",
    metavar="TIME|ID|all",
    help="Begin in the broker's journal: at a time (ISO 8601), after a publication, or with all.",
)
@click.option(
    "--last-by",
    "last_by",
    multiple=True,
    metavar="ATTRIBUTE",
    help="Print first, of what the journal has, the last publication for each value of this "
    "attribute (of these, if given several times), and then what comes.",
)
@click.option(
    "--moved-from",
    metavar="HOST:PORT",
    help="Move the durable subscription here from this broker: print what waits there first.",
)
@click.option("--max-count", type=click.IntRange(min=1), help="Publications that wait at most.")
@click.option("--max-bytes", type=click.IntRange(min=1), help="Bytes of these at most.")
@click.option(
    "--max-age-s", "max_age", type=click.FloatRange(min=0), help="Seconds each waits; 0 for ever."
)
@click.option(
    "--max-age",
    "fresh_s",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="How old a publication may be, from its publisher's call on; --late says what becomes of "
    "others.",
)
@click.option(
    "--late",
    type=click.Choice(("mark", "drop")),
    default="mark",
    show_default=True,
    help="With --max-age: say with each publication whether it is in time, or leave others out.",
)
@click.option(
    "--overflow",
    type=click.Choice(("oldest", "newest")),
    help="What goes when the mailbox is full.  [default: oldest]",
)
@click.option(
    "--acknowledge-s",
    "acknowledge_within",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds after which what was not printed to its end goes to another.",
)
@click.option(
    "--max-attempts",
    type=click.IntRange(min=0),
    help="How often a publication is delivered, acknowledged or not; 0 without end.  [default: 0]",
)
@click.option(
    "--dead-letter",
    metavar="NAME",
    help="The durable subscription to which it goes then. Without one it is let go.",
)
@click.option(
    "--state",
    type=click.Path(dir_okay=False),
    help="File of what this client has printed: started again with it, it prints nothing twice.",
)
@dialect_option
@json_option
@strict_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    filter_text: str | None,
    file: str | None,
    xpath: str | None,
    namespaces: tuple[str, ...],
    broker: str,
    count: int | None,
    subscription_id: str | None,
    name: str | None,
    reconnect: bool,
    state: str | None,
    dialect: str | None,
    as_json: bool,
    strict: bool,
    fresh_s: float | None,
    late: str,
    last_by: tuple[str, ...],
    **durably: Any,
) -> None:
    """Print publications that match FILTER, or documents that match an XPath, as they come.

    Ends after --count publications, or when it is interrupted. With --json each line is an object
    with `id`, `attributes` (an infinite number, which JSON cannot say, is null), `document` and
    `subscriptions`; what a publication does not carry is left out. Standard error says when the
    subscription is in force.

    With --max-age each line begins with, or has as `age_bound` and `timely`, how many seconds old
    the publication is at most, and whether that is in time; no clocks need to agree for that.

    With --file all subscriptions of a file are requested together, and each publication is printed
    once. A line that is no subscription does not stop the others, nor does one whose filter the
    broker refuses: it is written with its number and the reason to a file of rejected lines.

    With --durable what is printed is acknowledged, line by line: what was not is printed again by
    whoever comes next. No FILTER means that of the name. See `sapwood durable`.
    """
    import asyncio

    following = partial(
        _follow,
        broker=broker,
        count=count,
        name=name,
        reconnect=reconnect,
        state=state,
        as_json=as_json,
        is_aged=fresh_s is not None,
    )
    if durably["moved_from"] is not None and durably["durable"] is None:
        raise click.UsageError("--moved-from moves a --durable NAME")
    given = _given(durably, fresh_s, late, last_by)
    if file is None:
        interest = None
        if filter_text is not None or xpath is not None or "durable" not in given:
            interest = wanted_interest(filter_text, xpath, namespaces, dialect)
        subscribing = partial(_subscribe, interest, subscription_id or "s1", broker, given)
        asyncio.run(following(subscribing))
        ctx.exit(ExitStatus.DONE)
    if given:
        option = "last-by" if last_by else next(iter(given))
        raise click.UsageError(f"--{option} is for one FILTER; leave --file out")
    if filter_text is not None or xpath is not None or namespaces or subscription_id is not None:
        raise click.UsageError("--file has the filters and their ids; leave the others out")
    with SubscriptionFile(file, strict=strict, dialect=dialect) as subscriptions:
        asyncio.run(following(partial(subscriptions.subscribe, broker=broker)))
    ctx.exit(ExitStatus.REJECTED if subscriptions.rejected else ExitStatus.DONE)


def _given(
    durably: dict[str, Any], fresh_s: float | None, late: str, last_by: tuple[str, ...]
) -> dict[str, Any]:
    """The options beside the filter: durable, the last values, or an age limit in seconds."""
    if last_by:
        durably |= {"replay": "last", "by": last_by}
    given = {option: value for option, value in durably.items() if value is not None}
    if fresh_s is None:
        if late == "drop":
            raise click.UsageError("--late drop leaves out what is older than --max-age SECONDS")
        return given
    if given:
        option = next(iter(given)).replace("_", "-")
        raise click.UsageError(f"--max-age is for what comes live; leave --{option} out")
    return {"max_age": fresh_s, "late": late}


async def _subscribe(
    interest: Interest | None, id_: str, broker: str, durably: dict[str, Any], client: Client
) -> ClientSubscription:
    subscription: ClientSubscription = await client.subscribe(interest, id_, **durably)
    say(f"subscribed to {subscription.filter} as {subscription.id} at {broker}")
    for why in subscription.never_match.values():
        say(f"{why}: nothing will be delivered")
    return subscription


def wanted_interest(
    filter_text: str | None,
    xpath: str | None,
    namespaces: tuple[str, ...],
    dialect: str | None = None,
) -> Interest:
    """The interest on the command line, in either language."""
    from sapwood.language.written import Written, read_interest

    if (filter_text is None) == (xpath is None):
        raise click.UsageError("give a FILTER for records or an --xpath for documents")
    if filter_text is not None:
        if namespaces:
            raise click.UsageError("a FILTER has no namespaces; leave --namespace out")
        return read_interest(Written("filter", filter_text, dialect=dialect))
    if dialect is not None:
        raise click.UsageError("only a FILTER has a dialect; leave --dialect out")
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
    subscribe: Callable[[Client], Awaitable[Deliveries]],
    *,
    broker: str,
    count: int | None,
    name: str | None,
    reconnect: bool,
    state: str | None,
    as_json: bool,
    is_aged: bool,
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
        async with connect(
            broker, name, reconnect=reconnect, state=state, settings=connection_settings()
        ) as client:
            render = _json_line if as_json else _text_line
            if is_aged:
                render = partial(_aged, render)
            await _print(await subscribe(client), count, render)
    except asyncio.CancelledError:
        if not interrupted.is_set():
            raise


async def _print(
    subscription: Deliveries, count: int | None, render: Callable[[Delivery], bytes]
) -> None:
    from sapwood.client.durable import DurableDelivery, DurableSubscription

    printed = 0
    while count is None or printed < count:
        count_max = TAKE if count is None else min(TAKE, count - printed)
        deliveries = await subscription.take(count_max)
        if not deliveries:
            return
        sys.stdout.buffer.write(b"".join(render(delivery) for delivery in deliveries))
        sys.stdout.buffer.flush()
        printed += len(deliveries)
        if isinstance(subscription, DurableSubscription) and subscription.name:
            for delivery in deliveries:
                assert isinstance(delivery, DurableDelivery), "it comes out of a mailbox"
                delivery.acknowledge()
    if isinstance(subscription, DurableSubscription):
        await subscription.settled()


def _aged(render: Callable[[Delivery], bytes], delivery: Delivery) -> bytes:
    """A line with how old the publication is at most."""
    import msgspec

    age, line = delivery.age_bound, render(delivery)
    if line.startswith(b"{"):
        members = {"age_bound": age, "timely": delivery.timely}
        return msgspec.json.encode(members)[:-1] + b"," + line[1:]
    word = "timely" if delivery.timely else "late"
    bound = "?" if age is None else f"{age:.6f}"
    return f"{word} {bound} ".encode() + line


def _json_line(delivery: Delivery) -> bytes:
    import msgspec

    from sapwood.xml.encodings import decode_text

    members: dict[str, Any] = {"id": delivery.id, "subscriptions": delivery.subscriptions}
    if delivery.has_record:
        members["attributes"] = delivery.attributes
    if delivery.document is not None:
        members["document"] = decode_text(delivery.document)
    if delivery.payload is not None:
        members["payload"] = delivery.payload  # in base64
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
    if delivery.payload is not None:
        parts.append(msgspec.json.encode(delivery.payload))
    return b" ".join(parts) + b"\n"
