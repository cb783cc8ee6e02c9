"""The paths of a DTD are those of its valid documents."""

from __future__ import annotations

from io import StringIO

from hypothesis import assume, given
from lxml import etree

from sapwood.errors import InputError
from sapwood.xml.dtd import Dtd, Paths, read_dtd
from tests.xml.dtd.made import NAMES, declarations, words

LEVELS = 3


def dtd_of(text: str) -> Dtd:
    try:
        return read_dtd(text.encode(), root="a")
    except InputError:
        assume(False)  # the root never ends, or a choice names an element twice
        raise


@given(declarations())
def test_paths_up_to_are_the_allowed_ones_each_once(text: str) -> None:
    paths = dtd_of(text).paths
    found = list(paths.up_to(LEVELS))
    assert sorted(found) == sorted(path for path in words(LEVELS) if paths.allows(path))
    assert len(found) == len(set(found)) == paths.count(LEVELS)


@given(declarations())
def test_paths_are_recursive_iff_some_name_repeats_on_a_path(text: str) -> None:
    paths = dtd_of(text).paths
    repeats = any(len(set(path)) < len(path) for path in paths.up_to(2 * len(NAMES)))
    assert paths.is_recursive == repeats


@given(declarations())
def test_components_part_the_names_and_come_after_what_is_below(text: str) -> None:
    paths = dtd_of(text).paths
    seen: set[str] = set()
    for component in paths.components:
        assert not seen & set(component)
        seen |= set(component)
        assert all(child in seen for name in component for child in paths.children(name))
    assert seen == set(paths.names)


def test_every_valid_document_has_allowed_paths_and_every_path_is_in_one() -> None:
    text = (
        "<!ELEMENT a ((b,c)|d?)><!ELEMENT b (#PCDATA|b)*><!ELEMENT c (b,ghost)><!ELEMENT d (b+,d?)>"
    )
    paths = read_dtd(text.encode(), root="a").paths
    assert [*paths.up_to(3)] == [("a",), ("a", "d", "b")]
    assert paths.count(4) == 4
    oracle = etree.DTD(StringIO(text))
    assert oracle.validate(etree.fromstring("<a><d><b/><d><b><b/></b></d></d></a>"))
    assert paths.allows(("a", "d", "d", "b", "b"))
    assert not paths.allows(("a", "d"))
    assert not paths.allows(("b",))
    assert not paths.allows(())


def test_any_holds_every_element_that_can_end() -> None:
    text = b"<!ELEMENT a ANY><!ELEMENT b EMPTY><!ELEMENT c (c)>"
    assert read_dtd(text, root="a").paths.children("a") == ("a", "b")


def test_children_of_a_name_on_no_path_are_none() -> None:
    assert Paths("a", (("a", ()),), frozenset("a")).children("z") == ()
