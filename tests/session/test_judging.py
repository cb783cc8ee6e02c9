"""Judging of requests: how much is done at once, and what is left to a piece of work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sapwood import parse_filter
from sapwood.errors import FilterSyntaxError, LimitError
from sapwood.limits import (
    BODY_BYTES_AT_ONCE,
    FILTER_CHARS_AT_ONCE,
    FILTER_STEPS_AT_ONCE,
    NORMAL_FORM_STEPS_MAX,
    RECORD_VALUES_MAX,
)
from sapwood.model import reduction
from sapwood.model.publication import Publication
from sapwood.session import judging
from sapwood.session.judging import Judge, Judgement
from sapwood.wire.interests import XPathText
from sapwood.wire.messages import AdvertiseRequest, PublishRequest, SubscribeRequest
from sapwood.wire.publications import encode_publication

REFUSED = " and ".join(f"(a{n}=1 or b{n}=1)" for n in range(11))
"""Eleven times as many conjunctions as bits: refused, after half a second of work."""


class Steps:
    """Counts all steps that normal forms take."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken = 0
        spend = reduction.Allowance.spend

        def counted(allowance: reduction.Allowance, steps: int) -> bool:
            self.taken += steps
            return spend(allowance, steps)

        monkeypatch.setattr(reduction.Allowance, "spend", counted)


def now(found: Judgement | Callable[[], Judgement]) -> Judgement:
    """The judgement that was made at once."""
    assert isinstance(found, Judgement), "work was left"
    return found


def later(found: Judgement | Callable[[], Judgement]) -> Judgement:
    """The judgement that the remaining work comes to."""
    assert not isinstance(found, Judgement), "no work was left"
    return found()


def test_most_requests_are_judged_at_once() -> None:
    judge = Judge()
    request = SubscribeRequest("s", "price > 10 and (symbol = 'A' or symbol = 'B')")
    assert now(judge.judge(request)).value == parse_filter(str(request.filter))
    assert now(judge.judge(SubscribeRequest("s", XPathText("//a[b]")))).value is not None
    published = PublishRequest(1, encode_publication(Publication("p", {"a": 1})))
    assert now(judge.judge(published)).value == Publication("p", {"a": 1})
    assert isinstance(now(judge.judge(SubscribeRequest("s", "a >"))).refusal, FilterSyntaxError)
    assert judge.pieces == 0


@pytest.mark.parametrize("kind", [SubscribeRequest, AdvertiseRequest])
def test_a_filter_that_takes_long_costs_few_steps_at_once(
    kind: type[SubscribeRequest | AdvertiseRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(monkeypatch)
    judge = Judge()
    found = judge.judge(kind("s", REFUSED))
    # Distribution and the normal form have an allowance each; one charge more than it ends either.
    assert steps.taken < 4 * FILTER_STEPS_AT_ONCE
    assert isinstance(later(found).refusal, LimitError)


def test_a_filter_that_was_refused_for_its_work_is_not_worked_out_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge = Judge()
    first = later(judge.judge(SubscribeRequest("s0", REFUSED)))
    steps = Steps(monkeypatch)
    for number in range(1, 50):
        judged = now(judge.judge(SubscribeRequest(f"s{number}", REFUSED)))
        assert judged.refusal is first.refusal
    assert judge.pieces == 1
    assert steps.taken < 49 * 4 * FILTER_STEPS_AT_ONCE < 2 * NORMAL_FORM_STEPS_MAX


def test_a_filter_that_takes_long_comes_to_what_it_always_does() -> None:
    text = REFUSED.partition(" and (a8")[0]
    judge = Judge()
    assert later(judge.judge(SubscribeRequest("s", text))).value == parse_filter(text)
    assert later(judge.judge(SubscribeRequest("s", text))).value == parse_filter(text)


def test_long_texts_are_not_even_looked_at_at_once() -> None:
    judge = Judge()
    text = "s in (" + ",".join(f"'{n:05}'" for n in range(300)) + ")"
    assert len(text) > FILTER_CHARS_AT_ONCE
    assert later(judge.judge(SubscribeRequest("s", text))).value == parse_filter(text)


def test_long_publications_are_read_later() -> None:
    judge = Judge()
    publication = Publication("p", {"note": "x" * BODY_BYTES_AT_ONCE})
    request = PublishRequest(1, encode_publication(publication))
    assert later(judge.judge(request)).value == publication
    many = PublishRequest(1, b"\x92\xa1p\x81\xa1a\xdd\x00\x01\x00\x00" + b"\xc0" * 65_536)
    refusal = later(judge.judge(many)).refusal
    assert isinstance(refusal, LimitError)
    assert (refusal.name, refusal.bound) == ("RECORD_VALUES_MAX", RECORD_VALUES_MAX)


def test_refusals_are_forgotten_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "REFUSALS_REMEMBERED_MAX", 3)
    judge = Judge()
    deep = ["(" * 70 + " " * (FILTER_CHARS_AT_ONCE + n) for n in range(5)]
    for text in deep:
        later(judge.judge(SubscribeRequest("s", text)))
    later(judge.judge(SubscribeRequest("s", deep[1])))
    now(judge.judge(SubscribeRequest("s", deep[-1])))


def test_errors_of_syntax_are_not_remembered() -> None:
    judge = Judge()
    request = SubscribeRequest("s", " " * FILTER_CHARS_AT_ONCE + "a like")
    for _ in range(2):
        assert isinstance(later(judge.judge(request)).refusal, FilterSyntaxError)
