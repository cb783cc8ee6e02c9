"""Backlogs of neighbors: their order, the entries left out, and those that do not wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from sapwood.language import parse_filter
from sapwood.routing.effects import Effect, Send, Subscribed
from sapwood.routing.inputs import (
    AttachClient,
    ClientSubscribe,
    ClientSubscribeMany,
    ClientUnsubscribe,
    Drained,
    LinkDown,
    LinkUp,
    Receive,
)
from sapwood.routing.messages import (
    Advertise,
    Confirm,
    ConfirmAdvertisement,
    ConfirmUpdate,
    Subscribe,
    Unadvertise,
    Update,
)
from sapwood.routing.propagation import backlog as backlog_module
from sapwood.routing.propagation.backlog import Backlog
from sapwood.routing.propagation.xroute.triples import Triple
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.router import Router


def extent(key: str) -> int:
    """A rank: the number behind the letter."""
    return int(key[1:])


def same(keys: Sequence[str]) -> Sequence[str]:
    return keys


keys = st.lists(st.integers(0, 99), unique=True, max_size=40).map(
    lambda numbers: [f"k{number}" for number in numbers]
)


@given(
    keys=keys,
    dropped=st.sets(st.integers(0, 99)),
    at_once=st.integers(1, 4),
    joined=st.sampled_from((0, 8, 100)),
)
def test_a_backlog_gives_each_pending_key_once_and_the_lowest_rank_first(
    keys: list[str], dropped: set[int], at_once: int, joined: int
) -> None:
    with patch.object(backlog_module, "_RUN_MAX", joined):
        check_order(keys, dropped, at_once)


def check_order(keys: list[str], dropped: set[int], at_once: int) -> None:
    # What is taken in is looked up by its key, and ranked by what was found.
    backlog: Backlog[str] = Backlog(keys, extent)  # type: ignore[type-var]  # a text will do
    taken: list[str] = []
    calls = 0
    while backlog.pending:
        some = backlog.take(at_once, same)
        assert len(some) <= at_once
        taken += [key for key, _ in some]
        if calls == 0:
            assert some == [], "the first call sorts"
            for number in dropped:
                backlog.drop(f"k{number}")
        calls += 1
        assert calls < 200
    assert taken == sorted((key for key in keys if extent(key) not in dropped), key=extent)


@given(keys=keys, at_once=st.integers(1, 4))
def test_a_backlog_without_ranks_keeps_the_order(keys: list[str], at_once: int) -> None:
    backlog: Backlog[str] = Backlog(keys, None)  # type: ignore[type-var]  # a text will do
    taken: list[str] = []
    while backlog.pending:
        taken += [key for key, _ in backlog.take(at_once, same)]
    assert taken == keys


def behind(protocol: str = "simple", subscriptions: int = 4) -> Router:
    """A router that has begun to tell neighbor r2 of its subscriptions, one at a time."""
    router = Router("r1", replace(protocol_named(protocol), at_once=1))
    router.handle(AttachClient("c"), 0.0)
    wanted = tuple((f"s{n}", parse_filter(f"x = {n}")) for n in range(subscriptions))
    router.handle(ClientSubscribeMany("c", wanted), 0.0)
    assert not router.behind()
    router.handle(LinkUp("r2"), 0.0)
    assert list(router.behind()) == ["r2"]
    return router


def told(router: Router) -> list[str]:
    """All that is still told when the link takes everything."""
    found: list[str] = []
    while router.behind():
        for effect in router.handle(Drained("r2"), 0.0):
            assert isinstance(effect, Send)
            assert isinstance(effect.message, Subscribe)
            found.append(effect.message.key)
        router.validate()
    return found


def test_a_neighbor_is_told_of_the_rest_as_its_link_drains() -> None:
    router = behind()
    assert told(router) == ["r1.0.2", "r1.0.3", "r1.0.4"]
    assert router.handle(Drained("r2"), 0.0) == []
    assert [one.key for one in router.sent()] == [f"r1.0.{n}" for n in range(1, 5)]


def test_what_is_withdrawn_before_it_was_told_is_not_told() -> None:
    router = behind()
    for id_ in ("s1", "s3"):
        effects = router.handle(ClientUnsubscribe("c", id_), 0.0)
        assert not any(isinstance(effect, Send) for effect in effects)
    assert told(router) == ["r1.0.3"]


def test_a_neighbor_is_behind_no_more_when_the_rest_is_withdrawn() -> None:
    router = behind(subscriptions=2)
    router.handle(ClientUnsubscribe("c", "s1"), 0.0)
    assert not router.behind()
    router.validate()


def test_what_comes_meanwhile_is_told_at_once_and_waits_for_the_neighbor() -> None:
    router = behind("covering")
    [sent] = router.handle(ClientSubscribe("c", "new", parse_filter("x > 7")), 0.0)
    assert isinstance(sent, Send)
    assert isinstance(sent.message, Subscribe)
    # An equal one is not in force before the neighbor has confirmed the first.
    assert router.handle(ClientSubscribe("c", "same", parse_filter("x > 7")), 0.0) == []
    router.validate()
    confirmed = Confirm(sent.message.key, sent.message.sending)
    effects = router.handle(Receive("r2", confirmed), 0.0)
    assert len(effects) == 1
    assert router.behind()
    assert router.handle(ClientSubscribe("c", "again", parse_filter("x > 7")), 0.0) == [
        Subscribed("c", "again")
    ]


def test_a_link_that_goes_takes_its_backlog_with_it() -> None:
    router = behind()
    router.handle(LinkDown("r2"), 0.0)
    assert not router.behind()
    assert router.handle(Drained("r2"), 0.0) == []
    router.handle(LinkUp("r2"), 0.0)
    assert told(router) == ["r1.0.2", "r1.0.3", "r1.0.4"]


def test_the_most_general_are_told_first_and_what_they_cover_is_not() -> None:
    router = Router("r1", replace(protocol_named("covering"), at_once=2))
    router.handle(AttachClient("c"), 0.0)
    wanted = tuple((f"s{n}", parse_filter(f"x > {9 - n}")) for n in range(9))
    router.handle(ClientSubscribeMany("c", wanted), 0.0)
    router.handle(LinkUp("r2"), 0.0)
    assert told(router) == ["r1.0.9"], "x > 1"


def test_counts_are_told_bit_by_bit_and_what_somebody_waits_for_first() -> None:
    router = behind("xroute")
    router.handle(AttachClient("d"), 0.0)
    told = router.handle(ClientSubscribe("d", "again", parse_filter("x = 3")), 0.0)
    [sent] = told
    assert isinstance(sent, Send)
    assert isinstance(sent.message, Update)
    before, added = sent.message.operations
    assert before == (Triple(parse_filter("x = 3"), 1, 0),)
    assert added == before, "it counts once more"
    router.validate()
    said = router.handle(Receive("r2", ConfirmUpdate(sent.message.sending)), 0.0)
    assert said == [Subscribed("d", "again")]
    calls = 0
    while router.behind():
        more = router.handle(Drained("r2"), 0.0)
        assert len(more) <= 1
        calls += 1
    assert calls == 2, "one was told when the link came up, and one because it was waited for"
    assert sorted(str(one.filter) for one in router.sent()) == [f"x = {n}" for n in range(4)]
    router.validate()


def test_an_advertisement_is_confirmed_behind_all_that_it_makes_wanted() -> None:
    router = Router("r1", replace(protocol_named("advertisement"), at_once=2))
    router.handle(AttachClient("c"), 0.0)
    wanted = tuple((f"s{n}", parse_filter(f"x = {n}")) for n in range(6))
    router.handle(ClientSubscribeMany("c", wanted), 0.0)
    router.handle(LinkUp("r2"), 0.0)
    while router.behind():
        assert router.handle(Drained("r2"), 0.0) == [], "nothing was advertised"
    said = router.handle(Receive("r2", Advertise("r2.0.1", parse_filter("x < 5"), 7)), 0.0)
    while router.behind():
        assert not any(isinstance(one.message, ConfirmAdvertisement) for one in sends(said))
        said += router.handle(Drained("r2"), 0.0)
        router.validate()
    *told, confirmed = sends(said)
    assert confirmed.message == ConfirmAdvertisement("r2.0.1", 7)
    assert len(told) == 3, "of six that waited two at a time, one of which nobody wants"
    assert sorted(str(one.filter) for one in router.sent()) == [f"x = {n}" for n in range(5)]
    gone = router.handle(Receive("r2", Unadvertise("r2.0.1")), 0.0)
    assert len(list(router.sent())) == 3
    assert list(router.behind()) == ["r2"]
    while router.behind():
        gone += router.handle(Drained("r2"), 0.0)
        router.validate()
    assert list(router.sent()) == []
    assert len(sends(gone)) == 3


def sends(effects: Sequence[Effect]) -> list[Send]:
    return [one for one in effects if isinstance(one, Send)]
