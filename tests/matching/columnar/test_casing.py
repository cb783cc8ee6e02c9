"""Lower case as a table, against `str.lower` itself."""

from __future__ import annotations

import sys

import pytest

from sapwood.matching.columnar import casing

SIGMA = "Σ"


def entry_of(words: list[int], code: int) -> int:
    page = words[code >> casing.PAGE_BITS]
    return words[page + code % (1 << casing.PAGE_BITS)] if page else 0


@pytest.mark.long
def test_every_character_is_what_str_lower_makes_of_it() -> None:
    words = casing.casing_words().tolist()
    for code in range(sys.maxunicode + 1):
        char, entry = chr(code), entry_of(words, code)
        lower = chr(entry & 0x1FFFFF) if entry else char
        second = entry >> casing.SECOND_BIT & 0x1FFFFF
        assert lower + (chr(second) if second else "") == char.lower(), hex(code)
        kind = entry >> casing.CLASS_BIT
        is_cased = (char + SIGMA).lower().endswith("ς")
        is_passed = ("a" + char + SIGMA).lower().endswith("ς")
        expected = casing.CASED if is_cased else casing.IGNORABLE if is_passed else 0
        assert kind == expected, hex(code)


def test_table_is_made_once_and_is_small() -> None:
    assert casing.casing_words() is casing.casing_words()
    assert casing.casing_words().nbytes < 1 << 18
