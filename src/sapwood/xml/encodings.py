"""Which encoding a document is in, decided before the parser sees it.

The parser is told the encoding, so that a declaration cannot make it read something else than
what was inspected. What remains after this step is ASCII where it matters: all markup characters
are the bytes that they are in ASCII.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from sapwood.errors import DocumentError

_DECLARED: Final = re.compile(
    rb"""(?:\xef\xbb\xbf)?<\?xml\s[^<>]*?\sencoding\s*=\s*["']([^"'<>]*)["']"""
)
_READ_AS: Final = (
    ("utf-8", "utf-8"),
    ("utf8", "utf-8"),
    ("us-ascii", "us-ascii"),
    ("ascii", "us-ascii"),
    ("iso-8859-1", "iso-8859-1"),
    ("latin1", "iso-8859-1"),
)
_UTF_16: Final = (
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_ENCODING: Final = re.compile(r"""(<\?xml\s[^<>]*?)\sencoding\s*=\s*(?:"[^"<>]*"|'[^'<>]*')""")
_SHOWN_CHARS: Final = 40


class Encoded(NamedTuple):
    """A document in an encoding that agrees with ASCII where ASCII has a meaning."""

    data: bytes
    encoding: str


def ascii_compatible(data: bytes) -> Encoded:
    """The document in UTF-8, US-ASCII or ISO-8859-1; UTF-16 is turned into UTF-8.

    Raises `DocumentError` for any other encoding, and for bytes that are not UTF-16 though they
    begin so.
    """
    for start, codec in _UTF_16:
        if data.startswith(start):
            return Encoded(_from_utf_16(data, codec), "utf-8")
    declared = _DECLARED.match(data)
    if declared is None:
        return Encoded(data, "utf-8")
    name = declared[1].decode("ascii", "replace")
    for known, encoding in _READ_AS:
        if name.lower() == known:
            return Encoded(data, encoding)
    raise DocumentError(
        1,
        declared.start(1) + 1,
        f"the encoding {name[:_SHOWN_CHARS]!r} is not read; use UTF-8, UTF-16, ISO-8859-1 or "
        "US-ASCII",
    )


def encode_text(text: str) -> bytes:
    """A document that came as text, in UTF-8. What its declaration says of bytes is left out.

    Raises `DocumentError` for half of a surrogate pair, which is no character.
    """
    try:
        return (
            _ENCODING.sub(r"\1", text, count=1).encode() if text[:5] == "<?xml" else text.encode()
        )
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        column = error.start - text.rfind("\n", 0, error.start)
        raise DocumentError(line, column, "half of a surrogate pair is no character") from None


def decode_text(data: bytes) -> str:
    """A document as text, from whatever encoding it is in; `encode_text` gives it back in UTF-8.

    Raises `DocumentError` for bytes that are not in the encoding they are said to be in.
    """
    encoded = ascii_compatible(data)
    try:
        text = encoded.data.decode(encoded.encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise DocumentError(
            1, 1, f"the bytes from {error.start} on are not {encoded.encoding}: {error.reason}"
        ) from None
    return _ENCODING.sub(r"\1", text, count=1) if text[:5] == "<?xml" else text


def _from_utf_16(data: bytes, codec: str) -> bytes:
    try:
        return data.decode(codec).encode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(
            1, 1, f"the bytes from {error.start} on are not UTF-16: {error.reason}"
        ) from None
