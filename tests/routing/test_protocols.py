"""The catalogue of protocols, and the message counts that tell them apart."""

from __future__ import annotations

import pytest

from sapwood.errors import InputError, UnknownNameError
from sapwood.routing.messages import Subscribe, Update
from sapwood.routing.protocols import FORWARDINGS, PROTOCOLS, meshed, protocol
from sapwood.routing.router import Router
from tests.routing import wiring
from tests.routing.wiring import LINE, Wiring


def test_catalogue_names_are_the_protocols_names() -> None:
    kept = ("covering+recover", "covering+stabilize", "irbr", "scribe", "rpf", "rpf:plain")
    listed = (*wiring.PROTOCOLS, *wiring.ADVERTISED, "advertisement+xroute+types", *kept)
    assert sorted(PROTOCOLS) == sorted(listed)
    assert all(PROTOCOLS[name].name == name and PROTOCOLS[name].exact for name in PROTOCOLS)


def test_the_upkeep_is_a_word_in_any_place() -> None:
    for name in ("recover+covering", "covering+recover"):
        chosen = protocol(name)
        assert (chosen.name, chosen.upkeep.name) == ("covering+recover", "recover")
        assert chosen.persists
    assert protocol("recover+mesh+xroute").name == "mesh+xroute+recover"
    with pytest.raises(InputError, match="only one can"):
        protocol("covering+recover+replay")


def test_unknown_protocol_is_an_error_with_the_known_names() -> None:
    known = "known: covering, maximal, identity, simple, flooding"
    with pytest.raises(UnknownNameError, match=known):
        protocol("gossip")


def test_covering_takes_the_name_of_a_pair_of_graph_and_index() -> None:
    chosen = protocol("covering:flat-8,counting")
    assert (chosen.name, chosen.exact) == ("covering:flat-8,counting", True)
    assert "flat-8,counting" in chosen.summary


@pytest.mark.parametrize(
    "name",
    [
        "covering:flat-1,columnar+subscription-tree",
        "maximal:poset+subscription-tree-lazy",
        "mesh+advertisement+maximal:flat-1,counting+xpe-procedures",
        "covering:flat-1,columnar+xsearch+recover",
    ],
)
def test_a_covering_of_documents_goes_behind_the_pair(name: str) -> None:
    assert protocol(name).name == name


def test_a_covering_of_documents_is_no_word_without_a_pair() -> None:
    for name in ("covering+subscription-tree", "subscription-tree+covering", "simple+xsearch"):
        with pytest.raises(UnknownNameError, match="no protocol is called"):
            protocol(name)
    with pytest.raises(UnknownNameError, match="no protocol is called"):
        protocol("covering:flat-1,columnar+tree")


@pytest.mark.parametrize(
    "name",
    [
        "covering:flat-1,counting+merging",
        "covering+merging:0.1",
        "advertisement+covering+merging:0.25",
        "advertisement+covering:poset+merging",
    ],
)
def test_merging_goes_with_any_covering_and_budget(name: str) -> None:
    chosen = protocol(name)
    assert (chosen.name, chosen.exact) == (name, True)
    assert chosen.clients_advertise == name.startswith("advertisement")
    assert chosen.routes_depend_on_order
    assert "is merged" in chosen.summary


@pytest.mark.parametrize("budget", [":", ":x", ":1", ":-0.1", ":nan"])
def test_a_budget_that_is_none_is_refused(budget: str) -> None:
    with pytest.raises(InputError, match=r"as in \+merging:0\.1"):
        protocol(f"covering+merging{budget}")


@pytest.mark.parametrize("pair", ["flat-1", "flat-1,columnr", ""])
def test_unknown_pair_of_covering_is_an_error_with_the_known_pairs(pair: str) -> None:
    with pytest.raises(UnknownNameError, match=r"known: flat-1,columnar, .*poset, forest"):
        protocol(f"covering:{pair}")


@pytest.mark.parametrize("name", ["covering,flat-1", "coverings:flat-1,columnar"])
def test_only_covering_takes_a_pair(name: str) -> None:
    with pytest.raises(UnknownNameError, match="no protocol is called"):
        protocol(name)


def test_each_protocol_saves_messages_over_the_one_before() -> None:
    counts = {}
    for name in ("flooding", "simple", "identity", "covering"):
        overlay = Wiring(name, LINE)
        overlay.attach("r1", "c")
        for i, text in enumerate(["a > 1", "a > 1", "a > 2", "a > 3", "b = 1"]):
            overlay.subscribe("r1", "c", f"s{i}", text)
        counts[name] = overlay.sent(Subscribe)
    assert counts == {"flooding": 0, "simple": 10, "identity": 8, "covering": 4}


def test_advertisements_go_with_any_pair_that_finds_covers() -> None:
    name = "advertisement+covering:flat-1,columnar"
    found = protocol(name)
    assert found.name == name
    assert found.clients_advertise
    assert "only to where it is advertised" in found.summary
    assert [one.name for one in PROTOCOLS.values() if one.clients_advertise] == [
        "advertisement+covering",
        "advertisement+covering+merging",
        "advertisement+identity",
        "advertisement",
        "advertisement+xroute",
        "advertisement+xroute+types",
    ]
    with pytest.raises(UnknownNameError):
        protocol("advertisement+")


def test_advertisements_save_messages_where_little_is_advertised() -> None:
    counts = {}
    names = ("simple", "advertisement", "advertisement+identity", "advertisement+covering")
    for name in (*names, "xroute", "advertisement+xroute"):
        overlay = Wiring(name, LINE)
        overlay.attach("r1", "c")
        overlay.attach("r3", "p")
        overlay.advertise("r3", "p", "promise", "a > 0 and not exists b")
        for i, text in enumerate(["a > 1", "a > 1", "a > 2", "a > 3", "b = 1", "c = 1 and b > 0"]):
            overlay.subscribe("r1", "c", f"s{i}", text)
        counts[name] = overlay.sent(Subscribe) + overlay.sent(Update)
    assert counts == {
        "simple": 12,
        "advertisement": 8,
        "advertisement+identity": 6,
        "advertisement+covering": 2,
        "xroute": 12,
        "advertisement+xroute": 8,
    }


def test_mesh_stands_before_any_protocol() -> None:
    found = protocol("mesh+advertisement+covering+merging:0.1")
    assert found.allows_circles
    assert found.clients_advertise
    assert found.name == "mesh+advertisement+covering+merging:0.1"
    assert found.summary.endswith("on a tree for each router")
    assert meshed(found) is found
    assert meshed(protocol("xroute")).name == "mesh+xroute"
    with pytest.raises(UnknownNameError):
        protocol("mesh+nothing")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("flooding+every-hop", "have to be flooded"),
        ("xroute+merging", "put it behind covering"),
        ("identity+merging:0.1", "put it behind covering"),
        ("advertisement+merging", "put it behind covering"),
        ("advertisement+flooding", "no subscription travels that could follow"),
        ("mesh+given+covering", "mesh and given say who the neighbors are"),
        ("covering+identity", "covering and identity say which subscriptions travel"),
        ("covering+flood+every-hop", "flood and every-hop say where publications go"),
        (
            "xroute+types",
            "tables for the DTDs that it hears advertised: put advertisement in front",
        ),
        ("advertisement+flooding+types", "publications have to be flooded"),
        ("advertisement+xroute+types:2", "types takes nothing behind a colon"),
        ("advertisement+simple+reuse+types", "reuse and types say where publications go"),
        ("covering+replay+replay", "replay say how state is kept right"),
        ("advertisement+advertisement", "advertisement is there twice"),
        ("covering+merging+merging:0.1", "merging is there twice"),
        ("simple:flat-1,columnar", "simple takes nothing behind a colon"),
        ("flooding:3", "flooding takes nothing behind a colon"),
        ("mesh", "does not say which subscriptions travel: add one of covering"),
    ],
)
def test_words_that_do_not_go_together_are_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        protocol(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("given+covering+every-hop+replay", "covering"),
        ("merging:0.1+covering:poset+advertisement+mesh",
         "mesh+advertisement+covering:poset+merging:0.1"),
        ("simple+advertisement", "advertisement"),
        ("flood+flooding", "flooding"),
        ("replay+flood+covering", "covering+flood"),
    ],
)  # fmt: skip
def test_words_stand_in_any_order_and_what_goes_without_saying_is_left_out(
    name: str, meant: str
) -> None:
    found = protocol(name)
    assert found.name == meant
    assert protocol(found.name).name == meant


def test_a_protocol_is_a_strategy_in_each_slot() -> None:
    found = protocol("mesh+advertisement+covering+merging")
    assert [strategy.name for strategy in found.strategies] == [
        "mesh",
        "advertisement+covering+merging",
        "every-hop",
        "replay",
    ]
    assert (found.kinds, found.exact, found.persists) == (("records", "documents"), True, False)
    assert protocol("flooding").forwarding.name == "flood"


def test_of_digests_each_begins_with_a_byte_of_its_own() -> None:
    marks = [one.mark for one in FORWARDINGS.values() if one.mark is not None]
    assert len(marks) == len(set(marks))
    assert all(0 <= mark < 256 for mark in marks)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("redundant:1+covering", "up to redundant:8; one path is mesh"),
        ("redundant:9+covering", "says no number of paths"),
        ("redundant:many+covering", "says no number of paths"),
        ("redundant:2+mesh+covering", "redundant and mesh say who the neighbors are"),
    ],
)
def test_paths_that_cannot_be_are_refused_with_the_reason(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        protocol(name)


@pytest.mark.parametrize("argument", ["-1", "nan", "inf", "3601", "long", ""])
def test_links_are_held_for_some_seconds_or_the_argument_is_refused(argument: str) -> None:
    assert protocol("mesh:2.5+covering").name == "mesh:2.5+covering"
    with pytest.raises(InputError, match=f"mesh:{argument} says no seconds from 0 to 3600"):
        protocol(f"mesh:{argument}+covering")


def test_a_router_that_recovers_holds_no_links() -> None:
    assert protocol("mesh:0+covering+recover").persists
    with pytest.raises(InputError, match="holds none: say mesh"):
        protocol("mesh:2.5+covering+recover")


@pytest.mark.parametrize(
    ("name", "allows"),
    [
        ("flooding", True),
        ("covering", False),
        ("covering+recover", False),
        ("mesh+flooding", False),
    ],
)
def test_loss_is_allowed_where_nothing_has_to_arrive(name: str, *, allows: bool) -> None:
    assert protocol(name).allows_loss is allows


def test_redundant_paths_are_a_membership_with_as_many_trees() -> None:
    chosen = protocol("redundant:3+xroute")
    assert chosen.name == "redundant:3+xroute"
    assert chosen.allows_circles
    assert len(Router("r1", chosen).finds) == 3
    assert len(Router("r1", "redundant+covering").finds) == 2
    assert Router("r1", "covering").finds == ()
