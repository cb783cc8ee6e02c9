"""Encodings: found, named when refused, and never left to the declaration."""

from __future__ import annotations

import pytest

from sapwood.errors import DocumentError
from sapwood.xml.encodings import Encoded, ascii_compatible


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


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_becomes_utf_8(codec: str) -> None:
    assert ascii_compatible("<ä/>".encode(codec)) == Encoded("<ä/>".encode(), "utf-8")


@pytest.mark.parametrize("name", ["utf-7", "cp037", "utf-16", "é" * 99])
def test_other_encodings_are_refused_by_name_and_place(name: str) -> None:
    data = f'<?xml version="1.0" encoding="{name}"?><a/>'.encode()
    with pytest.raises(DocumentError) as caught:
        ascii_compatible(data)
    assert (caught.value.line, caught.value.column) == (1, 31)
    assert "use UTF-8" in caught.value.reason
    assert len(str(caught.value)) < 200


def test_broken_utf_16_says_where() -> None:
    with pytest.raises(DocumentError, match="from 8 on"):
        ascii_compatible("<a/>".encode("utf-16-le") + b"\0")
