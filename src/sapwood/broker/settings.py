"""The settings of a broker, checked; an error names the command's option."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sapwood.errors import InputError
from sapwood.language.declared import Declared
from sapwood.limits import (
    CONNECTIONS_MAX,
    FRAME_BYTES_CEILING,
    FRAME_BYTES_FLOOR,
    JOURNAL_BYTES_MAX,
    JOURNAL_SEGMENT_BYTES_MAX,
    LINK_HIGH_WATER_BYTES,
    LINK_OUTGOING_BYTES_MAX,
    OUTGOING_BYTES_MAX,
    OUTGOING_TOTAL_BYTES_MAX,
    SESSIONS_REMEMBERED_MAX,
)
from sapwood.limits.gateway import GATEWAY_STREAMS_MAX
from sapwood.limits.mqtt import MQTT_CONNECTIONS_MAX
from sapwood.limits.timing import DRIFT_PPM, DRIFT_PPM_MAX
from sapwood.matching.documents.engines import document_engine_info
from sapwood.matching.engine_names import Engines
from sapwood.matching.engines import engine_info
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.strategies import Protocol
from sapwood.routing.upkeep.failover.choice import is_planned, planned
from sapwood.routing.upkeep.failover.plans import Plan
from sapwood.session.settings import ConnectionSettings
from sapwood.store.durability import Durability
from sapwood.wire.address import PORT_DEFAULT, Address, is_loopback
from sapwood.wire.names import check_name

SECONDS_MIN: Final = 0.05
SECONDS_MAX: Final = 86_400.0

_ORIGIN: Final = re.compile(r"https?://[a-z0-9.\-\[\]:]+")

_COLLECTOR: Final = re.compile(r"https?://[^\s/?#]+(?:/[^\s?#]*)?")

KEEP_AGE_S_MIN: Final = 1.0
KEEP_AGE_S_MAX: Final = 3.2e9
"""A hundred years."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """All settings of a broker.

    Where `name` is `None`, it is that of the broker whose state `data` holds, or made from the
    host's name and the port. `peers` are the brokers to link with; `backups` replace the peer,
    under `failover`, when that is gone for long. Where brokers find their links themselves, `joins`
    are some of them, from which this one learns of the others. Bounds of queues are in bytes.

    `data` is the folder of the broker's store, `None` for none; `keep_bytes_max` and `keep_age_s`
    bound the part of it that is no longer needed. `drift_ppm` is the greatest error of the
    machine's clock. Brokers may link by UDP at `listen_datagrams`, and at peers with such
    addresses. With a file of `identities` only these may connect; a broker that other machines
    reach has identities or speaks TLS, unless it is to `allow_anyone`. Metrics and health are at
    `http`, and with a `gateway` clients publish and subscribe there, `http_streams_max` at a time;
    browsers may for pages of `http_origins`. With a `console` people look at the broker there.
    Clients of MQTT come to `mqtt`, `mqtt_connections_max` at a time. Spans of traced publications
    go to the collector at the URL `traces`. With `strict` the broker refuses subscriptions that no
    publication can match, or none that is `declared`, and with a `filter_cost_max` those that cost
    more nanoseconds for each publication (`sapwood.matching.costs`). Raises `InputError` (or one of
    its kinds) that names the option of `sapwood broker` and its valid values.
    """

    listen: Address = field(default_factory=lambda: Address("127.0.0.1", PORT_DEFAULT))
    peers: tuple[Address, ...] = ()
    joins: tuple[Address, ...] = ()
    backups: tuple[Address, ...] = ()
    protocol: str | Protocol = "covering"
    engines: Engines = Engines()  # noqa: RUF009 - a value
    name: str | None = None
    connection: ConnectionSettings = field(default_factory=ConnectionSettings)
    outgoing_bytes_max: int = OUTGOING_BYTES_MAX
    outgoing_total_bytes_max: int = OUTGOING_TOTAL_BYTES_MAX
    link_high_water_bytes: int = LINK_HIGH_WATER_BYTES
    link_outgoing_bytes_max: int = LINK_OUTGOING_BYTES_MAX
    connections_max: int = CONNECTIONS_MAX
    sessions_remembered_max: int = SESSIONS_REMEMBERED_MAX
    data: Path | None = None
    durability: Durability = Durability()  # noqa: RUF009 - a value
    keep_bytes_max: int = JOURNAL_BYTES_MAX
    keep_age_s: float | None = None
    drift_ppm: int = DRIFT_PPM
    listen_datagrams: Address | None = None
    identities: Path | None = None
    allow_anyone: bool = False
    http: Address | None = None
    gateway: bool = False
    console: bool = False
    http_origins: tuple[str, ...] = ()
    http_streams_max: int = GATEWAY_STREAMS_MAX
    mqtt: Address | None = None
    mqtt_connections_max: int = MQTT_CONNECTIONS_MAX
    strict: bool = False
    filter_cost_max: float | None = None
    traces: str | None = None
    declared: Declared | None = None

    def __post_init__(self) -> None:
        protocol = self.protocol
        chosen = protocol_named(protocol) if isinstance(protocol, str) else protocol
        if chosen.persists and self.data is None:
            raise InputError(
                f"--protocol {chosen.name}: under {chosen.upkeep.name} routers keep what survives "
                "a crash, and this broker has no folder for that: name one with --data, or leave "
                "the word out"
            )
        self._check_backups(chosen)
        if self.joins and not chosen.membership.finds_links:
            raise InputError(
                f"--join: under protocol {chosen.name!r} links are given: name neighbors with "
                "--peer, or take a protocol whose brokers find theirs, as --protocol irbr"
            )
        self._check_datagrams(chosen)
        self._check_access()
        self._check_gateway()
        if self.traces is not None and _COLLECTOR.fullmatch(self.traces) is None:
            raise InputError(
                f"--traces {self.traces}: a collector of OTLP over HTTP is named by its URL, as in "
                "http://127.0.0.1:4318"
            )
        engine_info(self.engines.records)
        document_engine_info(self.engines.documents)
        if self.name is not None:
            try:
                check_name("broker", self.name)
            except InputError as error:
                raise InputError(f"--name: {error}") from error
        connection = self.connection
        frame_bytes_max = connection.frame_bytes_max
        _within("--frame-bytes-max", frame_bytes_max, FRAME_BYTES_FLOOR, FRAME_BYTES_CEILING)
        _within("--greeting-s", connection.greeting_s, SECONDS_MIN, SECONDS_MAX)
        _within("--keepalive-s", connection.keepalive_idle_s, SECONDS_MIN, SECONDS_MAX)
        _within("--keepalive-missed", connection.keepalive_missed_max, 1, 1000)
        try:
            connection.patience()
        except InputError as error:
            raise InputError(f"--detector: {error}") from error
        least = (frame_bytes_max, 2**40, "--frame-bytes-max")
        _within("--outgoing-bytes-max", self.outgoing_bytes_max, *least)
        _within("--outgoing-total-bytes-max", self.outgoing_total_bytes_max, *least)
        _within("--link-high-water-bytes", self.link_high_water_bytes, *least)
        least = (self.link_high_water_bytes, 2**44, "--link-high-water-bytes")
        _within("--link-outgoing-bytes-max", self.link_outgoing_bytes_max, *least)
        _within("--connections-max", self.connections_max, 1, 2**20)
        _within("--keep-bytes", self.keep_bytes_max, JOURNAL_SEGMENT_BYTES_MAX, 2**50)
        if self.keep_age_s is not None:
            _within("--keep-age", self.keep_age_s, KEEP_AGE_S_MIN, KEEP_AGE_S_MAX)
        _within("--drift-ppm", self.drift_ppm, 0, DRIFT_PPM_MAX)
        _within("--sessions-remembered-max", self.sessions_remembered_max, 0, 2**24)

    @property
    def dialed(self) -> tuple[Address, ...]:
        """The brokers to which links are kept up."""
        return tuple(dict.fromkeys((*self.peers, *self.joins)))

    def planned(self, name: str, address: Address) -> Protocol:
        """The protocol, with the plan for the broker of a name and an address if it needs one."""
        protocol = self.protocol
        chosen = protocol_named(protocol) if isinstance(protocol, str) else protocol
        backups = tuple((str(backup), str(backup)) for backup in self.backups)
        return planned(chosen, {name: Plan(backups=backups, address=str(address))})

    def _check_datagrams(self, chosen: Protocol) -> None:
        others = () if self.listen_datagrams is None else (self.listen_datagrams,)
        by_datagrams = [one for one in (*others, *self.dialed, *self.backups) if one.is_datagram]
        if by_datagrams and not chosen.allows_loss:
            option = "--listen" if others else "--peer"
            raise InputError(
                f"{option} {by_datagrams[0]}: links over UDP lose, repeat and reorder messages, "
                f"and protocol {chosen.name!r} rests on links that do not; link by TCP, or take a "
                "protocol that allows loss (`sapwood protocols`)"
            )

    def _check_access(self) -> None:
        is_guarded = self.identities is not None or self.connection.tls.cert is not None
        listens = (("--listen", self.listen), ("--listen", self.listen_datagrams))
        outside = [
            f"{option} {one}"
            for option, one in (*listens, ("--http", self.http), ("--mqtt", self.mqtt))
            if one is not None and not is_loopback(one.host)
        ]
        if outside and not is_guarded and not self.allow_anyone:
            raise InputError(
                f"{outside[0]}: other machines reach this address, and anybody there "
                "could subscribe to everything and publish; say who may with --identities, speak "
                "TLS with --tls-cert and --tls-key, or allow it with --allow-anyone"
            )
        if is_guarded and self.listen_datagrams is not None:
            raise InputError(
                "--listen udp://: datagrams are neither encrypted nor do they show who sends "
                "them; leave the address out where there are identities or TLS"
            )
        if self.connection.tls.ca is not None and self.connection.tls.cert is None:
            dialed = [one for one in (*self.dialed, *self.backups) if one.is_tls]
            if not dialed:
                raise InputError(
                    "--tls-ca: nothing speaks TLS here; add --tls-cert and --tls-key, or put "
                    "tls:// before the address of a --peer"
                )

    def _check_gateway(self) -> None:
        for option, given in (
            ("--gateway", self.gateway),
            ("--console", self.console),
            ("--http-origin", self.http_origins),
        ):
            if given and self.http is None:
                raise InputError(f"{option}: say where with --http HOST:PORT")
        for origin in self.http_origins:
            if _ORIGIN.fullmatch(origin) is None:
                raise InputError(
                    f"--http-origin {origin}: an origin is scheme://host, with a port if it is "
                    "another one than usual, in small letters and nothing behind it, as in "
                    "https://desk.example.org"
                )
        _within("--http-streams-max", self.http_streams_max, 1, 2**20)
        _within("--mqtt-connections-max", self.mqtt_connections_max, 1, 2**20)

    def _check_backups(self, chosen: Protocol) -> None:
        if not is_planned(chosen):
            if self.backups:
                raise InputError(
                    f"--backup: protocol {chosen.name!r} knows no backups; put failover into its "
                    f"name, as in --protocol failover+{chosen.name}"
                )
            return
        if len(self.peers) > 1:
            raise InputError(
                "--peer: under failover a broker has one peer, and --backup names those that take "
                "its place; other brokers name this one as theirs"
            )
        if self.backups and not self.peers:
            raise InputError("--backup: there is no --peer whose place it could take")
        for place, backup in enumerate(self.backups):
            others = (self.listen, *self.peers, *self.backups[:place])
            if (backup.host, backup.port) in ((one.host, one.port) for one in others):
                raise InputError(
                    f"--backup: {backup} is this broker itself, its peer, or there twice: name "
                    "another broker"
                )


def _within(option: str, value: float, low: float, high: float, low_is: str = "") -> None:
    """Raise `InputError` for a value out of bounds, of which another option may be the lower."""
    if not low <= value <= high:
        least = f"{low:,} ({low_is})" if low_is else f"{low:,}"
        raise InputError(f"{option} is {value}; it takes {least} to {high:,}")
