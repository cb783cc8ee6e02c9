"""Certificates of clients at all doors, and what becomes of them when their authority goes."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

import sapwood
from sapwood import tls
from sapwood.broker.access.doorkeeper import Doorkeeper
from sapwood.broker.broker import Broker
from sapwood.broker.http.callers import Caller
from sapwood.broker.http.inside import NotAdmittedError, Visit
from sapwood.errors import ConnectionLostError, HandshakeError
from sapwood.session.settings import ConnectionSettings, TlsFiles
from sapwood.wire.address import Address
from tests.broker.access.conftest import Authority
from tests.broker.access.test_doorkeeper import FEED, LINK, identities
from tests.broker.helpers import ANY_PORT, Story, running, settings, soon
from tests.broker.http.helpers import JSON, Answer, Gate, Web
from tests.broker.http.web_socket import upgraded
from tests.broker.mqtt import helpers as mqtt

DESK: Final = '[[identity]]\nname = "desk"\ncertificates = ["desk.example.org"]\n'
GRANT: Final = (
    '[[grant]]\nto = ["desk"]\nsubscribe = "price > 10"\npublish = "price > 0"\noperate = true\n'
)


class Doors:
    """A broker with all doors, behind TLS, and callers with certificates."""

    def __init__(self, broker: Broker, story: Story) -> None:
        self.broker = broker
        self.gate = Gate(broker, story)
        line = next(line for line in story.lines if line.startswith("MQTT at mqtts://"))
        self.mqtt_port = int(line.rpartition(":")[2])

    async def web(self, files: TlsFiles) -> Web:
        """A connection by HTTPS."""
        port = self.gate.port
        return Web(*await asyncio.open_connection("127.0.0.1", port, ssl=caller(files)))

    async def ask(self, files: TlsFiles, path: str, body: Any = None, **headers: str) -> Answer:
        """The answer to a request of somebody with these files."""
        web = await self.web(files)
        try:
            return await told(web, path, body, **headers)
        finally:
            await web.close()

    @asynccontextmanager
    async def mqtt(self, files: TlsFiles) -> AsyncIterator[mqtt.Client]:
        """A connection of a client of MQTT that has said nothing."""
        opened = await asyncio.open_connection("127.0.0.1", self.mqtt_port, ssl=caller(files))
        client = mqtt.Client(*opened)
        try:
            yield client
        finally:
            await client.close()


def caller(files: TlsFiles) -> ssl.SSLContext:
    context = tls.connecting(Address("127.0.0.1", 1, is_tls=True), ConnectionSettings(tls=files))
    assert context is not None
    return context


async def told(web: Web, path: str, body: Any = None, **headers: str) -> Answer:
    """The answer to one request on a connection that stays."""
    kind = {} if body is None else {"Content-Type": JSON}
    data = None if body is None else json.dumps(body).encode()
    web.say("GET" if body is None else "POST", path, {**kind, **headers}, data)
    return await web.answer()


@asynccontextmanager
async def doors(path: Path | None, files: TlsFiles, **more: Any) -> AsyncIterator[Doors]:
    doors = {"http": ANY_PORT, "mqtt": ANY_PORT, "gateway": True, "console": True}
    given, story = settings("hub", identities=path, **doors, **more), Story()
    given = replace(given, connection=replace(given.connection, tls=files))
    async with running(given, story) as broker:
        yield Doors(broker, story)


# Who it is -------------------------------------------------------------------------------------


async def test_a_certificate_is_an_identity_by_http_under_its_grant(
    authority: Authority, tmp_path: Path
) -> None:
    path = identities(tmp_path, DESK, FEED, GRANT)
    desk, bare = authority.files("desk.example.org"), TlsFiles(authority.ca)
    async with doors(path, authority.files("127.0.0.1")) as hub:
        for page in ("/metrics", "/api/status"):
            assert (await hub.ask(desk, page)).status == 200
            refused = await hub.ask(bare, page)
            assert refused.status == 401
            assert b"does not know the user, token or certificate" in refused.body
        stream = await hub.web(desk)
        stream.say("GET", "/subscribe?filter=price%3E5", {}, None)
        assert (await stream.head()).status == 200
        for price, status in ((7, 200), (12, 200), (-1, 403)):
            assert (await hub.ask(desk, "/publish", {"price": price})).status == status
        assert (await stream.delivery())["attributes"] == {"price": 12}
        assert any(name.startswith("desk/") for name in hub.broker.connections.clients)
        await stream.close()


async def test_a_certificate_is_an_identity_by_websocket(
    authority: Authority, tmp_path: Path
) -> None:
    path = identities(tmp_path, DESK, GRANT)
    desk = authority.files("desk.example.org")
    async with doors(path, authority.files("127.0.0.1")) as hub:
        async with upgraded(await hub.web(desk)) as web:
            web.say(type="connect")
            assert (await web.hear())["type"] == "connected"
            web.say(type="publish", id="p", attributes={"price": -1})
            assert (await web.hear())["status"] == 403
        async with upgraded(await hub.web(TlsFiles(authority.ca))) as web:
            web.say(type="connect")
            assert "does not know" in (await web.hear())["reason"]


async def test_a_certificate_is_an_identity_by_mqtt_under_its_grant(
    authority: Authority, tmp_path: Path
) -> None:
    grant = '[[grant]]\nto = ["desk"]\npublish = "topic = \'a\'"\nsubscribe = "true"\n'
    path = identities(tmp_path, DESK, grant)
    desk = authority.files("desk.example.org")
    async with doors(path, authority.files("127.0.0.1")) as hub:
        async with hub.mqtt(desk) as client:
            client.say(mqtt.connect())
            assert (await client.heard(mqtt.CONNACK)).codes == (0,)
            assert await client.published("a", b"x") == 0
            assert await client.published("b", b"x") == 0x83
        async with hub.mqtt(TlsFiles(authority.ca)) as client:
            client.say(mqtt.connect())
            refused = await client.heard(mqtt.CONNACK)
            assert refused.codes == (0x87,)
            assert "does not know the user, token or certificate" in refused.reason


async def test_what_is_shown_besides_a_certificate_says_who_it_is(
    authority: Authority, tmp_path: Path
) -> None:
    path = identities(tmp_path, DESK, FEED)
    desk = authority.files("desk.example.org")
    async with doors(path, authority.files("127.0.0.1")) as hub:
        shown = {"Authorization": "Bearer a token"}
        assert (await hub.ask(desk, "/publish", {"price": 1}, **shown)).status == 200
        clients = list(hub.broker.connections.clients)
        assert [name.partition("/")[0] for name in clients] == ["feed"]
        wrong = await hub.ask(desk, "/publish", {"price": 1}, Authorization="Bearer wrong")
        assert wrong.status == 401
        assert (await hub.ask(desk, "/publish", {"price": 1})).status == 200
        assert len(hub.broker.connections.clients) == 2  # two identities share no session
        async with hub.mqtt(desk) as client:
            client.say(mqtt.connect(user="", password=b"wrong"))
            assert (await client.heard(mqtt.CONNACK)).codes == (0x86,)


async def test_certificates_of_nobody_and_of_brokers_are_refused_at_the_doors(
    authority: Authority, tmp_path: Path
) -> None:
    path = identities(tmp_path, DESK, LINK.format("r2"))
    async with doors(path, authority.files("127.0.0.1")) as hub:
        for name, said in (
            ("else.example.org", "does not know the certificate"),
            ("r2.example.org", "may not connect as a client"),
        ):
            files = authority.files(name)
            for page, body in (("/metrics", None), ("/publish", {"a": 1})):
                refused = await hub.ask(files, page, body)
                assert refused.status == 401
                assert said in refused.body.decode()
            async with hub.mqtt(files) as client:
                client.say(mqtt.connect())
                connack = await client.heard(mqtt.CONNACK)
                assert connack.codes == (0x87,)
                assert said in connack.reason


async def test_two_certificates_with_one_client_id_do_not_take_each_others_place(
    authority: Authority, tmp_path: Path
) -> None:
    other = '[[identity]]\nname = "other"\ncertificates = ["other.example.org"]\n'
    path = identities(tmp_path, DESK, other)
    files = [authority.files(f"{name}.example.org") for name in ("desk", "other", "desk")]
    async with (
        doors(path, authority.files("127.0.0.1")) as hub,
        hub.mqtt(files[0]) as desk,
        hub.mqtt(files[1]) as other_one,
        hub.mqtt(files[2]) as again,
    ):
        for client in (desk, other_one, again):
            client.say(mqtt.connect("same"))
            assert (await client.heard(mqtt.CONNACK)).codes == (0,)
        assert (await desk.heard(mqtt.DISCONNECT)).codes == (0x8E,)
        assert await other_one.published("a", b"x") == 0


@pytest.mark.parametrize("door", ["http", "mqtt"])
async def test_doors_without_identities_want_a_certificate_of_the_authority(
    authority: Authority, tmp_path: Path, door: str
) -> None:
    stranger = Authority(tmp_path).files("desk.example.org")
    foreign = replace(stranger, ca=authority.ca)
    async with doors(None, authority.files("127.0.0.1")) as hub:
        assert (await hub.ask(authority.files("a.example.org"), "/metrics")).status == 200
        for files in (TlsFiles(authority.ca), foreign):
            if door == "http":
                with pytest.raises((OSError, asyncio.IncompleteReadError)):
                    await hub.ask(files, "/metrics")
            else:
                try:
                    async with hub.mqtt(files) as client:
                        client.say(mqtt.connect())
                        assert await client.hear() is None
                except OSError:
                    pass  # the handshake has failed before
        assert not hub.broker.connections.all


# An authority that goes ------------------------------------------------------------------------


class Trusted:
    """A file of two authorities, of which one can be taken out."""

    def __init__(self, folder: Path) -> None:
        self._parts = []
        for name in ("first", "second"):
            (folder / name).mkdir()
            self._parts.append(Authority(folder / name))
        self.first, self.second = self._parts
        self.path = folder / "both.pem"
        self.write(*self._parts)
        self.own = replace(self.first.files("127.0.0.1"), ca=str(self.path))

    def write(self, *authorities: Authority) -> None:
        self.path.write_text("".join(Path(one.ca).read_text() for one in authorities))

    def client(self, of: Authority, name: str) -> TlsFiles:
        return replace(of.files(name), ca=self.first.ca)


@pytest.fixture
def trusted(tmp_path: Path) -> Trusted:
    return Trusted(tmp_path)


async def test_an_authority_that_is_taken_out_is_not_trusted_for_new_connections(
    trusted: Trusted,
) -> None:
    """Planted: `load_verify_locations` on the context that is there adds, and takes nothing out."""
    stays = trusted.client(trusted.first, "stays.example.org")
    goes = trusted.client(trusted.second, "goes.example.org")
    async with doors(None, trusted.own) as hub:
        address = str(hub.broker.address)

        async def come(files: TlsFiles) -> None:
            async with sapwood.connect(address, tls=files) as client:
                await client.publish({"a": 1})
            assert (await hub.ask(files, "/metrics")).status == 200
            async with hub.mqtt(files) as other:
                other.say(mqtt.connect())
                assert (await other.heard(mqtt.CONNACK)).codes == (0,)

        await come(stays)
        await come(goes)
        trusted.write(trusted.first)
        hub.broker.reload()
        await come(stays)
        with pytest.raises((HandshakeError, ConnectionLostError)):
            async with sapwood.connect(address, tls=goes):
                pass
        with pytest.raises((OSError, asyncio.IncompleteReadError)):
            await hub.ask(goes, "/metrics")
        try:
            async with hub.mqtt(goes) as client:
                client.say(mqtt.connect())
                assert await client.hear() is None
        except OSError:
            pass
        trusted.write(trusted.first, trusted.second)
        hub.broker.reload()
        await come(goes)


@pytest.mark.parametrize("named", [False, True], ids=["anybody", "identities"])
async def test_connections_end_whose_authority_is_taken_out(
    trusted: Trusted, tmp_path: Path, *, named: bool
) -> None:
    entries = [DESK, DESK.replace("desk", "goes")]
    path = identities(tmp_path, *entries) if named else None
    stays = trusted.client(trusted.first, "desk.example.org")
    goes = trusted.client(trusted.second, "goes.example.org")
    said = "is not trusted any more"
    async with doors(path, trusted.own) as hub:
        address = str(hub.broker.address)
        there = sapwood.connect(address, "there", tls=stays)
        gone = sapwood.connect(address, "gone", tls=goes)
        web = await hub.web(goes)
        assert (await told(web, "/publish", {"a": 0})).status == 200
        stream = await hub.web(goes)
        stream.say("GET", "/subscribe?filter=a%3E0", {}, None)
        assert (await stream.head()).status == 200
        async with there, gone, hub.mqtt(goes) as client:
            client.say(mqtt.connect())
            assert (await client.heard(mqtt.CONNACK)).codes == (0,)
            await gone.flush()
            clients = hub.broker.connections.clients
            assert {name.rpartition("/")[2] for name in clients} >= {"there", "gone"}
            trusted.write(trusted.first)
            hub.broker.reload()
            assert {name.rpartition("/")[2] for name in clients} == {"there"}
            ended = await client.heard(mqtt.DISCONNECT)
            assert ended.codes == (0x87,)
            assert said in ended.reason
            event = await stream.event()
            assert event["event"] == "end"
            assert said in event["data"]
            for page, body in (("/publish", {"a": 1}), ("/metrics", None), ("/api/status", None)):
                refused = await told(web, page, body)  # on a connection that was there before
                assert refused.status == 401
                assert said in refused.body.decode()
            await there.publish({"a": 1})
        await web.close()
        await stream.close()


async def test_a_session_from_before_is_not_resumed_with_an_authority_that_is_gone(
    trusted: Trusted,
) -> None:
    """Planted: with the keys of the earlier context a ticket is as good as a certificate."""
    goes = caller(trusted.client(trusted.second, "goes.example.org"))
    async with doors(None, trusted.own) as hub:

        def come(session: ssl.SSLSession | None) -> tuple[ssl.SSLSession | None, bool]:
            with (
                socket.create_connection(("127.0.0.1", hub.gate.port)) as plain,
                goes.wrap_socket(plain, server_hostname="127.0.0.1", session=session) as one,
            ):
                one.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                if not one.recv(1000).startswith(b"HTTP/1.1 200"):
                    raise ConnectionResetError("the handshake was refused")
                return one.session, bool(one.session_reused)

        session, _ = await asyncio.to_thread(come, None)
        _, is_resumed = await asyncio.to_thread(come, session)
        assert is_resumed  # so there is something to let go of
        trusted.write(trusted.first)
        hub.broker.reload()
        with pytest.raises(OSError):  # noqa: PT011 - an alert, or a reset
            await asyncio.to_thread(come, session)


async def test_a_link_ends_whose_authority_is_taken_out(trusted: Trusted, tmp_path: Path) -> None:
    path = identities(tmp_path, LINK.format("r1"), LINK.format("r2"))
    here = replace(trusted.first.files("r1.example.org", "127.0.0.1"), ca=str(trusted.path))
    there = replace(trusted.second.files("r2.example.org", "127.0.0.1"), ca=str(trusted.path))
    given = [settings(name, identities=path) for name in ("r1", "r2")]
    first = replace(given[0], connection=replace(given[0].connection, tls=here))
    async with running(first) as one:
        second = replace(
            given[1], peers=(one.address,), connection=replace(given[1].connection, tls=there)
        )
        async with running(second) as other:
            await soon(one.until_linked("r2"))
            trusted.write(trusted.first)
            one.reload()
            await soon(one.connections.until(lambda: "r2" not in one.connections.links))
            await soon(other.connections.until(lambda: "r1" not in other.connections.links))


async def test_a_file_of_authorities_that_cannot_be_used_changes_nothing(
    trusted: Trusted,
) -> None:
    desk = trusted.client(trusted.second, "desk.example.org")
    story = Story()
    given = settings("hub")
    given = replace(given, connection=replace(given.connection, tls=trusted.own))
    async with (
        running(given, story) as broker,
        sapwood.connect(str(broker.address), tls=desk) as before,
    ):
        trusted.path.write_text("nothing")
        broker.reload()
        assert story.reasons("access files not taken")
        async with sapwood.connect(str(broker.address), tls=desk) as client:
            await client.publish({"a": 1})
        await before.publish({"a": 1})


@pytest.mark.parametrize("broken", ["identities", "authorities"])
async def test_a_file_that_cannot_be_used_keeps_no_other_one_from_being_read(
    trusted: Trusted, tmp_path: Path, broken: str
) -> None:
    """Planted: the files are read one after the other up to the first error."""
    path, story = identities(tmp_path, DESK, FEED), Story()
    given = settings("hub", identities=path)
    given = replace(given, connection=replace(given.connection, tls=trusted.own))
    desk = trusted.client(trusted.second, "desk.example.org")
    feed = TlsFiles(trusted.first.ca)
    async with running(given, story) as broker:
        address = str(broker.address)
        async with (
            sapwood.connect(address, "c", tls=desk),
            sapwood.connect(address, "c", token="a token", tls=feed),
        ):
            if broken == "identities":
                identities(tmp_path, "nonsense")
                trusted.write(trusted.first)
            else:
                identities(tmp_path, DESK)
                trusted.path.write_text("nothing")
            broker.reload()
            assert len(story.reasons("access files not taken")) == 1
            stays = "feed/c" if broken == "identities" else "desk/c"
            assert list(broker.connections.clients) == [stays]


def test_what_was_guarded_by_an_authority_stays_so(trusted: Trusted) -> None:
    keeper = Doorkeeper(None, trusted.own, lambda *_: None, Story().log)
    keeper.take(None, replace(trusted.own, ca=None), ())
    assert keeper.context is not None
    assert keeper.context.authorities


def test_a_certificate_is_trusted_by_the_end_of_its_chain(trusted: Trusted) -> None:
    context = tls.accepting(trusted.own, must_be_signed=False)
    assert context is not None
    earlier = context.newest
    other = tls.accepting(replace(trusted.own, ca=trusted.second.ca), must_be_signed=False)
    assert other is not None
    assert other.authorities is not None
    (authority,) = other.authorities
    names = frozenset(("a",))
    known = tls.Certificate(names, authority, earlier)
    resumed = tls.Certificate(names, None, earlier)
    assert context.trusts(known)
    assert context.trusts(resumed)
    context.renew(trusted.own)
    assert context.newest is not earlier
    assert context.trusts(known)
    assert not context.trusts(resumed)  # nobody knows who has signed it
    trusted.write(trusted.first)
    context.renew(trusted.own)
    assert not context.trusts(known)
    shutil.copy(trusted.second.ca, trusted.path)
    context.renew(trusted.own)
    assert context.trusts(known)


async def test_a_visit_speaks_for_the_certificate_of_its_caller(
    authority: Authority, tmp_path: Path
) -> None:
    path = identities(tmp_path, DESK)
    given = settings("hub", identities=path)
    given = replace(given, connection=replace(given.connection, tls=authority.files("127.0.0.1")))
    async with running(given) as broker:
        begin = (broker.accept, broker.connecting)
        context = broker.doorkeeper.context
        assert context is not None
        shown = tls.Certificate(frozenset(("desk.example.org",)), None, context.newest)
        visit = await soon(Visit.begin(*begin, Caller(None, ("m", 1), shown)))
        assert [name.partition("/")[0] for name in broker.connections.clients] == ["desk"]
        visit.close()
        with pytest.raises(NotAdmittedError, match="does not know"):
            await soon(Visit.begin(*begin, Caller(None, ("m", 1))))
