"""An index of filters and of tree patterns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

from sapwood import Index, Publication, parse_filter, parse_xpath
from sapwood.errors import DocumentError, DuplicateIdError, FileFormatError, UnknownNameError
from sapwood.matching.documents.engines import DOCUMENT_ENGINES
from sapwood.model.interest import Interest
from sapwood.simulation.vocabulary import draw_filter, draw_publication, draw_xpath

ENGINES = sorted(name for name, info in DOCUMENT_ENGINES.items() if info.exact)


def drawn(seed: int, count: int) -> dict[str, Interest]:
    """Interests of both kinds, in random order of kinds, by id."""
    generator = Random(seed)
    found: dict[str, Interest] = {}
    for number in range(count):
        is_document = generator.random() < 0.5
        found[f"s{number:03}"] = (
            parse_xpath(draw_xpath(generator))
            if is_document
            else parse_filter(draw_filter(generator))
        )
    return found


def publications(seed: int, count: int) -> list[Publication]:
    generator = Random(seed)
    return [draw_publication(generator, f"p{n}", documents=True) for n in range(count)]


def expected(interests: dict[str, Interest], publication: Publication) -> list[str]:
    return sorted(id_ for id_, wanted in interests.items() if wanted.matches(publication))


def assert_right(index: Index, interests: dict[str, Interest]) -> None:
    index.validate()
    assert len(index) == len(interests)
    published = publications(7, 30)
    found = [expected(interests, one) for one in published]
    assert [index.match(one) for one in published] == found
    assert index.match_many(published) == found
    assert [index.match_any(one) for one in published] == [bool(ids) for ids in found]
    assert [index.match_count(one) for one in published] == [len(ids) for ids in found]


@pytest.mark.parametrize("documents", ENGINES)
@pytest.mark.parametrize("records", ["columnar", "counting"])
@pytest.mark.one_in(6)
def test_index_matches_both_kinds_under_changes(records: str, documents: str) -> None:
    interests, index = drawn(1, 80), Index(records=records, documents=documents)
    for id_, wanted in interests.items():
        index.add(id_, wanted)
    assert_right(index, interests)
    generator = Random(2)
    for id_ in generator.sample(sorted(interests), 40):
        index.remove(id_)
        del interests[id_]
    assert_right(index, interests)
    for id_, wanted in drawn(3, 120).items():  # slots of one kind are taken again by the other
        if id_ not in interests:
            index.add(id_, wanted)
            interests[id_] = wanted
    index.fold()
    assert_right(index, interests)
    assert all(index.filter(id_) == wanted for id_, wanted in interests.items())


@pytest.mark.parametrize("documents", ENGINES)
def test_saved_index_holds_both_kinds(documents: str, tmp_path: Path) -> None:
    interests, index = drawn(4, 60), Index(documents=documents)
    for id_, wanted in interests.items():
        index.add(id_, wanted)
    index.remove("s000")
    del interests["s000"]
    index.save(tmp_path / "index")
    again = Index.load(tmp_path / "index")
    assert again.document_engine.name == documents
    assert_right(again, interests)
    again.add("new", parse_xpath("/p:a", {"p": "urn:x"}))
    again.save(tmp_path / "index")
    third = Index.load(tmp_path / "index")
    assert third.filter("new") == parse_xpath("/p:a", {"p": "urn:x"})


@pytest.mark.parametrize("wanted", ["x > 1", parse_xpath("//a")])
def test_saved_index_of_one_kind_is_loaded(wanted: Interest | str, tmp_path: Path) -> None:
    index = Index()
    index.add("a", wanted)
    index.save(tmp_path / "index")
    again = Index.load(tmp_path / "index")
    assert again.match(Publication("p", {"x": 2}, b"<a/>")) == ["a"]
    empty = Index()
    empty.save(tmp_path / "empty")
    assert Index.load(tmp_path / "empty").match({"x": 2}) == []


def test_missing_texts_of_documents_are_told(tmp_path: Path) -> None:
    index = Index()
    index.add("a", parse_xpath("//a"))
    index.save(tmp_path / "index")
    (tmp_path / "index" / "documents_bytes.npy").unlink()
    with pytest.raises(FileFormatError, match="documents_bytes"):
        Index.load(tmp_path / "index")


def test_match_slots_has_both_kinds_in_ascending_order() -> None:
    index = Index()
    index.add("d0", parse_xpath("//a"))
    index.add("r1", "x = 1")
    index.add("d2", parse_xpath("/*"))
    index.add("r3", "true")
    offsets, slots = index.match_slots(
        [{"x": 1}, None, None, {}], [b"<a/>", b"<b/>", None, b"<b/>"]
    )
    assert offsets.tolist() == [0, 4, 5, 5, 7]
    assert slots.tolist() == [0, 1, 2, 3, 2, 2, 3]
    assert offsets.dtype == np.int64
    assert slots.dtype == np.int32
    assert index.match_slots([{"x": 1}]).slots.tolist() == [1, 3]


def test_documents_are_matched_as_bytes_and_once_read() -> None:
    index = Index()
    index.add("a", parse_xpath("//b[@k = 1]"))
    publication = Publication("p", document=b"<a><b k='1'/></a>")
    assert index.match(publication) == ["a"]
    contents = publication.read_document()
    assert contents is not None
    assert index.match(publication) == index.match(contents) == ["a"]
    assert index.match(b"<a><b k='1'/></a>") == ["a"]
    with pytest.raises(DocumentError):
        index.match(b"<a>")


def test_ids_are_unique_across_kinds() -> None:
    index = Index()
    index.add("a", "x = 1")
    with pytest.raises(DuplicateIdError):
        index.add("a", parse_xpath("//a"))
    with pytest.raises(UnknownNameError):
        Index(documents="quantum")


def test_an_index_makes_only_the_engines_it_needs() -> None:
    script = (
        "import sys, sapwood; i = sapwood.Index(records='counting'); i.add('a', 'x = 1');"
        "assert i.match({'x': 1}) == ['a'];"
        "assert not {'sapwood.matching.automaton', 'numba'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
