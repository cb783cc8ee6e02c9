"""The catalogue of document engines."""

from __future__ import annotations

import pytest

from sapwood.errors import UnknownNameError
from sapwood.language.xpath import parse_xpath
from sapwood.matching.documents import DOCUMENT_ENGINES, document_engine_info


@pytest.mark.parametrize("name", sorted(DOCUMENT_ENGINES))
def test_engine_is_made_empty_and_described(name: str) -> None:
    info = document_engine_info(name)
    assert info.name == name
    assert info.exact is (name != "xtrie-ordered")
    assert info.summary
    engine = info.make()
    assert len(engine) == 0
    assert engine.match(b"<a/>") == []
    assert engine.match_slots([]).offsets.tolist() == [0]


def test_ordered_engine_asks_for_branches_in_the_order_they_are_written() -> None:
    pattern = parse_xpath("/a[b]/c")
    for name, found in (("xtrie", [0]), ("xtrie-ordered", [])):
        engine = document_engine_info(name).make()
        engine.add(0, pattern)
        assert engine.match(b"<a><b/><c/></a>") == [0]
        assert engine.match(b"<a><c/><b/></a>") == found


def test_unknown_engine_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'path-automaton'"):
        document_engine_info("path-automation")
