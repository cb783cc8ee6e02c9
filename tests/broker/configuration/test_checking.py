"""Checks of a broker's settings: its plan, and all that it would fail by, without a start."""

from __future__ import annotations

import fcntl
import os
import resource
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

import pytest
import trustme

from sapwood.broker.configuration import checking
from sapwood.broker.configuration.checking import Report, check
from sapwood.session.settings import ConnectionSettings, TlsFiles
from sapwood.store.store import Store
from sapwood.wire.address import Address
from sapwood.wire.greetings import Credentials
from tests.broker.access.tokens import ISSUER, Signer
from tests.broker.helpers import settings

PEER = Address("north.example.org", 7411)
IDENTITIES = """
[[identity]]
name = "ann"
token = "sha256:{digest}"

[[identity]]
name = "north"
role = "broker"
certificates = ["north.example.org"]
"""


def checked(**given: object) -> Report:
    return check(settings(**given))  # type: ignore[arg-type]


def problem(**given: object) -> str:
    (found,) = checked(**given).problems
    return str(found)


def signed(folder: Path, *, days: float = 365) -> TlsFiles:
    """A certificate that holds for so many days, its key, and who signed it."""
    authority = trustme.CA()
    until = datetime.now(UTC) + timedelta(days=days)
    made = authority.issue_cert("broker.example.org", not_after=until.replace(tzinfo=None))
    ca, cert, key = (folder / f"{kind}.pem" for kind in ("ca", "cert", "key"))
    authority.cert_pem.write_to_path(str(ca))
    cert.write_bytes(b"".join(blob.bytes() for blob in made.cert_chain_pems))
    made.private_key_pem.write_to_path(str(key))
    return TlsFiles(str(ca), str(cert), str(key))


def test_a_plain_broker_lets_everybody_in_and_keeps_nothing() -> None:
    found = checked(name="paris", connections_max=5, peers=(PEER,), http=Address("127.0.0.1", 1))
    assert found.does == {
        "name": "paris",
        "listens": "127.0.0.1:0",
        "routes by": "covering",
        "links with": "north.example.org:7411",
        "lets in": "everybody",
        "keeps": "nothing",
        "metrics": "127.0.0.1:1/metrics",
        "connections": "5 at a time",
    }
    assert not found.problems
    assert not found.warnings


def test_identities_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "identities.toml"
    file.write_text(IDENTITIES.format(digest="0" * 64))
    found = checked(identities=file)
    assert found.does["lets in"] == "1 clients and 1 brokers by name"
    assert found.does["grants"] == "none: all may everything"
    assert found.does["quotas"] == "none"
    text = IDENTITIES.format(digest="0" * 64) + Signer().entry(tmp_path)
    file.write_text(f'{text}[[quota]]\nto = ["*"]\nsubscriptions = 1\n')
    found = checked(identities=file)
    assert found.does["lets in"].endswith(f", clients by tokens of {ISSUER}")
    assert found.does["quotas"] == "1"
    file.write_text(IDENTITIES.format(digest="0"))
    assert "identity 1 ('ann'): the token is not sha256:" in problem(identities=file)


def test_a_certificate_says_until_when_it_holds(tmp_path: Path) -> None:
    found = checked(connection=ConnectionSettings(tls=signed(tmp_path)))
    assert "until 20" in found.does["certificate"]
    assert found.does["listens"] == "tls://127.0.0.1:0"
    assert found.does["lets in"] == "who has a signed certificate"
    assert not found.warnings


@pytest.mark.parametrize(("days", "said"), [(3, "runs out soon"), (-1, "has run out")])
def test_a_certificate_that_runs_out_is_warned_of(tmp_path: Path, days: int, said: str) -> None:
    files = signed(tmp_path, days=1)
    connection = ConnectionSettings(tls=files)
    later = datetime.now(UTC) + timedelta(days=1 - days)
    with mock.patch.object(time, "time", later.timestamp):
        (warning,) = checked(connection=connection).warnings
    assert warning.startswith(f"--tls-cert {files.cert}: {said}: ")


def test_without_its_library_a_certificate_is_not_looked_into(tmp_path: Path) -> None:
    connection = ConnectionSettings(tls=signed(tmp_path))
    with mock.patch.dict(sys.modules, {"cryptography": None}):
        (warning,) = checked(connection=connection).warnings
    assert "sapwood[access]" in warning


def test_several_things_that_cannot_be_are_all_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    connection = ConnectionSettings(
        credentials=Credentials("", "secret"), tls=TlsFiles(cert="none.pem", key="none.key")
    )
    found = checked(
        connection=connection,
        peers=(PEER,),
        identities=tmp_path / "none.toml",
        data=tmp_path / "file" / "store",
    )
    assert [str(one).partition(":")[0] for one in found.problems] == [
        f"{tmp_path / 'none.toml'}",
        "--tls-cert none.pem and --tls-key none.key",
        "north.example.org",
        f"--data {tmp_path / 'file' / 'store'}",
    ]


def test_a_store_is_looked_at_and_left_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    assert checked(data=folder).does["keeps"] == f"publications in {folder} (fsync), which is new"
    assert not folder.exists()
    store = Store(folder, "paris", clock=lambda: 0.0, protocol="covering", persists=True)
    running = checked(name=None, data=folder)
    assert running.does["name"] == "paris"
    assert running.warnings == [f"--data {folder}: a broker that runs has it now"]
    store.close()
    found = checked(name="paris", data=folder)
    assert found.does["keeps"] == f"publications in {folder} (fsync)"
    assert not found.warnings


def test_a_store_of_another_broker_is_a_problem(tmp_path: Path) -> None:
    protocol = "recover+covering"
    Store(tmp_path, "paris", clock=lambda: 0.0, protocol=protocol, persists=True).close()
    said = problem(name="rome", data=tmp_path, protocol=protocol)
    assert "holds the state of broker paris, and this one is rome" in said


def test_a_folder_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    with mock.patch.object(os, "access", return_value=False):
        assert "no folder that this user may write to" in problem(data=tmp_path / "a" / "b")


def test_metrics_without_their_packages_are_a_problem() -> None:
    with mock.patch.object(checking, "find_spec", return_value=None):
        assert "sapwood[http]" in problem(http=Address("127.0.0.1", 0))


def test_more_connections_than_open_files_are_warned_of_where_they_were_asked_for() -> None:
    with mock.patch.object(resource, "getrlimit", return_value=(100, 1_000)):
        found, by_default = checked(connections_max=2_000), checked()
    (warning,) = found.warnings
    assert warning.startswith("--connections-max 2000: the system has open files for ")
    assert found.does["connections"] == by_default.does["connections"]
    assert not by_default.warnings


def test_nothing_is_left_locked(tmp_path: Path) -> None:
    Store(tmp_path, "paris", clock=lambda: 0.0).close()
    checked(data=tmp_path)
    with (tmp_path / "journal" / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
