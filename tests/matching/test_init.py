"""The front door of the room."""

from __future__ import annotations

import pytest

import sapwood.matching
from sapwood.matching.checks import check_index
from sapwood.matching.engines import ENGINES, EngineInfo
from sapwood.matching.index import Index


def test_room_offers_what_it_lists() -> None:
    offered = {name: getattr(sapwood.matching, name) for name in sapwood.matching.__all__}
    assert offered == {
        "ENGINES": ENGINES,
        "EngineInfo": EngineInfo,
        "Index": Index,
        "check_index": check_index,
    }


def test_room_offers_nothing_else() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Indes'"):
        sapwood.matching.Indes  # noqa: B018
