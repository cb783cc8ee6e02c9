"""Single requests in runs: nothing is lost, and what belongs together stays in order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.limits import SUBSCRIPTIONS_AT_ONCE_MAX
from sapwood.session import changes_together
from sapwood.session.changes_together import ChangeRequest, ChangeRun, WithdrawMany, with_runs
from sapwood.session.client_session_at_broker import ClientSessionAtBroker, ReadMany
from sapwood.session.connection import Connection
from sapwood.session.ledger import PublisherLedger
from sapwood.session.quotas import Account, Quota, Usage
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.interests import XPathText
from sapwood.wire.messages import AllStated, Message, Ping, SubscribeRequest, UnsubscribeRequest

IDS = st.sampled_from(("a", "b", "c", "d"))
FILTERS = st.sampled_from(("x = 1", "x > 2 and y < 3", "not (x = 1 or y = 2)", "x >"))
REQUESTS = st.one_of(
    st.builds(SubscribeRequest, IDS, FILTERS),
    st.builds(SubscribeRequest, IDS, st.just(XPathText("/a"))),
    st.builds(UnsubscribeRequest, IDS),
)


def session(account: Account | None = None) -> ClientSessionAtBroker:
    connection = Connection(None, ConnectionSettings(), 0.0, "r1")
    return ClientSessionAtBroker(
        "c", connection, PublisherLedger("s"), acknowledged=0, account=account
    )


@given(messages=st.lists(st.one_of(REQUESTS, st.just(Ping()), st.just(AllStated())), max_size=30))
def test_runs_are_what_came_in_order_and_as_long_as_can_be(messages: list[Message]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changes_together, "SUBSCRIPTIONS_AT_ONCE_MAX", 5)
        found = list(with_runs(messages))
    assert [*_apart(found)] == messages
    for one in found:
        assert not isinstance(one, ChangeRun) or 2 <= len(one.requests) <= 5
    for former, latter in pairwise(found):
        full = isinstance(former, ChangeRun) and len(former.requests) == 5
        assert full or not (_is_change(former) and _is_change(latter))


def _apart(found: list[Message | ChangeRun]) -> Iterator[Message]:
    for one in found:
        if isinstance(one, ChangeRun):
            yield from one.requests
        else:
            yield one


def _is_change(one: Message | ChangeRun) -> bool:
    return isinstance(one, ChangeRequest | ChangeRun)


def test_a_run_is_short_enough_to_be_handled_at_once() -> None:
    requests = [UnsubscribeRequest(f"s{number}") for number in range(SUBSCRIPTIONS_AT_ONCE_MAX + 1)]
    assert [len(_requests(one)) for one in with_runs(requests)] == [SUBSCRIPTIONS_AT_ONCE_MAX, 1]


def _requests(one: ChangeRequest | ChangeRun) -> tuple[ChangeRequest, ...]:
    return one.requests if isinstance(one, ChangeRun) else (one,)


@pytest.mark.parametrize("has_quota", [False, True])
@given(requests=st.lists(REQUESTS, min_size=2, max_size=20))
def test_the_steps_of_a_run_keep_the_order_that_anybody_can_tell(
    has_quota: bool, requests: list[ChangeRequest]
) -> None:
    account = Account(Usage(Quota(subscriptions=10))) if has_quota else None
    steps: list[ChangeRequest] = []
    for step in session(account).together(ChangeRun(tuple(requests))):
        if isinstance(step, ReadMany):
            assert not step.is_bulk
            asked = [one.request for one in step.judged]
            assert all(one.is_known for one in step.judged)
            read = [one for one in asked if isinstance(one, SubscribeRequest)]
            assert len(read) == len(asked) == len({one.id for one in read})
            steps += read
        elif isinstance(step, WithdrawMany):
            assert len({*step.ids}) == len(step.ids) > 1
            steps += [UnsubscribeRequest(id_) for id_ in step.ids]
        else:
            assert isinstance(step, ChangeRequest)
            steps.append(step)
    for id_ in "abcd":
        assert [one for one in steps if one.id == id_] == [one for one in requests if one.id == id_]
    for kind in (SubscribeRequest, UnsubscribeRequest):
        some, given_ = ([one for one in of if isinstance(one, kind)] for of in (steps, requests))
        assert some == given_
    if has_quota:
        assert steps == requests


def test_subscriptions_of_a_run_come_before_its_withdrawals() -> None:
    run = ChangeRun(
        (
            SubscribeRequest("a", "x = 1"),
            UnsubscribeRequest("k"),
            SubscribeRequest("b", "x = 2"),
            UnsubscribeRequest("a"),
        )
    )
    read, gone, last = session().together(run)
    assert isinstance(read, ReadMany)
    assert [one.request for one in read.judged] == [run.requests[0], run.requests[2]]
    assert gone == UnsubscribeRequest("k")
    assert last == UnsubscribeRequest("a")
