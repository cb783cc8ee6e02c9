"""Encodings: found, named when refused, and never left to the declaration."""

from __future__ import annotations

import pytest

from sapwood.errors import DocumentError
from sapwood.xml import read_document
from sapwood.xml.encodings import Encoded, ascii_compatible, decode_text, encode_text


@pytest.mark.parametrize(
    ("start", "encoding"),
    [
        (b"", "utf-8"),
        (b'<?xml version="1.0"?>', "utf-8"),
        (b"<?xml version='1.0' encoding='Utf-8'?>", "utf-8"),
        (b'\xef\xbb\xbf<?xml version="1.0" encoding="utf8"?>', "utf-8"),
        (b'<?xml version="1.0" encoding = "LATIN1"?>', "iso-8859-1"),
        (b'<?xml version="1.0"\nencoding="ascii" standalone="yes"?>', "us-ascii"),
    ],
)
def test_encodings_that_agree_with_ascii_stay_as_they_are(start: bytes, encoding: str) -> None:
    data = start + b"<a/>"
    assert ascii_compatible(data) == Encoded(data, encoding)


BOM = "\ufeff"


def declaring(name: str) -> str:
    return f'<?xml version="1.0" encoding="{name}"?>'


@pytest.mark.parametrize(
    ("start", "codec"),
    [
        (BOM, "utf-16-le"),
        (BOM, "utf-16-be"),
        (BOM + '<?xml version="1.0"?>', "utf-16-le"),
        (BOM + declaring("UTF-16"), "utf-16-be"),
        (BOM + declaring("utf-16be"), "utf-16-be"),
        (declaring("utf-16"), "utf-16-le"),
        (declaring("utf-16"), "utf-16-be"),
        (declaring("UTF-16LE"), "utf-16-le"),
    ],
)
def test_utf_16_that_says_so_becomes_utf_8(start: str, codec: str) -> None:
    text = f"{start}<ä/>"
    assert ascii_compatible(text.encode(codec)) == Encoded(text.removeprefix(BOM).encode(), "utf-8")
    assert read_document(text.encode(codec)).names == ("ä",)


@pytest.mark.parametrize(
    ("start", "codec"),
    [
        ("", "utf-16-le"),
        ("", "utf-16-be"),
        ('<?xml version="1.0"?>', "utf-16-le"),
        ("<!-- encoding='utf-16' -->", "utf-16-be"),
    ],
)
def test_utf_16_without_mark_and_declaration_is_refused(start: str, codec: str) -> None:
    with pytest.raises(DocumentError, match=r"line 1, column 1: UTF-16 needs a byte order mark"):
        ascii_compatible(f"{start}<ä/>".encode(codec))


@pytest.mark.parametrize(
    ("text", "codec", "said"),
    [
        (BOM + declaring("ISO-8859-1"), "utf-8", "mark says UTF-8 and the declaration 'ISO-8859-1"),
        (BOM + declaring("us-ascii"), "utf-8", "mark says UTF-8 and the declaration 'us-ascii'"),
        (BOM + declaring("utf-16"), "utf-8", "mark says UTF-8 and the declaration 'utf-16'"),
        (BOM + declaring("utf-8"), "utf-16-le", "bytes are UTF-16LE and the declaration says"),
        (BOM + declaring("utf-16be"), "utf-16-le", "declaration says 'utf-16be'; correct"),
        (declaring("utf-16le"), "utf-16-be", "bytes are UTF-16BE and the declaration says"),
        (declaring("iso-8859-1"), "utf-16-be", "declaration says 'iso-8859-1'; correct"),
    ],
)
def test_mark_and_declaration_that_differ_are_refused(text: str, codec: str, said: str) -> None:
    with pytest.raises(DocumentError, match=said) as caught:
        read_document(f"{text}<a/>".encode(codec))
    assert (caught.value.line, caught.value.column) == (1, 31)


def test_a_document_as_text_loses_what_it_said_of_its_bytes() -> None:
    text = f"{BOM}{declaring('iso-8859-1')}<ä/>"
    assert encode_text(text) == b'<?xml version="1.0"?><\xc3\xa4/>'
    assert decode_text(text.replace("iso-8859-1", "utf-16").encode("utf-16-le")) == (
        '<?xml version="1.0"?><ä/>'
    )


@pytest.mark.parametrize("name", ["utf-7", "cp037", "utf-16", "é" * 99])
def test_other_encodings_are_refused_by_name_and_place(name: str) -> None:
    data = f'<?xml version="1.0" encoding="{name}"?><a/>'.encode()
    with pytest.raises(DocumentError) as caught:
        ascii_compatible(data)
    assert (caught.value.line, caught.value.column) == (1, 31)
    assert "use UTF-8" in caught.value.reason
    assert len(str(caught.value)) < 200


def test_broken_utf_16_says_where() -> None:
    with pytest.raises(DocumentError, match="from 10 on"):
        ascii_compatible("\ufeff<a/>".encode("utf-16-le") + b"\0")
