"""Publications that had to be refused, on histories written by hand: one rule a test."""

from __future__ import annotations

import pytest

from sapwood.language import parse_filter
from sapwood.language.advertisements import parse_advertisement
from sapwood.language.xpath import parse_xpath
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.publication import Publication
from sapwood.overlay.topology import Link, Topology
from sapwood.simulation.admission import Admission, judge_admission
from sapwood.simulation.history import (
    AdvertisementName,
    ClientName,
    History,
    SubscriptionName,
)
from sapwood.simulation.oracle import judge

PAIR = Topology(("a", "b"), (Link("a", "b", 1.0),))
BOB = ClientName("a", "bob")
A1, A2 = AdvertisementName("a", "bob", "a1"), AdvertisementName("a", "bob", "a2")
OTHERS = AdvertisementName("a", "eve", "a1")


def advertise(history: History, name: AdvertisementName = A1, promised: str = "x > 1") -> None:
    history.advertise(0.0, name, parse_filter(promised))
    history.advertised(0.0, name)


def publish(history: History, x: int, *, accepted: bool) -> None:
    id_ = f"p{len(history.publications)}"
    history.publish(1.0, BOB, Publication(id_, {"x": x}))
    if accepted:
        history.accepted(1.0, id_)
    else:
        history.refused(1.0, BOB, id_)


def accepts(promised: AdvertisedContent, publication: Publication) -> bool:
    return promised.matches(publication)


def judged(history: History, *, advertised: bool = True) -> Admission:
    return judge_admission(history, accepts, advertised=advertised)


FINE = Admission((), ())
ADMITTED, REBUFFED = Admission(("p0",), ()), Admission((), ("p0",))


@pytest.mark.parametrize(
    ("with_document", "accepted"), [(True, False), (True, True), (False, True)]
)
def test_record_and_document_need_an_advertisement_each(
    with_document: bool, accepted: bool
) -> None:
    history = History(PAIR)
    advertise(history)
    if with_document:
        history.advertise(0.0, A2, parse_xpath("/a"))
        history.advertised(0.0, A2)
    history.publish(1.0, BOB, Publication("p0", {"x": 2}, b"<a/>"))
    if accepted:
        history.accepted(1.0, "p0")
    else:
        history.refused(1.0, BOB, "p0")
    expected = FINE if with_document is accepted else REBUFFED if with_document else ADMITTED
    assert judged(history) == expected


@pytest.mark.parametrize(("document", "accepted"), [(b"<a><b/></a>", True), (b"<a/>", False)])
def test_paths_that_were_promised_are_judged_by_the_oracle(document: bytes, accepted: bool) -> None:
    history = History(PAIR)
    history.advertise(0.0, A1, parse_advertisement("/a(/b)+|/c"))
    history.advertised(0.0, A1)
    for number, is_accepted in enumerate((True, False)):
        history.publish(1.0, BOB, Publication(f"p{number}", document=document))
        if is_accepted:
            history.accepted(1.0, f"p{number}")
        else:
            history.refused(1.0, BOB, f"p{number}")
    verdicts = judge(history, lambda link: link.latency_s, advertised=True)
    wrong = (("p1",) if accepted else ()), (() if accepted else ("p0",))
    assert (verdicts.rebuffed, verdicts.admitted) == wrong


@pytest.mark.parametrize("advertised", [True, False])
def test_what_an_advertisement_in_force_accepts_must_be_accepted(advertised: bool) -> None:
    for accepted, verdict in ((True, FINE), (False, REBUFFED)):
        history = History(PAIR)
        advertise(history)
        advertise(history, A2, "x < -1")
        publish(history, 2, accepted=accepted)
        assert judged(history, advertised=advertised) == verdict


@pytest.mark.parametrize("advertised", [True, False])
def test_what_no_advertisement_accepts_must_be_refused(advertised: bool) -> None:
    for accepted, verdict in ((True, ADMITTED), (False, FINE)):
        history = History(PAIR)
        advertise(history)
        advertise(history, OTHERS, "true")
        publish(history, 1, accepted=accepted)
        assert judged(history, advertised=advertised) == verdict


def test_who_has_not_advertised_is_refused_only_where_advertisements_route() -> None:
    for accepted, routed, free in ((True, ADMITTED, FINE), (False, FINE, REBUFFED)):
        history = History(PAIR)
        publish(history, 1, accepted=accepted)
        assert judged(history, advertised=True) == routed
        assert judged(history, advertised=False) == free


def test_while_an_advertisement_comes_or_goes_both_answers_are_right() -> None:
    for accepted in (True, False):
        coming, going = History(PAIR), History(PAIR)
        coming.advertise(0.0, A1, parse_filter("x > 1"))
        publish(coming, 2, accepted=accepted)
        coming.advertised(2.0, A1)
        advertise(going)
        going.unadvertise(0.5, A1)
        publish(going, 2, accepted=accepted)
        going.unadvertised(2.0, A1)
        assert judged(coming) == judged(going) == FINE


def test_what_neither_the_coming_nor_the_present_accept_must_be_refused() -> None:
    history = History(PAIR)
    history.advertise(0.0, A1, parse_filter("x > 1"))
    publish(history, 1, accepted=True)
    assert judged(history, advertised=False) == ADMITTED


def test_while_the_last_advertisement_goes_a_client_may_be_free_already() -> None:
    history = History(PAIR)
    advertise(history)
    history.unadvertise(0.5, A1)
    publish(history, 1, accepted=True)
    history.unadvertised(2.0, A1)
    assert judged(history, advertised=False) == FINE
    assert judged(history, advertised=True) == ADMITTED


def test_a_withdrawn_advertisement_allows_nothing() -> None:
    history = History(PAIR)
    advertise(history)
    history.gone(0.5, "a", "bob")
    publish(history, 2, accepted=True)
    assert judged(history, advertised=True) == ADMITTED
    assert judged(history, advertised=False) == FINE


def test_the_judgment_is_not_clean_where_an_answer_was_wrong() -> None:
    for x, accepted in ((1, True), (2, False)):
        history = History(PAIR)
        advertise(history)
        publish(history, x, accepted=accepted)
        judgment = judge(history, lambda _: 1.0, advertised=True)
        assert not judgment.is_clean
        assert len(judgment.admitted) == accepted
        assert len(judgment.rebuffed) == (not accepted)


def test_nobody_may_receive_what_was_refused() -> None:
    history = History(PAIR)
    wanted = SubscriptionName("b", "ann", "s1")
    history.subscribe(0.0, wanted, parse_filter("true"))
    history.subscribed(0.0, wanted)
    publish(history, 1, accepted=False)
    judgment = judge(history, lambda _: 1.0, advertised=True)
    assert judgment.is_clean
    assert (judgment.must, judgment.may, judgment.must_not) == (0, 0, 1)
    history.delivered(2.0, "p0", wanted)
    assert judge(history, lambda _: 1.0, advertised=True).unexpected.count == 1
