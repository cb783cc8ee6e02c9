"""The oracle on histories written by hand: one rule a test."""

from __future__ import annotations

import pytest

from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.limits import VERDICT_EXAMPLES_MAX
from sapwood.model.publication import Publication
from sapwood.overlay.topology import Link, Topology
from sapwood.simulation.history import ClientName, History, SubscriptionName
from sapwood.simulation.oracle import Judgment, Pair, judge

LINE = Topology(("a", "b", "c"), (Link("a", "b", 1.0), Link("b", "c", 1.0)))
BOB = ClientName("a", "bob")
S1 = SubscriptionName("c", "ann", "s1")
HERE = SubscriptionName("a", "ann", "s1")


def judgment(history: History, pairs_max: int = 1000) -> Judgment:
    return judge(history, lambda link: link.latency_s, pairs_max=pairs_max)


def counts(history: History) -> tuple[int, int, int]:
    verdicts = judgment(history)
    return verdicts.must, verdicts.may, verdicts.must_not


def subscribe(
    history: History, name: SubscriptionName = S1, wanted: str = "x > 1", at: float = 0.0
) -> None:
    history.subscribe(at, name, parse_filter(wanted))
    history.subscribed(at, name)


def unsubscribe(history: History, name: SubscriptionName = S1, at: float = 0.0) -> None:
    history.unsubscribe(at, name)
    history.unsubscribed(at, name)


def publish(
    history: History, id_: str = "p", x: int = 2, at: float = 10.0, publisher: ClientName = BOB
) -> None:
    history.publish(at, publisher, Publication(id_, {"x": x}))
    history.accepted(at, id_)


MUST, MAY, MUST_NOT = (1, 0, 0), (0, 1, 0), (0, 0, 1)


# What a pair demands -----------------------------------------------------------------------------


def test_a_confirmed_subscription_must_receive_what_matches() -> None:
    history = History(LINE)
    subscribe(history)
    publish(history)
    assert counts(history) == MUST
    assert judgment(history).lost.examples == (Pair("p", S1),)
    assert judgment(history).interested == {"p": frozenset({"c"})}


def test_each_part_of_a_publication_is_judged_by_the_filters_of_its_kind() -> None:
    history = History(LINE)
    history.subscribe(0.0, S1, parse_xpath("//b"))
    history.subscribed(0.0, S1)
    publish(history)
    assert counts(history) == MUST_NOT
    for number, document in enumerate((b"<a><b/></a>", b"<a/>")):
        history.publish(11.0 + number, BOB, Publication(f"d{number}", {"x": 2}, document))
        history.accepted(11.0 + number, f"d{number}")
    assert counts(history) == (1, 0, 2)
    assert judgment(history).lost.examples == (Pair("d0", S1),)


def test_nobody_must_receive_what_does_not_match() -> None:
    history = History(LINE)
    subscribe(history)
    publish(history, x=1)
    assert counts(history) == MUST_NOT
    assert judgment(history).is_clean
    assert judgment(history).interested == {"p": frozenset()}


def test_a_subscription_that_is_confirmed_later_may_receive_it() -> None:
    history = History(LINE)
    history.subscribe(0.0, S1, parse_filter("x > 1"))
    publish(history)
    history.subscribed(10.0, S1)
    assert counts(history) == MAY


def test_a_subscription_that_is_asked_for_while_it_is_under_way_may_receive_it() -> None:
    history = History(LINE)
    publish(history, at=10.0)
    subscribe(history, at=11.9)
    assert counts(history) == MAY


def test_a_subscription_that_is_asked_for_after_it_arrived_must_not_receive_it() -> None:
    history = History(LINE)
    publish(history, at=10.0)
    subscribe(history, at=12.1)
    assert counts(history) == MUST_NOT


def test_a_subscription_that_leaves_while_it_is_under_way_may_receive_it() -> None:
    history = History(LINE)
    subscribe(history)
    publish(history, at=10.0)
    unsubscribe(history, at=11.9)
    assert counts(history) == MAY


def test_a_subscription_that_leaves_after_it_arrived_must_have_received_it() -> None:
    history = History(LINE)
    subscribe(history)
    publish(history, at=10.0)
    unsubscribe(history, at=12.1)
    assert counts(history) == MUST


def test_a_subscription_whose_withdrawal_was_answered_must_not_receive_it() -> None:
    history = History(LINE)
    subscribe(history)
    unsubscribe(history, at=10.0)
    publish(history, at=10.0)
    assert counts(history) == MUST_NOT


def test_a_subscription_whose_withdrawal_is_not_answered_may_receive_it() -> None:
    history = History(LINE)
    subscribe(history)
    history.unsubscribe(9.0, S1)
    publish(history, at=10.0)
    assert counts(history) == MAY


def test_at_the_same_router_the_order_alone_decides() -> None:
    history = History(LINE)
    publish(history, "before")
    subscribe(history, HERE, at=10.0)
    publish(history, "during")
    unsubscribe(history, HERE, at=10.0)
    publish(history, "after")
    assert counts(history) == (1, 0, 2)
    assert [pair.publication for pair in judgment(history).lost.examples] == ["during"]


def test_links_without_latency_leave_room_between_acceptance_and_arrival() -> None:
    topology = Topology(("a", "c"), (Link("a", "c", 0.0),))
    history = History(topology)
    subscribe(history, at=10.0)
    publish(history, at=10.0)
    unsubscribe(history, at=10.0)
    assert counts(history) == MAY


def test_a_publication_that_nobody_accepted_may_be_delivered() -> None:
    history = History(LINE)
    subscribe(history)
    history.publish(10.0, BOB, Publication("p", {"x": 2}))
    assert counts(history) == MAY


def test_another_life_of_the_subscription_does_not_weaken_the_one_that_counts() -> None:
    history = History(LINE)
    subscribe(history, at=0.0)
    publish(history, at=10.0)
    unsubscribe(history, at=12.5)
    subscribe(history, at=13.0)
    assert counts(history) == MUST


def test_each_life_of_a_subscription_has_its_own_filter() -> None:
    history = History(LINE)
    subscribe(history, wanted="x < 1", at=0.0)
    unsubscribe(history, at=1.0)
    subscribe(history, wanted="x > 1", at=2.0)
    publish(history, x=0, at=10.0)
    assert counts(history) == MUST_NOT


# Outages -----------------------------------------------------------------------------------------


def outage(history: History, down: float, joined: float | None, settled: float | None) -> None:
    history.link_down(down, "b", "c")
    if joined is not None:
        history.link_joined(joined, "b", "c")
    if settled is not None:
        history.settle(settled)


@pytest.mark.parametrize(
    ("down", "joined", "settled", "expected"),
    [
        (5.0, 6.0, 7.0, MUST),  # over before
        (5.0, 6.0, None, MAY),  # up again, but tables are not yet right
        (5.0, None, None, MAY),  # still down
    ],
)
def test_an_outage_on_the_way_excuses_until_it_is_settled(
    down: float, joined: float | None, settled: float | None, expected: tuple[int, int, int]
) -> None:
    history = History(LINE)
    subscribe(history)
    outage(history, down, joined, settled)
    publish(history, at=10.0)
    assert counts(history) == expected


@pytest.mark.parametrize(("down", "expected"), [(10.0, MAY), (11.9, MAY), (12.1, MUST)])
def test_an_outage_excuses_as_long_as_the_publication_is_under_way(
    down: float, expected: tuple[int, int, int]
) -> None:
    history = History(LINE)
    subscribe(history)
    publish(history, at=10.0)
    outage(history, down, None, None)
    assert counts(history) == expected


def test_an_outage_that_settled_while_it_was_under_way_excuses() -> None:
    history = History(LINE)
    subscribe(history)
    history.link_down(9.0, "b", "c")
    history.link_joined(9.5, "b", "c")
    publish(history, at=10.0)
    history.settle(10.5)
    assert counts(history) == MAY


def test_an_outage_elsewhere_excuses_nothing() -> None:
    topology = Topology(("a", "b", "c", "d"), (*LINE.links, Link("b", "d", 1.0)))
    history = History(topology)
    subscribe(history)
    history.link_down(5.0, "b", "d")
    publish(history)
    assert counts(history) == MUST


def test_an_outage_excuses_younger_subscriptions_as_well_until_it_is_settled() -> None:
    history = History(LINE)
    outage(history, 1.0, 2.0, None)
    subscribe(history, at=3.0)
    publish(history, "early", at=10.0)
    history.settle(13.0)
    publish(history, "late", at=20.0)
    assert counts(history) == (1, 1, 0)


# What was delivered ------------------------------------------------------------------------------


def test_what_must_be_delivered_and_is_leaves_nothing_to_say() -> None:
    history = History(LINE)
    subscribe(history)
    publish(history)
    history.delivered(12.0, "p", S1)
    assert judgment(history).is_clean


def test_what_may_be_delivered_is_right_either_way() -> None:
    for delivered in (False, True):
        history = History(LINE)
        subscribe(history)
        publish(history, at=10.0)
        if delivered:
            history.delivered(11.0, "p", S1)
        unsubscribe(history, at=11.0)
        assert counts(history) == MAY
        assert judgment(history).is_clean


def unexpected(history: History) -> int:
    verdicts = judgment(history)
    assert verdicts.is_clean == (verdicts.unexpected.count == 0)
    return verdicts.unexpected.count


def test_a_delivery_that_does_not_match_is_unexpected() -> None:
    history = History(LINE)
    subscribe(history)
    publish(history, x=1)
    history.delivered(12.0, "p", S1)
    assert unexpected(history) == 1


def test_a_delivery_after_the_withdrawal_was_answered_is_unexpected() -> None:
    history = History(LINE)
    subscribe(history)
    publish(history, at=10.0)
    unsubscribe(history, at=11.0)
    history.delivered(12.0, "p", S1)
    assert unexpected(history) == 1


def test_a_delivery_before_the_subscription_was_asked_for_is_unexpected() -> None:
    history = History(LINE)
    publish(history, at=10.0)
    history.delivered(12.0, "p", S1)
    subscribe(history, at=12.0)
    assert unexpected(history) == 1


def test_a_delivery_between_two_lives_is_unexpected() -> None:
    history = History(LINE)
    subscribe(history, at=0.0)
    publish(history, at=10.0)
    unsubscribe(history, at=11.0)
    history.delivered(11.5, "p", S1)
    subscribe(history, at=11.8)
    assert unexpected(history) == 1


def test_a_delivery_to_a_stranger_or_of_an_unknown_publication_is_unexpected() -> None:
    history = History(LINE)
    subscribe(history)
    publish(history, x=1)
    history.delivered(12.0, "p", SubscriptionName("b", "eve", "s"))
    history.delivered(12.0, "forged", S1)
    assert unexpected(history) == 2


def test_a_second_delivery_of_a_pair_is_duplicated() -> None:
    history = History(LINE)
    subscribe(history)
    publish(history)
    for at in (12.0, 12.0, 13.0):
        history.delivered(at, "p", S1)
    verdicts = judgment(history)
    assert verdicts.duplicated.count == 1
    assert verdicts.reordered.count == 0
    assert not verdicts.is_clean


def test_deliveries_of_one_publisher_out_of_order_are_reordered() -> None:
    history = History(LINE)
    subscribe(history)
    for id_ in ("p1", "p2", "p3"):
        publish(history, id_)
    for id_ in ("p1", "p3", "p2"):
        history.delivered(12.0, id_, S1)
    verdicts = judgment(history)
    assert verdicts.reordered.examples == (Pair("p2", S1),)
    assert not verdicts.is_clean


def test_deliveries_of_two_publishers_have_no_order_between_them() -> None:
    history = History(LINE)
    subscribe(history)
    publish(history, "p1")
    publish(history, "p2", publisher=ClientName("a", "eve"))
    history.delivered(12.0, "p2", S1)
    history.delivered(12.0, "p1", S1)
    assert judgment(history).is_clean


def test_a_delivery_that_was_never_accepted_is_recovered_and_no_fault() -> None:
    history = History(LINE)
    subscribe(history)
    history.publish(10.0, BOB, Publication("p", {"x": 2}))
    history.delivered(12.0, "p", S1)
    verdicts = judgment(history)
    assert verdicts.recovered.examples == (Pair("p", S1),)
    assert verdicts.is_clean


def test_whatever_is_stuck_is_a_fault() -> None:
    verdicts = judge(History(LINE), lambda _: 1.0, stuck=("a/ann/s1: x > 1",))
    assert not verdicts.is_clean


# After a router went back -------------------------------------------------------------------------


def changed(home: str = "c") -> History:
    """A history in which a router went back after `S1`, at `c`, was changed from x > 1 to x > 5."""
    history = History(LINE, is_kept=True)
    subscribe(history)
    subscribe(history, wanted="x > 5", at=1.0)
    history.relapse(2.0, home)
    if home == S1.home:
        history.subscribe(3.0, S1, parse_filter("x > 5"))
    return history


def is_expected(history: History, at: float) -> bool:
    """True if a publication that only the former filter accepts may be delivered."""
    publish(history, at=at, publisher=ClientName("c", "bob"))
    history.delivered(at, "p", S1)
    return judgment(history).unexpected.count == 0


def test_what_is_stated_again_may_have_its_former_filter_until_it_is_answered() -> None:
    assert is_expected(changed(), 3.5)
    history = changed()
    history.subscribed(4.0, S1)
    assert not is_expected(history, 4.5)  # also where the overlay has not settled


def test_a_router_that_goes_back_again_may_have_what_was_changed_before_the_first_time() -> None:
    history = changed()
    history.subscribed(4.0, S1)
    history.relapse(5.0, S1.home)
    history.relapse(5.5, S1.home)  # before its clients were back
    history.subscribe(6.0, S1, parse_filter("x > 5"))
    assert is_expected(history, 6.5)


def test_what_is_stated_again_has_its_former_filter_until_its_withdrawal_is_answered() -> None:
    history = changed()
    history.unsubscribe(4.0, S1)
    assert is_expected(history, 4.5)


def test_a_subscription_at_a_router_that_did_not_go_back_has_its_own_filter_alone() -> None:
    assert not is_expected(changed("a"), 3.5)


def test_a_subscription_that_is_withdrawn_after_its_router_went_back_has_no_former_filter() -> None:
    history = changed()
    history.unsubscribe(3.2, S1)
    history.unsubscribed(3.3, S1)
    assert not is_expected(history, 3.5)


@pytest.mark.parametrize("leaves", [False, True])
def test_another_subscription_under_the_id_of_one_that_went_has_no_former_filter(
    leaves: bool,
) -> None:
    """Its client withdrew the one before, or left, while the router was down."""
    history = History(LINE, is_kept=True)
    subscribe(history)
    subscribe(history, wanted="x > 5", at=1.0)
    history.relapse(2.0, S1.home)
    if leaves:
        history.gone(2.5, S1.home, S1.client)
    else:
        history.unsubscribe(2.5, S1)
    history.subscribe(3.0, S1, parse_filter("x > 5"))
    assert not is_expected(history, 3.5)


def test_what_was_never_changed_has_no_former_filter() -> None:
    history = History(LINE, is_kept=True)
    subscribe(history)
    unsubscribe(history, at=0.5)
    subscribe(history, wanted="x > 5", at=1.0)
    history.relapse(2.0, S1.home)
    history.subscribe(3.0, S1, parse_filter("x > 5"))
    assert not is_expected(history, 3.5)


# Bounds ------------------------------------------------------------------------------------------


def test_findings_name_a_few_pairs_and_count_all() -> None:
    history = History(LINE)
    subscribe(history)
    for number in range(VERDICT_EXAMPLES_MAX + 5):
        publish(history, f"p{number}")
    lost = judgment(history).lost
    assert lost.count == VERDICT_EXAMPLES_MAX + 5
    assert len(lost.examples) == VERDICT_EXAMPLES_MAX


def test_beyond_the_bound_drawn_publications_are_checked_for_losses_and_all_deliveries() -> None:
    history = History(LINE)
    for number in range(5):
        subscribe(history, SubscriptionName("c", "ann", f"s{number}"), f"x > {number - 5}")
    for number in range(10):
        publish(history, f"p{number}")
        history.delivered(12.0, f"p{number}", SubscriptionName("c", "eve", "s"))
    verdicts = judgment(history, pairs_max=20)
    assert verdicts.checked == 4
    assert verdicts.must == verdicts.lost.count == 20
    assert verdicts.unexpected.count == 10
    assert verdicts == judgment(history, pairs_max=20)
    assert judgment(history, pairs_max=1).checked == 1
    assert judgment(history, pairs_max=50).checked == 10


def test_filters_mean_what_their_text_says_and_not_their_normal_form() -> None:
    wanted = parse_filter("x > 1")
    lying = type(wanted)(wanted.conjunctions, source="x > 5")
    history = History(LINE)
    history.subscribe(0.0, S1, lying)
    history.subscribed(0.0, S1)
    publish(history, x=3)
    assert counts(history) == MUST_NOT


def test_filters_without_a_text_are_read_from_their_canonical_form() -> None:
    wanted = parse_filter("x > 1")
    history = History(LINE)
    history.subscribe(0.0, S1, type(wanted)(wanted.conjunctions))
    history.subscribed(0.0, S1)
    publish(history, x=3)
    assert counts(history) == MUST
