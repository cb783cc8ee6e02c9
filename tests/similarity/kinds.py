"""Documents, patterns and the worked example for tests of the room."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from sapwood import parse_xpath
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml.dtd import Dtd, read_dtd

MEDIA: Final = b"""
<!ELEMENT media ((Book,CD,DVD)*)>
<!ELEMENT Book (Author|Title)>
<!ELEMENT Author ((First|Last)+)>
<!ELEMENT CD (Author+,(Producer|Interpreter)?)>
<!ELEMENT Interpreter ((First|Last)+,Instrument*)>
<!ELEMENT DVD (Title?,Actor+,(Producer|Director)?)>
<!ELEMENT Actor ((First|Last)+,Role?)>
<!ELEMENT Director ((First|Last)+)>
<!ELEMENT Title (#PCDATA)> <!ELEMENT First (#PCDATA)> <!ELEMENT Last (#PCDATA)>
<!ELEMENT Producer (#PCDATA)> <!ELEMENT Instrument (#PCDATA)> <!ELEMENT Role (#PCDATA)>
"""
"""The work's DTD (L3015-3022), with the content of Book that figure 8.3 needs."""

WORKED: Final = "/media[Book/Author/Last='Baudelaire']/*[*[text()>=100]][*/First='Bob']"
"""The work's pattern S (figure 8.2 b); its "begins with" is a comparison of numbers here."""

NAMES: Final = ("a", "b", "c", "d")

DEPTH_MAX: Final = 5
"""Levels of a document for tests."""

LOOSE: Final = b"""
<!ELEMENT a (b|c|d)*> <!ELEMENT b (#PCDATA|a|c)*> <!ELEMENT c (#PCDATA|d)*> <!ELEMENT d (#PCDATA)>
<!ATTLIST b x CDATA #IMPLIED>
"""
"""A recursive DTD in which nothing is opposed."""

STRICT: Final = b"""
<!ELEMENT a ((b,c?)|(c,d)|d)> <!ELEMENT b (c|d)> <!ELEMENT c (d?,b?)> <!ELEMENT d (#PCDATA)>
"""
"""A recursive DTD of choices."""


def media() -> Dtd:
    """The work's DTD."""
    return read_dtd(MEDIA, "media")


def document(moves: bytes) -> bytes:
    """The document that some moves make: each opens an element, adds one or ends one.

    Moves are cheap to draw and to shrink, where elements in elements are not.
    """
    names = [NAMES[len(moves) % len(NAMES)]]
    out = [f"<{names[0]}>"]
    for move in moves:
        name, attribute = NAMES[move % 4], ("", "", ' x="1"', ' y="2"')[move >> 6]
        out.append(f"<{name}{attribute}>")
        if move >> 2 & 1 and len(names) < DEPTH_MAX:
            names.append(name)
        else:
            out.append(f"</{name}>")
        if move >> 3 & 1 and len(names) > 1:
            out.append(f"</{names.pop()}>")
    return "".join((*out, *(f"</{name}>" for name in reversed(names)))).encode()


documents = st.lists(st.binary(max_size=8).map(document), max_size=6)


@st.composite
def steps(draw: st.DrawFn, depth: int) -> str:
    """A step and what is asked below it, without its axis."""
    name = draw(st.sampled_from((*NAMES, "*")))
    branches = draw(st.lists(steps(depth - 1), max_size=2)) if depth else []
    axes = [draw(st.sampled_from([".//", ""])) for _ in branches]
    return name + "".join(f"[{axis}{one}]" for axis, one in zip(axes, branches, strict=True))


@st.composite
def patterns(draw: st.DrawFn) -> TreePattern:
    """A small tree pattern."""
    axis = draw(st.sampled_from(["/", "/a/", "//"]))
    return parse_xpath(f"{axis}{draw(steps(2))}")
