"""Metrics and health of a broker, as programs read them."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

import sapwood
from sapwood.broker.broker import Broker
from sapwood.broker.counters import Counters
from sapwood.broker.http.metrics import EVENTS
from sapwood.errors import EnvironmentMissingError, InputError
from sapwood.session.settings import TlsFiles
from sapwood.wire.address import Address
from tests.broker.access.conftest import Authority, authority
from tests.broker.access.test_authentication import HASH
from tests.broker.access.test_doorkeeper import ANN, FEED, identities
from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import ANY_PORT, Story, running, settings, soon
from tests.patience import PATIENCE_S

__all__ = ("authority", "nothing_is_left")

URL = "metrics at "


def url(story: Story) -> str:
    """The address of the metrics, as the broker has announced it."""
    return next(line for line in story.lines if line.startswith(URL)).removeprefix(URL)


async def fetched(
    where: str, headers: Mapping[str, str] = {}, context: ssl.SSLContext | None = None
) -> tuple[int, str, dict[str, str]]:
    """Status, body and headers of an answer."""

    def fetch() -> tuple[int, str, dict[str, str]]:
        request = urllib.request.Request(where, headers=dict(headers))
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S, context=context) as answer:
                return answer.status, answer.read().decode(), dict(answer.headers)
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), dict(error.headers)

    return await asyncio.to_thread(fetch)


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """The samples of an exposition by name and labels, as a reader of its own finds them."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_metrics_say_what_has_happened() -> None:
    story = Story()
    async with (
        running(settings("hub", http=ANY_PORT), story) as broker,
        running(settings("rim", broker.address)) as rim,
        sapwood.connect(str(broker.address)) as client,
    ):
        await soon(broker.until_linked("rim"))
        await soon(rim.until_linked("hub"))
        subscription = await client.subscribe("a > 1")
        for number in range(3):
            await client.publish({"a": number + 1})
        for _ in range(2):
            await soon(anext(subscription))
        await client.flush()
        status, text, headers = await fetched(url(story))
        assert status == 200
        assert headers["content-type"].startswith("text/plain")
        found = samples(text)
        assert found["sapwood_publications_total", ()] == 3
        assert found["sapwood_deliveries_total", ()] == 2
        assert found["sapwood_clients", ()] == 1
        assert found["sapwood_link_up", (("link", "rim"),)] == 1
        assert found["sapwood_link_delay_seconds", (("bound", "upper"), ("link", "rim"))] > 0
        assert found["sapwood_table_entries", (("table", "local"),)] == 1
        info = next(labels for name, labels in found if name == "sapwood_info")
        assert ("broker", "hub") in info
        assert ("protocol", "covering") in info
        assert ("process_cpu_seconds_total", ()) in found


def test_every_counter_of_a_broker_is_explained() -> None:
    assert set(EVENTS) == set(Counters.__slots__)


async def test_a_broker_says_that_it_is_well_and_when_it_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story()
    async with running(settings("hub", http=ANY_PORT), story) as broker:
        base = url(story).removesuffix("/metrics")
        for page in ("healthz", "readyz"):
            status, text, _ = await fetched(f"{base}/{page}")
            assert (status, json.loads(text)) == (200, {"status": "ok"})
        assert (await fetched(f"{base}/else"))[0] == 404
        broker.congestion.blocked = True
        status, text, _ = await fetched(f"{base}/readyz")
        assert (status, json.loads(text)["reason"]) == (503, "the disk does not keep up")
        assert (await fetched(f"{base}/healthz"))[0] == 200
        monkeypatch.setattr(Broker, "failure", "a defect")
        status, text, _ = await fetched(f"{base}/healthz")
        assert (status, json.loads(text)["reason"]) == (503, "a defect")
        monkeypatch.undo()


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("", 401),
        ("Bearer a token", 200),
        ("Bearer another", 401),
        ("Bearer", 401),
        ("Basic " + base64.b64encode(b"ann:secret").decode(), 200),
        ("Basic " + base64.b64encode(b"ann:wrong").decode(), 401),
        ("Basic " + base64.b64encode(b":a token").decode(), 401),
        ("Basic \xff", 401),
        ("Digest a token", 401),
        ("Bearer " + "x" * 5_000, 401),
    ],
    ids=lambda one: one[:12] if isinstance(one, str) else None,
)
async def test_metrics_are_for_identities_where_there_are_any(
    tmp_path: Path, header: str, status: int
) -> None:
    assert HASH
    story = Story()
    given = settings("hub", http=ANY_PORT, identities=identities(tmp_path, ANN, FEED))
    async with running(given, story):
        shown = {"Authorization": header} if header else {}
        found, text, headers = await fetched(url(story), shown)
        assert found == status
        assert ("sapwood_clients" in text) == (status == 200)
        if status == 401:
            assert headers["www-authenticate"].startswith("Basic")
        base = url(story).removesuffix("/metrics")
        assert (await fetched(f"{base}/healthz"))[0] == 200


async def test_metrics_are_served_by_tls_where_the_broker_speaks_it(authority: Authority) -> None:
    story = Story()
    files = replace(authority.files("127.0.0.1"), ca=None)
    given = settings("hub", http=ANY_PORT)
    given = replace(given, connection=replace(given.connection, tls=files))
    async with running(given, story):
        assert url(story).startswith("https://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=authority.ca)
        assert (await fetched(url(story), context=trusting))[0] == 200


async def test_an_address_that_is_taken_is_named() -> None:
    async with running() as broker:
        second = Broker(settings("r2", http=replace(broker.address)), Story().log)
        with pytest.raises(EnvironmentMissingError, match="--http"):
            await second.start()
        await second.stop()


def test_metrics_are_guarded_as_the_broker_is() -> None:
    with pytest.raises(InputError, match="--allow-anyone"):
        settings(http=Address("0.0.0.0", 9411))
    settings(http=Address("0.0.0.0", 9411), allow_anyone=True)
    assert TlsFiles() == settings().connection.tls
