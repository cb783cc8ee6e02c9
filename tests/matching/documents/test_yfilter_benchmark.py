"""The match counts that YFilter 1.0 reports on its own benchmark, to the last digit.

Documents are NITF with 69 elements on average; the figures are matches per document.
"""

from __future__ import annotations

import pytest

from sapwood.language.xpath import parse_xpath
from sapwood.matching.automaton import PathAutomatonEngine
from sapwood.matching.documents.protocol import DocumentEngine
from sapwood.matching.published.xtrie import XTrieEngine
from tests.matching.documents.yfilter import (
    BOUNDS,
    DISTINCT,
    WITH_DUPLICATES,
    in_the_long_run_only,
    needs_benchmark,
    nitf_documents,
    nitf_expressions,
)


def filled(engine: DocumentEngine, name: str, count: int | None = None) -> DocumentEngine:
    for slot, expression in enumerate(nitf_expressions(name, count)):
        engine.add(slot, parse_xpath(expression, bounds=BOUNDS))
    return engine


def total(engine: DocumentEngine) -> int:
    """Matches of all documents together; a few documents at a time, to keep little in memory."""
    documents = nitf_documents()
    return sum(
        int(engine.match_slots(documents[start : start + 20]).offsets[-1])
        for start in range(0, len(documents), 20)
    )


@pytest.mark.long
@needs_benchmark
def test_ten_thousand_distinct_paths_match_as_yfilter_says() -> None:
    engine = filled(PathAutomatonEngine(), DISTINCT, 10_000)
    assert len(nitf_documents()) == 500
    assert total(engine) == 384_248  # 768.496 a document
    assert total(engine) == 384_248  # and again, with the states that were learned
    engine.validate()


@needs_benchmark
def test_xtrie_matches_what_the_path_automaton_matches() -> None:
    engines = [filled(made, DISTINCT, 2_000) for made in (PathAutomatonEngine(), XTrieEngine())]
    for document in nitf_documents()[::25]:
        one, other = (engine.match(document) for engine in engines)
        assert one == other


@needs_benchmark
@in_the_long_run_only
def test_all_distinct_paths_match_as_yfilter_says() -> None:
    assert total(filled(PathAutomatonEngine(), DISTINCT)) == 2_580_330  # 5,160.66 a document


@needs_benchmark
@in_the_long_run_only
def test_half_a_million_paths_with_duplicates_match_as_yfilter_says() -> None:
    engine = filled(PathAutomatonEngine(), WITH_DUPLICATES)
    assert total(engine) == 85_208_323  # 170,416.646 a document
