"""The durable subscriptions of one broker: who may do what, and what is said of it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FileFormatError, InputError
from sapwood.limits.durable import DURABLE_HAND_MAX
from sapwood.session.durable.catching_up import Arrival, CatchingUp
from sapwood.session.durable.effects import Attach, Detach, Refuse
from sapwood.session.durable.restoring import restored
from sapwood.session.durable.rows import Kind
from sapwood.session.durable.subscriptions import OWNER, DurableSubscriptions, is_owner
from sapwood.wire.durable import AcknowledgeRequest, Overflow, Policy
from sapwood.wire.names import check_name
from tests.session.durable.world import Reader, World


@pytest.fixture
def world() -> World:
    return World()


def places(reader: Reader) -> list[int]:
    return [parcel.place for parcel in reader.parcels]


def test_what_comes_while_no_consumer_is_there_waits(world: World) -> None:
    world.open("alerts", divisor=2)
    world.commit()
    world.leave("c1")
    world.publish(1, 2, 3, 4)
    world.commit()
    reader = world.open("alerts", divisor=2)
    world.commit()
    assert places(reader) == [1, 3]


def test_several_consumers_of_a_name_share_what_comes(world: World) -> None:
    readers = [world.open("work", client) for client in ("c1", "c2", "c3")]
    world.publish(*range(90))
    world.commit()
    assert [len(reader.parcels) for reader in readers] == [30, 30, 30]
    assert sorted(place for reader in readers for place in places(reader)) == list(range(90))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(1, 4))
def test_consumers_have_equal_shares_however_it_comes(sizes: list[int], consumers: int) -> None:
    world = World()
    readers = [world.open("work", f"c{n}", window=240) for n in range(consumers)]
    for size in sizes:
        world.publish(*range(size))
        world.commit()
        shares = [len(reader.parcels) for reader in readers]
        assert max(shares) - min(shares) <= 1
    assert sum(shares) == sum(sizes)


def test_what_a_consumer_that_is_gone_had_goes_to_the_others(world: World) -> None:
    gone, staying = world.open("work", "c1"), world.open("work", "c2")
    world.publish(*range(10))
    world.commit()
    mine, others = set(places(staying)), set(places(gone))
    world.leave("c1")
    world.commit()
    assert set(places(staying)) == mine | others
    assert [one.attempt for one in staying.parcels if one.place in others] == [2] * 5


def test_what_a_consumer_is_too_slow_with_goes_to_another(world: World) -> None:
    slow = world.open("work", "c1", policy=Policy(acknowledge_s=5.0))
    world.publish(1)
    world.commit()
    other = world.open("work", "c2")
    world.advance(5.0)
    world.commit()
    assert (places(slow), places(other)) == ([0], [0])
    world.acknowledge(slow, [1])  # late, and counted
    world.publish(2)
    world.commit()
    assert places(slow) == [0, 1]


def test_a_consumer_that_is_alone_gets_again_what_it_is_too_slow_with(world: World) -> None:
    slow = world.open("work", "c1", policy=Policy(acknowledge_s=5.0))
    world.publish(1)
    for _ in range(3):
        world.commit()
        world.advance(5.0)
    assert [parcel.attempt for parcel in slow.parcels] == [1, 2, 3]


def test_a_consumer_has_no_more_than_its_window_unacknowledged(world: World) -> None:
    reader = world.open("work", window=3)
    world.publish(*range(5))
    world.commit()
    assert len(reader.parcels) == 3
    world.acknowledge(reader, [1, 3])
    world.commit()
    assert len(reader.parcels) == 5


def test_a_frame_has_no_more_than_its_bound(world: World) -> None:
    world.open("work", window=60_000)
    world.publish(*range(2 * DURABLE_HAND_MAX + 1))
    handed = [len(one.parcels) for one in world.hub.settle(0.0) if hasattr(one, "parcels")]
    assert handed == [DURABLE_HAND_MAX, DURABLE_HAND_MAX, 1]


def test_another_filter_under_a_name_in_use_is_refused_with_the_remedy(world: World) -> None:
    world.open("alerts", divisor=2)
    other = world.open("alerts", "c2", divisor=3)
    world.commit()
    assert other.turned == (
        "the durable subscription 'alerts' is there with another filter, 2; leave the filter out, "
        "choose another name, or remove it"
    )


def test_no_filter_means_the_one_that_is_there(world: World) -> None:
    nobody = world.open("alerts", divisor=None)
    world.commit()
    assert "there is no durable subscription 'alerts' here; give a filter" in nobody.turned
    world.readers.clear()
    world.open("alerts", divisor=2)
    joined = world.open("alerts", "c2", divisor=None)
    world.commit()
    assert joined.joined


def test_a_client_has_one_consumer_under_an_id(world: World) -> None:
    world.open("alerts")
    again = world.open("alerts")
    world.commit()
    assert "is a consumer already" in again.turned


def test_since_means_nothing_for_a_name_that_is_there(world: World) -> None:
    world.publish(1, 2)
    world.open("alerts")
    world.commit()
    world.leave("c1")
    reader = world.open("alerts", start=0)
    world.commit()
    assert reader.joined
    assert world.hub.looks() is None
    assert places(reader) == []


def test_bounds_that_let_go_are_said_to_consumers_and_in_the_log(world: World) -> None:
    reader = world.open("alerts", policy=Policy(count_max=2), window=1)
    world.publish(*range(5))
    world.commit()
    assert reader.told == [3]
    (said,) = {(one.what, one.reason) for one in world.said if one.count}
    assert said == ("publications let go", "its mailbox was full")
    assert sum(one.count for one in world.said) == 3


def test_a_later_consumer_changes_the_bounds(world: World) -> None:
    world.open("alerts", policy=Policy(count_max=2))
    world.open("alerts", "c2", divisor=None, policy=Policy(overflow=Overflow.NEWEST))
    world.commit()
    world.crash()
    policy = world.hub.show("alerts", world.time).policy
    assert (policy.count_max, policy.overflow) == (2, Overflow.NEWEST)


def test_a_consumer_that_comes_late_hears_of_what_went_meanwhile(world: World) -> None:
    world.open("alerts", policy=Policy(age_max_s=10.0))
    world.publish(1, 2)
    world.commit()
    world.leave("c1")
    world.advance(20.0)
    world.commit()
    world.crash()
    reader = world.open("alerts", divisor=None)
    world.commit()
    state = world.hub.show("alerts", world.time)
    assert (state.dropped, state.waiting, reader.parcels) == (2, 0, [])


def test_removing_turns_consumers_out_and_leaves_no_row(world: World) -> None:
    reader = world.open("alerts")
    world.publish(*range(10))
    world.commit()
    world.acknowledge(reader, [1, 2])
    world.commit()
    world.carry_out(world.hub.remove("alerts"))
    world.commit()
    assert "was removed" in reader.turned
    assert not [row for row in world.kept.values() if row.kind is not Kind.SEEN]
    assert not world.owners
    with pytest.raises(InputError, match="there is no durable subscription 'alerts' here"):
        world.hub.remove("alerts")


def test_a_name_that_is_made_again_begins_anew(world: World) -> None:
    world.open("alerts")
    world.publish(1)
    world.commit()
    before = world.hub.show("alerts", world.time).generation
    world.carry_out(world.hub.remove("alerts"))
    world.readers.clear()
    world.numbers.clear()
    reader = world.open("alerts")
    world.publish(2)
    world.commit()
    assert [parcel.number for parcel in reader.parcels] == [1]
    assert world.hub.show("alerts", world.time).generation != before


def test_an_acknowledgement_of_a_consumer_that_is_gone_is_nobodys_fault(world: World) -> None:
    world.hub.acknowledge("c9", AcknowledgeRequest("end", 1, (1, 1)))


def test_an_acknowledgement_of_what_was_never_delivered_is_an_error(world: World) -> None:
    world.open("alerts")
    world.commit()
    with pytest.raises(InputError, match="number 1 was never delivered"):
        world.hub.acknowledge("c1", AcknowledgeRequest("alerts-end", 1, (1, 1)))


def test_a_subscription_of_ones_own_begins_in_the_journal_and_goes_with_its_consumer(
    world: World,
) -> None:
    world.publish(*range(6))
    world.commit()
    reader = world.open("", divisor=2, start=1)
    world.publish(6, 7, 8)
    while world.look(2):
        world.commit()
    assert places(reader) == [2, 4, 6, 8]
    world.leave("c1")
    world.commit()
    assert not world.owners
    assert not world.kept
    assert len(world.hub) == 0


def test_names_are_listed_in_order_and_shown(world: World) -> None:
    for name in ("b", "a", "c"):
        world.open(name, divisor=2)
    world.open("", "c2")
    world.publish(2)
    world.advance(3.0)
    listed = world.hub.listed("a", world.time, lambda _: True)
    assert [one.name for one in listed.durables] == ["b", "c"]
    shown = world.hub.show("a", world.time)
    assert (shown.waiting, shown.bytes, shown.filter, shown.consumers) == (1, 10, "2", ("c1",))
    assert (shown.oldest_s, shown.last_seen_s, shown.state) == (3.0, 0.0, "in force")
    with pytest.raises(InputError, match="no durable subscription 'x'"):
        world.hub.show("x", world.time)


def test_what_the_router_refuses_is_no_subscription() -> None:
    world = World()
    world.carry_out = world.output.extend  # type: ignore[method-assign, assignment]
    reader = world.open("alerts")
    assert isinstance(world.output[0], Attach)
    gone = world.hub.refused(OWNER + "alerts", "too many")
    assert [type(effect) for effect in gone[:2]] == [Refuse, Detach]
    assert len(world.hub) == 0
    assert reader.name == "alerts"


def test_nobody_hears_of_an_owner_that_is_gone() -> None:
    hub = DurableSubscriptions()
    assert hub.confirmed("durable x") == hub.refused("durable x", "?") == []
    assert hub.delivered("durable x", [Arrival(1, 1)], 0.0) == []
    assert hub.looked("durable x", [], 5, 0.0) == []
    assert hub.leave("c1", "x", 0.0) is None
    assert hub.next_deadline() is None


def test_owners_are_called_as_no_client_can_be() -> None:
    assert is_owner(OWNER + "alerts")
    with pytest.raises(InputError):
        check_name("client", OWNER + "alerts")


def test_what_the_journal_lost_is_let_go_aloud(world: World) -> None:
    world.publish(*range(4))
    world.open("all", start=0, window=1)
    world.publish(4, 5)
    world.commit()
    world.carry_out(world.hub.not_kept_before(5, world.time))
    world.commit()
    assert world.hub.show("all", world.time).waiting == 1
    assert world.hub.looks() is None


def test_rows_that_lost_what_a_subscription_is_are_an_error(world: World) -> None:
    world.open("alerts")
    world.commit()
    rows = [row for row in world.kept.values() if row.kind is not Kind.SUBSCRIPTION]
    with pytest.raises(FileFormatError, match=r"'alerts'.*has lost a row"):
        restored(rows, 0, OWNER)


@given(
    start=st.integers(0, 20),
    bound=st.integers(1, 5),
    steps=st.lists(st.sampled_from(("live", "look")), max_size=40),
)
def test_journal_and_live_give_each_publication_once(
    start: int, bound: int, steps: list[str]
) -> None:
    end = 20
    progress, put = CatchingUp(start, start, end, bound), list[int]()
    for step in steps:
        if step == "live":
            if progress.arrived(Arrival(end, 1)):
                put.append(end)
            end += 1
        elif progress.catching_up:
            through = min(progress.cursor + 3, progress.floor)
            put += range(progress.cursor, through)
            put += [one.place for one in progress.looked(through)]
    while progress.catching_up:
        through = min(progress.cursor + 3, progress.floor)
        put += range(progress.cursor, through)
        put += [one.place for one in progress.looked(through)]
    assert sorted(put) == list(range(start, end))


def test_what_comes_late_after_two_lives_is_not_put_twice(world: World) -> None:
    world.open("twos", divisor=2)  # to have an owner before
    world.publish(4, late=True)
    world.open("alerts", start=0)
    world.under_way.append(("durable alerts", 0))
    world.commit()
    while world.look(3):
        world.commit()
    world.publish(6)
    world.crash(keeps_journal=True)  # place 1 is looked at by the next life
    assert world.look(3)
    world.publish(8)
    world.commit()
    world.crash()
    world.open("alerts")
    world.deliver()
    world.commit()
    put = [place for (name, _), place in world.numbers.items() if name == "alerts"]
    assert sorted(put) == [0, 1, 2]


NOTHING = 1_000_003
"""The divisor of a filter that no publication here passes."""


def test_what_was_delivered_as_often_as_may_be_is_let_go_aloud(world: World) -> None:
    policy = Policy(acknowledge_s=5.0, attempts_max=2)
    reader = world.open("work", policy=policy, window=1)
    world.publish(1, 2)
    for _ in range(2):
        world.commit()
        world.advance(5.0)
    world.commit()
    assert [(one.place, one.attempt) for one in reader.parcels] == [(0, 1), (0, 2), (1, 1)]
    state = world.hub.show("work", world.time)
    assert (state.dropped, state.waiting, reader.told) == (1, 1, [1])
    assert [(one.what, one.count) for one in world.said if one.reason] == [
        ("publications let go", 1)
    ]
    world.acknowledge(reader, [1, 2])  # the one that is gone counts nothing
    world.commit()
    assert world.hub.show("work", world.time).waiting == 0
    assert world.rows.keys() == {
        (Kind.SUBSCRIPTION, "work", 0),
        (Kind.STATE, "work", 0),
        (Kind.SEEN, "", 0),
    }


def test_it_goes_to_another_durable_subscription_where_one_is_named(world: World) -> None:
    world.open("dead", "c2", divisor=NOTHING)
    policy = Policy(attempts_max=1, dead_letter="dead")
    world.open("work", "c1", policy=policy)
    world.publish(1, 2, 3)
    world.commit()
    world.leave("c1")
    world.commit()
    dead = world.readers["c2", "dead-end"]
    assert places(dead) == [0, 1, 2]
    shown = world.hub.show("work", world.time)
    assert (shown.dropped, shown.waiting) == (0, 0)
    assert (shown.policy.attempts_max, shown.policy.dead_letter) == (1, "dead")
    world.crash()
    assert world.hub.show("work", world.time).waiting == 0
    assert world.hub.show("dead", world.time).waiting == 3
    world.hub.remove("dead")  # from then on nobody has it
    world.open("work", "c1", divisor=None)
    world.publish(4)
    world.commit()
    world.leave("c1")
    world.commit()
    assert world.hub.show("work", world.time).dropped == 1


def test_bounds_on_attempts_that_cannot_be_are_refused(world: World) -> None:
    for policy, reason in (
        (Policy(dead_letter="dead"), "how often"),
        (Policy(attempts_max=2, dead_letter="work"), "itself"),
        (Policy(attempts_max=2, dead_letter="dead"), "there is no durable subscription 'dead'"),
    ):
        reader = world.open("work", policy=policy)
        world.commit()
        assert reason in reader.turned
        world.readers.clear()
    assert len(world.hub) == 0


@given(st.randoms(use_true_random=False), st.integers(1, 3))
def test_through_crashes_each_is_done_or_in_the_other_mailbox(
    random_: Random, attempts: int
) -> None:
    """Nothing is lost between two mailboxes, and nothing is twice in the second one."""
    world = World()
    policy = Policy(acknowledge_s=5.0, attempts_max=attempts, dead_letter="dead")

    def come() -> None:
        world.open("dead", "c2", divisor=NOTHING, window=3)
        for client in ("c1", "c3"):
            world.open("work", client, policy=policy, window=2)

    come()
    world.commit()
    for _ in range(random_.randint(5, 40)):
        match random_.randrange(7):
            case 0 | 1:
                world.publish(*range(1, random_.randint(2, 5)))
            case 2:
                world.advance(5.0)
            case 3:
                world.leave(random_.choice(("c1", "c3")))
            case 4:
                world.crash(keeps_journal=random_.random() < 0.5)
                come()
            case 5:
                come()
            case _:
                reader = world.readers.get(("c1", "work-end"))
                if reader is not None and reader.unacknowledged:
                    world.acknowledge(reader, [random_.choice(list(reader.unacknowledged))])
                    world.commit()
        if random_.random() < 0.6:
            world.commit()
        else:
            world.turn()
    world.crash(keeps_journal=True)
    come()
    for _ in range(200):
        world.commit()
        world.look(100)
        for reader in list(world.readers.values()):
            if reader.name == "dead" and reader.unacknowledged:
                world.acknowledge(reader, list(reader.unacknowledged))
        world.advance(5.0)
    numbers = {place: number for (name, number), place in world.numbers.items() if name == "dead"}
    assert len(numbers) == sum(1 for name, _ in world.numbers if name == "dead")
    assert numbers.keys() | world.done["work"] == set(range(len(world.journal)))
