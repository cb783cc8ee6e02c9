"""The vocabulary of random scenarios."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.language import parse_filter
from sapwood.language.advertisements import parse_advertisement
from sapwood.language.xpath import parse_xpath
from sapwood.simulation.vocabulary import (
    draw_chain_filter,
    draw_chain_xpath,
    draw_document,
    draw_filter,
    draw_paths,
    draw_publication,
    draw_record,
    draw_xpath,
)
from sapwood.xml import read_document

COUNT = 300


def test_filters_and_records_meet() -> None:
    generator = Random(1)
    filters = [parse_filter(draw_filter(generator)) for _ in range(COUNT)]
    records = [draw_record(generator) for _ in range(COUNT)]
    hits = sum(wanted.accepts(record) for wanted in filters for record in records)
    assert 0.1 < hits / COUNT**2 < 0.9


@pytest.mark.long
def test_patterns_and_documents_meet() -> None:
    generator = Random(2)
    patterns = [parse_xpath(draw_xpath(generator)) for _ in range(COUNT)]
    documents = [read_document(draw_document(generator)) for _ in range(COUNT)]
    hits = sum(wanted.accepts(document) for wanted in patterns for document in documents)
    assert 0.1 < hits / COUNT**2 < 0.9
    assert len(set(patterns)) > COUNT / 3
    assert any(pattern.reads_content for pattern in patterns)


@pytest.mark.long
def test_paths_and_documents_meet() -> None:
    generator = Random(5)
    promises = [parse_advertisement(draw_paths(generator)) for _ in range(COUNT)]
    documents = [read_document(draw_document(generator)) for _ in range(COUNT)]
    patterns = [parse_xpath(draw_xpath(generator)) for _ in range(COUNT)]
    hits = sum(promise.admits(document) for promise in promises for document in documents)
    assert 0.05 < hits / COUNT**2 < 0.9
    apart = sum(not promise.intersects(pattern) for promise in promises for pattern in patterns)
    assert apart > COUNT


def test_any_two_of_a_chain_cover_each_other_one_way_or_both() -> None:
    generator = Random(3)
    filters = [parse_filter(draw_chain_filter(generator)) for _ in range(20)]
    patterns = [parse_xpath(draw_chain_xpath(generator)) for _ in range(20)]
    assert all(a.covers(b) or b.covers(a) for a in filters for b in filters)
    assert all(a.covers(b) or b.covers(a) for a in patterns for b in patterns)


def test_publications_carry_documents_only_when_told() -> None:
    generator = Random(4)
    plain = [draw_publication(generator, f"p{number}") for number in range(COUNT)]
    assert all(one.document is None and one.attributes is not None for one in plain)
    mixed = [draw_publication(generator, f"p{n}", documents=True) for n in range(COUNT)]
    carried = {(one.attributes is None, one.document is None) for one in mixed}
    assert carried == {(True, False), (False, True), (False, False)}
