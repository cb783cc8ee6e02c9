from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError, LimitError, UnknownNameError
from sapwood.limits import MESH_ROUTERS_MAX, OVERLAY_ROUTERS_MAX
from sapwood.overlay.graph import Graph
from sapwood.overlay.planetlab import planetlab
from sapwood.overlay.shapes import SHAPES, parse_topology
from sapwood.overlay.topology import Overlay, Topology
from sapwood.overlay.transit_stub import transit_stub


def parse(text: str, seed: int = 1) -> Overlay:
    return parse_topology(text, Random(seed).randrange)


def ends(topology: Overlay) -> list[str]:
    return [str(link) for link in topology.links]


def test_parse_topology_makes_a_line() -> None:
    assert parse("line:4").routers == ("r1", "r2", "r3", "r4")
    assert ends(parse("line:4")) == ["r1-r2", "r2-r3", "r3-r4"]


def test_parse_topology_makes_a_star_around_the_first_router() -> None:
    assert ends(parse("star:4")) == ["r1-r2", "r1-r3", "r1-r4"]


def test_parse_topology_makes_a_binary_tree_unless_told_otherwise() -> None:
    assert ends(parse("tree:6")) == ["r1-r2", "r1-r3", "r2-r4", "r2-r5", "r3-r6"]
    assert parse("tree:6") == parse("tree:6:2")


def test_parse_topology_makes_a_tree_of_any_branching() -> None:
    assert ends(parse("tree:5:3")) == ["r1-r2", "r1-r3", "r1-r4", "r2-r5"]
    assert parse("tree:5:1") == parse("line:5")
    assert parse("tree:5:4") == parse("star:5")


@pytest.mark.parametrize("shape", [name for name in SHAPES if 1 in SHAPES[name].counts])
def test_parse_topology_makes_one_lone_router(shape: str) -> None:
    assert parse(f"{shape}:1") == Topology(("r1",), ())


@given(st.integers(1, 60), st.integers())
def test_parse_topology_draws_the_same_tree_from_the_same_seed(size: int, seed: int) -> None:
    assert parse(f"random:{size}", seed) == parse(f"random:{size}", seed)
    assert len(parse(f"random:{size}", seed).routers) == size


def test_parse_topology_draws_other_trees_from_other_seeds() -> None:
    assert len({tuple(ends(parse("random:20", seed))) for seed in range(20)}) == 20


@pytest.mark.parametrize("name", ["transit", "Line", "", "circle:5", "planet:3"])
def test_parse_topology_names_the_shapes_it_knows_when_asked_for_another(name: str) -> None:
    with pytest.raises(
        UnknownNameError,
        match="known: line, star, tree, random, ring, mesh, transit-stub, planetlab",
    ):
        parse(name)


@pytest.mark.parametrize(
    "text",
    ["line", "line:4:2", "star:1:1", "tree:7:2:2", "random:3:3", "transit-stub:64", "planetlab:3"],
)
def test_parse_topology_says_how_to_write_it_when_numbers_are_missing_or_too_many(
    text: str,
) -> None:
    with pytest.raises(InputError, match=f"write {text.partition(':')[0]}"):
        parse(text)


@pytest.mark.parametrize("size", ["", "x", "-1", " 4", "4 ", "1_0", "1.5", "٤", "9" * 5000])
def test_parse_topology_refuses_what_is_no_size(size: str) -> None:
    with pytest.raises(InputError, match="is not a size; write line:5"):
        parse(f"line:{size}")


def test_parse_topology_refuses_sizes_of_zero() -> None:
    with pytest.raises(InputError, match="sizes begin at 1"):
        parse("line:0")
    with pytest.raises(InputError, match="sizes begin at 1"):
        parse("tree:7:0")


def test_parse_topology_takes_sizes_up_to_the_limit() -> None:
    assert len(parse(f"star:{OVERLAY_ROUTERS_MAX}").routers) == OVERLAY_ROUTERS_MAX
    with pytest.raises(LimitError, match="OVERLAY_ROUTERS_MAX"):
        parse(f"star:{OVERLAY_ROUTERS_MAX + 1}")


def test_parse_topology_spans_the_transit_stub_graph_of_the_seed() -> None:
    tree = parse("transit-stub", seed=3)
    assert tree == transit_stub(Random(3).randrange).tree
    assert tree != parse("transit-stub", seed=4)


def test_parse_topology_knows_the_stand_in_for_the_test_bed() -> None:
    assert parse("planetlab") == planetlab()


def test_parse_topology_closes_a_line_to_a_ring() -> None:
    ring = parse("ring:5")
    assert [str(link) for link in ring.links] == ["r1-r2", "r2-r3", "r3-r4", "r4-r5", "r5-r1"]
    assert not ring.is_tree
    assert parse("ring:2") == parse("line:2")


@given(st.integers(1, 9), st.integers(0, 2**32), st.data())
def test_parse_topology_draws_a_mesh_of_so_many_links(
    routers: int, seed: int, data: st.DataObject
) -> None:
    links = data.draw(st.integers(routers - 1, routers * (routers - 1) // 2))
    text = f"mesh:{routers}:{max(1, links)}"
    if not links:  # one router
        with pytest.raises(InputError, match="so many routers have 0 to 0 links"):
            parse(text, seed)
        return
    mesh = parse(text, seed)
    assert (len(mesh.routers), len(mesh.links)) == (routers, links)
    assert mesh == parse(text, seed)
    assert isinstance(mesh, Topology if links == routers - 1 else Graph)


@pytest.mark.parametrize("text", ["mesh:4:2", "mesh:4:7"])
def test_parse_topology_refuses_a_mesh_that_cannot_be(text: str) -> None:
    with pytest.raises(InputError, match="so many routers have 3 to 6 links"):
        parse(text)


def test_parse_topology_bounds_what_has_circles() -> None:
    size = MESH_ROUTERS_MAX + 1
    for text in (f"ring:{size}", f"mesh:{size}:{size}"):
        with pytest.raises(LimitError, match="MESH_ROUTERS_MAX"):
            parse(text)
