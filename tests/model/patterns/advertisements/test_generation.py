"""Advertisements of DTDs: all that one allows, and with recursion stated exactly nothing else."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from tests_lab.workload.documents.dtds import NAMES, dtd_of

from sapwood.errors import InputError, LimitError
from sapwood.model.patterns.advertisements import (
    Advertisement,
    PathKind,
    advertisement_of,
    advertisements_of,
)
from sapwood.xml import read_document
from sapwood.xml.dtd import Paths, read_dtd
from sapwood_lab.workload.documents import DocumentShape, documents
from tests.examples import examples
from tests.model.patterns.advertisements.made import document_of
from tests.xml.dtd.made import declarations, words

EVERY = 3


def paths_of(text: str) -> Paths:
    try:
        return read_dtd(text.encode(), root="a").paths
    except InputError:
        assume(False)  # the root never ends, or a choice names an element twice
        raise


def stated_exactly(text: str) -> Paths:
    paths = paths_of(text)
    assume(all(len(component) <= EVERY for component in paths.components))
    return paths


def admitted(advertisement: Advertisement, levels: int) -> set[tuple[str, ...]]:
    return {
        path
        for path in words(levels)
        if advertisement.admits(document_of(["".join(f"/{name}" for name in path)]))
    }


@given(declarations())
@settings(max_examples=examples(40))
def test_advertisement_has_exactly_the_paths_of_the_dtd(text: str) -> None:
    paths = stated_exactly(text)
    assert admitted(advertisement_of(paths, EVERY), 5) == set(paths.up_to(5))


@given(declarations())
@settings(max_examples=examples(40))
def test_advertisement_with_careful_components_has_all_paths(text: str) -> None:
    paths = stated_exactly(text)
    exact, careful = (advertisement_of(paths, most) for most in (EVERY, 0))
    assert careful.covers(exact)
    assert admitted(careful, 4) >= set(paths.up_to(4))


@given(declarations())
@settings(max_examples=examples(40))
def test_advertisements_of_the_work_are_the_same_in_parts(text: str) -> None:
    paths = paths_of(text)
    whole, parts = advertisement_of(paths), advertisements_of(paths)
    assert all(whole.covers(one) for one in parts)
    assert admitted(whole, 4) == {path for one in parts for path in admitted(one, 4)}
    recursive = any(one.kind is not PathKind.NON_RECURSIVE for one in parts)
    assert recursive == paths.is_recursive == ("+" in str(whole))


def test_forms_of_the_work_come_about() -> None:
    paths = paths_of(
        "<!ELEMENT a (b*)><!ELEMENT b (c|d)*><!ELEMENT c (b|c)*><!ELEMENT d (#PCDATA)>"
    )
    found = {str(one): one.kind for one in advertisements_of(paths)}
    assert found["/a/b/d"] is PathKind.NON_RECURSIVE
    assert found["/a/b(/c)+"] is PathKind.SIMPLE
    assert found["/a(/b(/c)+)+/b/d"] is PathKind.EMBEDDED


@pytest.mark.parametrize("name", NAMES)
def test_documents_of_real_dtds_are_admitted(name: str) -> None:
    dtd = dtd_of(name)
    advertisement = advertisement_of(dtd.paths)
    for one in documents(dtd, bodies=DocumentShape(levels=12)).publications(20, 1):
        assert one.document is not None
        assert advertisement.admits(read_document(one.document, content=False))


@pytest.mark.parametrize("name", NAMES)
def test_subscriptions_made_from_real_dtds_intersect(name: str) -> None:
    source = documents(dtd_of(name))
    advertisement = advertisement_of(source.dtd.paths)
    for one in source.subscriptions(50, 1):
        assert advertisement.intersects(one.filter)


def test_advertisement_that_would_be_too_long_is_refused() -> None:
    layers = "".join(
        f"<!ELEMENT x{k} (x{k + 1},y{k + 1})><!ELEMENT y{k} (x{k + 1},y{k + 1})>"
        for k in range(1, 15)
    )
    text = f"<!ELEMENT a (x1,y1)>{layers}<!ELEMENT x15 EMPTY><!ELEMENT y15 EMPTY>"
    with pytest.raises(LimitError, match="ADVERTISEMENT_STEPS_MAX"):
        advertisement_of(paths_of(text))


def test_advertisement_that_would_nest_too_deep_is_refused() -> None:
    layers = "".join(f"<!ELEMENT x{k} (x{k + 1}|y)>" for k in range(400))
    text = f"<!ELEMENT a (x0)>{layers}<!ELEMENT x400 EMPTY><!ELEMENT y EMPTY>"
    with pytest.raises(LimitError, match="ADVERTISEMENT_NESTING_MAX"):
        advertisement_of(paths_of(text))
