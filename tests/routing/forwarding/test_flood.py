"""Flooding: everywhere but back, whatever the content."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.matching.engine_names import Engines
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.flood import Flood
from sapwood.routing.tables import CLIENTS

WANTED = parse_filter("a > 1")
P, UNWANTED = Publication("p", {"a": 2}), Publication("q", {"a": 1})


def made() -> Flood:
    forwarding = Flood(Engines("counting"))
    forwarding.learned(CLIENTS, "k1", WANTED)
    forwarding.add_side("r2")
    forwarding.add_side("r3")
    forwarding.learned("r2", "k2", WANTED)
    forwarding.forgot("r2", "k2")
    return forwarding


def test_flood_goes_everywhere_but_back_and_is_delivered_where_it_is_wanted() -> None:
    forwarding = made()
    keys, onward = forwarding.route((UNWANTED, P), None, (b"", b"?"), 0.0)
    assert list(keys) == [[], ["k1"]]
    assert [(one.neighbor, list(one.places), list(one.digests)) for one in onward] == [
        ("r2", [0, 1], [b"", b"?"]),
        ("r3", [0, 1], [b"", b"?"]),
    ]
    assert forwarding.digests_unread == 1
    _, onward = forwarding.route((P,), "r3", (b"",), 0.0)
    assert [one.neighbor for one in onward] == ["r2"]
    forwarding.remove_side("r2")
    assert forwarding.route((P,), "r3", (b"",), 0.0).onward == []
    assert forwarding.matched(P) == ["k1"]
    forwarding.forgot(CLIENTS, "k1")
    assert forwarding.matched(P) == []


def test_validate_finds_other_links_and_other_clients() -> None:
    sides = {CLIENTS: {"k1": WANTED}, "r2": {}, "r3": {"any": WANTED}}
    made().validate(sides)
    with pytest.raises(InvariantError, match="other links"):
        made().validate({CLIENTS: {"k1": WANTED}})
    with pytest.raises(InvariantError, match="holds 1"):
        made().validate({**sides, CLIENTS: {}})
    with pytest.raises(InvariantError, match="lost or changed k9"):
        made().validate({**sides, CLIENTS: {"k9": WANTED}})
