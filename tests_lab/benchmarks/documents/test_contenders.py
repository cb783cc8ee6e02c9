"""All contenders say the same of a document."""

from __future__ import annotations

import pytest

from sapwood.errors import UnknownNameError
from sapwood_lab.benchmarks.documents.contenders import ONE_BY_ONE, PLAIN, contender


@pytest.mark.parametrize(
    "name", ["path-automaton", "xtrie", "xtrie-paths", "reference-xpath", ONE_BY_ONE, PLAIN]
)
def test_contender_finds_the_slots_that_hold(name: str) -> None:
    rival = contender(name)
    for expression in ("/a", "/b", "//c", "/a"):
        rival.add(rival.read(expression))
    assert list(rival.match(b"<a><c/></a>")) == [0, 2, 3]


def test_contender_refuses_a_name_it_does_not_know() -> None:
    with pytest.raises(UnknownNameError, match="sieve"):
        contender("sieve")
