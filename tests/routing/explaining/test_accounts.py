"""Accounts of one router, in answer to questions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.limits.explaining import EXPLAINED_NAMED_MAX
from sapwood.matching.engine_names import Engines
from sapwood.model.publication import Publication
from sapwood.routing.explaining import accounts
from sapwood.routing.explaining.accounts import (
    Account,
    Entry,
    Held,
    Owned,
    Question,
    account,
    ways,
)
from sapwood.routing.inputs import AttachClient, ClientSubscribe, Drained, LinkUp, Receive
from sapwood.routing.messages import Subscribe
from sapwood.routing.propagation.reasons import Reason, Treatment
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router

WIDE, NARROW = parse_filter("price > 1"), parse_filter("price > 10")


def router(word: str = "covering", *, at_once: int | None = None) -> Router:
    """One with links to b and c, and a client ann who wants what is NARROW."""
    chosen = protocol(word)
    if at_once is not None:
        chosen = replace(chosen, at_once=at_once)
    made = Router("a", chosen, Engines("counting", "auto"))
    for neighbor in ("b", "c"):
        made.handle(LinkUp(neighbor), 0.0)
    made.handle(AttachClient("ann"), 0.0)
    made.handle(ClientSubscribe("ann", "s1", NARROW), 0.0)
    return made


def asked(of: Router, question: Question) -> Account:
    """The answer, which there must be."""
    said = account(of, question, 0.0)
    assert said is not None
    of.validate()
    return said


def test_a_clients_subscription_stands_as_each_neighbor_was_told() -> None:
    of = router()
    of.handle(Receive("b", Subscribe("b.0.1", WIDE, 1)), 0.0)
    said = asked(of, Question("b", 0, Owned("ann", "s1"))).standing
    assert said is not None
    assert (said.key, said.filter, said.in_force) == ("a.0.1", NARROW, False)
    itself = (Reason(Treatment.ITSELF, "a.0.1", NARROW),)
    assert said.told == {"b": itself, "c": itself}
    of.handle(ClientSubscribe("ann", "s2", NARROW), 0.0)
    again = asked(of, Question("b", 0, Owned("ann", "s2"))).standing
    assert again is not None
    assert again.told["b"] == (Reason(Treatment.EQUAL, "a.0.1", NARROW),)


def test_what_a_neighbor_has_told_stands_toward_all_others() -> None:
    of = router()
    of.handle(Receive("b", Subscribe("b.0.1", WIDE, 1)), 0.0)
    said = asked(of, Question("c", 0, Held("b", Reason(Treatment.ITSELF, "b.0.1", WIDE)))).standing
    assert said is not None
    assert said.told == {"c": (Reason(Treatment.ITSELF, "b.0.1", WIDE),)}
    for neighbor, key in (("b", "b.0.2"), ("c", "b.0.1"), ("d", "b.0.1")):
        held = Held(neighbor, Reason(Treatment.ITSELF, key, WIDE))
        assert asked(of, Question("c", 0, held)).standing is None
    for client, id_ in (("ann", "s9"), ("bob", "s1")):
        assert asked(of, Question("c", 0, Owned(client, id_))).standing is None


def test_a_publication_goes_on_because_of_what_came_from_there() -> None:
    of = router()
    of.handle(Receive("b", Subscribe("b.0.1", WIDE, 1)), 0.0)
    of.handle(Receive("b", Subscribe("b.0.2", NARROW, 2)), 0.0)
    low, high = Publication("p", {"price": 5}), Publication("p", {"price": 50})
    said = asked(of, Question("c", 0, None, low, "c", "b")).onward
    assert said is not None
    assert (said.goes, said.because, said.is_all) == (True, (Entry("b.0.1", WIDE),), True)
    first = asked(of, Question("c", 0, None, high, "c", "b", "b.0.2")).onward
    assert first is not None
    assert [one.key for one in first.because] == ["b.0.2", "b.0.1"]
    back = asked(of, Question("b", 0, None, low, "b", "c"))
    assert back.onward is not None
    assert not back.onward.goes
    assert not back.wanted
    assert asked(of, Question("b", 0, None, high, "b", "c")).wanted
    assert asked(of, Question("b", 0, None, high, "b", "nobody")).onward is None


def test_no_more_is_looked_at_and_named_than_the_bounds_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at = 20
    monkeypatch.setattr(accounts, "EXPLAINED_ENTRIES_MAX", looked_at)
    of = router("simple")
    of.handle(Receive("b", Subscribe("b.0.0", NARROW, 1)), 0.0)
    for n in range(1, looked_at + 1):
        few = parse_filter(f"price = {n}")
        of.handle(Receive("b", Subscribe(f"b.0.{n}", few, n + 1)), 0.0)
    last = looked_at
    question = Question("c", 0, None, Publication("p", {"price": last}), "c", "b")
    said = asked(of, question).onward
    assert said is not None
    assert said.goes
    assert ([one.key for one in said.because], said.is_all) == (["b.0.0"], False)
    for n in range(EXPLAINED_NAMED_MAX):
        of.handle(Receive("c", Subscribe(f"c.0.{n}", WIDE, n + 1)), 0.0)
    question = Question("b", 0, None, Publication("p", {"price": 5}), "b", "c")
    exactly = asked(of, question).onward
    assert exactly is not None
    assert (len(exactly.because), exactly.is_all) == (EXPLAINED_NAMED_MAX, True)
    of.handle(Receive("c", Subscribe("c.0.99", WIDE, 99)), 0.0)
    more = asked(of, question).onward
    assert more is not None
    assert (len(more.because), more.is_all) == (EXPLAINED_NAMED_MAX, False)


def test_fewer_are_looked_at_the_longer_a_document_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "EXPLAINED_PATTERN_BYTES_MAX", 1_000)
    of = router("simple")
    for n in range(5):
        of.handle(Receive("b", Subscribe(f"b.0.{n}", parse_xpath("//item"), n + 1)), 0.0)
    for size, looked_at in ((90, 5), (450, 2), (5_000, 1)):
        document = b"<a><item/>" + b" " * (size - 14) + b"</a>"
        question = Question("c", 0, None, Publication("p", document=document), "c", "b")
        said = asked(of, question).onward
        assert said is not None
        assert (len(said.because), said.is_all) == (looked_at, looked_at == 5)


def test_only_what_a_router_has_made_itself_has_begun_there() -> None:
    of = router()
    of.handle(Receive("b", Subscribe("b.0.1", WIDE, 1)), 0.0)
    keys = ("a.0.1", "a.0.m1.1", "b.0.1", "c.0.7")
    assert asked(of, Question("c", about=keys)).begun == ("a.0.m1.1",)


def test_a_neighbor_that_is_still_to_be_told_waits() -> None:
    of = router(at_once=1)
    of.handle(ClientSubscribe("ann", "s2", parse_filter("color = 'red'")), 0.0)
    of.handle(LinkUp("d"), 0.0)
    assert how_told(of, "s2") is Treatment.WAITING
    while of.behind():
        of.handle(Drained("d"), 0.0)
    assert how_told(of, "s2") is Treatment.ITSELF


def how_told(of: Router, id_: str) -> Treatment:
    """The treatment of a subscription of ann on the link to d."""
    said = asked(of, Question("a", 0, Owned("ann", id_))).standing
    assert said is not None
    return said.told["d"][-1].how


def test_what_accepts_nothing_is_told_to_nobody() -> None:
    for word in ("covering", "xroute"):
        of = router(word)
        of.handle(ClientSubscribe("ann", "none", parse_filter("a > 1 and a < 0")), 0.0)
        said = asked(of, Question("a", 0, Owned("ann", "none"))).standing
        assert said is not None
        assert said.told["b"] == (Reason(Treatment.EMPTY),)


def test_counts_are_known_by_their_filters() -> None:
    of = router("xroute")
    of.handle(ClientSubscribe("ann", "s2", WIDE), 0.0)
    said = asked(of, Question("a", 0, Owned("ann", "s1"))).standing
    assert said is not None
    assert said.told["b"] == (Reason(Treatment.COVERED, "", WIDE),)


def test_a_router_says_nothing_of_ways_and_sources_that_it_does_not_know() -> None:
    of = router("mesh+covering")
    assert account(of, Question("somebody"), 0.0) is None
    assert account(of, Question("a", 1), 0.0) is None
    assert (ways(of, "a"), ways(router("irbr"), "a")) == (1, 0)
