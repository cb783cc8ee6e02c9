"""Settings of a broker from its configuration; errors name the place of the option."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sapwood.cli.protocol_choice import chosen_protocol, kept_protocol
from sapwood.errors import InputError

if TYPE_CHECKING:
    from sapwood.broker.configuration.sources import Configuration
    from sapwood.broker.settings import BrokerSettings
    from sapwood.language.declared import Declared
    from sapwood.routing.strategies import Protocol
    from sapwood.session.settings import ConnectionSettings
    from sapwood.wire.address import Address


def settings_of(told: Configuration) -> BrokerSettings:
    """The settings of a broker. Raises `InputError` that names an option, and where it was given.

    Reads the files of a token, of a DTD, and of declared kinds.
    """
    try:
        return _settings(told)
    except InputError as error:
        raise told.located(error) from error


def _settings(told: Configuration) -> BrokerSettings:
    from sapwood.broker.settings import BrokerSettings
    from sapwood.matching.engine_names import Engines, chosen_engines
    from sapwood.store.durability import Durability

    listens = [_address("--listen", text, listening=True) for text in told["listen"]]
    streams = [one for one in listens if not one.is_datagram]
    datagrams = [one for one in listens if one.is_datagram]
    if len(streams) != 1 or len(datagrams) > 1:
        raise InputError("--listen: a broker listens once, and may once more with udp://")
    with _about("--engine"):
        engines = chosen_engines(told["engine"] or (), Engines())
    data, http, mqtt = told["data"], told["http"], told["mqtt"]
    return BrokerSettings(
        listen=streams[0],
        listen_datagrams=datagrams[0] if datagrams else None,
        peers=tuple(_address("--peer", text) for text in told["peer"] or ()),
        joins=tuple(_address("--join", text) for text in told["join"] or ()),
        backups=tuple(_address("--backup", text) for text in told["backup"] or ()),
        name=told["name"],
        protocol=_protocol(told),
        engines=engines,
        strict=told["strict"],
        filter_cost_max=told["filter_cost_max"],
        http=None if http is None else _address("--http", http, listening=True),
        gateway=told["gateway"],
        console=told["console"],
        http_origins=tuple(told["http_origin"] or ()),
        http_streams_max=told["http_streams_max"],
        mqtt=None if mqtt is None else _address("--mqtt", mqtt, listening=True),
        mqtt_connections_max=told["mqtt_connections_max"],
        traces=told["traces"],
        declared=_declared(told["schema"]),
        data=None if data is None else Path(data),
        durability=Durability.parse(told["durability"]),
        keep_bytes_max=told["keep_bytes"],
        keep_age_s=told["keep_age"],
        identities=None if told["identities"] is None else Path(told["identities"]),
        allow_anyone=told["allow_anyone"],
        outgoing_bytes_max=told["outgoing_bytes_max"],
        outgoing_total_bytes_max=told["outgoing_total_bytes_max"],
        link_high_water_bytes=told["link_high_water_bytes"],
        link_outgoing_bytes_max=told["link_outgoing_bytes_max"],
        connections_max=told["connections_max"],
        sessions_remembered_max=told["sessions_remembered_max"],
        drift_ppm=told["drift_ppm"],
        connection=_connection(told),
    )


def _connection(told: Configuration) -> ConnectionSettings:
    from sapwood.session.settings import ConnectionSettings, TlsFiles, with_access

    token, path = told.token, told["token_file"]
    if path is not None:
        token = first_line("--token-file", Path(path))
    ca, cert, key = (told[f"tls_{one}"] for one in ("ca", "cert", "key"))
    if (cert is None) != (key is None):
        given, missing = ("--tls-cert", "--tls-key") if key is None else ("--tls-key", "--tls-cert")
        raise InputError(f"{given}: there is no {missing}: give both, or none")
    return with_access(
        ConnectionSettings(
            frame_bytes_max=told["frame_bytes_max"],
            greeting_s=told["greeting_s"],
            keepalive_idle_s=told["keepalive_s"],
            keepalive_missed_max=told["keepalive_missed"],
            detector=told["detector"],
        ),
        token=token,
        tls=TlsFiles(ca, cert, key),
    )


def _protocol(told: Configuration) -> Protocol:
    choose = chosen_protocol if told["data"] is None else kept_protocol
    with _about("--protocol"):
        without_paths = choose(told["protocol"], None)
    if told["dtd"] is None:
        return without_paths
    with _about("--dtd"):
        try:
            return choose(told["protocol"], told["dtd"])
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(f"{told['dtd']}: cannot be read: {reason}") from error


def first_line(option: str, path: Path) -> str:
    """The first line of a file with a secret. Raises `InputError` for one that has none."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{option} {path}: cannot be read: {error}") from error
    first = text.partition("\n")[0].strip()
    if not first:
        raise InputError(f"{option} {path}: its first line is empty")
    return first


def _address(option: str, text: str, *, listening: bool = False) -> Address:
    from sapwood.wire.address import parse_address

    with _about(option):
        return parse_address(text, listening=listening, linking=True)


def _declared(path: str | None) -> Declared | None:
    """The declared kinds of a file. Raises `InputError`."""
    if path is None:
        return None
    from sapwood.files.declared import read_declared  # late: it brings the reader of DTDs

    with _about("--schema"):
        return read_declared(Path(path))


@contextmanager
def _about(option: str) -> Iterator[None]:
    """Errors within are about an option."""
    try:
        yield
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(option) else f"{option}: {text}") from error
