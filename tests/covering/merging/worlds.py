"""A small DTD and XPEs over it, for the tests of merging."""

from __future__ import annotations

from functools import cache
from typing import Final

from hypothesis import strategies as st

from sapwood.covering.xpe import XPE, Step, steps_of
from sapwood.language.xpath import parse_xpath
from sapwood.model.patterns.conditions import Axis, NameTest
from sapwood.xml.dtd import Dtd, read_dtd

DTD: Final = b"""
<!ELEMENT a (b | c)*>
<!ELEMENT b (c?, d*, e?)>
<!ELEMENT c (d | e | b)*>
<!ELEMENT d (#PCDATA)>
<!ELEMENT e EMPTY>
"""
LEVELS: Final = 6

_tests = st.sampled_from([None, *(NameTest(name) for name in "abcde")])


def small_dtd() -> Dtd:
    """A recursive DTD of five elements."""
    return read_dtd(DTD, "a")


@cache
def xpes() -> st.SearchStrategy[XPE]:
    """XPEs of up to four steps over its names."""
    steps = st.builds(Step, st.sampled_from((Axis.CHILD, Axis.CHILD, Axis.DESCENDANT)), _tests)
    return st.lists(steps, min_size=1, max_size=4).map(tuple)


def xpe(text: str) -> XPE:
    """The steps of an XPath without predicates."""
    found = steps_of(parse_xpath(text))
    assert found is not None
    return found


def accepts(steps: XPE, path: tuple[str, ...]) -> bool:
    """True if an XPE accepts a path, by trying every place for every step."""
    places = {-1}
    for step in steps:
        places = {
            at
            for at, name in enumerate(path)
            if (step.test is None or step.test.local == name)
            and any(at == p + 1 if step.axis is Axis.CHILD else at > p for p in places)
        }
    return bool(places)
