"""The catalogue of document engines."""

from __future__ import annotations

import pytest

from sapwood.errors import UnknownNameError
from sapwood.matching.documents import DOCUMENT_ENGINES, document_engine_info


@pytest.mark.parametrize("name", sorted(DOCUMENT_ENGINES))
def test_engine_is_made_empty_and_described(name: str) -> None:
    info = document_engine_info(name)
    assert info.name == name
    assert info.exact
    assert info.summary
    engine = info.make()
    assert len(engine) == 0
    assert engine.match(b"<a/>") == []
    assert engine.match_slots([]).offsets.tolist() == [0]


def test_unknown_engine_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'path-automaton'"):
        document_engine_info("path-automation")
