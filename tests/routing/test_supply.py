"""Supply: a router's reports of advertisements for its clients, against the definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from sapwood.language import parse_filter
from sapwood.matching.engine_names import Engines
from sapwood.model.interest import Interest
from sapwood.routing.effects import Effect, Subscribed, Supply
from sapwood.routing.inputs import (
    AttachClient,
    Change,
    ClientAdvertise,
    ClientSubscribe,
    ClientSubscribeMany,
    ClientUnadvertise,
    ClientUnsubscribe,
    DetachClient,
    LinkDown,
    LinkUp,
    Receive,
)
from sapwood.routing.membership.given import Given
from sapwood.routing.messages import Advertise, Unadvertise
from sapwood.routing.protocols import protocol
from sapwood.routing.supply import SupplyWatch
from sapwood.routing.tables import CLIENTS, LocalEntry

BOUNDS: Final = range(4)


def filter_of(bound: int) -> str:
    return f"a = {bound} or a = {bound + 1}"


def made(word: str = "advertisement+covering") -> Given:
    return Given("r1", protocol(word), Engines("counting"))


def subscribing(id_: str, text: str, client: str = "ann") -> ClientSubscribe:
    return ClientSubscribe(client, id_, parse_filter(text))


def heard(effects: Sequence[Effect]) -> list[Effect]:
    return [effect for effect in effects if isinstance(effect, Supply | Subscribed)]


class Told:
    """A router, what its clients heard last, and what they and a neighbor stated."""

    def __init__(self) -> None:
        self.core = made()
        self.unsupplied: set[tuple[str, str]] = set()
        self.wanted: dict[tuple[str, str], int] = {}
        self.promised: dict[tuple[str, str], int] = {}
        self.serial = 0

    def take(self, change: Change) -> None:
        for effect in self.core.apply(change):
            if isinstance(effect, Supply):
                names = {(effect.client, id_) for id_ in effect.subscriptions}
                assert names <= self.unsupplied if effect.is_there else names, "said without need"
                if effect.is_there:
                    self.unsupplied -= names
                else:
                    self.unsupplied |= names

    def act(self, act: tuple[str, str, str, int]) -> None:
        """One more step, where it makes sense."""
        word, client, id_, bound = act
        core, name = self.core, (client, id_)
        attached = client in core.subscriptions.entries.by_client
        is_up = "r2" in core.subscriptions.entries.received
        match word:
            case "attach" if not attached:
                self.take(AttachClient(client))
            case "detach" if attached:
                for table in (self.wanted, self.promised):
                    for one in [one for one in table if one[0] == client]:
                        del table[one]
                self.unsupplied = {one for one in self.unsupplied if one[0] != client}
                self.take(DetachClient(client))
            case "subscribe" if attached and name not in self.wanted:
                self.wanted[name] = bound
                self.take(subscribing(id_, filter_of(bound), client))
            case "subscribe many" if attached:
                fresh = [one for one in ("s", "t") if (client, one) not in self.wanted]
                self.wanted.update(((client, one), bound) for one in fresh)
                some = tuple((one, parse_filter(filter_of(bound))) for one in fresh)
                self.take(ClientSubscribeMany(client, some))
            case "unsubscribe" if name in self.wanted:
                del self.wanted[name]
                self.unsupplied.discard(name)
                self.take(ClientUnsubscribe(client, id_))
            case "advertise" if attached and name not in self.promised:
                self.promised[name] = bound
                self.take(ClientAdvertise(client, id_, parse_filter(f"a = {bound}")))
            case "unadvertise" if name in self.promised:
                del self.promised[name]
                self.take(ClientUnadvertise(client, id_))
            case "link" if not is_up:
                self.take(LinkUp("r2", inbound=True))
            case "cut" if is_up:
                for one in [one for one in self.promised if one[0] == "r2"]:
                    del self.promised[one]
                self.take(LinkDown("r2"))
            case "hear" if is_up and ("r2", f"k{bound}") not in self.promised:
                self.promised["r2", f"k{bound}"] = bound
                self.serial += 1
                said = Advertise(f"k{bound}", parse_filter(f"a = {bound}"), self.serial)
                self.take(Receive("r2", said))
            case "unhear" if ("r2", f"k{bound}") in self.promised:
                del self.promised["r2", f"k{bound}"]
                self.take(Receive("r2", Unadvertise(f"k{bound}")))
            case "rebuild":
                core.rebuild()
            case _:
                pass

    def expected(self) -> set[tuple[str, str]]:
        """The subscriptions in force that nobody advertises for, by the definition."""
        there = {*self.promised.values()}
        return {
            (client, id_)
            for (client, id_), bound in self.wanted.items()
            if there.isdisjoint((bound, bound + 1))
            and self.core.subscriptions.in_force(self.core.subscriptions.own(client)[id_].key)
        }


WORDS: Final = (
    *("attach", "detach", "subscribe", "subscribe", "subscribe many", "unsubscribe"),
    *("advertise", "unadvertise", "link", "cut", "hear", "hear", "unhear", "rebuild"),
)

acts = st.lists(
    st.tuples(
        st.sampled_from(WORDS),
        st.sampled_from(("ann", "bob")),
        st.sampled_from(("s", "t")),
        st.sampled_from(BOUNDS),
    ),
    max_size=40,
)


@given(acts)
def test_clients_know_at_any_time_what_nobody_advertises(
    some: list[tuple[str, str, str, int]],
) -> None:
    told = Told()
    for act in (("attach", "ann", "", 0), ("link", "", "", 0), *some):
        told.act(act)
        told.core.validate()
        # what waits for a neighbor's confirmation is said nothing of, and has nothing to take back
        assert told.unsupplied == told.expected()


def test_a_client_hears_of_a_new_subscription_before_it_is_confirmed() -> None:
    core = made()
    core.apply(AttachClient("ann"))
    effects = heard(core.apply(subscribing("s", "a = 1")))
    assert effects == [Supply("ann", ("s",), is_there=False), Subscribed("ann", "s")]
    core.apply(AttachClient("bob"))
    came = core.apply(ClientAdvertise("bob", "d", parse_filter("a > 0")))
    assert heard(came) == [Supply("ann", ("s",), is_there=True)]
    assert heard(core.apply(subscribing("t", "a = 2"))) == [Subscribed("ann", "t")]
    gone = core.apply(DetachClient("bob"))
    assert heard(gone) == [Supply("ann", ("s", "t"), is_there=False)]


def test_a_client_that_states_a_subscription_again_hears_it_again() -> None:
    core = made()
    core.apply(AttachClient("ann"))
    first = heard(core.apply(subscribing("s", "a = 1")))
    assert heard(core.apply(subscribing("s", "a = 1"))) == first


def test_an_advertisement_in_the_place_of_another_says_nothing() -> None:
    core = made()
    for client in ("ann", "bob"):
        core.apply(AttachClient(client))
    core.apply(ClientAdvertise("bob", "d", parse_filter("a > 0")))
    core.apply(subscribing("s", "a = 1"))
    core.apply(ClientAdvertise("bob", "e", parse_filter("a < 9")))
    assert heard(core.apply(ClientUnadvertise("bob", "d"))) == []
    assert heard(core.apply(ClientUnadvertise("bob", "e"))) == [
        Supply("ann", ("s",), is_there=False)
    ]


def test_where_nobody_has_to_advertise_nothing_is_said() -> None:
    core = made("covering")
    core.apply(AttachClient("ann"))
    assert heard(core.apply(subscribing("s", "a = 1"))) == [Subscribed("ann", "s")]


def test_what_comes_and_goes_within_one_change_is_not_said() -> None:
    entry: LocalEntry[Interest] = LocalEntry("k", "ann", "s", parse_filter("a = 1"))
    watch = SupplyWatch(lambda *_: entry.filter)
    in_force = [Subscribed("ann", "s")]
    for side, key in ((CLIENTS, "d"), ("r2", "e")):
        if side != CLIENTS:
            watch.add_side(side)
        watch.learned(side, key, parse_filter("a > 0"))
    assert watch.said(in_force) == in_force
    watch.remove_side("r2")
    watch.forgot(CLIENTS, "d")
    watch.learned(CLIENTS, "f", parse_filter("a < 9"))
    assert watch.said(()) == []
    watch.learned(CLIENTS, "g", parse_filter("a = 7"))
    watch.forgot(CLIENTS, "g")
    watch.forgot(CLIENTS, "f")
    assert watch.said(()) == [Supply("ann", ("s",), is_there=False)]
    watch.learned(CLIENTS, "h", parse_filter("a = 1"))
    watch.forgot(CLIENTS, "h")
    assert watch.said(()) == []
    watch.validate({CLIENTS: {}})
    watch.left("ann")
    watch.learned(CLIENTS, "h", parse_filter("a = 1"))
    assert watch.said(()) == []
