"""The catalogue of engines."""

from __future__ import annotations

import pytest

from sapwood.errors import UnknownNameError
from sapwood.matching.engines import ENGINES, engine_info


def test_catalogue_lists_the_engines_by_their_own_name() -> None:
    assert {"columnar", "counting", "reference"} <= set(ENGINES)
    assert all(name == info.name and info.summary for name, info in ENGINES.items())


@pytest.mark.parametrize("name", ENGINES)
def test_engine_is_made_empty_each_time(name: str) -> None:
    info = engine_info(name)
    assert info.kind == "records"
    assert info.exact
    one, other = info.make(), info.make()
    assert one is not other
    assert len(one) == 0
    assert one.match({"a": 1}) == []
    assert not one.match_any({"a": 1})
    one.validate()


def test_unknown_engine_is_told_with_what_is_known() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean 'columnar'\?.*counting"):
        engine_info("columna")
