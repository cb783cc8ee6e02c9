"""Inspection before parsing: exact about what it refuses, silent about the rest."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood.errors import DocumentError, LimitError
from sapwood.xml.bounds import DEFAULT_BOUNDS, DocumentBounds
from sapwood.xml.inspection import inspect
from sapwood.xml.reader import read_document
from tests.xml.made import documents


def test_doctype_is_refused_with_its_line_and_column() -> None:
    with pytest.raises(DocumentError, match="line 2, column 8: documents with a DOCTYPE"):
        inspect(b"<!-- c -->\n<?p?>  <!DOCTYPE a><a/>", DEFAULT_BOUNDS)


@pytest.mark.parametrize(
    ("data", "refused"),
    [
        (b"<a><b/><c/></a>", False),
        (b"<a><b/><c/><d/></a>", True),
        (b"<a><!--<b/><c/><d/>--></a>", False),
        (b"<a><![CDATA[<b/><c/><d/>]]></a>", False),
        (b"<a><?p <b/><c/><d/>?></a>", False),
        (b"<a><b/><!--><c/><d/>--></a>", False),
        (b"<a x='>'><b x='/>'/><c/></a>", False),
    ],
)
def test_elements_are_counted_exactly(data: bytes, refused: bool) -> None:
    bounds = DocumentBounds(elements=3)
    if refused:
        with pytest.raises(LimitError, match="DOCUMENT_ELEMENTS_MAX"):
            inspect(data, bounds)
    else:
        inspect(data, bounds)


@pytest.mark.parametrize(
    ("data", "refused"),
    [
        (b"<a x='' y=''/>", False),
        (b"<a x='' y='' z=''/>", True),
        (b"<a x='>' y='' z=''/>", True),
        (b"<a><b x='' y='' z='' /></a>", True),
        (b"<a x='===' y='===='>====</a>", False),
        (b"<a><!-- x='' y='' z='' --></a>", False),
        (b"<a><![CDATA[<b x='' y='' z='' />]]></a>", False),
    ],
)
def test_attributes_are_counted_exactly(data: bytes, refused: bool) -> None:
    bounds = DocumentBounds(attributes=2)
    if refused:
        with pytest.raises(LimitError, match="ELEMENT_ATTRIBUTES_MAX"):
            inspect(data, bounds)
    else:
        inspect(data, bounds)


@pytest.mark.parametrize(
    ("data", "refused"),
    [
        (b"<a><!--x--><?p x?></a>", False),
        (b"<a><!--x--><?p x?><!----></a>", True),
        (b"<!--x--><?p x?><a/><!---->", True),
        (b"<a><!--<!--<?p?><?p?>--></a>", False),
        (b"<a><![CDATA[x]]><![CDATA[<!--x-->]]><![CDATA[<?p?>]]><?p?></a>", False),
        (b"<a><!--x--><?p x?><!--", True),
    ],
)
def test_comments_and_processing_instructions_are_counted_exactly(
    data: bytes, refused: bool
) -> None:
    bounds = DocumentBounds(remarks=2)
    if refused:
        with pytest.raises(LimitError, match="DOCUMENT_REMARKS_MAX"):
            inspect(data, bounds)
    else:
        inspect(data, bounds)


@given(documents())
def test_documents_at_their_own_size_pass_and_one_less_does_not(data: bytes) -> None:
    document = read_document(data)
    attributes = max(1, *(len(list(document.attributes(at))) for at in range(len(document))), 0)
    inspect(data, DocumentBounds(elements=len(document), attributes=attributes))
    if len(document) > 1:
        with pytest.raises(LimitError, match="DOCUMENT_ELEMENTS_MAX"):
            inspect(data, DocumentBounds(elements=len(document) - 1))
    if attributes > 1:
        with pytest.raises(LimitError, match="ELEMENT_ATTRIBUTES_MAX"):
            inspect(data, DocumentBounds(attributes=attributes - 1))
