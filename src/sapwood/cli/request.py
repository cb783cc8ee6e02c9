"""`sapwood request`: publishes a record that requests a reply, and prints the reply."""

from __future__ import annotations

import click

from sapwood.cli.access import client_access, connection_settings


@click.command
@click.argument("record", metavar="RECORD")
@click.option(
    "--broker", default="127.0.0.1:7411", show_default=True, metavar="HOST:PORT", help="Where to."
)
@click.option("--name", help="Unique among the broker's clients.  [default: a random name]")
@click.option(
    "--timeout",
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    type=click.FloatRange(min=0.001),
    help="How long to wait for a reply.",
)
@client_access
def command(*, record: str, broker: str, name: str | None, timeout: float) -> None:
    """Publish a record that asks for a reply, and print the reply.

    RECORD is a JSON object, and so is what is printed. Who gets it sees the attributes request.from
    and request.number beside those of RECORD, and replies with `client.reply` (Python), or with a
    record that has them as reply.to and reply.number. Status 2 where nobody replies in time.
    """
    import msgspec

    from sapwood.client.blocking import connect
    from sapwood.errors import ConnectionLostError, InputError
    from sapwood.model.json_objects import decode_object

    given = decode_object(record.encode(), "record")
    with connect(broker, name, reconnect=False, settings=connection_settings()) as client:
        try:
            reply = client.request(given, timeout=timeout)
        except TimeoutError as error:
            raise ConnectionLostError(str(error)) from None
    attributes = {key: value for key, value in reply.attributes.items() if key != "reply"}
    try:
        line = msgspec.json.encode(attributes)
    except msgspec.MsgspecError as error:
        raise InputError(f"the reply is nothing that JSON can say: {error}") from None
    click.echo(line.decode())
