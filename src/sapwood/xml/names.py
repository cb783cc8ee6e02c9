"""Names of elements and attributes, by XML 1.0, fifth edition (productions 4 and 4a).

Every module that reads such a name (XPath, advertised paths, DTDs) uses these tables, and libxml2
reads documents by the same ones; so a filter can name every element that a document can have.
Namespaces in XML (production 4) leaves out the colon, which parts a prefix from a local part: both
are an *NCName*.

Worked example, `e` and U+0301, the acute accent that combines with it: U+0065 lies in the third of
the ranges `NAME_START_RANGES` (0x61 to 0x7a) and begins a name. U+0301 lies in none of them, so it
cannot begin one, but in the fourth of `NAME_FURTHER_RANGES` (0x300 to 0x36f), so it can go on. The
superscript two, U+00B2, lies in none of either: no name holds it, although it is a digit to some.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

_Range: TypeAlias = tuple[int, int]
"""The first and the last of consecutive code points."""

NAME_START_RANGES: Final[tuple[_Range, ...]] = (
    (0x41, 0x5A),
    (0x5F, 0x5F),
    (0x61, 0x7A),
    (0xC0, 0xD6),
    (0xD8, 0xF6),
    (0xF8, 0x2FF),
    (0x370, 0x37D),
    (0x37F, 0x1FFF),
    (0x200C, 0x200D),
    (0x2070, 0x218F),
    (0x2C00, 0x2FEF),
    (0x3001, 0xD7FF),
    (0xF900, 0xFDCF),
    (0xFDF0, 0xFFFD),
    (0x10000, 0xEFFFF),
)
"""`NameStartChar` without the colon: the first characters of names, in the production's order."""

NAME_FURTHER_RANGES: Final[tuple[_Range, ...]] = (
    (0x2D, 0x2E),
    (0x30, 0x39),
    (0xB7, 0xB7),
    (0x300, 0x36F),
    (0x203F, 0x2040),
)
"""`NameChar` without `NameStartChar`: characters that may follow in a name, but not begin it."""


def _character_class(ranges: Iterable[_Range]) -> str:
    return "".join(rf"\U{first:08x}-\U{last:08x}" for first, last in ranges)


_START: Final = _character_class(NAME_START_RANGES)
_FURTHER: Final = _character_class(NAME_FURTHER_RANGES)

NCNAME: Final = f"[{_START}][{_START}{_FURTHER}]*"
"""A regular expression, to be built into others, of the longest name at a place."""

_NCNAME: Final = re.compile(NCNAME)


def is_ncname(text: str) -> bool:
    """True if a text is a name without a colon: a prefix, a local part, or a name without both."""
    return _NCNAME.fullmatch(text) is not None


def may_go_on(character: str) -> bool:
    """True if a name may hold a character, if only after its beginning."""
    return _NCNAME.fullmatch(f"a{character}") is not None
