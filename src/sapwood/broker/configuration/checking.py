"""The effects of a broker's settings, found without listening, dialing or writing."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass, field
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from sapwood import tls
from sapwood.broker.access.identities import read_identities
from sapwood.broker.settings import BrokerSettings
from sapwood.errors import EnvironmentMissingError, SapwoodError
from sapwood.limits import CONNECTIONS_MAX, DESCRIPTORS_RESERVED
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.store.log import is_locked
from sapwood.store.opening import check_owner
from sapwood.store.state import FILE, StateFile
from sapwood.store.store import JOURNAL
from sapwood.wire.address import TLS
from sapwood.wire.greetings import Role

EXPIRING_S: Final = 14 * 86_400.0
"""Seconds before its end from which a certificate is warned of: time enough to renew it."""

_HTTP: Final = ("prometheus_client", "starlette", "uvicorn")


@dataclass(slots=True)
class Report:
    """A broker's intended actions, by subject; doubts about them, and their errors."""

    does: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    problems: list[SapwoodError] = field(default_factory=list)


def check(settings: BrokerSettings) -> Report:
    """A report of the actions of a broker with these settings.

    Reads identities, certificates and the store's state; neither listens nor writes.
    """
    report = Report()
    chosen = settings.protocol
    chosen = protocol_named(chosen) if isinstance(chosen, str) else chosen
    report.does["name"] = settings.name or "told by its store, or the host's name and the port"
    is_tls = settings.connection.tls.cert is not None
    listens = (settings.listen, settings.listen_datagrams)
    at = [f"{TLS if is_tls else ''}{one}" for one in listens if one is not None]
    report.does["listens"] = ", ".join(at)
    report.does["routes by"] = chosen.name
    if settings.dialed:
        report.does["links with"] = ", ".join(map(str, (*settings.dialed, *settings.backups)))
    for part in (_access, _certificate, _peers, _store, _http, _files):
        try:
            part(settings, report)
        except SapwoodError as error:
            report.problems.append(error)
    return report


def _access(settings: BrokerSettings, report: Report) -> None:
    if settings.identities is None:
        is_signed = settings.connection.tls.cert is not None and settings.connection.tls.ca
        report.does["lets in"] = "who has a signed certificate" if is_signed else "everybody"
        return
    found = read_identities(settings.identities)
    clients = sum(1 for one in found.by_name.values() if one.role is Role.CLIENT)
    said = f"{clients} clients and {len(found.by_name) - clients} brokers by name"
    if found.issuers:
        said += f", clients by tokens of {', '.join(found.issuers)}"
    report.does["lets in"] = said
    report.does["quotas"] = f"{len(found.quotas)}" if found.quotas else "none"
    report.does["grants"] = str(len(found.grants)) if found.grants else "none: all may everything"


def _certificate(settings: BrokerSettings, report: Report) -> None:
    files = settings.connection.tls
    tls.accepting(files, must_be_signed=settings.identities is None)
    if files.cert is None:
        return
    try:
        from cryptography import x509
    except ImportError:
        report.warnings.append(
            "until when the certificate holds is not looked at: pip install 'sapwood[access]'"
        )
        return
    found = x509.load_pem_x509_certificate(Path(files.cert).read_bytes())
    until: datetime = found.not_valid_after_utc
    left_s = until.timestamp() - time.time()
    told = f"{until:%Y-%m-%d %H:%M} UTC"
    report.does["certificate"] = f"{found.subject.rfc4514_string()}, until {told}"
    if left_s < EXPIRING_S:
        said = "has run out" if left_s < 0 else "runs out soon"
        report.warnings.append(f"--tls-cert {files.cert}: {said}: {told}")


def _peers(settings: BrokerSettings, _: Report) -> None:
    for address in (*settings.dialed, *settings.backups):
        if not address.is_datagram:
            tls.connecting(address, settings.connection)


def _store(settings: BrokerSettings, report: Report) -> None:
    folder = settings.data
    if folder is None:
        report.does["keeps"] = "nothing"
        return
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise EnvironmentMissingError(
            f"--data {folder}: {there} is no folder that this user may write to; name another "
            "one, or change its owner"
        )
    said = f"publications in {folder} ({settings.durability})"
    path = folder / FILE
    if not path.is_file():
        report.does["keeps"] = f"{said}, which is new"
        return
    state = StateFile(path, is_read=True)
    try:
        chosen = settings.protocol
        chosen = protocol_named(chosen) if isinstance(chosen, str) else chosen
        name = settings.name or str(state.meta("broker"))
        report.does["name"] = name
        check_owner(folder, state, name, chosen.name, persists=chosen.persists)
    finally:
        state.close()
    report.does["keeps"] = said
    if is_locked(folder / JOURNAL):
        report.warnings.append(f"--data {folder}: a broker that runs has it now")


def _http(settings: BrokerSettings, report: Report) -> None:
    if settings.http is None:
        return
    if any(find_spec(name) is None for name in _HTTP):
        raise EnvironmentMissingError(
            "--http: needs packages that are not installed: pip install 'sapwood[http]'"
        )
    report.does["metrics"] = f"{settings.http}/metrics"


def _files(settings: BrokerSettings, report: Report) -> None:
    wanted = possible = settings.connections_max
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted + DESCRIPTORS_RESERVED:
        possible = max(1, hard - DESCRIPTORS_RESERVED)
        if wanted != CONNECTIONS_MAX:  # only an explicit number is checked
            report.warnings.append(
                f"--connections-max {wanted}: the system has open files for {possible:,}; raise "
                "the hard limit (ulimit -Hn, LimitNOFILE= of systemd)"
            )
    report.does["connections"] = f"{possible:,} at a time"
