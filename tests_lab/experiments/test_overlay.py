"""One producer, two protocols: what routers keep."""

from __future__ import annotations

from random import Random

from sapwood.covering.catalogue import COVERING_INDEXES, interest_index
from sapwood.language import parse_filter
from sapwood.overlay.topology import Link, Topology
from sapwood.overlay.transit_stub import transit_stub
from sapwood_lab.experiments.overlay import Overlay, Searches

LINE = Topology(("p", "n", "c"), (Link("p", "n"), Link("n", "c")))
WIDE, NARROW = parse_filter("a > 1"), parse_filter("a > 2")


def searches() -> Searches:
    return Searches(lambda: interest_index(COVERING_INDEXES["columnar"]))


def test_overlay_keeps_all_filters_under_simple_and_the_widest_under_xroute() -> None:
    overlay = Overlay(LINE, "p", searches())
    overlay.register("c", NARROW, 3)
    overlay.register("c", WIDE, 1)
    assert [list(overlay.simple[router]) for router in "pnc"] == [[NARROW, WIDE]] * 3
    assert list(overlay.table("p")) == list(overlay.table("n")) == [WIDE]
    assert set(overlay.table("c")) == {NARROW, WIDE}, "a consumer node knows its own"
    overlay.tell("c", WIDE, -1)
    assert list(overlay.table("p")) == [NARROW]
    assert list(overlay.simple["p"]) == [NARROW, WIDE], "what Simple kept is only added to"
    overlay.validate()


def test_overlay_comes_to_the_same_tables_whichever_way_is_searched() -> None:
    stub = transit_stub(Random(1).randrange)
    tables = []
    for is_pairwise in (False, True):
        ways = searches()
        ways.is_pairwise = is_pairwise
        overlay = Overlay(stub.tree, stub.producer, ways)
        generator = Random(2)
        for _ in range(150):
            filter_ = parse_filter(
                f"a between {generator.randrange(6)} and {generator.randrange(6, 12)}"
            )
            overlay.register(generator.choice(stub.consumers), filter_, generator.randint(1, 3))
        overlay.validate()
        tables.append([set(overlay.table(router)) for router in stub.graph.routers])
    assert tables[0] == tables[1]


def test_overlay_recomputes_every_relation_with_what_routers_keep() -> None:
    overlay = Overlay(LINE, "p", searches())
    for filter_ in (NARROW, WIDE):
        overlay.register("c", filter_, 1)
    assert overlay.recompute("c", parse_filter("a > 3")) == 6, "covered by two at three routers"
    assert overlay.recompute("n", parse_filter("a > 0")) == 4
    assert overlay.recompute("n", parse_filter("b = 1")) == 0


def test_overlay_knows_the_way_to_the_producer() -> None:
    assert list(Overlay(LINE, "p", searches()).way("c")) == ["c", "n", "p"]
