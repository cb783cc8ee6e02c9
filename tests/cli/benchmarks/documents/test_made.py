"""The made-up workload is always the same, and its paths meet its documents."""

from __future__ import annotations

from itertools import islice

from sapwood.cli.benchmarks.documents.made import made_documents, made_expressions
from sapwood.cli.benchmarks.documents.sources import BOUNDS
from sapwood.language.xpath import parse_xpath
from sapwood.xml import read_document


def test_made_workload_is_the_same_each_time() -> None:
    assert made_documents() == made_documents()
    first = list(made_expressions(50))
    assert list(islice(made_expressions(80), 50)) == first
    assert len(set(first)) == 50


def test_made_paths_hold_of_some_documents_and_not_of_all() -> None:
    documents = [read_document(data) for data in made_documents()[:20]]
    patterns = [parse_xpath(path, bounds=BOUNDS) for path in made_expressions(60)]
    held = sum(pattern.accepts(document) for pattern in patterns for document in documents)
    assert 0 < held < len(patterns) * len(documents) / 2
