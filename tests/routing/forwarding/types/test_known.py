"""Known types: the first of equal advertisements begins a type, the last ends it."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.language.advertisements import parse_advertisement
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.routing.forwarding.types.digest import name_of
from sapwood.routing.forwarding.types.known import KnownTypes
from sapwood.routing.tables import CLIENTS

NEWS, SONGS = parse_advertisement("/news/p"), parse_advertisement("/songs")
RECORDS = parse_filter("a > 1")


class Told:
    """The types begun and ended, in order."""

    def __init__(self) -> None:
        self.log: list[tuple[str, bytes]] = []
        self.known = KnownTypes(
            lambda name, _: self.log.append(("begin", name)),
            lambda name: self.log.append(("end", name)),
        )


def test_equal_advertisements_of_several_sides_are_one_type() -> None:
    told = Told()
    known, news, songs = told.known, name_of(NEWS), name_of(SONGS)
    known.add_side("r2")
    known.learned(CLIENTS, "k1", NEWS)
    known.learned_many("r2", [("k2", NEWS), ("k3", RECORDS), ("k4", SONGS)])
    sides: dict[str, dict[str, AdvertisedContent]] = {
        CLIENTS: {"k1": NEWS},
        "r2": {"k2": NEWS, "k3": RECORDS, "k4": SONGS},
    }
    known.validate(sides)
    assert told.log == [("begin", news), ("begin", songs)]
    known.forgot(CLIENTS, "k1")
    known.forgot("r2", "k3")
    assert told.log == [("begin", news), ("begin", songs)]
    known.remove_side("r2")
    assert told.log[2:] == [("end", news), ("end", songs)]
    known.validate({CLIENTS: {}})
    with pytest.raises(InvariantError, match="not those advertised"):
        known.validate(sides)
