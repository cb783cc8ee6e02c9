"""Brokers that let in some and not others, over TLS, as their files change."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as changed

import sapwood
from sapwood.asking.status import StatusReader
from sapwood.broker.access import doorkeeper
from sapwood.broker.access.identities import token_digest
from sapwood.broker.access.passwords import Passwords
from sapwood.broker.broker import Broker
from sapwood.broker.settings import BrokerSettings
from sapwood.client import blocking
from sapwood.errors import ConnectionLostError, HandshakeError, InputError
from sapwood.session.settings import ConnectionSettings, TlsFiles, with_access
from sapwood.wire.address import Address
from sapwood.wire.greetings import Credentials
from sapwood.wire.messages import GoodbyeCode
from tests.broker.access.conftest import Authority
from tests.broker.access.test_authentication import HASH, SIGNER
from tests.broker.helpers import Raw, Story, link_hello, running, settings, soon
from tests.patience import PATIENCE_S

ANN = f'[[identity]]\nname = "ann"\npassword = "{HASH}"\n'
FEED = f'[[identity]]\nname = "feed"\ntoken = "sha256:{token_digest("a token").hex()}"\n'
LINK = '[[identity]]\nname = "{0}"\nrole = "broker"\ncertificates = ["{0}.example.org"]\n'


def identities(folder: Path, *entries: str) -> Path:
    path = folder / "identities.toml"
    path.write_text("".join(entries))
    return path


@asynccontextmanager
async def guarded(
    name: str, path: Path | None, files: TlsFiles, *peers: Address, story: Story | None = None
) -> AsyncIterator[Broker]:
    """A broker behind TLS (where there are files), with identities (where there is a path)."""
    given = settings(name, *peers, identities=path)
    connection = replace(given.connection, tls=files)
    async with running(replace(given, connection=connection), story) as broker:
        yield broker


def trusting(authority: Authority, **more: Any) -> dict[str, Any]:
    return {"tls": TlsFiles(authority.ca), **more}


async def test_a_client_with_a_password_publishes_and_subscribes_over_tls(
    authority: Authority, tmp_path: Path
) -> None:
    path = identities(tmp_path, ANN, FEED)
    async with guarded("r1", path, authority.files("127.0.0.1")) as broker:
        address = str(broker.address)
        assert address.startswith("tls://127.0.0.1:")
        ann = sapwood.connect(address, "desk", user="ann", password="secret", **trusting(authority))
        feed = sapwood.connect(address, "desk", token="a token", **trusting(authority))
        async with ann, feed:
            subscription = await ann.subscribe("price > 10")
            # Long enough for several records of TLS, and for the queue behind the transport.
            texts = ["x" * 300_000, "y"]
            for number, text in enumerate(texts):
                await feed.publish({"price": 11 + number, "text": text})
            arrived = [await soon(anext(subscription)) for _ in texts]
            assert [one.attributes["text"] for one in arrived] == texts
            assert sorted(broker.connections.clients) == ["ann/desk", "feed/desk"]
        shown = with_access(ConnectionSettings(), token="a token", **trusting(authority))

        def asked() -> str:
            with StatusReader(address, shown) as reader:
                return reader.status().broker

        assert await asyncio.to_thread(asked) == "r1"


async def test_the_blocking_client_shows_who_it_is_too(
    authority: Authority, tmp_path: Path
) -> None:
    path = identities(tmp_path, FEED)
    async with guarded("r1", path, authority.files("127.0.0.1")) as broker:

        def publish() -> int:
            with blocking.connect(
                str(broker.address), token="a token", **trusting(authority)
            ) as client:
                client.publish({"a": 1})
                client.flush()
                return client.published

        assert await asyncio.to_thread(publish) == 1


async def test_who_shows_nothing_or_what_is_wrong_is_denied(
    authority: Authority, tmp_path: Path
) -> None:
    path, story = identities(tmp_path, ANN), Story()
    async with guarded("r1", path, authority.files("127.0.0.1"), story=story) as broker:
        address = str(broker.address)
        for shown, said in (
            ({}, "does not know"),
            ({"user": "ann", "password": "wrong"}, "the user or the password is wrong"),
            ({"token": "wrong"}, "does not know the token"),
        ):
            with pytest.raises(HandshakeError, match=said):
                async with sapwood.connect(address, **trusting(authority, **shown)):
                    pass
        assert broker.handshake.refusals == 3
        assert not broker.connections.clients
        assert "wrong" not in str([entry.get("name") for entry in story.entries])


async def test_each_end_says_what_is_wrong_with_tls(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path)
    async with guarded("r1", None, authority.files("127.0.0.1")) as broker:
        host, port = broker.address.host, broker.address.port
        with pytest.raises(HandshakeError, match="--tls-ca"):
            async with sapwood.connect(f"tls://{host}:{port}", tls=TlsFiles(other.ca)):
                pass
        with pytest.raises(HandshakeError, match="certificate"):
            async with sapwood.connect(f"tls://localhost:{port}", **trusting(authority)):
                pass
        distrusting = ConnectionSettings(tls=TlsFiles(other.ca))
        with pytest.raises(ConnectionLostError, match="--tls-ca"):
            await asyncio.to_thread(StatusReader, f"tls://{host}:{port}", distrusting)
        with pytest.raises(ConnectionLostError, match=f"it is at tls://{host}:{port}"):
            async with sapwood.connect(f"{host}:{port}"):
                pass
    async with running() as broker:
        with pytest.raises(HandshakeError, match="leave tls:// out"):
            async with sapwood.connect(f"tls://{broker.address}", **trusting(authority)):
                pass


async def test_without_identities_a_certificate_of_the_authority_is_needed(
    authority: Authority,
) -> None:
    async with guarded("r1", None, authority.files("127.0.0.1")) as broker:
        address = str(broker.address)
        with pytest.raises((HandshakeError, ConnectionLostError)):
            async with sapwood.connect(address, **trusting(authority)):
                pass
        async with sapwood.connect(address, tls=authority.files("desk.example.org")) as client:
            await client.publish({"a": 1})


async def test_brokers_know_each_other_by_certificates(
    authority: Authority, tmp_path: Path
) -> None:
    path = identities(tmp_path, FEED, LINK.format("r1"), LINK.format("r2"))
    files = [authority.files(f"{name}.example.org", "127.0.0.1") for name in ("r1", "r2", "r3")]
    story = Story()
    async with (
        guarded("r1", path, files[0], story=story) as first,
        guarded("r2", path, files[1], first.address) as second,
    ):
        await soon(first.until_linked("r2"))
        here = sapwood.connect(str(first.address), token="a token", **trusting(authority))
        there = sapwood.connect(str(second.address), token="a token", **trusting(authority))
        async with here, there:
            subscription = await there.subscribe("a = 1")
            await here.publish({"a": 1})
            assert (await soon(anext(subscription))).attributes == {"a": 1}
        async with guarded("r3", path, files[2], first.address) as third:
            await soon(first.connections.until(lambda: first.handshake.refusals > 0))
            assert "r3" not in first.connections.links
            assert not third.connections.links
        assert any("does not know" in one for one in story.reasons("connection refused"))


async def test_a_broker_that_shows_a_clients_token_gets_no_link(tmp_path: Path) -> None:
    async with guarded("r1", identities(tmp_path, FEED), TlsFiles()) as broker:
        greeting = changed(link_hello(broker, "r2"), credentials=Credentials("", "a token"))
        raw, answer = await Raw.greet(broker.address, greeting)
        assert "may not connect as a broker" in getattr(answer, "reason", "")
        await raw.close()


async def test_who_is_taken_out_of_the_file_is_disconnected(tmp_path: Path) -> None:
    path, story = identities(tmp_path, ANN, FEED), Story()
    async with guarded("r1", path, TlsFiles(), story=story) as broker:
        address = str(broker.address)
        feed = sapwood.connect(address, token="a token")
        ann = sapwood.connect(address, user="ann", password="secret")
        async with feed, ann:
            subscription = await ann.subscribe("a = 1")
            identities(tmp_path, FEED)
            broker.reload()
            with pytest.raises((HandshakeError, ConnectionLostError)):
                await soon(anext(subscription))
            assert list(broker.connections.clients) == [f"feed/{feed.name}"]
            identities(tmp_path, "nonsense")
            broker.reload()
            assert story.reasons("access files not taken")
            await feed.publish({"a": 2})


async def test_changed_files_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doorkeeper, "ACCESS_CHECK_S", 0.01)
    path = identities(tmp_path, FEED)
    async with (
        guarded("r1", path, TlsFiles()) as broker,
        sapwood.connect(str(broker.address), token="a token") as client,
    ):
        subscription = await client.subscribe("a = 1")
        identities(tmp_path, ANN)
        with pytest.raises((HandshakeError, ConnectionLostError)):
            await soon(anext(subscription))


async def test_a_connection_ends_with_its_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    monkeypatch.setattr("sapwood.broker.access.doorkeeper.time.time", lambda: now[0])
    monkeypatch.setattr(doorkeeper, "ACCESS_CHECK_S", 0.01)
    path = identities(tmp_path, SIGNER.entry(tmp_path))
    async with guarded("r1", path, TlsFiles()) as broker:
        token = SIGNER.token(1_060.0)
        async with sapwood.connect(str(broker.address), token=token) as client:
            subscription = await client.subscribe("a = 1")
            now[0] = 1_100.0
            with pytest.raises((HandshakeError, ConnectionLostError)):
                await soon(anext(subscription))


async def test_a_renewed_certificate_is_taken_without_a_restart(
    authority: Authority, tmp_path: Path
) -> None:
    files = authority.files("127.0.0.1")
    own = TlsFiles(None, str(tmp_path / "own.pem"), str(tmp_path / "own.key"))
    other = Authority(tmp_path)

    def take(given: TlsFiles) -> None:
        for source, target in ((given.cert, own.cert), (given.key, own.key)):
            assert source is not None
            assert target is not None
            shutil.copy(source, target)

    take(files)
    async with guarded("r1", None, own) as broker:
        address = str(broker.address)
        async with sapwood.connect(address, **trusting(authority)) as before:
            take(other.files("127.0.0.1"))
            broker.reload()
            async with sapwood.connect(address, tls=TlsFiles(other.ca)):
                await before.publish({"a": 1})  # and who was there stays
            with pytest.raises(HandshakeError):
                async with sapwood.connect(address, **trusting(authority)):
                    pass


async def test_a_crowd_that_shows_passwords_is_put_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: without the bound everybody waits, and nobody hears of it."""
    monkeypatch.setattr(doorkeeper, "AUTHENTICATIONS_WAITING_MAX", 1)
    others = threading.Event()

    def is_right(*_: object) -> bool:
        return others.wait(PATIENCE_S)

    monkeypatch.setattr(Passwords, "is_right", is_right)
    async with guarded("r1", identities(tmp_path, ANN), TlsFiles()) as broker:
        address = str(broker.address)

        async def come(number: int) -> str:
            try:
                async with sapwood.connect(address, user="ann", password=f"secret {number}"):
                    return ""
            except HandshakeError as error:
                if broker.handshake.refusals == 3:
                    others.set()
                return str(error)

        reasons = await asyncio.gather(*map(come, range(4)))
        assert sorted("too many" in reason for reason in reasons) == [False, True, True, True]
        assert "" in reasons


# Settings --------------------------------------------------------------------------------------


def test_an_address_that_other_machines_reach_has_to_be_guarded(tmp_path: Path) -> None:
    outside = Address("0.0.0.0", 7411)
    with pytest.raises(InputError, match="--allow-anyone"):
        BrokerSettings(listen=outside)
    with pytest.raises(InputError, match="--allow-anyone"):
        BrokerSettings(listen_datagrams=replace(outside, is_datagram=True), protocol="flooding")
    for host in ("localhost", "127.0.0.2", "::1"):
        BrokerSettings(listen=Address(host, 7411))
    BrokerSettings(listen=outside, allow_anyone=True)
    BrokerSettings(listen=outside, identities=identities(tmp_path, FEED))


def test_datagrams_are_not_listened_for_where_somebody_guards(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="datagrams"):
        BrokerSettings(
            listen_datagrams=Address("127.0.0.1", 7412, is_datagram=True),
            protocol="flooding",
            identities=identities(tmp_path, FEED),
        )


def test_secrets_do_not_travel_to_other_machines_in_the_clear() -> None:
    from sapwood import tls

    shown = with_access(ConnectionSettings(), token="a token")
    with pytest.raises(InputError, match="put tls:// before"):
        tls.connecting(Address("broker.example.org", 7411), shown)
    assert tls.connecting(Address("127.0.0.1", 7411), shown) is None


@pytest.mark.parametrize(
    "shown",
    [
        {"user": "ann"},
        {"password": "secret"},
        {"user": "ann", "password": "secret", "token": "t"},
        {"token": ""},
        {"token": "x" * 5_000},
        {"user": "a b", "password": "secret"},
    ],
)
def test_credentials_that_do_not_go_together_are_refused(shown: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        with_access(ConnectionSettings(), **shown)


def test_files_of_tls_that_cannot_be_used_are_named(authority: Authority, tmp_path: Path) -> None:
    from sapwood import tls

    files = authority.files("127.0.0.1")
    other = authority.files("127.0.0.2")
    nothing = str(tmp_path / "nothing.pem")
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    for wrong, said in (
        (replace(files, ca=nothing), "--tls-ca"),
        (replace(files, ca=str(empty)), "no file of certificates"),
        (replace(files, cert=nothing), "--tls-cert"),
        (replace(files, key=other.key), "the key is not the one of the certificate"),
    ):
        with pytest.raises(InputError, match=said):
            tls.accepting(wrong, must_be_signed=False)
    with pytest.raises(InputError, match="give both"):
        TlsFiles(cert=files.cert)
    context = tls.accepting(files, must_be_signed=True)
    assert context is not None
    assert context.newest.verify_mode is ssl.CERT_REQUIRED


def test_a_withdrawn_identity_is_told_so() -> None:
    assert not GoodbyeCode.DENIED.final  # a broker tries again: it may come back into the file
