"""The reader: what good documents become, and that hostile ones are refused in little memory."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from sapwood.errors import DocumentError, InputError, LimitError
from sapwood.xml.bounds import DocumentBounds
from sapwood.xml.document import Content, Document
from sapwood.xml.reader import read_document
from tests.house import ROOT
from tests.xml.hostile import hostile_documents
from tests.xml.made import documents

HOSTILE = tuple(hostile_documents())


def test_document_becomes_flat_sequences_in_document_order() -> None:
    data = b'<a x="1" y="2">t<b/>u<!-- c -->v<c z="&lt;">w<d/></c>y</a>'
    assert read_document(data) == Document(
        ("a", "b", "c", "d"),
        (-1, 0, 0, 2),
        Content(
            (0, 2, 2, 3, 3),
            ("x", "y", "z"),
            ("1", "2", "<"),
            ("t", "u", "v", "w", "y"),
            (0, 0, 0, 2, 0),
            (0, 1, 3, 4),
            (5, 1, 4, 4),
        ),
    )


def test_structure_alone_is_the_same_without_content() -> None:
    data = b'<?p?><a x="1">t<b/><?q?><c><!-- d --><d/></c></a><!-- e -->'
    whole, bare = read_document(data), read_document(data, content=False)
    assert (bare.names, bare.parents) == (whole.names, whole.parents)
    assert bare.content is None
    with pytest.raises(InputError, match="read it again"):
        bare.string_value(0)


def test_text_is_one_node_across_sections_and_references_but_not_across_comments() -> None:
    document = read_document(b"<a>x<![CDATA[<y>]]>&#122;<!-- -->1<?p?>2<b/>3</a>")
    assert list(document.texts(0)) == ["x<y>z", "1", "2", "3"]


def test_names_carry_their_namespace() -> None:
    data = b'<a xmlns="u" xmlns:p="v" x="1" p:x="2"><p:b/><c xmlns=""/></a>'
    document = read_document(data)
    assert document.names == ("{u}a", "{v}b", "c")
    assert list(document.attributes(0)) == [("x", "1"), ("{v}x", "2")]


@pytest.mark.parametrize(
    "data",
    [
        '<a x="é">ß</a>'.encode(),
        b"\xef\xbb\xbf" + '<a x="é">ß</a>'.encode(),
        '<?xml version="1.0" encoding="UTF-8"?><a x="é">ß</a>'.encode(),
        '<?xml version="1.0" encoding="ISO-8859-1"?><a x="é">ß</a>'.encode("latin-1"),
        b'<?xml version="1.0" encoding="US-ASCII"?><a x="&#233;">&#xdf;</a>',
        '<a x="é">ß</a>'.encode("utf-16"),
        '<?xml version="1.0" encoding="UTF-16"?><a x="é">ß</a>'.encode("utf-16"),
        '\ufeff<a x="é">ß</a>'.encode("utf-16-be"),
        '<?xml version="1.0" encoding="UTF-16BE"?><a x="é">ß</a>'.encode("utf-16-be"),
    ],
)
def test_encodings_that_are_read_give_the_same_document(data: bytes) -> None:
    assert read_document(data) == read_document('<a x="é">ß</a>'.encode())


@pytest.mark.parametrize(
    "data",
    [
        b"<a><!-- <!DOCTYPE b> --></a>",
        b"<!-- <!DOCTYPE b> --><a/>",
        b"<a><![CDATA[<!DOCTYPE b>]]></a>",
        b"<?p <!DOCTYPE b> ?><a/>",
    ],
)
def test_the_word_doctype_is_harmless_where_it_declares_nothing(data: bytes) -> None:
    assert read_document(data).names == ("a",)


@given(documents())
def test_reader_agrees_with_the_tree(data: bytes) -> None:
    root = etree.fromstring(data)
    elements = [node for node in root.iter() if isinstance(node.tag, str)]
    document = read_document(data)
    assert document.names == tuple(element.tag for element in elements)
    for at, element in enumerate(elements):
        parent = element.getparent()
        assert document.parents[at] == (-1 if parent is None else elements.index(parent))
        assert dict(document.attributes(at)) == dict(element.items())
        assert list(document.texts(at)) == element.xpath("text()")
        assert document.string_value(at) == element.xpath("string()")
        inside = set(element.iter()) & set(elements)
        assert document.ends()[at] == at + len(inside)
    assert read_document(data, content=False) == Document(document.names, document.parents)


@given(st.binary(max_size=60) | st.text("<>/ab=\"'&;![]-? ", max_size=60).map(str.encode))
def test_reader_raises_input_errors_only(data: bytes) -> None:
    try:
        document = read_document(data)
    except InputError:
        return
    assert document.names


def test_hostile_documents_are_many_and_each_has_a_name() -> None:
    names = Counter(name for name, _ in HOSTILE)
    assert len(HOSTILE) >= 250
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("content", [True, False])
def test_hostile_document_is_refused_with_a_place_or_a_bound(content: bool) -> None:
    for name, data in HOSTILE:
        with pytest.raises((DocumentError, LimitError)) as caught:
            read_document(data, content=content)
        error = caught.value
        if isinstance(error, DocumentError):
            assert error.line >= 1, name
            assert error.reason, name
        assert len(str(error)) < 400, name


def test_hostile_documents_are_refused_within_16_mebibytes() -> None:
    code = """
import resource
from sapwood.errors import InputError
from sapwood.xml.reader import read_document
from tests.xml.hostile import hostile_documents

documents = [data for _, data in hostile_documents()]
read_document(b"<a/>")
with open("/proc/self/statm") as pages:
    used = int(pages.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 16 * 2**20, resource.RLIM_INFINITY))
refused = 0
for data in documents:
    try:
        read_document(data)
    except InputError:
        refused += 1
print(refused)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=ROOT
    )
    assert done.stderr == ""
    assert done.stdout == f"{len(HOSTILE)}\n"


@pytest.mark.parametrize(
    ("data", "name", "more"),
    [
        (b"<a>" * 64 + b"<b/>" + b"</a>" * 64, "DOCUMENT_DEPTH_MAX", DocumentBounds(depth=65)),
        (
            b"<a>" + b"<b/>" * 10_000 + b"</a>",
            "DOCUMENT_ELEMENTS_MAX",
            DocumentBounds(elements=10_001),
        ),
        (
            b"<a" + b"".join(b' x%d=""' % at for at in range(65)) + b"/>",
            "ELEMENT_ATTRIBUTES_MAX",
            DocumentBounds(attributes=65),
        ),
        (b"<a>" + b"x" * 2**20 + b"</a>", "DOCUMENT_BYTES_MAX", DocumentBounds(size=2**21)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_bound_is_named_in_its_error_and_can_be_raised(
    data: bytes, name: str, more: DocumentBounds
) -> None:
    for content in (True, False):
        with pytest.raises(LimitError) as caught:
            read_document(data, content=content)
        assert caught.value.name == name
        assert name in str(caught.value)
        assert len(read_document(data, more, content=content)) >= 1


def test_documents_at_the_bounds_are_read() -> None:
    names = b"".join(b' x%d="="' % at for at in range(64))
    assert len(read_document(b"<a" + names + b">" + b"=" * 999 + b"</a>")) == 1
    assert len(read_document(b"<a>" * 64 + b"</a>" * 64)) == 64
    many = b"<a><!-- <b/> --><![CDATA[" + b"<" * 20_000 + b"]]>" + b"<b/>" * 9_999 + b"</a>"
    assert len(read_document(many)) == 10_000
    assert len(read_document(b"<a>" + b"x" * (2**20 - 7) + b"</a>")) == 1


def test_depth_can_be_raised_beyond_what_the_parser_does_by_itself() -> None:
    deep = b"<a>" * 2000 + b"</a>" * 2000
    assert len(read_document(deep, DocumentBounds(depth=2000))) == 2000
    with pytest.raises(LimitError, match="DOCUMENT_DEPTH_MAX"):
        read_document(b"<a>" * 3000, DocumentBounds(depth=2048))


def test_text_is_no_document() -> None:
    with pytest.raises(InputError, match="encode it"):
        read_document("<a/>")  # type: ignore[arg-type]
