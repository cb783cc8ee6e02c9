from __future__ import annotations

import tomllib
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from sapwood.errors import InputError, UnknownNameError
from sapwood.overlay.shapes import parse_topology
from sapwood.simulation.faults import (
    RECIPES,
    LinkFault,
    RouterFault,
    Window,
    crashes,
    decode_faults,
    flapping,
    swizzle,
)
from sapwood.simulation.scenario import (
    AddLink,
    AddRouter,
    CrashRouter,
    FailLink,
    RemoveLink,
    RemoveRouter,
    ReturnLink,
    ReturnRouter,
)
from sapwood.simulation.stored import Tail

LINE = parse_topology("line:9", Random(0).randrange)
LONE = parse_topology("line:1", Random(0).randrange)
WINDOW = Window(10.0, 2.0, 0.5)

TEXT = """
[[link]]
between = ["r1", "r2"]
down = 1.0
up = 2.0

[[router]]
name = "r3"
down = 1.5

[[recipe]]
name = "crashes"
start = 3
seconds = 1
share = 0.3
"""


def test_decode_faults_reads_links_routers_and_recipes_in_the_order_of_time() -> None:
    events = decode_faults(tomllib.loads(TEXT), LINE, seed=1)
    assert events[:3] == [
        (1.0, FailLink("r1", "r2")),
        (1.5, CrashRouter("r3")),
        (2.0, ReturnLink("r1", "r2")),
    ]
    drawn = events[3:]
    assert len(drawn) == 6
    assert all(3.0 <= time <= 4.0 for time, _ in drawn)
    assert [time for time, _ in events] == sorted(time for time, _ in events)
    assert {type(action) for _, action in drawn} == {CrashRouter, ReturnRouter}


def test_decode_faults_draws_with_the_seed() -> None:
    document = tomllib.loads(TEXT)
    assert decode_faults(document, LINE, seed=1) == decode_faults(document, LINE, seed=1)
    assert decode_faults(document, LINE, seed=1) != decode_faults(document, LINE, seed=2)


def test_decode_faults_of_an_empty_file_are_none() -> None:
    assert decode_faults({}, LINE, seed=1) == []


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"links": []}, "the faults has no field 'links'; it has link, router, suspicion"),
        ({"link": [{}]}, "link fault 1: `between` must be"),
        ({"link": [{"between": ["r1", "r3"], "down": 1}]}, "link fault 1: there is no link"),
        ({"link": [{"between": ["r1", "r2"]}]}, "link fault 1: `down` must be a number of seconds"),
        ({"link": [{"between": ["r1", "r2"], "down": 2, "up": 1}]}, "cannot be up before, at 1 s"),
        ({"link": [{"between": ["r1", "r2"], "down": 2, "up": 2}]}, "cannot be up before"),
        ({"router": [{"name": "r99", "down": 1}]}, "no router is called 'r99'"),
        ({"router": [{"name": "r1", "down": 3, "up": 1}]}, "router r1 is down at 3 s"),
        ({"router": [{"name": "r1", "joins": 1}]}, "router fault 1: two routers are called 'r1'"),
        ({"router": [{"name": "x", "leaves": 1}]}, "router fault 1: no router is called 'x'"),
        ({"router": [{"name": "x", "joins": 1, "up": 2}]}, "`up` says nothing in the entry of a"),
        ({"router": [{"name": "r1", "leaves": 1, "links": ["r2"]}]}, "`links` says nothing where"),
        ({"router": [{"name": "x", "joins": 2, "leaves": 2}]}, "`leaves`, 2 s, comes after"),
        ({"link": [{"between": ["r1", "r2"], "added": 1}]}, "link fault 1: 'r1' and 'r2' are link"),
        ({"link": [{"between": ["r1", "r3"], "removed": 1}]}, "link fault 1: there is no link"),
        ({"link": [{"between": ["r1", "r2"], "removed": 1, "down": 2}]}, "`down` says nothing in"),
        ({"link": [{"between": ["r1", "r3"], "added": 2, "removed": 1}]}, "`removed`, 1 s, comes"),
        ({"router": [{"name": "r1", "down": 3, "back": 4}]}, "has no field 'back'"),
        ({"router": [{"name": "r1", "down": 1, "steps": -1}]}, "steps"),
        ({"router": [{"name": "x", "joins": 1, "tail": "torn"}]}, "`tail` says nothing in the"),
        ({"recipe": [{"name": "swizzle"}]}, "recipe 1: `start` must be"),
        ({"recipe": [{"name": "swizzle", "start": 0, "seconds": 1, "share": 1.5}]}, "from 0 to 1"),
    ],
)
def test_decode_faults_names_the_entry_that_is_wrong(document: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        decode_faults(document, LINE, seed=1)


def test_decode_faults_lists_the_recipes_it_knows() -> None:
    entry = {"name": "clog", "start": 0, "seconds": 1}
    with pytest.raises(UnknownNameError, match="known: swizzle, flapping, crashes"):
        decode_faults({"recipe": [entry]}, LINE, seed=1)


def test_a_crash_says_what_it_leaves_and_when_it_strikes() -> None:
    torn = {"name": "r1", "down": 1, "up": 2, "tail": "torn", "steps": 3}
    [(_, crash), _] = decode_faults({"router": [torn]}, LINE, seed=1)
    assert crash == CrashRouter("r1", Tail.TORN, 3)
    with pytest.raises(UnknownNameError, match="known: lost, torn, whole"):
        decode_faults({"router": [{**torn, "tail": "half"}]}, LINE, seed=1)


def test_a_fault_without_an_end_lasts() -> None:
    assert LinkFault("r1", "r2", 1.0).actions() == [(1.0, FailLink("r1", "r2"))]
    assert RouterFault("r1", 1.0).actions() == [(1.0, CrashRouter("r1"))]
    assert RouterFault("r1", 1.0, 2.0).actions()[1:] == [(2.0, ReturnRouter("r1"))]


@pytest.mark.parametrize("seed", range(10))
def test_swizzle_takes_links_down_one_by_one_and_returns_them_in_another_order(seed: int) -> None:
    faults = [f for f in swizzle(LINE, WINDOW, Random(seed)) if isinstance(f, LinkFault)]
    assert len(faults) == 4
    downs = [fault.down_s for fault in faults]
    ups = [fault.up_s or 0.0 for fault in faults]
    assert downs == sorted(set(downs))
    assert len(set(ups)) == len(ups)
    assert WINDOW.start_s <= downs[0]
    assert downs[-1] < min(ups)
    assert max(ups) <= WINDOW.start_s + WINDOW.seconds


def test_swizzle_returns_links_in_orders_that_differ() -> None:
    orders = set()
    for seed in range(20):
        faults = swizzle(LINE, WINDOW, Random(seed))
        orders.add(tuple(sorted(range(len(faults)), key=lambda i: faults[i].up_s or 0.0)))
    assert len(orders) > 5


@pytest.mark.parametrize("seed", range(10))
def test_flapping_links_are_never_down_twice_at_once(seed: int) -> None:
    faults = [f for f in flapping(LINE, WINDOW, Random(seed)) if isinstance(f, LinkFault)]
    assert len(faults) == 20
    for link in LINE.links:
        own = [(f.down_s, f.up_s or 0.0) for f in faults if (f.a, f.b) == (link.a, link.b)]
        assert own == sorted(own)
        assert all(down < up for down, up in own)
        assert all(up <= down for (_, up), (down, _) in pairwise(own))


@pytest.mark.parametrize("seed", range(10))
def test_crashes_strike_a_share_of_the_routers_once(seed: int) -> None:
    faults = [f for f in crashes(LINE, WINDOW, Random(seed)) if isinstance(f, RouterFault)]
    assert len({fault.router for fault in faults}) == len(faults) == round(0.5 * 9)
    assert all(10.0 <= f.down_s < (f.up_s or 0.0) <= 12.0 for f in faults)


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_find_nothing_to_break_when_no_share_is_asked(name: str) -> None:
    assert RECIPES[name](LINE, Window(0.0, 1.0, 0.0), Random(1)) == []


@pytest.mark.parametrize("name", ["swizzle", "flapping"])
def test_recipes_for_links_find_none_to_break_at_a_lone_router(name: str) -> None:
    assert RECIPES[name](LONE, Window(0.0, 1.0, 1.0), Random(1)) == []


def test_decode_faults_lets_routers_and_links_come_and_go() -> None:
    text = """
    [[router]]
    name = "new"
    joins = 1.0
    links = ["r1", "r3"]
    latency = 0.5
    leaves = 4.0

    [[router]]
    name = "r5"
    leaves = 3.0

    [[link]]
    between = ["new", "r2"]
    added = 2.0

    [[link]]
    between = ["r2", "r1"]
    removed = 2.5
    """
    assert decode_faults(tomllib.loads(text), LINE, seed=1) == [
        (1.0, AddRouter("new")),
        (1.0, AddLink("new", "r1", 0.5)),
        (1.0, AddLink("new", "r3", 0.5)),
        (2.0, AddLink("new", "r2")),
        (2.5, RemoveLink("r2", "r1")),
        (3.0, RemoveRouter("r5")),
        (4.0, RemoveRouter("new")),
    ]


def test_decode_faults_draws_none_where_nothing_is_left_to_strike() -> None:
    crash = {"name": "crashes", "start": 5.0, "seconds": 1.0, "share": 1.0}
    gone = [{"name": name, "leaves": 1.0} for name in LINE.routers[1:]]
    timed = decode_faults({"router": gone, "recipe": [crash]}, LINE, seed=1)
    struck = {getattr(action, "router", None) for time, action in timed if time >= 5.0}
    assert struck == {LINE.routers[0]}
