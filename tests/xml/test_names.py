"""Names are those of XML 1.0, fifth edition: every code point, and what else reads names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from sapwood.errors import FilterSyntaxError
from sapwood.language.advertisements import parse_advertisement
from sapwood.language.xpath import parse_xpath
from sapwood.model.patterns.advertisements import advertisement_of
from sapwood.xml import read_document
from sapwood.xml.dtd import read_dtd
from sapwood.xml.names import is_ncname, may_go_on

# The productions as the Recommendation prints them, without the colon.
NAME_START_CHAR: Final = """
    [A-Z] | "_" | [a-z] | [#xC0-#xD6] | [#xD8-#xF6] | [#xF8-#x2FF] | [#x370-#x37D]
    | [#x37F-#x1FFF] | [#x200C-#x200D] | [#x2070-#x218F] | [#x2C00-#x2FEF] | [#x3001-#xD7FF]
    | [#xF900-#xFDCF] | [#xFDF0-#xFFFD] | [#x10000-#xEFFFF]
"""
NAME_CHAR: Final = (
    f'{NAME_START_CHAR} | "-" | "." | [0-9] | #xB7 | [#x0300-#x036F] | [#x203F-#x2040]'
)


@dataclass(frozen=True, slots=True)
class Characters:
    """A set of characters, as the ranges of their code points: of a million, making one takes long.

    The ranges have nothing in common.
    """

    ranges: tuple[range, ...]

    def __contains__(self, character: str) -> bool:
        return any(ord(character) in one for one in self.ranges)

    def each(self) -> Iterator[str]:
        """All of them."""
        return map(chr, chain.from_iterable(self.ranges))

    def boundaries(self) -> list[str]:
        """The characters at which a range begins or ends, and those beside them."""
        edges = {end for one in self.ranges for end in (one[0], one[-1])}
        near = {point for at in edges for point in (at - 1, at, at + 1)}
        return [chr(point) for point in sorted(near) if not 0xD800 <= point <= 0xDFFF]

    def drawn(self) -> st.SearchStrategy[str]:
        """One of them, rather at the boundaries of a range than within."""
        edges = [one for one in self.boundaries() if one in self]
        return st.sampled_from(edges) | st.integers(0, sum(map(len, self.ranges)) - 1).map(self._at)

    def _at(self, index: int) -> str:
        for one in self.ranges:
            if index < len(one):
                return chr(one[index])
            index -= len(one)
        raise IndexError(index)


def expand(production: str) -> Characters:
    """All characters of a production."""
    return Characters(tuple(map(_points, production.split("|"))))


def _points(part: str) -> range:
    ends = [_character(end) for end in re.findall(r'#x\w+|(?<=")."|[A-Za-z0-9]', part)]
    return range(ord(ends[0]), ord(ends[-1]) + 1)


def _character(written: str) -> str:
    return chr(int(written[2:], 16)) if written.startswith("#x") else written[0]


CHARACTERS: Final = Characters((range(0xD800), range(0xE000, 0x110000)))
STARTS: Final = expand(NAME_START_CHAR)
PARTS: Final = expand(NAME_CHAR)


NAMES: Final = st.builds(str.__add__, STARTS.drawn(), st.text(PARTS.drawn(), max_size=4)) | (
    st.sampled_from(("and", "or", "text", "div", "a-", "a.", "e\u0301", "हिन्दी", "বাংলা"))
)


@pytest.mark.long
def test_exactly_the_characters_of_the_productions_make_names() -> None:
    starts, parts, every = {*STARTS.each()}, {*PARTS.each()}, [*CHARACTERS.each()]
    assert (len(starts), len(parts), len(every)) == (971_505, 971_632, 0x110000 - 0x800)
    # What differs, and not two sets of a million characters, which take minutes to be shown.
    assert {one for one in every if is_ncname(one)} ^ starts == set()
    assert {one for one in every if is_ncname(f"a{one}")} ^ parts == set()
    assert {one for one in every if may_go_on(one)} ^ parts == set()
    assert not any(is_ncname(one) for one in ("", "a:b", ":a", "a\n", "\ud800", "a\udfff"))


@pytest.mark.long
def test_documents_have_exactly_these_names() -> None:
    """Each character of the basic plane, and beyond it the boundaries and one of a thousand."""
    for characters, start in ((STARTS, ""), (PARTS, "a")):
        near = {one for one in CHARACTERS.each() if one < "\U00010000" or ord(one) % 1000 == 0}
        near |= {*characters.boundaries()}
        names = [f"{start}{one}" for one in sorted(near) if one in characters]
        root = etree.fromstring(f"<r>{''.join(f'<{one}/>' for one in names)}</r>".encode())
        assert [one.tag for one in root] == names
        for one in sorted(near - {*"\t\n\r />:"}):
            if one in characters:
                continue
            with pytest.raises(etree.XMLSyntaxError):
                etree.fromstring(f"<{start}{one}/>".encode())


def test_xpath_of_libxml2_takes_no_name_that_is_none_here() -> None:
    """libxml2 has the names of the fourth edition: a part of these, all in the basic plane."""
    beyond_ascii = [one for one in CHARACTERS.each() if "\x80" <= one < "\U00010000"]
    starts = {one for one in beyond_ascii if _libxml2_takes(one)}
    parts = {one for one in beyond_ascii if _libxml2_takes(f"a{one}")}
    assert all(one in STARTS for one in starts)
    assert all(one in PARTS for one in parts)
    assert "\u0149" in STARTS
    assert "\u0149" not in starts
    assert "\u0346" in PARTS
    assert "\u0346" not in parts


def _libxml2_takes(name: str) -> bool:
    try:
        etree.XPath(f"//{name}")
    except (etree.XPathSyntaxError, ValueError):
        return False
    return True


@pytest.mark.parametrize("name", ["हिन्दी", "বাংলা", "e\u0301", "a\u203f\u2040b", "\U000effff"])
def test_an_element_is_found_by_its_name(name: str) -> None:
    document = f"<r {name}='1'><{name}/></r>".encode()
    for expression in (f"//{name}", f"/r[{name}]", f"//@{name}", f"{name}", f"/r[@{name} = 1]"):
        assert parse_xpath(expression).matches(document)
    assert parse_advertisement(f"/r/{name}").admits(read_document(document))


@pytest.mark.parametrize(
    ("name", "position", "reason"),
    [
        ("²", 2, "'²' has no meaning here"),
        ("a²", 3, "'²' has no meaning here"),
        ("\u0301", 2, "a name cannot begin with '\\u0301'"),
        ("·a", 2, "a name cannot begin with '\\xb7'"),
        ("ª", 2, "has no meaning"),
    ],
)
def test_xpath_refuses_what_is_no_name_at_the_place(name: str, position: int, reason: str) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse_xpath(f"//{name}")
    assert caught.value.position == position
    assert reason in caught.value.reason


def test_xpath_and_advertisements_take_names_up_to_every_boundary() -> None:
    for one in PARTS.boundaries():
        if one > "\x7f":
            assert _is_read(parse_xpath, f"//{one}") is (one in STARTS)
            assert _is_read(parse_xpath, f"//a{one}") is (one in PARTS)
            assert _is_read(parse_advertisement, f"/{one}") is (one in STARTS)
            assert _is_read(parse_advertisement, f"/a{one}") is (one in PARTS)


def _is_read(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except FilterSyntaxError:
        return False
    return True


@given(st.lists(NAMES, min_size=4, max_size=4), NAMES)
def test_a_printed_pattern_reads_as_an_equal_one(names: list[str], prefix: str) -> None:
    a, b, c, d = names
    text = f"//{a}[@{b} and {c} = 'x' and .//@{d}]/{d}[{b}/text() or .//{a}]//{c}"
    bindings: tuple[dict[str, str] | None, ...] = (None, {})
    for namespaces in bindings:
        pattern = parse_xpath(text, namespaces)
        assert parse_xpath(str(pattern), pattern.namespaces) == pattern
    bound = parse_xpath(f"/{prefix}:{a}[@{prefix}:{b}]//{c}", {prefix: "urn:x"})
    assert parse_xpath(str(bound), bound.namespaces) == bound


@given(NAMES, NAMES)
def test_a_printed_advertisement_of_a_dtd_reads_as_an_equal_one(root: str, leaf: str) -> None:
    loop = f"<!ELEMENT {root} ({leaf}*, {root}?)>"
    declared = loop if root == leaf else f"{loop}<!ELEMENT {leaf} EMPTY>"
    advertised = advertisement_of(read_dtd(declared.encode(), root).paths)
    assert parse_advertisement(str(advertised)) == advertised
    assert advertised.admits(read_document(f"<{root}/>".encode()))
