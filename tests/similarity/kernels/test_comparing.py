"""Compiled similarities are those that plain Python finds, whatever patterns ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_xpath
from sapwood.limits import SIMILARITY_COMBINATIONS_MAX
from sapwood.model.patterns.pattern import TreePattern
from sapwood.similarity import Constants, Knowledge, Similarity, all_proximities, many
from sapwood.similarity.kernels import compiled
from sapwood.similarity.kernels.chances import fill_chances
from sapwood.similarity.kernels.choice import SIMILARITY
from sapwood.similarity.synopsis import synopsis_of
from sapwood.similarity.tables import Table
from sapwood.xml import read_document
from sapwood.xml.dtd import read_dtd
from tests.examples import examples
from tests.similarity.kinds import LOOSE, MEDIA, NAMES, STRICT, WORKED, documents, media

DTDS = tuple(read_dtd(text, "a") for text in (LOOSE, STRICT))

ASKED = ("", "", "", "[.='1']", "[.='2']", "[text()>1]", "[@x]", "[@x='1']", "[@y='2']")


@st.composite
def steps(draw: st.DrawFn, depth: int) -> str:
    """A step with what is asked of its text and attributes, branches and alternatives below it."""
    name = draw(st.sampled_from((*NAMES, "*"))) + draw(st.sampled_from(ASKED))
    branches = draw(st.lists(steps(depth - 1), max_size=3)) if depth else []
    axes = [draw(st.sampled_from(["", "", ".//"])) for _ in branches]
    asked = [f"{axis}{one}" for axis, one in zip(axes, branches, strict=True)]
    if len(asked) > 1 and draw(st.booleans()):
        asked = [f"{asked[0]} or {asked[1]}", *asked[2:]]
    return name + "".join(f"[{one}]" for one in asked)


PATTERNS = st.tuples(st.sampled_from(["/", "/a/", "//"]), steps(2)).map(
    lambda parts: parse_xpath("".join(parts))
)


@given(
    st.lists(PATTERNS, min_size=1, max_size=6, unique=True),
    st.sampled_from((None, *DTDS)),
    documents,
    st.booleans(),
    st.sampled_from([0.2, 0.0, 1.0]),
)
def test_compiled_estimates_are_those_of_plain_python(
    some: list[TreePattern], dtd: Any, data: list[bytes], is_whole: bool, conflict: float
) -> None:
    synopsis = synopsis_of(map(read_document, data)) if data or dtd is None else None
    knowledge = Knowledge(
        dtd, synopsis, unseen_is_impossible=is_whole or dtd is None or synopsis is None
    )
    similarity = Similarity(knowledge, Constants(conflict=conflict))
    compare(similarity, some)


def compare(similarity: Similarity, some: list[TreePattern]) -> None:
    table = Table(similarity, some)
    given = {number: table.given(number) for number in range(len(some))}
    estimates = many.Estimates(compiled, table, given, range(len(some)))
    every = np.arange(len(some))
    for number, one in enumerate(some):
        alone = Similarity(similarity.knowledge, similarity.constants)
        plain = [alone.estimate(one, asked) for asked in some]
        assert estimates.row(number, every) == pytest.approx(plain, abs=1e-12)
        assert estimates.row(number, every[::2]) == pytest.approx(plain[::2], abs=1e-12)


def test_the_work_s_examples_compiled() -> None:
    texts = [
        WORKED,
        "/media/DVD/Actor/First[text()>100]",
        "/media/DVD/Actor/First[.='Charles']",
        "/media[Book]/CD",
        "/media/*/Author",
        "/media/CD/Producer[.='AB']",
        "/media[CD]/DVD",
        "/media/DVD[Title]/Director",
        "/media/DVD[Producer]/Director",
        "/media/DVD[Title]/*/First",
        "/media/DVD[Producer]/*/First",
        "/media/DVD[Title][Actor/First='Bob'][Producer]",
    ]
    compare(Similarity(Knowledge(media())), [parse_xpath(text) for text in texts])


def test_more_ways_than_are_weighed_are_left_to_plain_python() -> None:
    names = [f"n{number}" for number in range(9)]
    dtd = (
        "<!ELEMENT a ("
        + "|".join(names)
        + ")*>"
        + "".join(f"<!ELEMENT {name} (#PCDATA)>" for name in names)
    )
    similarity = Similarity(Knowledge(read_dtd(dtd.encode(), "a")))
    given, asked = parse_xpath("/a[*][*='1'][*='2']"), parse_xpath("/a[*='3'][*='4'][*]")
    assert SIMILARITY_COMBINATIONS_MAX < 27**3
    compare(similarity, [given, asked])


@pytest.mark.parametrize("dtd", [*DTDS, read_dtd(MEDIA, "media")])
def test_chances_of_all_steps_at_all_places(dtd: Any) -> None:
    similarity = Similarity(Knowledge(dtd))
    some = [parse_xpath(text) for text in ("//d[c]/b", "/a//*[b]", "//First", "/*/*/@x")]
    table = Table(similarity, some)
    tile = table.tile(range(len(some)))
    fill_chances(table.places.arrays, tile.steps, table.accepted, tile.searched.chances)
    for number, one in enumerate(some):
        root = tile.searched.steps[tile.searched.step_starts[number + 1] - 1]
        assert tile.searched.chances[root, 0] == pytest.approx(similarity.probability(one))


@pytest.mark.parametrize("count", [examples(200)])
def test_all_pairs_at_once_are_compiled_where_that_is_at_hand(count: int) -> None:
    SIMILARITY.load()
    some = [parse_xpath(f"/a/b[c]{'/*' * (one % 3)}[.='{one}']") for one in range(count)]
    similarity = Similarity(Knowledge(DTDS[0]))
    found = all_proximities(similarity, some)
    assert found[3, 7] == pytest.approx(similarity.proximity(some[3], some[7]))
    assert np.array_equal(found, found.T)
    assert (np.diag(found) == 1).all()
