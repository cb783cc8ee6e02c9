"""The catalogue of protocols, and the message counts that tell them apart."""

from __future__ import annotations

import pytest

from sapwood.errors import UnknownNameError
from sapwood.routing.messages import Subscribe
from sapwood.routing.protocols import PROTOCOLS, protocol
from tests.routing import wiring
from tests.routing.wiring import LINE, Wiring


def test_catalogue_names_are_the_protocols_names() -> None:
    assert tuple(sorted(PROTOCOLS)) == tuple(sorted(wiring.PROTOCOLS))
    assert all(PROTOCOLS[name].name == name and PROTOCOLS[name].exact for name in PROTOCOLS)


def test_unknown_protocol_is_an_error_with_the_known_names() -> None:
    with pytest.raises(UnknownNameError, match="known: covering, identity, simple, flooding"):
        protocol("gossip")


def test_each_protocol_saves_messages_over_the_one_before() -> None:
    counts = {}
    for name in ("flooding", "simple", "identity", "covering"):
        overlay = Wiring(name, LINE)
        overlay.attach("r1", "c")
        for i, text in enumerate(["a > 1", "a > 1", "a > 2", "a > 3", "b = 1"]):
            overlay.subscribe("r1", "c", f"s{i}", text)
        counts[name] = overlay.sent(Subscribe)
    assert counts == {"flooding": 0, "simple": 10, "identity": 8, "covering": 4}
