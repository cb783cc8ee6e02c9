"""`sapwood kafka`: from topics of Kafka to a broker, and from a broker to a topic."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from sapwood.cli.access import client_access, connection_settings
from sapwood.cli.groups import CommandGroup
from sapwood.cli.output import ExitStatus, dialect_option, json_option, print_json, say
from sapwood.kafka.contents import FORMS
from sapwood.model.amounts import amount

if TYPE_CHECKING:
    from sapwood.files import RejectedLog
    from sapwood.kafka.source import Moved
    from sapwood.model.interest import Interest

F = TypeVar("F", bound=Callable[..., Any])

_REJECTED: Final = "kafka.rejected"

_OPTIONS: Final = (
    click.option(
        "--kafka", "servers", required=True, metavar="HOST:PORT,...", help="Servers of Kafka."
    ),
    click.option(
        "--property",
        "properties",
        multiple=True,
        metavar="NAME=VALUE",
        help="A property of librdkafka (security.protocol=SSL); may be given several times.",
    ),
    click.option(
        "--broker",
        default="127.0.0.1:7411",
        show_default=True,
        metavar="HOST:PORT",
        help="The broker of Sapwood.",
    ),
    click.option("--count", type=click.IntRange(min=1), help="End after so many."),
)


def _common(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group(cls=CommandGroup)
def command() -> None:
    """Bridge topics of Kafka and a broker, in both directions.

    Needs the extra kafka: pip install 'sapwood[kafka]'.
    """


@command.command
@_common
@click.option(
    "--topic", "topics", multiple=True, required=True, help="A topic; may be given several times."
)
@click.option("--group", default="sapwood", show_default=True, help="The consumer group.")
@click.option(
    "--value",
    "form",
    type=click.Choice(FORMS),
    default=FORMS[0],
    show_default=True,
    help="What values are: JSON objects, XML documents, or bytes that nobody looks into.",
)
@click.option(
    "--drain", is_flag=True, help="End when all that is in the topics has been published."
)
@click.option(
    "--task",
    default="0",
    show_default=True,
    help="The name of this process among several of the group.",
)
@click.option(
    "--rejected",
    default=_REJECTED,
    show_default=True,
    help="File to which records are appended that cannot be published.",
)
@click.option("--reconnect-s", default=30.0, show_default=True, type=click.FloatRange(min=0))
@client_access
@json_option
@click.pass_context
def source(
    ctx: click.Context,
    *,
    servers: str,
    properties: tuple[str, ...],
    broker: str,
    count: int | None,
    topics: tuple[str, ...],
    group: str,
    form: str,
    drain: bool,
    task: str,
    rejected: str,
    reconnect_s: float,
    as_json: bool,
) -> None:
    """Publish the records of topics.

    The offset of a record is committed when the broker has accepted its publication. Its id is
    topic-partition-offset, and a broker with a store publishes each id once, whatever was killed in
    between. A record that cannot be published, or that the broker refuses, is appended to the
    rejected file with topic, partition, offset and the reason; status 1 says that there were some.
    """
    import asyncio

    from sapwood.client import connect
    from sapwood.files import RejectedLog
    from sapwood.kafka.library import consumer, read_properties
    from sapwood.kafka.source import Source

    reading = consumer(servers, group, read_properties(properties))
    with RejectedLog(rejected) as aside:
        # Processes of one group are one publisher: a publication in doubt at one may be published
        # again by another.
        client = connect(
            broker, f"{group}/{task}", reconnect_s=reconnect_s, settings=connection_settings()
        )
        made = Source(reading, client, aside, form, count=count, is_drained=drain)

        async def run() -> None:
            async with client:
                await made.run(list(topics))

        try:
            with suppress(KeyboardInterrupt):
                asyncio.run(run())
        finally:
            reading.close()
    _say_moved(made.moved, aside, as_json=as_json)
    ctx.exit(ExitStatus.REJECTED if made.moved.rejected else ExitStatus.DONE)


def _say_moved(moved: Moved, aside: RejectedLog, *, as_json: bool) -> None:
    if as_json:
        file = aside.path if moved.rejected else None
        print_json(
            {"published": moved.published, "rejected": moved.rejected, "rejected_file": file}
        )
        return
    say(f"{amount(moved.published, 'record')} published")
    if moved.rejected:
        say(f"{amount(moved.rejected, 'record')} rejected: see {aside.path}")
        say(f"rejected first: {aside.first}")


@command.command
@_common
@click.argument("filter_text", metavar="[FILTER]", required=False)
@click.option("--xpath", help="Take documents with this XPath, in the place of FILTER.")
@click.option("--topic", required=True, help="The topic that is written to.")
@click.option(
    "--durable",
    required=True,
    metavar="NAME",
    help="The durable subscription that keeps what is not written yet; it is made of FILTER, or "
    "there already.",
)
@click.option("--key", metavar="ATTRIBUTE", help="The attribute whose value is a record's key.")
@click.option("--name", help="Unique among the broker's clients.  [default: a random name]")
@client_access
@dialect_option
@json_option
@click.pass_context
def sink(
    ctx: click.Context,
    *,
    servers: str,
    properties: tuple[str, ...],
    broker: str,
    count: int | None,
    filter_text: str | None,
    xpath: str | None,
    topic: str,
    durable: str,
    key: str | None,
    name: str | None,
    dialect: str | None,
    as_json: bool,
) -> None:
    """Write what FILTER accepts into a topic.

    A delivery is acknowledged when all replicas of the topic have it, and waits in a durable
    subscription until then, so nothing is lost, whatever is killed; after a crash some records may
    be there twice, with the same header sapwood-id.
    """
    import asyncio

    from sapwood.client import connect
    from sapwood.kafka.library import producer, read_properties
    from sapwood.kafka.sink import Sink

    interest = _interest(filter_text, xpath, dialect)
    writing = producer(servers, read_properties(properties))
    written = 0

    async def run() -> None:
        nonlocal written
        async with connect(broker, name, settings=connection_settings()) as client:
            taken = await client.subscribe(interest, durable=durable)
            made = Sink(writing, taken, topic, key, count=count)
            try:
                await made.run()
            finally:
                written = made.written

    with suppress(KeyboardInterrupt):
        asyncio.run(run())
    if as_json:
        print_json({"written": written})
    else:
        say(f"{amount(written, 'record')} written")
    ctx.exit(ExitStatus.DONE)


def _interest(text: str | None, xpath: str | None, dialect: str | None) -> Interest | None:
    from sapwood.language import parse_filter
    from sapwood.language.xpath import parse_xpath

    if text is not None and xpath is not None:
        raise click.UsageError("give a FILTER for records or an --xpath for documents, not both")
    if xpath is not None:
        if dialect is not None:
            raise click.UsageError("only filters have a dialect; leave --dialect out")
        return parse_xpath(xpath)
    return None if text is None else parse_filter(text, dialect=dialect)
