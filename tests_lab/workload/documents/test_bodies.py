"""Every document is valid, whatever the DTD and the shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lxml import etree
from tests.examples import examples
from tests.xml.dtd.made import declarations

from sapwood.errors import InputError, InvalidValueError
from sapwood.xml import Document, read_document
from sapwood.xml.dtd import Dtd, read_dtd
from sapwood_lab.workload.documents.bodies import DocumentShape, draw_documents
from tests_lab.workload.documents.dtds import NAMES, dtd_bytes, dtd_of, validator

_shapes = st.builds(
    DocumentShape,
    levels=st.integers(1, 8),
    tags=st.integers(1, 30),
    repeats=st.integers(1, 4),
    optional=st.sampled_from((0.0, 0.5, 1.0)),
    skew=st.sampled_from((0.0, 1.0)),
)


def read_all(dtd: Dtd, shape: DocumentShape, count: int, seed: int = 1) -> list[Document]:
    drawn = draw_documents(dtd, shape, np.random.default_rng(seed), count)
    return [read_document(one, content=False) for one in drawn]


def levels_of(document: Document) -> int:
    depths = [0] * len(document)
    for element, parent in enumerate(document.parents):
        depths[element] = 1 + (depths[parent] if parent >= 0 else 0)
    return max(depths)


@pytest.mark.parametrize("name", NAMES)
def test_documents_of_real_dtds_are_valid_and_within_their_levels(name: str) -> None:
    oracle = validator(dtd_bytes(name))
    for shape in (DocumentShape(levels=6), DocumentShape(tags=22, optional=0.8, skew=1.0)):
        for one in draw_documents(dtd_of(name), shape, np.random.default_rng(1), 20):
            assert oracle.validate(etree.fromstring(one)), oracle.error_log
            assert levels_of(read_document(one, content=False)) <= shape.levels


@given(declarations(), _shapes, st.integers(0, 9))
@settings(max_examples=examples(60))
def test_documents_of_random_dtds_are_valid_and_within_their_levels(
    text: str, shape: DocumentShape, seed: int
) -> None:
    try:
        dtd = read_dtd(text.encode(), root="a")
        oracle = validator(text.encode())
        drawn = draw_documents(dtd, shape, np.random.default_rng(seed), 2)
    except (InputError, etree.DTDError):
        assume(False)  # no DTD, no end, or none within so few levels
        raise
    for one in drawn:
        oracle.validate(etree.fromstring(one))
        # libxml2 warns of ambiguous models and cannot validate with them.
        assume("not determinist" not in str(oracle.error_log))
        assert oracle.validate(etree.fromstring(one)), oracle.error_log
        assert levels_of(read_document(one, content=False)) <= shape.levels


def test_tags_bound_what_is_not_demanded() -> None:
    for tags in (22, 58, 108):
        sizes = [len(one) for one in read_all(dtd_of("news"), DocumentShape(tags=tags), 40)]
        assert max(sizes) <= tags + 12  # what the content models demand
    assert max(sizes) > 58


def test_repeats_bound_repetitions_and_skew_makes_few_of_them_likely() -> None:
    dtd = read_dtd(b"<!ELEMENT a (b+)><!ELEMENT b EMPTY>")
    even = [len(one) - 1 for one in read_all(dtd, DocumentShape(repeats=3), 200)]
    assert set(even) == {1, 2, 3}
    skewed = [len(one) - 1 for one in read_all(dtd, DocumentShape(repeats=3, skew=3.0), 200)]
    assert skewed.count(1) > 1.5 * even.count(1)


def test_required_attributes_are_there_and_ids_differ() -> None:
    dtd = read_dtd(
        b"<!ELEMENT a (b,b)><!ELEMENT b EMPTY><!ATTLIST b k ID #REQUIRED"
        b" v CDATA #FIXED '&lt;' w (x|y) #REQUIRED p:q CDATA #IMPLIED>"
    )
    shape = DocumentShape(optional=0.0)
    (one,) = draw_documents(dtd, shape, np.random.default_rng(1), 1)
    root = etree.fromstring(one)
    assert [child.get("k") for child in root] == ["i1", "i2"]
    assert all(child.get("w") in ("x", "y") and child.get("v") is None for child in root)
    (one,) = draw_documents(dtd, DocumentShape(optional=1.0), np.random.default_rng(1), 1)
    assert all(child.get("v") == "<" for child in etree.fromstring(one))


@pytest.mark.parametrize(
    "attribute", ["r IDREF #REQUIRED", "p:q CDATA #REQUIRED", "xmlns CDATA #REQUIRED"]
)
def test_attributes_that_cannot_be_made_up_are_refused_where_required(attribute: str) -> None:
    dtd = read_dtd(f"<!ELEMENT a EMPTY><!ATTLIST a {attribute}>".encode())
    with pytest.raises(InvalidValueError, match="cannot be made up"):
        draw_documents(dtd, DocumentShape(), np.random.default_rng(1), 1)


def test_too_few_levels_are_refused_with_the_least() -> None:
    with pytest.raises(InvalidValueError, match="4 at least"):
        draw_documents(dtd_of("proteins"), DocumentShape(levels=3), np.random.default_rng(1), 1)


@pytest.mark.parametrize(
    "fields", [{"levels": 0}, {"tags": 0}, {"repeats": 0}, {"optional": 1.5}, {"skew": -1.0}]
)
def test_document_shape_refuses_what_makes_no_sense(fields: dict[str, float]) -> None:
    with pytest.raises(InvalidValueError):
        DocumentShape(**fields)  # type: ignore[arg-type]  # numbers of either kind
