"""An advertisement is a value: compared, printed, bounded, and asked about documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter, parse_xpath
from sapwood.errors import LimitError
from sapwood.language.advertisements import parse_advertisement
from sapwood.limits import ADVERTISEMENT_NESTING_MAX, ADVERTISEMENT_STEPS_MAX
from sapwood.model.patterns.advertisements import Advertisement, Chain, Expression, Repeat, Step
from sapwood.xml import read_document
from tests.model.patterns.advertisements.made import all_words, document_of, expressions, words


@given(
    expressions(), st.sets(st.sampled_from([w for w in all_words(3) if w[1] == "a"]), min_size=1)
)
def test_admits_documents_all_of_whose_paths_are_words(
    expression: Expression, paths: set[str]
) -> None:
    leaves = {one for one in paths if not any(o != one and o.startswith(one) for o in paths)}
    admitted = Advertisement(expression).admits(document_of(sorted(paths)))
    assert admitted == (leaves <= words(expression, 3))


def test_admits_compares_local_names() -> None:
    document = read_document(b'<x:a xmlns:x="urn:x"><b k="1">text</b></x:a>')
    assert parse_advertisement("/a/b").admits(document)
    assert not parse_advertisement("/a").admits(document)
    assert not parse_advertisement("/b").admits(document)


@given(expressions())
def test_text_reads_back_as_an_equal_advertisement(expression: Expression) -> None:
    advertisement = Advertisement(expression)
    again = parse_advertisement(str(advertisement))
    assert again == advertisement
    assert hash(again) == hash(advertisement)
    assert all(advertisement.covers(one) for one in advertisement.alternatives)


def test_records_and_patterns_that_accept_nothing_are_not_intersected() -> None:
    advertisement = parse_advertisement("(/*)+")
    assert not advertisement.intersects(parse_filter("price > 1"))
    assert not advertisement.intersects(parse_xpath("//a[text()='']"))
    assert advertisement.intersects(parse_xpath("//a[@x='1']/text()"))
    assert advertisement.intersects(parse_xpath("//a[b or c]"))


def test_pattern_with_too_many_alternatives_is_taken_to_intersect() -> None:
    many = "".join(f"[a{at} or b{at} or c{at}]" for at in range(4))
    assert parse_advertisement("/x").intersects(parse_xpath(f"/y{many}"))


def test_too_large_advertisements_are_refused() -> None:
    many = Chain((Step("a"),) * (ADVERTISEMENT_STEPS_MAX + 1))
    with pytest.raises(LimitError, match="ADVERTISEMENT_STEPS_MAX"):
        Advertisement(many)
    deep: Expression = Step("a")
    for _ in range(ADVERTISEMENT_NESTING_MAX + 1):
        deep = Repeat(Chain((Step("a"), deep)))
    with pytest.raises(LimitError, match="ADVERTISEMENT_NESTING_MAX"):
        Advertisement(deep)
