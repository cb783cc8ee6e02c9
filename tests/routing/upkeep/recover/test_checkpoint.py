"""Checkpoints of subscriptions that are being changed, and of advertisements."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_advertisement, parse_filter, parse_xpath
from sapwood.model.publication import Publication
from sapwood.routing.effects import Deliver, Send, Subscribed
from sapwood.routing.inputs import (
    AttachClient,
    ClientAdvertise,
    ClientPublish,
    ClientSubscribe,
    ClientSubscribeMany,
    ClientUnadvertise,
    DetachClient,
    Input,
    LinkUp,
    Receive,
)
from sapwood.routing.messages import (
    Advertise,
    Confirm,
    Message,
    Subscribe,
    Unadvertise,
    Unsubscribe,
)
from sapwood.routing.router import Router
from sapwood.routing.upkeep.recover.checkpoint import FORMS, Head, checkpoint_of, refill
from sapwood.routing.upkeep.recover.image import Writer
from tests.examples import examples
from tests.routing.wiring import core_of


def changing() -> tuple[Router, Subscribe, Subscribe]:
    """A router with a subscription that is being changed, and what it has told its neighbor."""
    router = Router("r1", "simple")
    router.handle(LinkUp("r2"), 0.0)
    router.handle(AttachClient("c"), 0.0)
    told: list[Subscribe] = []
    for text in ("x = 1", "y = 1"):
        for message in said(router, ClientSubscribe("c", "s", parse_filter(text))):
            assert isinstance(message, Subscribe)
            told.append(message)
        if len(told) == 1:
            router.handle(Receive("r2", Confirm(told[0].key, told[0].sending)), 0.0)
    former, later = told
    return router, former, later


def said(router: Router, entered: ClientSubscribe | Receive) -> list[Message]:
    """The messages to neighbors that come of an input."""
    effects = router.handle(entered, 0.0)
    return [effect.message for effect in effects if isinstance(effect, Send)]


@pytest.mark.parametrize("is_restored", [False, True])
def test_the_former_filter_is_there_until_the_other_is_confirmed(*, is_restored: bool) -> None:
    router, former, later = changing()
    parts = list(Writer(FORMS).parts(router.membership))
    if is_restored:
        router = Router("r1", "simple")
        assert refill(router.membership, [msgspec.msgpack.encode(Head(0, ())), *parts]) == ("c",)
        assert list(Writer(FORMS).parts(router.membership)) == parts
    router.validate()
    entries = core_of(router).subscriptions.entries
    [[aside]] = entries.aside.values()
    assert (aside.key, entries.by_client["c"]["s"].key) == (former.key, later.key)
    both = Publication("p", {"x": 1, "y": 1})
    assert Deliver("c", ("s",), both) in router.handle(ClientPublish("c", both), 0.0)
    effects = router.handle(Receive("r2", Confirm(later.key, later.sending)), 0.0)
    assert effects == [Subscribed("c", "s"), Send("r2", Unsubscribe(former.key))]
    router.validate()
    assert not entries.aside


CLIENTS = st.sampled_from(["c", "d", "\xe9"])
FILTERS = st.sampled_from(["a = 1", "a > 1", "b = 'x'", "a like '%x_y'", "false"])
STEPS = st.lists(
    st.tuples(CLIENTS, st.lists(st.tuples(st.sampled_from(["s1", "s2", "s\xe9"]), FILTERS))),
    max_size=12,
)


@settings(max_examples=examples(60), deadline=None)
@given(STEPS, st.booleans())
def test_what_is_refilled_is_what_was_written_down_after_any_history(
    steps: list[tuple[str, list[tuple[str, str]]]], is_linked: bool
) -> None:
    router, told = Router("r1", "covering"), 0
    if is_linked:
        router.handle(LinkUp("r2"), 0.0)
    there: set[str] = set()
    for number, (client, stated) in enumerate(steps):
        if client not in there:
            router.handle(AttachClient(client), 0.0)
            there.add(client)
        elif not stated:  # it goes
            router.handle(DetachClient(client), 0.0)
            there.remove(client)
            continue
        some = tuple((id_, parse_filter(text)) for id_, text in stated)
        router.handle(ClientSubscribeMany(client, some), 0.0)
        if is_linked:
            told += 1
            key = f"r2.1.{told}"
            wanted = parse_filter(f"a = {number % 3}")
            router.handle(Receive("r2", Subscribe(key, wanted, told)), 0.0)
    head = Head(7, ("r2",) * is_linked)
    parts = list(checkpoint_of(router.membership, head))
    again = Router("r1", "covering")
    assert set(refill(again.membership, parts)) == there
    again.validate()
    assert list(checkpoint_of(again.membership, head)) == parts
    assert again.table_sizes() == router.table_sizes()
    # From then on both say the same.
    router.handle(AttachClient("last"), 0.0)
    again.handle(AttachClient("last"), 0.0)
    later: list[Input] = [
        ClientPublish("last", Publication("p", {"a": 1, "b": "x"})),
        ClientSubscribeMany("last", (("s1", parse_filter("a > 0")), ("s2", parse_filter("c = 1")))),
        *(DetachClient(client) for client in sorted(there)),
        ClientPublish("last", Publication("q", {"a": 1, "b": "xzy"})),
    ]
    for entered in later:
        assert again.handle(entered, 0.0) == router.handle(entered, 0.0)
    again.validate()


@pytest.mark.parametrize(
    "word", ["advertisement", "advertisement+covering+merging", "advertisement+xroute"]
)
@pytest.mark.parametrize("is_restored", [False, True])
def test_what_is_advertised_and_held_back_comes_out_of_a_checkpoint(
    *, is_restored: bool, word: str
) -> None:
    router = Router("r1", word)
    for entered in (LinkUp("r2"), LinkUp("r3"), AttachClient("c")):
        router.handle(entered, 0.0)
    advertised = (
        parse_filter("x > 0"),
        parse_filter("x > 1"),
        parse_advertisement("/a(/b)+"),
        parse_advertisement("/a/b|/a/b/b"),
        parse_xpath("//p"),
    )
    for number, content in enumerate(advertised):
        router.handle(ClientAdvertise("c", f"a{number}", content), 0.0)
    router.handle(Receive("r3", Advertise("r3.0.1", advertised[3], 1)), 0.0)
    parts = list(Writer(FORMS).parts(router.membership))
    if is_restored:
        router = Router("r1", word)
        refill(router.membership, [msgspec.msgpack.encode(Head(0, ())), *parts])
        assert list(Writer(FORMS).parts(router.membership)) == parts
    router.validate()
    told = {
        neighbor: sorted(str(one) for one in link.propagated.values())
        for neighbor, link in core_of(router).advertisements.links.items()
    }
    assert told == dict.fromkeys(("r2", "r3"), sorted(map(str, advertised[::2])))
    router.handle(ClientUnadvertise("c", "a0"), 0.0)
    effects = router.handle(ClientUnadvertise("c", "a2"), 0.0)
    messages = [one.message for one in effects if isinstance(one, Send)]
    assert {type(one) for one in messages} == {Advertise, Unadvertise}
    assert [one.filter for one in messages if isinstance(one, Advertise)] == [advertised[3]] * 2
    router.validate()
