"""A broker with a journal: what it accepts is durable before it says so, and can be read again."""

from __future__ import annotations

import errno
import json
import os
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_examples
from hypothesis import strategies as st

from sapwood.broker.broker import Broker
from sapwood.broker.committing import GroupCommit
from sapwood.broker.keeping import Keeper
from sapwood.errors import EnvironmentMissingError
from sapwood.limits import REPLAY_BYTES_MAX, REPLAY_LINES_MAX
from sapwood.model.publication import Publication
from sapwood.routing.inputs import ClientPublish, ClientPublishMany
from sapwood.session.client_session_at_broker import ClientSessionAtBroker
from sapwood.session.ledger import PublisherLedger
from sapwood.store.durability import Durability
from sapwood.store.lines import read_lines
from sapwood.store.segments import segments
from sapwood.store.store import JOURNAL, Store
from sapwood.store.writer import Policy
from sapwood.wire.messages import (
    AcceptedReply,
    AdvertiseRequest,
    Delivery,
    PublicationRefused,
    PublishRequest,
    ReplayRefused,
    ReplayReply,
    ReplayRequest,
    SubscribedReply,
    SubscribeRequest,
)
from sapwood.wire.publications import decode_publication
from tests.broker.helpers import Raw, body, running, settings, soon
from tests.examples import examples
from tests.session.helpers import open_pair
from tests.store.journals import write_journal


def ids(reply: Any) -> list[str]:
    assert isinstance(reply, ReplayReply)
    return [json.loads(line)["id"] for line in reply.lines]


def journal_lines(folder: Path) -> list[Any]:
    """The journal's entries in a broker's folder, read without the broker."""
    found = [line.text for one in segments(folder / JOURNAL) for line in read_lines(one, 0)]
    return [json.loads(line) for line in found]


async def test_what_was_acknowledged_is_in_the_journal_after_a_restart(tmp_path: Path) -> None:
    for run in range(2):
        async with running(settings(data=tmp_path)) as broker:
            raw = await Raw.client(broker.address, session=f"s{run}")
            raw.say(*(PublishRequest(n, body(f"p{run}{n}", a=n)) for n in (1, 2, 3)))
            assert await raw.next() == AcceptedReply(3)
            lines = journal_lines(tmp_path)
            assert [line["offset"] for line in lines] == list(range(3 * (run + 1)))
            assert {line["home"] for line in lines} == {"r1"}
            raw.say(ReplayRequest(0, 100, "a > 1"))
            reply = await raw.next()
            expected = [f"p{past}{n}" for past in range(run + 1) for n in (2, 3)]
            assert ids(reply) == expected
            assert isinstance(reply, ReplayReply)
            assert (reply.through, reply.first, reply.end) == (len(lines), 0, len(lines))
            await raw.close()


async def test_an_id_that_was_accepted_is_accepted_again_and_goes_nowhere(tmp_path: Path) -> None:
    async with running(settings(data=tmp_path)) as broker:
        raw = await Raw.client(broker.address)
        raw.say(SubscribeRequest("s", "true"))
        assert await raw.next() == SubscribedReply("s")
        raw.say(*(PublishRequest(n, body(id_)) for n, id_ in enumerate(("p", "p", "q"), 1)))
        heard = await raw.until_accepted(3)
        assert heard == [Delivery(("s",), body("p")), Delivery(("s",), body("q"))]
        raw.say(ReplayRequest(0, 9))
        assert ids(await raw.next()) == ["p", "q"]
        await raw.close()


async def test_a_client_takes_no_id_from_another_and_one_of_its_own_once(tmp_path: Path) -> None:
    """Two clients use the same ids; then both come back to another life, with other sessions."""
    for session in ("s0", "s1"):
        async with running(settings(data=tmp_path)) as broker:
            subscriber = await Raw.client(broker.address, "sub")
            subscriber.say(SubscribeRequest("s", "true"))
            assert await subscriber.next() == SubscribedReply("s")
            for name in ("ann", "bob"):
                raw = await Raw.client(broker.address, name, session)
                raw.say(*(PublishRequest(n, body(f"p{n}", by=name)) for n in (1, 2, 3)))
                await raw.until_accepted(3)
                raw.say(PublishRequest(4, body("p4", by=name, at=session)))
                await raw.until_accepted(4)
                raw.say(PublishRequest(5, body(session, by=name)))  # sent last, so all is there
                await raw.until_accepted(5)
                await raw.close()
            new = ["p1", "p2", "p3", "p4", "s0"] if session == "s0" else ["s1"]
            heard = [await subscriber.next() for _ in range(2 * len(new))]
            found = [decode_publication(one.publication) for one in heard if type(one) is Delivery]
            assert [(one.id, (one.attributes or {})["by"]) for one in found] == [
                (id_, name) for name in ("ann", "bob") for id_ in new
            ]
            await subscriber.close()
    kept = [(line["attributes"]["by"], line["id"]) for line in journal_lines(tmp_path)]
    assert sorted(kept) == [
        (name, id_) for name in ("ann", "bob") for id_ in ("p1", "p2", "p3", "p4", "s0", "s1")
    ]


async def test_what_is_refused_is_not_kept(tmp_path: Path) -> None:
    async with running(settings(data=tmp_path, protocol="advertisement")) as broker:
        raw = await Raw.client(broker.address)
        raw.say(PublishRequest(1, body("p", a=1)))
        assert isinstance(await raw.next(), PublicationRefused)
        assert await raw.next() == AcceptedReply(1)
        raw.say(AdvertiseRequest("a", "a > 0"))
        await raw.next()
        raw.say(
            PublishRequest(2, body("p", a=2)),
            PublishRequest(3, body("q", a=float("inf"))),
        )
        heard = await raw.until(AcceptedReply)
        if heard == [AcceptedReply(2)]:  # they were read one by one
            heard = await raw.until(AcceptedReply)
        refused, accepted = heard
        assert refused.sequence == 3
        assert "cannot be written as JSON" in refused.reason
        assert accepted == AcceptedReply(3)
        raw.say(ReplayRequest(0, 9))
        assert ids(await raw.next()) == ["p"]
        await raw.close()


async def test_a_broker_without_a_journal_says_so() -> None:
    async with running() as broker:
        raw = await Raw.client(broker.address)
        raw.say(ReplayRequest(0, 9))
        assert await raw.next() == ReplayRefused(
            "this broker keeps no journal; start it with --data"
        )
        await raw.close()


async def test_two_brokers_cannot_have_one_folder(tmp_path: Path) -> None:
    async with running(settings(data=tmp_path)):
        second = Broker(settings("r2", data=tmp_path))
        with pytest.raises(EnvironmentMissingError, match="another broker"):
            await second.start()
        await second.stop()


async def test_nobody_hears_of_what_could_not_be_made_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    async with running(settings(data=tmp_path)) as broker:
        subscriber = await Raw.client(broker.address, "sub")
        subscriber.say(SubscribeRequest("s", "true"))
        assert await subscriber.next() == SubscribedReply("s")
        publisher = await Raw.client(broker.address, "pub")
        with monkeypatch.context() as patched:
            patched.setattr(os, "fdatasync", fails)
            publisher.say(PublishRequest(1, body("p")))
            with pytest.raises(EnvironmentMissingError, match="made durable"):
                await soon(broker.run_until_failure())
        for raw in (publisher, subscriber):
            with pytest.raises((ConnectionError, AssertionError)):
                await raw.next()
            await raw.close()


async def test_answers_are_bounded_and_go_on_where_they_ended(tmp_path: Path) -> None:
    total = REPLAY_LINES_MAX + 50
    write_journal(
        tmp_path / JOURNAL,
        [
            Publication(f"p{n}", {"text": "x" * (REPLAY_BYTES_MAX // 10) if 10 <= n < 40 else ""})
            for n in range(total)
        ],
    )
    async with running(settings(data=tmp_path)) as broker:
        assert broker.store is not None
        keeper = broker.store.keeper
        found: list[str] = []
        through, answers = 0, 0
        while through < total:
            reply = keeper.replay(ReplayRequest(through, total))
            found += ids(reply)
            assert isinstance(reply, ReplayReply)
            assert through < reply.through <= through + REPLAY_LINES_MAX
            through, answers = reply.through, answers + 1
        assert found == [f"p{number}" for number in range(total)]
        assert answers >= 4
        nothing = keeper.replay(ReplayRequest(total + 5, total + 9))
        assert nothing == ReplayReply(total, 0, total, ())
        for start, filter_ in ((0, "x >"), (0, "x" * 70_000)):
            assert isinstance(keeper.replay(ReplayRequest(start, 9, filter_)), ReplayRefused)


async def test_a_client_does_not_take_an_answer_that_it_has_not_asked_for() -> None:
    from sapwood.session.client_session import ClientSession
    from tests.session.helpers import SETTINGS, accepting, framed, hello, welcome

    session = ClientSession("c1", "s1", SETTINGS)
    session.connected(0.0)
    broker = accepting()
    assert session.connection is not None
    list(broker.receive(session.connection.take_outgoing(), 0.0))
    broker.welcome(welcome(), hello().role)
    list(session.receive(broker.take_outgoing(), 0.0))
    list(session.receive(framed(ReplayReply(0, 0, 0, ())), 0.0))
    assert session.ending is not None
    assert "nobody has asked" in session.ending.reason


LONG = 2_000
"""Publications that are longer are refused by the keepers of these tests."""


class Life:
    """One life of a keeper over a folder, for one client that comes back to it."""

    def __init__(self, folder: Path, acknowledged: int, random_: random.Random) -> None:
        self._random = random_
        self._commits = SimpleNamespace(is_full=False)
        policy = Policy(Durability.parse("none"))
        self.store = Store(folder, "r", clock=lambda: 0.0, persists=True, policy=policy)
        commits = cast("GroupCommit", self._commits)
        self._keeper = Keeper(self.store, commits, persists=True, line_bytes_max=LONG)
        self.received = max(acknowledged, self.store.publishers.received("c", "s", acknowledged))
        ledger = PublisherLedger("s", self.received)
        self._client = ClientSessionAtBroker("c", open_pair()[1], ledger, acknowledged=acknowledged)
        self.routed: set[int] = set()

    def publish(self, first: int, last: int) -> None:
        """The client publishes; some are refused: too long, on a full disk, or by routing."""
        texts = {n: "x" * (LONG if n % 5 == 3 else 1) for n in range(first, last + 1)}
        publications = [Publication(f"p{n}", {"a": text}) for n, text in texts.items()]
        self._commits.is_full = self._random.random() < 0.2
        if last > first:
            self._client.ledger.pass_on_many(first, publications)
            request = ClientPublishMany("c", publications)
            for part in self._keeper.admit_many(self._client, request):
                self._route(part, part.publications)
                self._client.ledger.settle_many(len(part.publications))
        else:
            self._publish(first, publications[0])
        assert self._client.ledger.through == last

    def _publish(self, number: int, publication: Publication) -> None:
        request = ClientPublish("c", publication)
        self._client.ledger.pass_on(number, publication.id)
        if not self._keeper.admit(self._client, request):
            return
        if self._random.random() < 0.3:
            self._keeper.refused(request)
            self._client.refused(request, "it is not advertised")
        else:
            self._route(request, (publication,))
            self._client.ledger.settle(publication.id)

    def _route(
        self, request: ClientPublish | ClientPublishMany, publications: Sequence[Publication]
    ) -> None:
        self._keeper.persist(request)
        self.routed |= {int(one.id[1:]) for one in publications}

    def commit(self) -> None:
        """All that was routed is there after a crash."""
        gathered = self.store.take()
        self.store.writer.commit(gathered)
        self.store.committed(gathered)


@settings_of_examples(max_examples=examples(60))
@given(st.randoms(use_true_random=False))
def test_what_a_later_life_answers_for_was_routed_or_refused_to_the_client(
    random_: random.Random,
) -> None:
    """Publications are refused here and there, crashes cut off what was not committed.

    The client has heard a part of the answers. A number that is not sent again is one that it has
    heard the answer to, or one whose publication was routed, in a commit that is there.
    """
    kept: set[int] = set()
    answered = 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(random_.randint(2, 5)):
            life = Life(Path(folder), answered, random_)
            assert set(range(answered + 1, life.received + 1)) <= kept
            last = done = life.received
            for _ in range(random_.randint(0, 5)):
                first, last = last + 1, last + random_.randint(1, 4)
                life.publish(first, last)
                if random_.random() < 0.6:
                    life.commit()
                    kept |= life.routed
                    done = last
            answered = random_.randint(answered, done)
            life.store.close()
