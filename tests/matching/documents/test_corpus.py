"""The corpus of documents: large enough, right by libxml2, and matched by every engine."""

from __future__ import annotations

from collections import Counter

import pytest
from lxml import etree

from sapwood.matching.documents.corpus import DocumentCase, document_cases
from tests.xpaths import truth

CASES = tuple(document_cases())


def test_corpus_has_cases_on_every_topic() -> None:
    topics = Counter(case.topic for case in CASES)
    assert len(CASES) > 200
    assert len(topics) == 5
    assert min(topics.values()) >= 20


def test_corpus_asks_nothing_twice_and_gives_reasons() -> None:
    asked = Counter((case.xpath, str(case.namespaces), case.document) for case in CASES)
    assert [question for question, times in asked.items() if times > 1] == []
    assert all(case.why for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_corpus_agrees_with_libxml2_and_with_the_pattern_itself(case: DocumentCase) -> None:
    data = case.document.encode()
    assert case.pattern.matches(data) is case.accepted
    if case.namespaces is not None:
        tree = etree.ElementTree(etree.fromstring(data))
        bound = {prefix: uri for prefix, uri in case.namespaces.items() if prefix}
        assert bool(tree.xpath(f"boolean({case.xpath})", namespaces=bound)) is case.accepted
    elif case.topic != "namespaces":
        assert truth(case.xpath, data) is case.accepted


def test_case_reads_as_a_sentence() -> None:
    case = DocumentCase("paths", "/a", None, "<a/>", accepted=True, why="the root")
    assert str(case) == "paths: /a accepts <a/> (the root)"
