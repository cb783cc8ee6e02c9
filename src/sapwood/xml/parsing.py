"""The parser, libxml2 through lxml, and the conversion of its refusals to errors.

The document cannot influence it: the encoding is given, there is no DOCTYPE that could declare
entities, nothing is loaded.
"""

from __future__ import annotations

import re
from typing import Any, Final

from lxml import etree

from sapwood.errors import DocumentError
from sapwood.xml.bounds import DocumentBounds

_PARSER_DEPTH: Final = 256
"""Levels at which libxml2 stops by itself, unless it is set to read huge documents."""

_PARSER_BYTES: Final = 10_000_000
"""Bytes of one text at which libxml2 stops by itself, likewise."""

_PLACE: Final = re.compile(r",? *line \d+, column \d+.*", re.DOTALL)
_REASON_CHARS_MAX: Final = 200


def parser(encoding: str, bounds: DocumentBounds, **options: Any) -> etree.XMLParser:
    """A parser for one document; it holds state, and making one takes a microsecond."""
    return etree.XMLParser(
        encoding=encoding,
        no_network=True,
        load_dtd=False,
        huge_tree=bounds.depth >= _PARSER_DEPTH or bounds.size > _PARSER_BYTES,
        collect_ids=False,
        **options,
    )


def refusal(error: etree.XMLSyntaxError, bounds: DocumentBounds) -> Exception:
    """The error to raise in the place of the parser's own error."""
    if error.code == etree.ErrorTypes.ERR_RESOURCE_LIMIT:
        return bounds.too_deep()
    if error.code == etree.ErrorTypes.ERR_NO_MEMORY:
        return MemoryError("no memory for what the parser keeps")
    line, column = error.position
    return DocumentError(line, column, reason(error.msg))


def reason(message: object) -> str:
    """The parser's reason in few words, without the place."""
    words = " ".join(_PLACE.sub("", str(message)).split())[:_REASON_CHARS_MAX]
    return words or "is not well-formed"
