"""Refusals before a parser runs: a DOCTYPE, too many elements or attributes.

A parser builds everything that it reads, and only then can it be counted. These checks bound what
it can build. Each has a quick form that excludes nearly every document, at the speed of
`bytes.count`, and an exact form that steps from one piece of markup to the next. All expressions
run in linear time: possessive, and markup that is never closed reaches to the end.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from sapwood.errors import DocumentError, InputError
from sapwood.xml.bounds import DocumentBounds
from sapwood.xml.encodings import Encoded, ascii_compatible

_DOCTYPE: Final = b"<!DOCTYPE"
_PROLOG: Final = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s+|<!--.*?-->|<\?.*?\?>)*+", re.DOTALL)
_MARKUP: Final = re.compile(
    rb"""
      <!--            .*? (?: --> | \Z )
    | (?P<section> <!\[CDATA\[ ) .*? (?: \]\]> | \Z )
    | <\?             .*? (?: \?> | \Z )
    | (?P<start> <(?![/!?]) (?: [^<>"'] | "[^"<]*" | '[^'<]*' )*+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_ATTRIBUTE: Final = re.compile(rb"""=\s*(?:"[^"]*"|'[^']*')""")
_ATTRIBUTE_BYTES_MIN: Final = len(b' a=""')


def inspected(data: bytes, bounds: DocumentBounds) -> Encoded:
    """The bytes of a document after all checks that come before the parser, with their encoding.

    Raises `InputError` for a value that is not bytes, `DocumentError` for an encoding that is not
    read and for a DOCTYPE, `LimitError` for more bytes, elements or attributes than `bounds`
    allows.
    """
    if not isinstance(data, bytes):
        raise InputError(f"a document is bytes, not {type(data).__name__}; encode it as UTF-8")
    bounds.check_size(len(data))
    encoded = ascii_compatible(data)
    inspect(encoded.data, bounds)
    return encoded


def inspect(data: bytes, bounds: DocumentBounds) -> None:
    """Refuse data that must not reach the parser; `data` is in an encoding that agrees with ASCII.

    Raises `DocumentError` for a DOCTYPE, `LimitError` for more elements, comments and processing
    instructions, or attributes of one element, than `bounds` allows.
    """
    if _DOCTYPE in data:
        _refuse_doctype(data)
    fewest = min(bounds.elements, bounds.remarks)
    if _may_have_too_many_nodes(data, fewest) or _may_have_too_many_attributes(
        data, bounds.attributes
    ):
        _count(data, bounds)


def _refuse_doctype(data: bytes) -> None:
    """Refuse a DOCTYPE before the root element; elsewhere the same letters are harmless."""
    prolog = _PROLOG.match(data)
    assert prolog is not None, "an expression that may be empty always matches"
    start = prolog.end()
    if data.startswith(_DOCTYPE, start):
        line = data.count(b"\n", 0, start) + 1
        column = start - (data.rfind(b"\n", 0, start) + 1) + 1
        raise DocumentError(
            line, column, "documents with a DOCTYPE are refused; send it without one"
        )


def _may_have_too_many_nodes(data: bytes, allowed: int) -> bool:
    opened = data.count(b"<")
    return opened > allowed and opened - data.count(b"</") > allowed


def _may_have_too_many_attributes(data: bytes, allowed: int) -> bool:
    """True if some piece from `<` to the next `<` has more `=` than attributes are allowed.

    No attribute value holds a `<`, so each start tag lies within one such piece; and most pieces
    are too short to begin with.
    """
    shortest = _ATTRIBUTE_BYTES_MIN * (allowed + 1)
    if re.search(rb"<[^<]{%d}" % shortest, data) is None:
        return False
    return any(
        piece[0].count(b"=") > allowed for piece in re.finditer(rb"<[^<]{%d,}+" % shortest, data)
    )


def _count(data: bytes, bounds: DocumentBounds) -> None:
    elements = remarks = 0
    for markup in _MARKUP.finditer(data):
        tag = markup["start"]
        if tag is None:
            remarks += markup["section"] is None
            if remarks > bounds.remarks:
                raise bounds.too_many_remarks()
            continue
        elements += 1
        if elements > bounds.elements:
            raise bounds.too_many_elements()
        if tag.count(b"=") > bounds.attributes:
            beyond = islice(_ATTRIBUTE.finditer(tag), bounds.attributes, None)
            if next(beyond, None) is not None:
                raise bounds.too_many_attributes()
