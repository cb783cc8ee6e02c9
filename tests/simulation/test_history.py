from __future__ import annotations

from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.rewiring import with_link, with_router, without_link
from sapwood.overlay.topology import Link, Topology
from sapwood.simulation.history import (
    AdvertisementName,
    ClientName,
    History,
    Moment,
    SubscriptionName,
)

LINE = Topology(("a", "b", "c"), (Link("a", "b"), Link("b", "c")))
ANN = ClientName("a", "ann")
S1 = SubscriptionName("a", "ann", "s1")
S2 = SubscriptionName("a", "bob", "s2")
WANTED = parse_filter("x > 1")
OTHER = parse_filter("x > 2")


def test_moments_are_ordered_by_time_and_then_by_order() -> None:
    assert Moment(1.0, 5) < Moment(2.0, 1) < Moment(2.0, 2)


def test_a_subscription_is_owed_until_it_is_confirmed() -> None:
    history = History(LINE)
    history.subscribe(0.0, S1, WANTED)
    assert history.unanswered() == ("a/ann/s1: x > 1",)
    history.subscribed(1.0, S1)
    assert history.unanswered() == ()
    (epoch,) = history.subscriptions[S1]
    assert epoch.asked < (epoch.confirmed or epoch.asked)


def test_a_withdrawal_is_owed_until_it_is_answered() -> None:
    history = History(LINE)
    history.subscribe(0.0, S1, WANTED)
    history.subscribed(0.0, S1)
    history.unsubscribe(1.0, S1)
    assert list(history.owed) == [S1]
    history.subscribed(1.0, S1)  # an answer that crossed with the request
    assert list(history.owed) == [S1]
    history.unsubscribed(1.0, S1)
    assert list(history.owed) == []
    assert history.live() == []


def test_asking_again_during_the_life_of_a_subscription_changes_nothing() -> None:
    history = History(LINE)
    history.subscribe(0.0, S1, WANTED)
    history.subscribed(0.0, S1)
    history.subscribe(1.0, S1, WANTED)
    assert history.live() == [(S1, WANTED)]
    assert list(history.owed) == []


def test_another_filter_begins_a_life_and_the_one_before_ends_when_that_is_confirmed() -> None:
    history = History(LINE)
    history.subscribe(0.0, S1, WANTED)
    history.subscribed(0.0, S1)
    history.subscribe(1.0, S1, OTHER)
    former, later = history.subscriptions[S1]
    assert former.leaving == later.asked
    assert (former.left, later.confirmed) == (None, None)
    assert history.leaving(S1) == ()  # its client waits for no end
    assert list(history.owed) == [S1]
    history.subscribed(2.0, S1)
    assert former.left == later.confirmed
    assert later.left is None
    assert history.live() == [(S1, OTHER)]
    assert list(history.owed) == []


def test_an_answer_that_was_given_before_the_change_is_none_to_it() -> None:
    history = History(LINE)
    history.subscribe(0.0, S1, WANTED)
    history.subscribe(2.0, S1, OTHER)
    history.subscribed(3.0, S1, since=1.0)
    former, later = history.subscriptions[S1]
    assert (former.confirmed is None, later.confirmed) == (False, None)
    history.subscribed(3.5, S1, since=1.5)  # to the same, asked again
    assert (former.left, later.confirmed) == (None, None)
    assert list(history.owed) == [S1]
    history.subscribed(4.0, S1, since=3.0)
    assert former.left == later.confirmed
    assert list(history.owed) == []


def test_an_end_is_that_of_both_filters_where_the_change_is_not_confirmed() -> None:
    history = History(LINE)
    history.subscribe(0.0, S1, WANTED)
    history.subscribed(0.0, S1)
    history.subscribe(1.0, S1, OTHER)
    history.unsubscribe(2.0, S1)
    lives = history.subscriptions[S1]
    assert history.leaving(S1) == tuple(lives)
    history.unsubscribed(3.0, S1)
    assert {one.left for one in lives} == {lives[-1].left}
    assert lives[-1].left is not None
    assert list(history.owed) == []


def test_subscribing_again_after_the_end_begins_another_life() -> None:
    history = History(LINE)
    history.subscribe(0.0, S1, WANTED)
    history.unsubscribe(1.0, S1)
    history.unsubscribed(1.0, S1)
    history.subscribe(2.0, S1, OTHER)
    first, second = history.subscriptions[S1]
    assert first.left is not None
    assert first.left < second.asked
    assert history.live() == [(S1, OTHER)]


def test_answers_about_strangers_are_let_pass() -> None:
    history = History(LINE)
    history.subscribed(0.0, S1)
    history.unsubscribe(0.0, S1)
    history.unsubscribed(0.0, S1)
    history.accepted(0.0, "p")
    history.refused(0.0, ANN, "p")
    assert history.subscriptions == {}
    assert history.publications == {}
    assert [subject for _, _, subject in history.refusals] == ["p"]


def test_gone_ends_the_subscriptions_of_one_client() -> None:
    history = History(LINE)
    history.subscribe(0.0, S1, WANTED)
    history.subscribe(0.0, S2, OTHER)
    history.gone(1.0, "a", "ann")
    assert history.live() == [(S2, OTHER)]
    assert list(history.owed) == [S2]


def test_gone_ends_the_subscriptions_of_all_clients_of_a_router() -> None:
    history = History(LINE)
    elsewhere = SubscriptionName("b", "ann", "s1")
    for name in (S1, S2, elsewhere):
        history.subscribe(0.0, name, WANTED)
    history.unsubscribe(0.5, S2)
    asked_to_leave = history.subscriptions[S2][0].leaving
    history.gone(1.0, "a")
    assert history.live() == [(elsewhere, WANTED)]
    assert history.subscriptions[S2][0].leaving == asked_to_leave
    assert history.subscriptions[S2][0].left is not None


def test_a_publication_is_owed_until_it_is_accepted_or_refused() -> None:
    history = History(LINE)
    for id_ in ("p1", "p2", "p3"):
        history.publish(0.0, ANN, Publication(id_, {}))
    history.accepted(0.0, "p1")
    history.refused(0.0, ANN, "p2")
    history.refused(0.0, ClientName("b", "ann"), "p3")
    assert history.unanswered() == ("publication p3 of a/ann",)
    assert history.publications["p1"].accepted is not None
    assert history.publications["p2"].refused is not None


def test_an_outage_settles_when_both_ends_know_and_nothing_is_under_way() -> None:
    history = History(LINE)
    assert not history.settling
    history.link_down(0.0, "a", "b")
    history.settle(1.0)
    assert history.settling
    history.link_joined(2.0, "b", "a")
    history.settle(3.0)
    assert not history.settling
    (outage,) = history.outages["a", "b"]
    assert history.outages["b", "a"] == [outage]
    assert outage.joined is not None
    assert outage.settled is not None
    assert outage.down < outage.joined < outage.settled


def test_an_outage_that_was_cut_short_settles_with_the_next_one() -> None:
    history = History(LINE)
    history.link_down(0.0, "a", "b")
    history.link_down(1.0, "b", "a")  # down again before both ends knew that it was up
    history.link_joined(2.0, "a", "b")
    history.link_joined(2.5, "a", "b")
    history.settle(3.0)
    first, second = history.outages["a", "b"]
    assert first.joined is None
    assert second.joined is not None
    assert second.joined.time == 2.0
    assert first.settled is not None
    assert second.settled is not None


def test_a_link_that_never_was_down_has_nothing_to_join() -> None:
    history = History(LINE)
    history.link_joined(0.0, "a", "b")
    assert history.outages == {}


def test_advertisements_have_lives_of_their_own_beside_subscriptions_of_the_same_name() -> None:
    history = History(LINE)
    promise = AdvertisementName(*S1)
    assert promise.owner == S1.owner
    history.subscribe(0.0, S1, WANTED)
    history.advertise(0.0, promise, OTHER)
    assert history.unanswered() == ("a/ann/s1: x > 1", "advertisement a/ann/s1: x > 2")
    history.advertised(1.0, promise)
    assert list(history.owed) == [S1]
    assert history.live_advertisements() == [(promise, OTHER)]
    history.unadvertise(2.0, promise)
    assert list(history.owed) == [S1, promise]
    assert history.live_advertisements() == []
    history.unadvertised(3.0, promise)
    (epoch,) = history.advertisements[promise]
    assert epoch.confirmed is not None
    assert epoch.leaving is not None
    assert epoch.left is not None
    assert epoch.confirmed < epoch.leaving < epoch.left


def test_gone_ends_advertisements_as_well() -> None:
    history = History(LINE)
    promise = AdvertisementName("a", "ann", "a1")
    history.advertise(0.0, promise, WANTED)
    history.gone(1.0, "a", "ann")
    assert history.live_advertisements() == []
    assert history.owed == {}
    history.advertised(2.0, AdvertisementName("c", "eve", "a1"))
    assert list(history.advertisements) == [promise]


def test_the_overlay_of_a_moment_is_that_of_the_last_change_before_it() -> None:
    history = History(LINE)
    wider = with_link(with_router(LINE, "d"), Link("d", "a", 2.0))
    history.rewired(5.0, wider)
    other = with_link(without_link(wider, "a", "d"), Link("a", "d", 3.0))
    history.rewired(6.0, other)
    assert history.topology is other
    assert [history.overlay_at(Moment(at, 99)) for at in (0.0, 5.5, 7.0)] == [LINE, wider, other]
    assert history.routers() == ("a", "b", "c", "d")
    assert [str(link) for link in history.links()] == ["a-b", "b-c", "a-d"]
    assert history.links()[2].latency_s == 3.0


def test_a_link_that_is_removed_is_waited_for_only_if_it_comes_again() -> None:
    history = History(LINE)
    history.link_down(1.0, "a", "b")
    assert history.settling
    history.link_removed("b", "a")
    assert not history.settling
    history.link_added("b", "a")
    assert len(history.outages["a", "b"]) == 1
    history.settle(2.0)
    assert history.settling
    history.link_joined(3.0, "a", "b")
    history.settle(4.0)
    assert not history.settling
    assert [outage.settled for outage in history.outages["b", "a"]] == [Moment(4.0, 3)]
