"""Times to live: nobody gets what may have outlived its own."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker.expiry import Expiry, has_outlived
from sapwood.client import connect
from sapwood.errors import InputError
from sapwood.local_clock import local_clock
from sapwood.matching.readiness import RECORDS
from sapwood.model.envelope import Envelope
from sapwood.model.publication import Publication
from sapwood.session.durable.clock import SteadyClock
from sapwood.session.settings import ConnectionSettings
from sapwood.timing.drift import Drift
from sapwood.timing.local import LocalClock
from sapwood.wire.messages import PublishRequest
from sapwood.wire.publications import encode_publication
from sapwood.wire.runs import FRAMES, RequestRun, RunFinder
from sapwood_lab.timing.proxies import StreamProxy
from tests.broker.helpers import Story, running, settings, soon
from tests.broker.memory import frames

HOUR_NS = 3600 * 10**9


class Shifted:
    """The clock of this process, which a test sets forward: as if so much time had passed."""

    def __init__(self) -> None:
        self.local = local_clock()
        self.by_ns = 0

    def settings(self) -> ConnectionSettings:
        """The settings of a connection that goes by this clock."""
        clock = replace(self.local, read=lambda: self.local.read() + self.by_ns)
        return ConnectionSettings(clock=clock)


def limited(ttl_ms: int | None, born: int | None = None) -> Publication:
    publication = Publication("p", {"a": 1}).in_envelope(Envelope(ttl_ms))
    publication.keep_born(born)
    return publication


def test_a_publication_is_over_when_it_may_be_older_than_its_time() -> None:
    expiry = Expiry(LocalClock(lambda: 5_000_000, Drift(0, 0)), lambda: 100.0)
    assert not expiry.is_over(limited(2, born=3_000_000))
    assert expiry.is_over(limited(2, born=2_999_999))
    assert not expiry.is_over(limited(None, born=0))
    assert not expiry.is_over(Publication("p", {"a": 1}))
    assert expiry.age_s(limited(2, born=3_000_000)) == 0.002


def test_of_what_a_store_had_the_time_there_counts_and_is_told() -> None:
    expiry = Expiry(LocalClock(lambda: 5_000_000_000, Drift(0, 0)), lambda: 100.0)
    young, old, unknown = limited(3000), limited(3000), limited(3000)
    young.keep_written_at(97.0)
    old.keep_written_at(96.0)
    assert [expiry.is_over(one) for one in (young, old, unknown)] == [False, True, False]
    assert (young.born, old.born) == (None, 1_000_000_000)
    assert [expiry.age_s(one) for one in (young, old, unknown)] == [3.0, 4.0, 0.0]
    assert not Expiry(None).is_over(unknown)


def test_bytes_tell_whether_their_time_is_over() -> None:
    encoded = encode_publication(limited(1500))
    assert [has_outlived(encoded, age) for age in (0.0, 1.5, 1.6)] == [False, False, True]
    assert not has_outlived(encode_publication(limited(None)), 1e9)
    assert not has_outlived(encode_publication(Publication("p", {"a": 1})), 1e9)


@given(
    st.lists(st.sampled_from((None, 1, 2, 3, 10**12)), min_size=1, max_size=8),
    st.none() | st.integers(0, 4_000_000),
    st.booleans(),
)
def test_of_a_batch_the_same_are_over_as_one_by_one(
    times: list[int | None], born: int | None, has_clock: bool
) -> None:
    FRAMES.load()
    RECORDS.load()
    clock = LocalClock(lambda: 4_000_000, Drift(0, 0)) if has_clock else None
    expiry = Expiry(clock)
    envelopes = [None if one is None else Envelope(one) for one in times]
    some = [Publication("p", {"a": 1}, envelope=one) for one in envelopes]
    said = [PublishRequest(number, encode_publication(one)) for number, one in enumerate(some, 1)]
    [run], _ = RunFinder().find(frames(*said), 0, 1 << 20, is_link=False)
    assert isinstance(run, RequestRun)
    batch = run.batch
    batch.born = born
    for one in some:
        one.keep_born(born)
    over, expected = expiry.are_over(batch), [expiry.is_over(one) for one in some]
    assert (over is None) == (not any(expected))
    assert over is None or over.tolist() == expected
    ages = [0.0 if one.envelope is None else expiry.age_s(one) for one in some]
    assert list(expiry.ages_s(batch)) == list(expiry.ages_s(some)) == ages
    part = batch[1:]
    left = expiry.are_over(part)
    assert ([False] * len(part) if left is None else left.tolist()) == expected[1:]


@pytest.mark.network
async def test_what_a_link_held_up_for_too_long_is_not_delivered_and_counted() -> None:
    async with (
        running(settings("a")) as a,
        StreamProxy(a.address, lambda: 0.03) as proxy,
        running(settings("b", proxy.address)) as b,
    ):
        await soon(a.until_linked("b"))
        await soon(b.until_linked("a"))
        async with connect(str(b.address)) as publisher, connect(str(a.address)) as subscriber:
            wanted = await subscriber.subscribe("true")
            await publisher.publish({"n": 0}, ttl=0.02)
            await publisher.publish_many([{"n": 1}, b"<a/>"], ttl=0.02)
            await publisher.publish({"n": 2}, ttl=600)
            await publisher.publish({"n": 3})
            found = [await soon(anext(wanted)) for _ in range(2)]
            assert [one.attributes["n"] for one in found] == [2, 3]
            assert [one.ttl for one in found] == [600.0, None]
            over = a.counters.expired + b.counters.expired  # if b is slow it is over there already
            assert over == 2, "the document was not asked for"
            assert a.counters.deliveries == 2


async def test_what_is_over_before_it_leaves_is_not_passed_on() -> None:
    clock = Shifted()
    async with (
        running(settings("a", connection=clock.settings())) as a,
        running(settings("b", a.address)) as b,
    ):
        await soon(a.until_linked("b"))
        await soon(b.until_linked("a"))
        async with connect(str(a.address)) as publisher, connect(str(b.address)) as subscriber:
            wanted = await subscriber.subscribe("true")
            await publisher.publish({"n": 0}, ttl=3600)
            assert (await soon(anext(wanted))).attributes == {"n": 0}
            clock.by_ns = 2 * HOUR_NS  # what arrives seems to have been under way for as long
            await publisher.publish({"n": 1}, ttl=3600)
            await publisher.publish({"n": 2})
            assert (await soon(anext(wanted))).attributes == {"n": 2}
            assert (a.counters.expired, b.counters.expired) == (1, 0)


async def test_what_waits_for_too_long_in_the_clients_queue_is_left_out() -> None:
    clock = Shifted()
    async with (
        running() as broker,
        connect(str(broker.address)) as publisher,
        connect(str(broker.address), settings=clock.settings()) as subscriber,
    ):
        wanted = await subscriber.subscribe("exists n")
        others = await subscriber.subscribe("exists n")
        await publisher.publish({"n": 0}, ttl=60)
        await publisher.publish({"n": 1}, ttl=3 * 3600)
        await publisher.publish({"n": 2})
        while len(others) < 3:
            await soon(publisher.publish({"other": 1}))
        clock.by_ns = 2 * HOUR_NS
        assert (await soon(anext(wanted))).attributes["n"] == 1
        assert [one.attributes["n"] for one in await soon(others.take(9))] == [1, 2]
        assert (wanted.late, others.late) == (1, 1)


async def test_what_waits_for_too_long_in_a_mailbox_is_let_go(tmp_path: Path) -> None:
    story, keeping = Story(), settings(data=tmp_path, protocol="recover+covering")
    async with running(keeping, story) as broker, connect(str(broker.address)) as client:
        first = await client.subscribe("exists n", durable="d")
        await client.unsubscribe(first)
        await client.publish({"n": 0}, ttl=60)
        await client.publish({"n": 1}, ttl=3 * 3600)
        await client.publish({"n": 2})
        assert broker.store is not None
        shifted = SteadyClock(time.time() + 2 * 3600, broker._loop.time())
        broker.store.durables._clock = shifted
        again = await client.subscribe(durable="d")
        assert [(await soon(anext(again))).attributes["n"] for _ in range(2)] == [1, 2]
        assert broker.counters.expired == 1
        assert broker.counters.durable_dropped == 1
        dropped = [one for one in story.entries if one.get("publications")]
        assert dropped[0]["reason"] == "its time to live was over"
        late = await client.subscribe("exists n", since="all")
        assert [(await soon(anext(late))).attributes["n"] for _ in range(2)] == [1, 2]
        assert broker.counters.expired == 2


@pytest.mark.parametrize(("protocol", "expired"), [("covering", 78), ("recover+covering", 39)])
async def test_runs_of_what_has_little_time_go_neither_to_mailboxes_nor_over_links(
    protocol: str, expired: int, tmp_path: Path
) -> None:
    FRAMES.load()
    RECORDS.load()
    clock = Shifted()
    kept = settings("a", data=tmp_path / "a", protocol=protocol, connection=clock.settings())
    async with (
        running(kept) as a,
        running(settings("b", a.address, data=tmp_path / "b", protocol=protocol)) as b,
    ):
        await soon(a.until_linked("b"))
        await soon(b.until_linked("a"))
        async with connect(str(a.address)) as publisher, connect(str(b.address)) as subscriber:
            near = await publisher.subscribe("n >= 0", durable="d")
            far = await subscriber.subscribe("n >= 0")
            await publisher.publish({"n": 0})
            assert (await soon(anext(far))).attributes == {"n": 0}
            clock.by_ns = 2 * HOUR_NS  # what arrives seems to have been under way for as long
            await publisher.publish_many([{"n": n} for n in range(1, 40)], ttl=3600)
            await publisher.publish_many([{"n": n} for n in range(40, 80)], ttl=86400)
            found = [(await soon(anext(near))).attributes["n"] for _ in range(41)]
            assert found == [0, *range(40, 80)]
            # Where both ends of a link count what goes over it, all of it has to arrive.
            arrives = range(40 if protocol == "covering" else 1, 80)
            found = [(await soon(anext(far))).attributes["n"] for _ in arrives]
            assert found == [*arrives]
            assert a.counters.expired == expired


@pytest.mark.parametrize("ttl", [0, -3, 1e12])
async def test_what_is_no_time_to_live_is_not_published(ttl: float) -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        with pytest.raises(InputError, match="time to live"):
            await client.publish({"a": 1}, ttl=ttl)
        assert client.published == 0
