"""Patterns have the shape that was asked for, and documents that they accept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
import pytest

from sapwood import parse_xpath
from sapwood.errors import InputError, InvalidValueError
from sapwood.limits import XPATH_STEPS_MAX
from sapwood.model.patterns.conditions import (
    AllOf,
    Attribute,
    Axis,
    Below,
    Condition,
    Text,
    descend,
)
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml.dtd import read_dtd
from sapwood_lab.workload.documents.patterns import XNET, XPE, PatternShape, draw_patterns
from tests_lab.workload.documents.dtds import NAMES, dtd_of


def draw(name: str, shape: PatternShape, count: int = 400) -> Sequence[TreePattern]:
    return draw_patterns(dtd_of(name), shape, np.random.default_rng(1), count)


def steps(pattern: TreePattern) -> list[Below]:
    return [one for one in descend(pattern.root) if isinstance(one, Below)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.one_in(2)
def test_patterns_can_be_read_back(name: str) -> None:
    wild = PatternShape(descendant=0.5, wildcard=0.3, branch=0.5, value=1.0, skew=1.0)
    for shape in (XNET, XPE, wild):
        for pattern in draw(name, shape, 200):
            assert parse_xpath(str(pattern)) == pattern


def test_plain_patterns_are_walks_of_the_dtd_between_the_depths() -> None:
    shape = PatternShape(depth_min=2, depth_max=5, descendant=0, wildcard=0)
    paths = dtd_of("news").paths
    for pattern in draw("news", shape):
        names = tuple(str(pattern).removeprefix("/").split("/"))
        assert 2 <= len(names) <= 5
        assert names[0] == "news"
        assert all(b in paths.children(a) for a, b in pairwise(names))


def test_chances_are_kept() -> None:
    every = [one for pattern in draw("news", XPE, 1000) for one in steps(pattern)]
    assert 0.16 < sum(one.test is None for one in every) / len(every) < 0.24
    assert 0.16 < sum(one.axis is Axis.DESCENDANT for one in every) / len(every) < 0.24
    branching = draw("news", PatternShape(branch=0.2))
    assert all(len(steps(pattern)) <= XPATH_STEPS_MAX for pattern in branching)
    assert any(isinstance(one, AllOf) for p in branching for one in descend(p.root))
    assert sum(len(steps(p)) for p in branching) > 1.1 * sum(
        len(steps(p)) for p in draw("news", XPE)
    )


CHOICES = b"""<!ELEMENT r (a|b|(c,d?))><!ELEMENT a (b|c)><!ELEMENT b (c|d)>
<!ELEMENT c (d,(e|f))><!ELEMENT d (#PCDATA)><!ELEMENT e EMPTY><!ELEMENT f EMPTY>"""


def test_branches_can_hold_together_and_each_leaf_is_deep_enough() -> None:
    """Every pattern accepts one of all documents that the DTD allows, written out."""
    documents = [f"<r>{body}</r>".encode() for body in bodies("a", "b", "c", "cd")]
    shape = PatternShape(depth_min=2, depth_max=4, branch=0.6, descendant=0.2, wildcard=0.2)
    drawn = draw_patterns(read_dtd(CHOICES), shape, np.random.default_rng(1), 300)
    assert sum(len(steps(pattern)) > 4 for pattern in drawn) > 5
    for pattern in drawn:
        assert any(pattern.matches(document) for document in documents), str(pattern)
    plain = PatternShape(depth_min=3, depth_max=8, branch=0.4, descendant=0, wildcard=0)
    for pattern in draw("news", plain):
        assert highest_leaf(pattern.root) >= 3, str(pattern)


def bodies(*words: str) -> list[str]:
    """All contents of the words, each letter an element of `CHOICES`."""
    models = {"a": ("b", "c"), "b": ("c", "d"), "c": ("de", "df"), "d": (), "e": (), "f": ()}
    return [
        "".join(parts)
        for word in words
        for parts in product(
            *([f"<{x}>{inner}</{x}>" for inner in bodies(*models[x]) or [""]] for x in word)
        )
    ]


def highest_leaf(condition: Condition, level: int = 0) -> int:
    """The level of the leaf that is nearest to the root."""
    if isinstance(condition, Below):
        return highest_leaf(condition.condition, level + 1)
    if isinstance(condition, AllOf) and condition.operands:
        return min(highest_leaf(one, level) for one in condition.operands)
    return level


def test_values_are_asked_of_what_the_last_element_has() -> None:
    dtd = dtd_of("proteins")
    asked = 0
    for pattern in draw("proteins", PatternShape(wildcard=0, value=1.0)):
        leaves = [one for one in descend(pattern.root) if isinstance(one, Attribute | Text)]
        last = steps(pattern)[-1]
        assert last.test is not None
        element = dtd.element(last.test.local)
        can_be_asked = element.holds_text or bool(element.attributes)
        assert len(leaves) == can_be_asked
        asked += len(leaves)
    assert asked > 300


def test_skew_prefers_the_first_names() -> None:
    def share(skew: float) -> float:
        shape = PatternShape(depth_min=2, depth_max=2, descendant=0, wildcard=0, skew=skew)
        drawn = [str(pattern) for pattern in draw("news", shape)]
        return drawn.count("/news/head") / len(drawn)

    assert 0.4 < share(0.0) < 0.6 < share(1.0) < share(3.0)


def test_depth_that_no_path_has_is_refused() -> None:
    with pytest.raises(InputError, match="8 levels deep"):
        draw("proteins", PatternShape(depth_min=8, depth_max=9))


@pytest.mark.parametrize(
    "fields",
    [
        {"depth_min": 0},
        {"depth_min": 11},
        {"depth_max": XPATH_STEPS_MAX},
        {"gap_max": 0},
        {"wildcard": 1.5},
        {"descendant": -0.1},
        {"skew": -1.0},
    ],
)
def test_pattern_shape_refuses_what_makes_no_sense(fields: dict[str, float]) -> None:
    with pytest.raises(InvalidValueError):
        PatternShape(**fields)  # type: ignore[arg-type]  # numbers of either kind
