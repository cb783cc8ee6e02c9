"""Expansions: the work's figure, and what holds of all of them."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sapwood.similarity.expansion as module
from sapwood import parse_xpath
from sapwood.errors import InputError
from sapwood.limits import EXPANSION_DEPTH_MAX
from sapwood.model.patterns.pattern import TreePattern
from sapwood.similarity import Knowledge
from sapwood.similarity.expansion import Occurrence, expanded
from sapwood.similarity.steps import steps_of
from sapwood.similarity.synopsis import synopsis_of
from sapwood.xml import read_document
from sapwood.xml.dtd import Dtd, read_dtd
from tests.similarity.kinds import LOOSE, STRICT, WORKED, documents, media, patterns

DTDS = tuple(read_dtd(text, "a") for text in (LOOSE, STRICT))


def expansion(text: str, knowledge: Knowledge) -> Occurrence | None:
    return expanded(steps_of(parse_xpath(text))[0], knowledge)


def shown(found: Occurrence) -> list[str]:
    """An occurrence a line, with its level, probability and number."""

    def lines(one: Occurrence, level: int) -> list[str]:
        here = f"{'.' * level}{one.place.name} {one.probability:g} {one.number}"
        return [here, *(line for child in one.children for line in lines(child, level + 1))]

    return [line for child in found.children for line in lines(child, 0)]


def test_the_worked_pattern_expands_to_figure_8_3() -> None:
    """PT33."""
    found = expansion(WORKED, Knowledge(media()))
    assert found is not None
    assert sorted(shown(found)) == sorted(
        [
            *("media 1 1", ".Book 1 1", "..Author 1 1", "...Last 1 1"),
            *(".CD 0.5 2", "..Producer 1 2", "..Author 1 1", "...First 1 1"),
            *(".DVD 0.5 2", "..Producer 0.5 2", "..Title 0.5 2"),
            *("..Actor 0.5 1", "...First 1 1", "..Director 0.5 1", "...First 1 1"),
        ]
    )
    dvd = next(one for one in found.descend() if one.place.name == "DVD")
    groups = [{dvd.children[at].place.name for at in group} for group in dvd.groups]
    assert groups == [{"Producer", "Director"}]


def test_the_three_modes_of_knowledge_expand_one_pattern_differently() -> None:
    seen = [b"<a><b/></a>", b"<a><b/><d/></a>", b"<a><b/></a>", b"<a><x/></a>"]
    synopsis, dtd = synopsis_of(map(read_document, seen)), DTDS[0]
    modes = {
        "dtd": Knowledge(dtd),
        "synopsis": Knowledge(synopsis=synopsis),
        "both": Knowledge(dtd, synopsis),
        "young": Knowledge(dtd, synopsis, unseen_is_impossible=False),
    }
    found = {mode: expansion("/a/*", knowledge) for mode, knowledge in modes.items()}
    shares = {
        mode: {one.place.name: one.probability for one in tree.children[0].children}
        for mode, tree in found.items()
        if tree is not None
    }
    assert shares == {
        "dtd": {"b": 1 / 3, "c": 1 / 3, "d": 1 / 3},
        "synopsis": {"b": 3 / 5, "d": 1 / 5, "x": 1 / 5},
        "both": {"b": 3 / 4, "d": 1 / 4},
        "young": {"b": 4 / 7, "d": 2 / 7, "c": 1 / 7},
    }


def knowledge_of(dtd: Dtd, data: list[bytes], mode: str) -> Knowledge:
    synopsis = synopsis_of(map(read_document, data))
    return {
        "dtd": Knowledge(dtd),
        "synopsis": Knowledge(synopsis=synopsis),
        "both": Knowledge(dtd, synopsis),
    }[mode]


@given(patterns(), st.sampled_from(DTDS), documents, st.sampled_from(["dtd", "synopsis", "both"]))
def test_every_expansion_is_of_paths_that_are_known_with_probabilities_that_sum_to_one(
    pattern: TreePattern, dtd: Dtd, data: list[bytes], mode: str
) -> None:
    """PT30."""
    knowledge = knowledge_of(dtd, data, mode)
    found = expanded(steps_of(pattern)[0], knowledge)
    assume(found is not None)
    assert found is not None
    for one in found.descend():
        allowed = {place for place, _ in knowledge.elements(one.place)}
        assert all(child.place in allowed for child in one.children)
        numbers = {child.number for child in one.children}
        for number in numbers:
            shares = [child.probability for child in one.children if child.number == number]
            assert all(0 < share <= 1 for share in shares)
            assert sum(shares) == pytest.approx(1)
        for here, other in combinations(range(len(one.children)), 2):
            if (here, other) in one.opposed:
                pair = (one.children[here].probability, one.children[other].probability)
                assert max(pair) < 1
        assert one.place.depth <= EXPANSION_DEPTH_MAX + 3, "three steps below the last gap"


@pytest.mark.parametrize("path", ["/a/b/c/d", "/a[b[a][c]]/c"])
def test_a_pattern_of_names_expands_to_itself(path: str) -> None:
    """PT31."""
    found = expansion(path, Knowledge(DTDS[0]))
    assert found is not None
    assert all(one.probability == 1 for one in found.descend())
    named = sorted(one.place.name for one in found.descend())
    assert named == sorted(["", *(name for name in path if name.isalpha())])


def test_gaps_in_a_recursive_dtd_end_at_the_bound() -> None:
    """PT32."""
    found = expansion("//d", Knowledge(DTDS[0]))
    assert found is not None
    assert max(one.place.depth for one in found.descend()) <= EXPANSION_DEPTH_MAX


def test_beyond_the_bound_of_elements_gaps_are_followed_no_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = expansion("//d", Knowledge(DTDS[0]))
    monkeypatch.setattr(module, "EXPANSION_NODES_MAX", 10)
    cut = expansion("//d", Knowledge(DTDS[0]))
    assert whole is not None
    assert cut is not None
    assert len(list(cut.descend())) < len(list(whole.descend()))


@pytest.mark.parametrize(
    "path",
    [
        *("/b", "/a/x", "/a/a", "/a/d/b", "/a[c/text()='x']", "/a[b][d]", "/a/@x"),
        "/a/b[c][d]",
    ],
)
def test_what_no_valid_document_has_has_no_expansion(path: str) -> None:
    assert expansion(path, Knowledge(DTDS[1])) is None


def test_one_element_may_be_asked_twice() -> None:
    assert expansion("/media/Book[Author/First][Author/Last]", Knowledge(media())) is not None
    twice = "/media/Book[Title[.='x']][Title[.='y']]"
    assert expansion(twice, Knowledge(media())) is None


def test_without_dtd_and_synopsis_there_is_no_knowledge() -> None:
    with pytest.raises(InputError, match="bring one"):
        Knowledge()
    with pytest.raises(InputError, match="bring one"):
        Knowledge(synopsis=synopsis_of([]), unseen_is_impossible=False)
