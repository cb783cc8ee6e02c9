"""Owners' shares of a batch: the publications that one by one would be theirs."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker.owned import owned
from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.routing.effects import DeliverMany
from sapwood.routing.inputs import AttachClient, ClientPublishMany, ClientSubscribe
from sapwood.routing.router import Router

CLIENTS = ("c1", "durable a", "durable b", "c2")
FILTERS = ("x = 1", "x > 1", "x < 3", "exists x", "exists y")


@given(
    wanted=st.lists(st.tuples(st.sampled_from(CLIENTS), st.sampled_from(FILTERS)), max_size=12),
    numbers=st.lists(st.integers(0, 4), min_size=1, max_size=12),
)
def test_owners_get_what_one_by_one_would_be_theirs(
    wanted: list[tuple[str, str]], numbers: list[int]
) -> None:
    router = Router("r", "covering")
    for client in (*CLIENTS, "publisher"):
        router.handle(AttachClient(client), 0.0)
    for at, (client, text) in enumerate(wanted):
        router.handle(ClientSubscribe(client, f"s{at}", parse_filter(text)), 0.0)
    batch = [Publication(f"p{at}", {"x": number}) for at, number in enumerate(numbers)]
    for effect in router.handle(ClientPublishMany("publisher", batch), 0.0):
        if isinstance(effect, DeliverMany):
            expected: dict[str, list[int]] = defaultdict(list)
            for one in effect.each():
                if " " in one.client:
                    expected[one.client].append(int(one.publication.id[1:]))
            assert owned(effect) == expected
