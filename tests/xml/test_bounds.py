"""Bounds of documents: sensible, raisable, and named in errors."""

from __future__ import annotations

import pytest

from sapwood import limits
from sapwood.errors import InputError, LimitError
from sapwood.limits.documents import DOCUMENT_REMARKS_MAX
from sapwood.xml.bounds import DEFAULT_BOUNDS, DocumentBounds


def test_defaults_are_those_of_the_table_of_limits() -> None:
    assert DocumentBounds(
        limits.DOCUMENT_BYTES_MAX,
        limits.DOCUMENT_DEPTH_MAX,
        limits.DOCUMENT_ELEMENTS_MAX,
        limits.ELEMENT_ATTRIBUTES_MAX,
        DOCUMENT_REMARKS_MAX,
    ) == (DEFAULT_BOUNDS)


@pytest.mark.parametrize("name", ["size", "depth", "elements", "attributes", "remarks"])
def test_bound_below_one_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=name):
        DocumentBounds(**{name: 0})


def test_depth_beyond_the_parser_is_refused() -> None:
    with pytest.raises(LimitError, match="DOCUMENT_DEPTH_CEILING"):
        DocumentBounds(depth=2049)


def test_errors_name_their_bound() -> None:
    bounds = DocumentBounds(size=5, depth=2)
    bounds.check_size(5)
    bounds.check_depth(2)
    with pytest.raises(LimitError, match="DOCUMENT_BYTES_MAX is 5"):
        bounds.check_size(6)
    with pytest.raises(LimitError, match="DOCUMENT_DEPTH_MAX is 2"):
        bounds.check_depth(3)
    assert bounds.too_deep().name == "DOCUMENT_DEPTH_MAX"
    assert bounds.too_many_elements().name == "DOCUMENT_ELEMENTS_MAX"
    assert bounds.too_many_attributes().name == "ELEMENT_ATTRIBUTES_MAX"
    assert bounds.too_many_remarks().name == "DOCUMENT_REMARKS_MAX"
