"""Single requests that come together: everybody gets what one at a time leads to.

Two overlays get the same pieces of the same streams. One handles the requests of a piece together,
the other one by one. Deliveries are the same, in the same order. Confirmations and refusals are
the same for each id, in order; which of two ids is answered first is left open.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from sapwood.broker.spacing import ChangeSpacing
from sapwood.matching.readiness import RECORDS
from sapwood.model.publication import Publication
from sapwood.session import connection
from sapwood.wire.codec import Decoder
from sapwood.wire.greetings import Hello, Role, Welcome
from sapwood.wire.interests import XPathText
from sapwood.wire.messages import (
    Delivery,
    Message,
    PublishRequest,
    SubscribedManyReply,
    SubscribedReply,
    SubscribeRequest,
    SubscriptionRefused,
    UnsubscribedManyReply,
    UnsubscribedReply,
    UnsubscribeRequest,
)
from sapwood.wire.publications import encode_publication
from sapwood.wire.runs import FRAMES, RunFinder
from tests.broker.helpers import Story
from tests.broker.memory import frames, overlay
from tests.examples import examples

NAMES = ("r1", "r2")
CLIENTS = {"a": "r1", "b": "r2", "c": "r1"}
FILTERS = ("n >= 0", "n < 3", "n = 1 or n = 4", "n = 1", "n = 2 and s = 'x'", "n >", "n < n")
IDS = st.sampled_from([f"s{number}" for number in range(6)])


@pytest.fixture(autouse=True)
def _at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are at hand, and no change waits for the clock."""
    FRAMES.load()
    RECORDS.load()
    tokens = count()
    monkeypatch.setattr(secrets, "token_hex", lambda _: f"t{next(tokens)}")
    monkeypatch.setattr(time, "time_ns", lambda: 1)
    monkeypatch.setattr(time, "thread_time", lambda: 0.0)
    monkeypatch.setattr(ChangeSpacing, "parks", lambda *_: False)


@st.composite
def turns(draw: st.DrawFn) -> list[tuple[str, bytes]]:
    """Pieces of streams, each with the client that says it."""
    pieces: list[tuple[str, bytes]] = []
    sequences = dict.fromkeys(CLIENTS, 0)
    changes = st.one_of(
        st.builds(SubscribeRequest, IDS, st.sampled_from(FILTERS)),
        st.builds(SubscribeRequest, IDS, st.sampled_from(FILTERS)),
        st.builds(SubscribeRequest, IDS, st.just(XPathText("/d"))),
        st.builds(UnsubscribeRequest, IDS),
    )
    for _ in range(draw(st.integers(1, 6))):
        client = draw(st.sampled_from(sorted(CLIENTS)))
        some: list[Message] = []
        for one in draw(st.lists(changes | changes | st.integers(0, 4), min_size=1, max_size=10)):
            if isinstance(one, int):
                sequences[client] += 1
                body = encode_publication(Publication(f"p{sequences[client]}", {"n": one}))
                some.append(PublishRequest(sequences[client], body))
            else:
                some.append(one)
        data = frames(*some)
        cut = draw(st.integers(1, len(data)))
        pieces += [(client, piece) for piece in (data[:cut], data[cut:]) if piece]
    return pieces


def answers_of(messages: Sequence[object]) -> dict[str, list[tuple[str, str]]]:
    """For each id what was answered, in order, in however many messages, and why."""
    answers: dict[str, list[tuple[str, str]]] = {}
    for one in messages:
        match one:
            case SubscribedReply(id_):
                ids, answer = (id_,), ("in force", "")
            case SubscribedManyReply(ids):
                answer = ("in force", "")
            case UnsubscribedReply(id_):
                ids, answer = (id_,), ("gone", "")
            case UnsubscribedManyReply(ids):
                answer = ("gone", "")
            case SubscriptionRefused(id_, reason):
                ids, answer = (id_,), ("refused", reason)
            case _:
                continue
        for id_ in ids:
            answers.setdefault(id_, []).append(answer)
    return answers


async def heard(pieces: list[tuple[str, bytes]], protocol: str) -> dict[str, Any]:
    """The deliveries of each client, in order, and the answers about each of its ids."""
    found: dict[str, Any] = {}
    async with overlay(NAMES, RunFinder(), Story(), protocol=protocol) as made:
        for name, broker in CLIENTS.items():
            made.connect(name, broker, Hello(role=Role.CLIENT, name=name, session="s"))
        for name, piece in pieces:
            made.say(name, piece)
            await made.rest()
        for broker_ in made.brokers.values():
            assert not broker_._failure.done(), broker_._failure.exception()
            broker_.router.validate()
        for name, said in made.said().items():
            if name in CLIENTS:
                messages = Decoder(Role.CLIENT).feed(said)
                assert isinstance(messages[0], Welcome)
                deliveries = [one for one in messages if isinstance(one, Delivery)]
                found[name] = deliveries, answers_of(messages)
        local = [one.router.table_sizes()["local"] for one in made.brokers.values()]
    return found | {"local": local}


@pytest.mark.parametrize("protocol", ["covering", "identity", "mesh+covering"])
@settings(max_examples=examples(40), phases=[Phase.explicit, Phase.generate])
@given(pieces=turns())
async def test_everybody_gets_what_one_at_a_time_leads_to(
    protocol: str, pieces: list[tuple[str, bytes]]
) -> None:
    together = await heard(pieces, protocol)
    with pytest.MonkeyPatch.context() as patch:
        unchanged: Callable[[Any], Any] = lambda messages: messages  # noqa: E731
        patch.setattr(connection, "with_runs", unchanged)
        one_by_one = await heard(pieces, protocol)
    assert together == one_by_one
