"""`sapwood broker`: a router on the network."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from sapwood.cli.access import broker_access, connection_settings
from sapwood.cli.output import (
    ExitStatus,
    dtd_option,
    engines_option,
    give_up_standard_output,
    is_plain_terminal,
)
from sapwood.cli.protocol_choice import chosen_protocol, kept_protocol
from sapwood.errors import InputError
from sapwood.limits import (
    CONNECTIONS_MAX,
    FRAME_BYTES_MAX,
    GREETING_S,
    JOURNAL_BYTES_MAX,
    KEEPALIVE_IDLE_S,
    KEEPALIVE_MISSED_MAX,
    LINK_HIGH_WATER_BYTES,
    LINK_OUTGOING_BYTES_MAX,
    OUTGOING_BYTES_MAX,
    OUTGOING_TOTAL_BYTES_MAX,
    SESSIONS_REMEMBERED_MAX,
)
from sapwood.limits.timing import DRIFT_PPM

F = TypeVar("F", bound=Callable[..., Any])

LOG_LEVELS: Final = ("debug", "info", "warning", "error")


def _bound(option: str, default: float, text: str) -> Callable[[F], F]:
    """An option that sets a limit; `BrokerSettings` checks its range."""
    return click.option(option, default=default, show_default=True, help=text)


@click.command
@click.option(
    "--listen",
    "listens",
    multiple=True,
    metavar="[udp://]HOST:PORT",
    help="Where to listen; port 0 picks a free one. Once more with udp:// for links that lose, "
    "repeat and reorder messages.  [default: 127.0.0.1:7411]",
)
@click.option(
    "--peer",
    "peers",
    multiple=True,
    metavar="[udp://]HOST:PORT",
    help="A broker to link with; may be given several times. One end of a link is enough.",
)
@click.option(
    "--backup",
    "backups",
    multiple=True,
    metavar="HOST:PORT",
    help="Under failover, a broker to link with when the peer is gone for long; may be given "
    "several times, and is tried in this order.",
)
@click.option("--name", help="Unique in the overlay.  [default: the host's name and the port]")
@click.option("--protocol", default="covering", show_default=True, help="See `sapwood protocols`.")
@dtd_option
@engines_option
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for what the broker keeps: what has to survive it, the publications it accepts, "
    "and how large its routing tables were.",
)
@click.option(
    "--durability",
    default="fsync",
    show_default=True,
    metavar="fsync|interval:MS|none",
    help="When what is kept counts as kept: after fsync; after writing, with fsync every MS "
    "milliseconds; after writing. A process that is killed loses nothing; a machine that loses "
    "power loses nothing, MS, or what was not yet on the disk.",
)
@click.option(
    "--keep-bytes",
    "keep_bytes_max",
    default=JOURNAL_BYTES_MAX,
    show_default=True,
    help="Publications to keep that nobody needs any more; beyond, the oldest files go.",
)
@click.option(
    "--keep-age",
    "keep_age_s",
    type=float,
    metavar="SECONDS",
    help="Age at which these go.  [default: none]",
)
@broker_access
@click.option(
    "--identities",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Who may connect, and as what; nobody else may (`sapwood identity`). Read again when it "
    "changes, as certificates are.",
)
@click.option(
    "--allow-anyone",
    is_flag=True,
    help="Listen where other machines connect although neither --identities nor TLS guards it.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Refuse subscriptions that no publication can match; without it, clients are warned.",
)
@click.option(
    "--http",
    metavar="HOST:PORT",
    help="Serve metrics (/metrics, Prometheus), /healthz and /readyz there.  [default: nowhere]",
)
@_bound("--frame-bytes-max", FRAME_BYTES_MAX, "Largest frame; the same in the whole overlay.")
@_bound("--outgoing-bytes-max", OUTGOING_BYTES_MAX, "Queue at which a slow client is disconnected.")
@_bound(
    "--outgoing-total-bytes-max",
    OUTGOING_TOTAL_BYTES_MAX,
    "Queues of all clients at which the slowest is disconnected.",
)
@_bound("--link-high-water-bytes", LINK_HIGH_WATER_BYTES, "Queue at which publishers are held.")
@_bound("--link-outgoing-bytes-max", LINK_OUTGOING_BYTES_MAX, "Queue at which a link is given up.")
@_bound("--connections-max", CONNECTIONS_MAX, "Connections at a time.")
@_bound("--sessions-remembered-max", SESSIONS_REMEMBERED_MAX, "Clients remembered after leaving.")
@_bound("--greeting-s", GREETING_S, "Seconds until a new connection must have greeted.")
@_bound("--keepalive-s", KEEPALIVE_IDLE_S, "Seconds of silence until a peer is pinged.")
@_bound("--keepalive-missed", KEEPALIVE_MISSED_MAX, "Unanswered pings until a peer is dead.")
@click.option(
    "--detector",
    metavar="timeout[:SECONDS]|phi[:THRESHOLD]",
    help="When a silent neighbor is dead: after so many seconds, or when its silence is too "
    "unlikely after what was seen of it.  [default: when --keepalive-missed pings are unanswered]",
)
@_bound("--drift-ppm", DRIFT_PPM, "How far this machine's clock is off at most, parts per million.")
@click.option("--log-level", type=click.Choice(LOG_LEVELS), default="info", show_default=True)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    listens: tuple[str, ...],
    peers: tuple[str, ...],
    backups: tuple[str, ...],
    log_level: str,
    engines: tuple[str, ...],
    protocol: str,
    dtd: str | None,
    durability: str,
    http: str | None,
    **options: Any,
) -> None:
    """Run a broker until it is interrupted (SIGINT or SIGTERM).

    With --data it recovers: after a crash it goes on as if it had only been slow, unless --protocol
    names another upkeep (replay). All brokers of an overlay do, or none does.

    Brokers that are linked form one overlay: a tree, unless the name of the protocol begins with
    mesh+. The first line on standard output is `listening on HOST:PORT as NAME`; `link up NAME` and
    `link down NAME` follow. The log goes to standard error.
    """
    from sapwood.broker.kernels import place_kernels
    from sapwood.broker.logs import make_log
    from sapwood.broker.running import run_broker
    from sapwood.broker.settings import BrokerSettings
    from sapwood.matching.engine_names import Engines, chosen_engines
    from sapwood.session.settings import ConnectionSettings
    from sapwood.store.durability import Durability
    from sapwood.wire.address import HOST_DEFAULT, PORT_DEFAULT, Address, parse_address

    def address(option: str, text: str, *, listening: bool) -> Address:
        try:
            return parse_address(text, listening=listening, linking=True)
        except InputError as error:
            raise InputError(f"{option}: {error}") from error

    given = [address("--listen", text, listening=True) for text in listens]
    streams = [one for one in given if not one.is_datagram]
    datagrams = [one for one in given if one.is_datagram]
    if len(streams) > 1 or len(datagrams) > 1:
        raise click.UsageError("--listen: a broker listens once, and once more with udp://")

    access = connection_settings()
    settings = BrokerSettings(
        durability=Durability.parse(durability),
        protocol=(chosen_protocol if options["data"] is None else kept_protocol)(protocol, dtd),
        engines=chosen_engines(engines, Engines()),
        listen=streams[0] if streams else Address(HOST_DEFAULT, PORT_DEFAULT),
        listen_datagrams=datagrams[0] if datagrams else None,
        peers=tuple(address("--peer", peer, listening=False) for peer in peers),
        http=None if http is None else address("--http", http, listening=True),
        backups=tuple(address("--backup", backup, listening=False) for backup in backups),
        connection=ConnectionSettings(
            frame_bytes_max=options.pop("frame_bytes_max"),
            greeting_s=options.pop("greeting_s"),
            keepalive_idle_s=options.pop("keepalive_s"),
            keepalive_missed_max=options.pop("keepalive_missed"),
            detector=options.pop("detector"),
            credentials=access.credentials,
            tls=access.tls,
        ),
        **options,
    )
    if settings.data is not None:
        place_kernels(settings.data)
    run_broker(settings, make_log(log_level, colors=not is_plain_terminal()), _announce)
    ctx.exit(ExitStatus.DONE)


def _announce(line: str) -> None:
    """Print a line for programs; a reader that went away does not stop the broker."""
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError:
        give_up_standard_output()
