from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given

from sapwood.errors import InputError, UnknownNameError
from sapwood.overlay.document import decode_topology, encode_topology
from sapwood.overlay.graph import Graph
from sapwood.overlay.topology import LINK_LATENCY_DEFAULT_S, Link, Topology
from tests.overlay.test_topology import trees

TEXT = """
routers = ["core", "east", "west"]

[[link]]
between = ["core", "east"]
latency = 0.25

[[link]]
between = ["west", "core"]
"""


def test_decode_topology_reads_routers_links_and_latencies() -> None:
    assert decode_topology(tomllib.loads(TEXT)) == Topology(
        ("core", "east", "west"),
        (Link("core", "east", 0.25), Link("west", "core", LINK_LATENCY_DEFAULT_S)),
    )


def test_decode_topology_takes_routers_from_the_links_when_they_are_not_listed() -> None:
    document = {"link": [{"between": ["b", "a"]}, {"between": ["a", "c"]}]}
    assert decode_topology(document).routers == ("b", "a", "c")


def test_decode_topology_takes_one_router_without_links() -> None:
    assert decode_topology({"routers": ["only"]}) == Topology(("only",), ())


@given(trees())
def test_encode_topology_is_read_back_as_the_same_topology(topology: Topology) -> None:
    assert decode_topology(encode_topology(topology)) == topology


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "at least one router"),
        ([], "the topology is a table"),
        ({"router": ["a"]}, "has no field 'router'; it has routers, source, link"),
        ({"routers": "a"}, "`routers` must be a list of non-empty texts; not 'a'"),
        ({"routers": ["a", 1]}, "`routers` must be a list of non-empty texts"),
        ({"link": {"between": ["a", "b"]}}, "each under its own"),
        ({"link": ["a-b"]}, "link 1 is a table"),
        ({"link": [{}]}, "link 1: `between` must be a list of two names"),
        ({"link": [{"between": ["a", "b", "c"]}]}, "link 1: `between` must be"),
        ({"link": [{"between": ["a", "b"], "latncy": 1}]}, "link 1 has no field 'latncy'"),
        ({"link": [{"between": ["a", "b"], "latency": "1"}]}, "`latency` must be a number"),
        ({"link": [{"between": ["a", "b"], "latency": True}]}, "`latency` must be a number"),
        ({"link": [{"between": ["a", "b"], "latency": -1}]}, "zero or more; not -1"),
        ({"link": [{"between": ["a", "b"], "latency": float("nan")}]}, "zero or more; not nan"),
    ],
)
def test_decode_topology_names_the_entry_that_is_wrong(document: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        decode_topology(document)


def test_decode_topology_names_a_router_that_is_not_listed() -> None:
    with pytest.raises(UnknownNameError, match=r"'c'.*known: a, b"):
        decode_topology({"routers": ["a", "b"], "link": [{"between": ["a", "c"]}]})


def test_decode_topology_spans_a_graph_from_its_source() -> None:
    circle = {"source": "b", "link": [{"between": list(ends)} for ends in ("ab", "bc", "ca")]}
    assert [str(link) for link in decode_topology(circle).links] == ["a-b", "b-c"]
    with pytest.raises(UnknownNameError, match="no router is called 'z'"):
        decode_topology({**circle, "source": "z"})


def test_decode_topology_reads_an_overlay_with_circles_as_a_graph() -> None:
    document = {"link": [{"between": list(ends), "latency": 0.02} for ends in ("ab", "bc", "ca")]}
    overlay = decode_topology(document)
    assert isinstance(overlay, Graph)
    assert overlay.neighbors("a") == ("b", "c")
    assert decode_topology(encode_topology(overlay)) == overlay


def test_decode_topology_reads_an_overlay_without_circles_as_a_tree() -> None:
    assert isinstance(decode_topology({"link": [{"between": ["a", "b"]}]}), Topology)
