"""Overlays that change often: the same as those that are made anew, also when looked back at."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError, LimitError, UnknownNameError
from sapwood.limits import MESH_ROUTERS_MAX
from sapwood.overlay import wiring
from sapwood.overlay.rewiring import with_link, with_router, without_link, without_router
from sapwood.overlay.topology import Link, Overlay, Topology
from sapwood.overlay.wiring import Wiring

AB, BC, CA = Link("a", "b", 0.1), Link("b", "c", 0.2), Link("c", "a", 0.3)
LINE = Topology(("a", "b", "c"), (AB, BC))


def step(random: Random, overlay: Overlay, number: int) -> Overlay:
    """One change, drawn alike for overlays that are alike."""
    apart = [
        (a, b) for a in overlay.routers for b in overlay.routers if a < b
        if b not in overlay.neighbors(a)
    ]  # fmt: skip
    kind = random.choice("rllllxy")
    if kind == "x" and overlay.links:
        gone = random.choice(overlay.links)
        return without_link(overlay, gone.b, gone.a)
    if kind == "y" and len(overlay.routers) > 1:
        return without_router(overlay, random.choice(overlay.routers))
    if kind == "l" and apart:
        return with_link(overlay, Link(*random.choice(apart)))
    return with_router(overlay, f"n{number}")


def assert_equal(one: Overlay, other: Overlay) -> None:
    assert (one.routers, one.links) == (other.routers, other.links)
    assert one.is_tree == other.is_tree
    for router in one.routers:
        assert one.neighbors(router) == other.neighbors(router)
        assert one.tree(router) == other.tree(router)
        assert set(one.joined(router)) == set(other.tree(router).routers)


@given(seed=st.integers(0, 2**32))
def test_each_overlay_is_the_one_made_anew_also_after_those_that_followed(seed: int) -> None:
    plain: list[Overlay] = [LINE]
    wired: list[Overlay] = [Wiring(LINE)]
    for number in range(12):
        plain.append(step(Random(f"{seed}/{number}"), plain[-1], number))
        wired.append(step(Random(f"{seed}/{number}"), wired[-1], number))
    assert all(isinstance(one, Wiring) for one in wired)
    for one, other in zip(wired, plain, strict=True):
        assert_equal(one, other)


def test_an_overlay_that_another_one_follows_may_be_followed_by_a_third() -> None:
    first = Wiring(LINE)
    ring, longer = first.with_link(CA), first.with_router("d")
    assert_equal(first, LINE)
    assert_equal(ring, with_link(LINE, CA))
    assert_equal(longer, with_router(LINE, "d"))


def test_a_change_says_what_it_brought_and_nothing_else() -> None:
    first = Wiring(LINE)
    assert first.news == (("a", "b", "c"), (AB, BC)) == LINE.news
    longer = first.with_router("d")
    joined = longer.with_link(Link("d", "a"))
    assert longer.news == (("d",), ())
    assert joined.news == ((), (Link("d", "a"),))
    assert Wiring(joined).news == (joined.routers, joined.links)
    assert joined.without_link("a", "d").news == joined.without_router("d").news == ((), ())


def test_a_change_hands_its_tables_on_and_copies_nothing() -> None:
    overlay = Wiring(LINE)
    tables = overlay._tables
    for number in range(5):
        overlay = overlay.with_router(f"n{number}")
    assert overlay._tables is tables


def test_more_routers_than_a_mesh_may_have_may_form_circles() -> None:
    names = tuple(f"r{number}" for number in range(MESH_ROUTERS_MAX + 1))
    star = Topology(names, tuple(Link("r0", name) for name in names[1:]))
    ring = with_link(Wiring(star), Link("r1", "r2"))
    assert not ring.is_tree
    assert len(ring.tree("r1").routers) == len(names)
    with pytest.raises(LimitError, match="MESH_ROUTERS_MAX"):
        with_link(star, Link("r1", "r2"))


def test_changes_that_cannot_be_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    overlay = Wiring(LINE)
    with pytest.raises(InputError, match="'a' and 'b' are linked already"):
        overlay.with_link(Link("a", "b"))
    with pytest.raises(InputError, match="no link between 'a' and 'c'"):
        overlay.without_link("a", "c")
    with pytest.raises(UnknownNameError, match="'x'"):
        overlay.with_link(Link("a", "x"))
    with pytest.raises(UnknownNameError, match="'x'"):
        overlay.without_router("x")
    with pytest.raises(InputError, match="two routers are called 'a'"):
        overlay.with_router("a")
    monkeypatch.setattr(wiring, "OVERLAY_ROUTERS_MAX", 3)
    with pytest.raises(LimitError, match="OVERLAY_ROUTERS_MAX"):
        overlay.with_router("d")
    assert_equal(overlay, LINE)
