"""The encoding of a document, decided before the parser sees it.

The encoding is passed to the parser, so that a declaration cannot make it read anything else than
what was inspected. After this step the data is ASCII where it matters: all markup characters are
the bytes that they are in ASCII.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from sapwood.errors import DocumentError

_DECLARED: Final = re.compile(rb"""<\?xml\s[^<>]*?\sencoding\s*=\s*["']([^"'<>]*)["']""")
_UTF_8: Final = frozenset({"utf-8", "utf8"})
_READ_AS: Final = (
    *((name, "utf-8") for name in sorted(_UTF_8)),
    ("us-ascii", "us-ascii"),
    ("ascii", "us-ascii"),
    ("iso-8859-1", "iso-8859-1"),
    ("latin1", "iso-8859-1"),
)
_UTF_16: Final = frozenset({"utf-16", "utf16"})
_STARTS: Final = (
    (b"\xff\xfe", "utf-16le", True),
    (b"\xfe\xff", "utf-16be", True),
    (b"<\0", "utf-16le", False),
    (b"\0<", "utf-16be", False),
)
"""The first bytes of documents in UTF-16, their byte order, and true if they are a byte order
mark."""
_BOM: Final = "\ufeff".encode()
_ENCODING: Final = re.compile(r"""(<\?xml\s[^<>]*?)\sencoding\s*=\s*(?:"[^"<>]*"|'[^'<>]*')""")
_SHOWN_CHARS: Final = 40


class Encoded(NamedTuple):
    """A document in an encoding that agrees with ASCII where ASCII has a meaning."""

    data: bytes
    encoding: str


def ascii_compatible(data: bytes) -> Encoded:
    """The document in UTF-8, US-ASCII or ISO-8859-1; UTF-16 is turned into UTF-8.

    A byte order mark decides, and a declaration beside it must agree or the document is refused, as
    expat does; libxml2 believes the mark whatever is declared. UTF-16 without a mark must be
    declared, as for libxml2; expat accepts it without a declaration (XML 1.0, section 4.3.3 and
    appendix F).

    Raises `DocumentError` for any other encoding, for one that is not the declared one, and for
    bytes that are not UTF-16 though they begin like it.
    """
    for start, order, is_mark in _STARTS:
        if data.startswith(start):
            encoded = _from_utf_16(data, order).removeprefix(_BOM)
            _check_utf_16(encoded, order, is_mark=is_mark)
            return Encoded(encoded, "utf-8")
    is_marked = data.startswith(_BOM)
    declared = _DECLARED.match(data, len(_BOM) if is_marked else 0)
    if declared is None:
        return Encoded(data, "utf-8")
    name = _name(declared)
    if is_marked and name.lower() not in _UTF_8:
        raise _refusal(
            declared,
            f"the byte order mark says UTF-8 and the declaration {_shown(name)}; correct one of "
            "them, or leave it out",
        )
    for known, encoding in _READ_AS:
        if name.lower() == known:
            return Encoded(data, encoding)
    raise _refusal(
        declared,
        f"the encoding {_shown(name)} is not read; use UTF-8, UTF-16, ISO-8859-1 or US-ASCII",
    )


def _check_utf_16(data: bytes, order: str, *, is_mark: bool) -> None:
    """Raise `DocumentError` unless a document in UTF-16 is marked or declared as such."""
    declared = _DECLARED.match(data)
    if declared is None:
        if not is_mark:
            raise DocumentError(
                1,
                1,
                "UTF-16 needs a byte order mark, or a declaration with its encoding, and here is "
                "neither; write it with a mark, or in UTF-8",
            )
    elif _name(declared).lower() not in (*_UTF_16, order):
        raise _refusal(
            declared,
            f"the bytes are {order.upper()} and the declaration says {_shown(_name(declared))}; "
            "correct the declaration",
        )


def _name(declared: re.Match[bytes]) -> str:
    return declared[1].decode("ascii", "replace")


def _shown(name: str) -> str:
    return repr(name[:_SHOWN_CHARS])


def _refusal(declared: re.Match[bytes], reason: str) -> DocumentError:
    """An error at the name of the declared encoding; a byte order mark takes no column."""
    return DocumentError(1, declared.start(1) - declared.start() + 1, reason)


def encode_text(text: str) -> bytes:
    """A document that came as text, in UTF-8, without its declaration of an encoding.

    Raises `DocumentError` for half of a surrogate pair, which is no character.
    """
    text = text.removeprefix("\ufeff")  # a byte order mark, but text has no bytes
    try:
        return (
            _ENCODING.sub(r"\1", text, count=1).encode() if text[:5] == "<?xml" else text.encode()
        )
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        column = error.start - text.rfind("\n", 0, error.start)
        raise DocumentError(line, column, "half of a surrogate pair is no character") from None


def decode_text(data: bytes) -> str:
    """A document as text, from any encoding; `encode_text` turns it into UTF-8 again.

    Raises `DocumentError` for bytes that are not in the declared encoding.
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
