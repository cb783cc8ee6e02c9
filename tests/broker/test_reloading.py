"""A broker that runs takes of another configuration what can change, and says what cannot."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sapwood.broker.access.identities import token_digest
from sapwood.broker.broker import Broker
from sapwood.broker.configuration.options import OPTIONS, Changes
from sapwood.broker.configuration.sources import Configuration, read_configuration
from sapwood.broker.logs import Level, make_log
from sapwood.broker.reloading import Reloading
from sapwood.cli.broker_settings import settings_of
from sapwood.client import connect
from sapwood.model.publication import Publication
from sapwood.wire.messages import PublishRequest, SubscribeRequest, SubscriptionRefused
from tests.broker.helpers import Raw, Story, body, running, settings, soon

pytestmark = [pytest.mark.network, pytest.mark.asyncio]


class Running:
    """A broker with a file of configuration, which is changed and read again."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.story = Story()
        self.level = Level("info")
        path.write_text(text)
        self.told = self.read()
        self.reloading = Reloading(self.told, self.read, settings_of, self.level, self.story.log)

    def read(self) -> Configuration:
        return read_configuration({}, {}, self.path)

    def change(self, broker: Broker, text: str) -> None:
        self.story.entries.clear()
        self.path.write_text(text)
        self.reloading.reload(broker)

    def said(self, event: str) -> list[dict[str, Any]]:
        return [entry for entry in self.story.entries if entry["event"] == event]


BASE = 'listen = "127.0.0.1:0"\nname = "hub"\n'


@pytest.fixture
def make(tmp_path: Path) -> Callable[[str], Running]:
    return lambda text: Running(tmp_path / "sapwood.toml", BASE + text)


async def test_what_can_change_does_and_what_cannot_is_said(make: Callable[[str], Running]) -> None:
    one = make("")
    async with running(settings_of(one.told), one.story) as broker:
        one.change(
            broker,
            BASE.replace("hub", "other")
            + 'strict = true\nconnections_max = 1\nprotocol = "simple"\nlog_level = "debug"\n'
            "outgoing_bytes_max = 4194304\nsessions_remembered_max = 3\n",
        )
        changed = {entry["option"]: entry["value"] for entry in one.said("option changed")}
        assert changed == {
            "strict": True,
            "connections_max": 1,
            "log_level": "debug",
            "outgoing_bytes_max": 2**22,
            "sessions_remembered_max": 3,
        }
        fixed = {
            one["option"]: (one["value"], one["asked"])
            for one in one.said("option needs a restart")
        }
        assert fixed == {"name": ("hub", "other"), "protocol": ("covering", "simple")}
        assert one.level.has(10)
        assert broker.settings.name == "hub"
        assert broker.settings.outgoing_bytes_max == 2**22

        raw = await Raw.client(broker.address, "one")
        raw.say(SubscribeRequest("s1", "a > 1 and a < 1"))
        (refused,) = await raw.until(SubscriptionRefused)
        assert refused.id == "s1"
        second = await Raw.dial(broker.address)
        assert b"its limit of 1 connections" in await second.rest()
        await second.close()
        await raw.close()


async def test_a_second_reading_says_nothing_that_was_said(make: Callable[[str], Running]) -> None:
    one = make("")
    async with running(settings_of(one.told), one.story) as broker:
        one.change(broker, BASE + "strict = true\n")
        one.change(broker, BASE + "strict = true\n")
        assert not one.said("option changed")
        one.change(broker, BASE)
        assert [entry["before"] for entry in one.said("option changed")] == [True]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("strict = 1", "line 3: strict: 1 is not what it takes"),
        ("strict = true\noutgoing_bytes_max = 1", "line 4: outgoing_bytes_max is 1; it takes"),
        ("strict = tru", "line 3, column 10: is no TOML"),
        ('strict = true\ntoken_file = "none"', "line 4: token_file"),
    ],
)
async def test_a_file_that_cannot_be_used_changes_nothing(
    make: Callable[[str], Running], text: str, said: str
) -> None:
    one = make("")
    async with running(settings_of(one.told), one.story) as broker:
        before = broker.settings
        one.change(broker, BASE + text)
        (entry,) = one.said("configuration not taken")
        assert (entry["level"], said in entry["reason"]) == ("error", True)
        assert broker.settings is before
        assert one.reloading.told is one.told
        assert one.said("access files read")


async def test_peers_come_and_go(make: Callable[[str], Running]) -> None:
    async with running(settings("north")) as north, running(settings("south")) as south:
        one = make(f'peer = "{north.address}"')
        async with running(settings_of(one.told), one.story) as broker:
            await soon(broker.until_linked("north"))
            one.change(broker, BASE + f'peer = ["{south.address}"]')
            await soon(broker.until_linked("south"))
            await soon(broker.connections.until(lambda: "north" not in broker.connections.links))
            assert not broker.dialers.without_link()
            one.change(broker, BASE)
            await soon(broker.connections.until(lambda: not broker.connections.links))


async def test_under_failover_a_peer_stays(make: Callable[[str], Running]) -> None:
    text = 'protocol = "failover+covering"\n'
    one = make(text + 'peer = "127.0.0.1:1"')
    async with running(settings_of(one.told), one.story) as broker:
        one.change(broker, BASE + text + 'peer = "127.0.0.1:2"')
        assert [entry["option"] for entry in one.said("option needs a restart")] == ["peer"]


async def test_new_times_are_those_of_new_connections(make: Callable[[str], Running]) -> None:
    one = make("")
    async with running(settings_of(one.told), one.story) as broker:
        one.change(broker, BASE + "greeting_s = 0.05\n")
        silent = await Raw.dial(broker.address)
        assert await silent.rest()  # a refusal, long before the default of seconds
        await silent.close()


async def test_a_journal_is_kept_as_long_as_the_new_options_say(
    make: Callable[[str], Running], tmp_path: Path
) -> None:
    data = f'data = "{tmp_path / "store"}"\n'
    one = make(data)
    async with running(settings_of(one.told), one.story) as broker:
        one.change(broker, BASE + data + "keep_age = 7\nkeep_bytes = 16777216\n")
        assert broker.store is not None
        retention = broker.store.store.writer.retention
        assert (retention.bytes_max, retention.age_s) == (2**24, 7.0)


IDENTITIES = '[[identity]]\nname = "{name}"\ntoken = "sha256:{digest}"\n'


async def test_another_file_of_identities_counts_at_once_and_none_needs_a_restart(
    make: Callable[[str], Running], tmp_path: Path
) -> None:
    for name in ("one", "two"):
        text = IDENTITIES.format(name=name, digest=token_digest(name).hex())
        (tmp_path / f"{name}.toml").write_text(text)
    one = make('identities = "one.toml"')
    async with running(settings_of(one.told), one.story) as broker:
        address = str(broker.address)
        async with connect(address, token="one", reconnect=False):
            one.change(broker, BASE + 'identities = "two.toml"')
            await soon(broker.connections.until(lambda: not broker.connections.clients))
        async with connect(address, token="two", reconnect=False) as client:
            await soon(client.publish(Publication("p", {"a": 1})))
        one.change(broker, BASE)
        (entry,) = one.said("option needs a restart")
        assert entry["option"] == "identities"
        assert entry["asked"] is None
        assert broker.settings.identities == tmp_path / "two.toml"


async def test_a_peer_whose_files_of_tls_are_gone_is_tried_again(
    make: Callable[[str], Running],
) -> None:
    one = make('tls_ca = "gone.pem"\npeer = "tls://127.0.0.1:1"')
    async with running(settings_of(one.told), one.story) as broker:
        (address,) = broker.settings.peers
        while not one.story.reasons("no link"):
            await asyncio.sleep(0)
        assert "--tls-ca" in one.story.reasons("no link")[0]
        assert broker.dialers.without_link() == [address]


async def test_debugging_begins_and_ends_while_a_broker_runs(
    make: Callable[[str], Running],
) -> None:
    one, stream = make(""), io.StringIO()
    log = make_log(one.level, stream)
    reloading = Reloading(one.told, one.read, settings_of, one.level, log)
    broker = Broker(settings_of(one.told), log)
    await broker.start()
    raw = await Raw.client(broker.address, "one")
    for number, level in enumerate(("info", "debug", "info"), 1):
        one.path.write_text(f'{BASE}log_level = "{level}"\n')
        reloading.reload(broker)
        raw.say(PublishRequest(number, body(f"p{number}")))
        await raw.next()
    await raw.close()
    await broker.stop()
    published = [line for line in stream.getvalue().splitlines() if "client publish" in line]
    assert len(published) == 1
    assert '"p2"' in published[0]


async def test_what_an_option_says_of_changes_is_what_reloading_does(
    make: Callable[[str], Running],
) -> None:
    one = make("")
    guards = {"identities", "tls_ca", "tls_cert", "tls_key"}  # of which this broker has none
    async with running(settings_of(one.told), one.story) as broker:
        fixed = {name for name in OPTIONS if one.reloading._is_fixed(name, one.told, broker)}
    of_table = {name for name, option in OPTIONS.items() if option.changes is Changes.RESTART}
    assert fixed == of_table | guards
