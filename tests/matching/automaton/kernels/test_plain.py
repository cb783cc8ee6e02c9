"""The compiled kernels against their plain twins, on the same arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.language.xpath import XPathBounds, parse_xpath
from sapwood.matching.automaton import PathAutomatonEngine
from sapwood.matching.automaton.kernels import compiled, plain
from sapwood.matching.automaton.states import Growth
from tests.examples import examples
from tests.xml.made import documents
from tests.xpaths import expressions

LARGE = XPathBounds(text=100_000, steps=1000, predicates=1000, nesting=100, descendants=100)


class Both:
    """Kernels that run both twins, and compare what they return and what they mark."""

    def __getattr__(self, name: str) -> Any:
        one, other = getattr(compiled, name), getattr(plain, name)

        def run(*arguments: Any) -> Any:
            copies = [_copied(argument) for argument in arguments]
            both = expected, found = (other(*copies), one(*arguments))
            if name == "find_candidates":
                pairs, others = (set(zip(*map(list, one), strict=True)) for one in both)
                assert pairs == others
            else:
                _assert_same(found, expected, name)
            if name == "join_nodes":
                _assert_same(_joined(arguments[0]), _joined(copies[0]), name)
            if name in ("mark_plain", "find_candidates", "check_candidates", "collect", "count"):
                marks, copied = _marks(arguments), _marks(copies)
                assert np.array_equal(marks.words, copied.words), name
                assert np.array_equal(marks.targets, copied.targets), name
            return found

        return run


def _assert_same(found: Any, expected: Any, name: str) -> None:
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            _assert_same(one, other, name)
    else:
        assert np.array_equal(found, expected), name


def _joined(growth: Growth) -> tuple[Any, ...]:
    """The nodes that the states of a growth hold, and their places."""
    ranges = zip(growth.starts.tolist(), growth.sizes.tolist(), strict=True)
    held = tuple(growth.nodes[start : start + size] for start, size in ranges)
    return growth.starts, growth.sizes, growth.rooms, growth.seen, held


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple):
        return type(value)(*map(_copied, value))
    return value


def _marks(arguments: Any) -> Any:
    return next(one for one in arguments if type(one).__name__ == "Marks")


@settings(max_examples=examples(25))
@given(
    texts=st.lists(expressions(), max_size=8), asked=st.lists(documents(), min_size=1, max_size=3)
)
def test_compiled_kernels_do_what_their_plain_twins_do(
    texts: list[str], asked: list[bytes]
) -> None:
    engine = PathAutomatonEngine()
    engine._kernels = engine._states._kernels = Both()
    patterns = [parse_xpath(text, bounds=LARGE) for text in texts]
    for slot, pattern in enumerate(patterns):
        engine.add(slot, pattern)
        if slot % 3 == 0:
            engine.match(asked[0])
    for data in asked:
        expected = [slot for slot, pattern in enumerate(patterns) if pattern.matches(data)]
        assert engine.match(data) == expected
        assert engine.match_count(data) == len(expected)
