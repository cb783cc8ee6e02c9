"""Signatures of compiled entries: a set's own are all that they are ever called with."""

from __future__ import annotations

from pathlib import Path

from sapwood import parse_xpath
from sapwood.matching.automaton import PathAutomatonEngine
from sapwood.matching.checks import check_random_filters, check_saving
from sapwood.matching.documents.checks import check_document_engine
from sapwood.matching.index import Index
from sapwood.matching.readiness import DOCUMENTS, RECORDS, KernelSet
from tests.matching.variants import VARIANTS, loaded


def signatures(kernels: KernelSet) -> set[int]:
    library = kernels.library()
    assert library is not None
    return {len(entry.signatures) for entry in library.entries}


def test_records_are_matched_without_a_signature_more(tmp_path: Path) -> None:
    [info] = [info for info in VARIANTS if info.name == "columnar-eager"]
    RECORDS.load()
    check_random_filters(lambda: Index(info), 0)
    check_saving(lambda: Index(info), lambda path: loaded(path, info), tmp_path, 0)
    assert signatures(RECORDS) == {1}


def test_documents_are_matched_without_a_signature_more(tmp_path: Path) -> None:
    DOCUMENTS.load()
    check_document_engine(PathAutomatonEngine, steps=20)
    index = Index(documents="path-automaton")
    for number, text in enumerate(("/a/b", "//b[@c = 'x']", "//a[b or d]/e[. > 1]")):
        index.add(f"s{number}", parse_xpath(text))
    index.save(tmp_path / "index")
    mapped = Index.load(tmp_path / "index")
    assert mapped.match(b"<a><b c='x'/><e>2</e></a>") == ["s0", "s1", "s2"]
    mapped.remove("s1")
    assert mapped.match(b"<a><b c='x'/><e>2</e></a>") == ["s0", "s2"]
    assert signatures(DOCUMENTS) == {1}
