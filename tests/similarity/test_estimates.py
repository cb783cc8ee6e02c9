"""Similarity: the ten printed values, what holds for all patterns, and what documents say."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sapwood import parse_filter, parse_xpath
from sapwood.errors import InputError
from sapwood.model.patterns.pattern import TreePattern
from sapwood.similarity import Constants, Knowledge, Similarity
from sapwood.similarity.synopsis import synopsis_of
from sapwood.xml import read_document
from sapwood.xml.dtd import Dtd, read_dtd
from tests.similarity.kinds import LOOSE, MEDIA, STRICT, WORKED, documents, media, patterns

PLAIN = Constants(unknown_text=0.1, conflict=0.2, unmatched=0.0)
DTDS = tuple(read_dtd(text, "a") for text in (LOOSE, STRICT))

PRINTED = (
    ("S1", "/media/DVD/Actor/First[.!='Charles']", 1 / 4),
    ("S2", "/media/DVD/Actor/First[.='Charles']", 0),
    ("S3", "/media[Book]/CD", 1 / 2),
    ("S4", "/media/*/Author", 1),
    ("S5", "/media/CD/Producer[text()=150]", 1 / 2 * 0.1),
    ("S6", "/media[CD]/DVD", 1 / 4 * 0.2),
    ("S7", "/media/DVD[Title]/Director", 1 / 8),
    ("S8", "/media/DVD[Producer]/Director", 0),
    ("S9", "/media/DVD[Title]/*/First", 1 / 4),
    ("S10", "/media/DVD[Producer]/*/First", 1 / 8),
)


@pytest.mark.parametrize(("path", "value"), [(p, v) for _, p, v in PRINTED], ids=[
    name for name, *_ in PRINTED
])  # fmt: skip
def test_the_ten_worked_examples_have_their_values(path: str, value: float) -> None:
    """PT33."""
    similarity = Similarity(Knowledge(media()), PLAIN)
    found = similarity.estimate(parse_xpath(WORKED), parse_xpath(path))
    assert found == pytest.approx(value)


def test_without_correlations_the_last_two_examples_are_equal() -> None:
    """PT34."""
    text = MEDIA.replace(b"(Producer|Director)?", b"Producer?,Director?")
    similarity = Similarity(Knowledge(read_dtd(text, "media")), PLAIN)
    values = [similarity(parse_xpath(WORKED), parse_xpath(path)) for _, path, _ in PRINTED[-2:]]
    assert values == pytest.approx([1 / 4, 1 / 4])


def test_a_synopsis_says_how_often_what_was_not_asked_is_there() -> None:
    seen = [b"<a><b><c/></b></a>", b"<a><b/></a>", b"<a><d/></a>", b'<a><b z="1"/></a>']
    similarity = Similarity(Knowledge(synopsis=synopsis_of(map(read_document, seen))))
    given_b = parse_xpath("/a/b")
    assert similarity(given_b, parse_xpath("/a/b/c")) == pytest.approx(1 / 3)
    assert similarity(given_b, parse_xpath("/a/b/@z")) == pytest.approx(1 / 3)
    assert similarity(given_b, parse_xpath("/a/d")) == pytest.approx(1 / 4)
    assert similarity(given_b, parse_xpath("//e")) == 0
    assert similarity(parse_xpath("/a/b/c"), given_b) == 1
    assert similarity.proximity(given_b, parse_xpath("/a/b/c")) == pytest.approx(2 / 3)
    assert similarity.probability(parse_xpath("//c")) == pytest.approx(1 / 4)


@given(documents, st.data())
def test_for_paths_of_names_similarity_is_the_share_of_documents(
    data: list[bytes], drawn: st.DataObject
) -> None:
    synopsis = synopsis_of(map(read_document, data))
    some = [path for path, _ in synopsis.paths() if not path[-1].startswith("@")]
    assume(some)
    longer = drawn.draw(st.sampled_from(some))
    shorter = longer[: drawn.draw(st.integers(1, len(longer)))]
    narrow, wide = (parse_xpath("/" + "/".join(path)) for path in (longer, shorter))
    both = sum(narrow.matches(one) for one in data)
    having = sum(wide.matches(one) for one in data)
    similarity = Similarity(Knowledge(synopsis=synopsis))
    assert similarity(wide, narrow) == pytest.approx(both / having)
    assert similarity.probability(narrow) == pytest.approx(both / len(data))


@given(patterns(), patterns(), st.sampled_from(DTDS), documents)
def test_similarities_are_probabilities_and_one_where_the_other_covers(
    one: TreePattern, other: TreePattern, dtd: Dtd, data: list[bytes]
) -> None:
    """PT19."""
    synopsis = synopsis_of(map(read_document, data))
    for knowledge in (Knowledge(dtd), Knowledge(synopsis=synopsis), Knowledge(dtd, synopsis)):
        similarity = Similarity(knowledge)
        assert 0 <= similarity(one, other) <= 1
        assert 0 <= similarity.probability(one) <= 1
        assert similarity.proximity(one, other) == similarity.proximity(other, one)
        assert similarity.proximity(one, one) == 1
        if other.covers(one):
            assert similarity(one, other) == 1


@given(patterns())
def test_a_pattern_finds_all_of_itself_in_its_own_expansion_where_nothing_is_opposed(
    pattern: TreePattern,
) -> None:
    similarity = Similarity(Knowledge(DTDS[0]), PLAIN)
    assume(similarity.expansions(pattern))
    assert similarity.estimate(pattern, pattern) == pytest.approx(1)


def test_disjunctions_weigh_their_alternatives_by_how_likely_they_are() -> None:
    seen = [b"<a><b/><c/></a>", b"<a><b/></a>", b"<a><b/></a>", b"<a><d/><c/></a>"]
    similarity = Similarity(Knowledge(synopsis=synopsis_of(map(read_document, seen))))
    found = similarity(parse_xpath("/a[b or d]"), parse_xpath("/a/b"))
    assert found == pytest.approx(3 / 4 * 1 + 1 / 4 * 3 / 4)


def test_a_record_filter_has_no_similarity() -> None:
    similarity = Similarity(Knowledge(DTDS[0]))
    with pytest.raises(InputError, match="record filter"):
        similarity(parse_filter("a > 1"), parse_xpath("/a"))


def test_constants_are_probabilities() -> None:
    with pytest.raises(InputError, match="no probability"):
        Constants(conflict=1.5)


def made_document(random: Random) -> bytes:
    """A document in which c comes with b, and d with neither."""
    kind = random.random()
    if kind < 0.5:
        c = "<c/>" if random.random() < 0.9 else ""
        return f"<a><b/>{c}</a>".encode()
    return b"<a><d><b/></d></a>" if kind < 0.8 else b"<a><d/><c/></a>"


def test_estimates_rank_patterns_as_documents_do() -> None:
    """PT35."""
    random = Random(1)
    data = [made_document(random) for _ in range(400)]
    similarity = Similarity(Knowledge(synopsis=synopsis_of(map(read_document, data))))
    texts = ("/a/b", "/a/c", "/a/d", "/a/d/b", "//b", "//c", "/a/*/b", "/a[b][c]", "/a[c][d]")
    every = [parse_xpath(text) for text in texts]
    accepted = [{at for at, one in enumerate(data) if p.matches(one)} for p in every]
    pairs = [
        (similarity(one, other), len(accepted[a] & accepted[b]) / len(accepted[a]))
        for a, one in enumerate(every)
        for b, other in enumerate(every)
        if a != b
    ]
    means = [sum(column) / len(pairs) for column in zip(*pairs, strict=True)]
    covariance = sum((x - means[0]) * (y - means[1]) for x, y in pairs)
    deviations = [sum((pair[k] - means[k]) ** 2 for pair in pairs) ** 0.5 for k in (0, 1)]
    assert covariance / (deviations[0] * deviations[1]) > 0.6
