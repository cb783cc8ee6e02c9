"""The written form of a topology, in a TOML or JSON file.

::

    routers = ["core", "edge-1", "edge-2"]      # optional: else in the order the links name them
    source = "core"                             # optional: the overlay is the spanning tree of this
                                                # router, of whatever circles the links form

    [[link]]
    between = ["core", "edge-1"]
    latency = 0.02                              # seconds; 0.01 where it is left out
"""

from __future__ import annotations

from typing import Any

from sapwood.overlay.fields import Fields
from sapwood.overlay.graph import Graph, overlay_of
from sapwood.overlay.topology import LINK_LATENCY_DEFAULT_S, Link, Overlay


def decode_topology(document: object, place: str = "the topology") -> Overlay:
    """The overlay that a decoded TOML or JSON document describes: a tree, or one with circles.

    Raises `InputError` (or one of its kinds) naming the entry that is wrong.
    """
    fields = Fields(place, document, ("routers", "source", "link"))
    links = tuple(
        _decode_link(f"{place}, link {number}", entry)
        for number, entry in enumerate(fields.tables("link"), 1)
    )
    named = tuple(dict.fromkeys(end for link in links for end in (link.a, link.b)))
    routers = fields.texts("routers") if "routers" in fields else named
    if "source" in fields:
        return Graph(routers, links).spanning_tree(fields.text("source"))
    return overlay_of(routers, links)


def encode_topology(topology: Overlay) -> dict[str, Any]:
    """The document that `decode_topology` reads back as the same topology."""
    return {
        "routers": list(topology.routers),
        "link": [
            {"between": [link.a, link.b], "latency": link.latency_s} for link in topology.links
        ],
    }


def _decode_link(place: str, entry: object) -> Link:
    fields = Fields(place, entry, ("between", "latency"))
    a, b = fields.pair("between")
    return Link(a, b, fields.number("latency", LINK_LATENCY_DEFAULT_S))
