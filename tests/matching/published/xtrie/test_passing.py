"""State while a document passes by: of open elements, and of nothing else."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.language.xpath import parse_xpath
from sapwood.language.xpath.bounds import UNBOUNDED
from sapwood.matching.published.xtrie import XTrieEngine
from sapwood.matching.published.xtrie.alternatives import alternatives
from sapwood.matching.published.xtrie.decomposition import decompose
from sapwood.matching.published.xtrie.passing import Passing
from sapwood.matching.published.xtrie.table import Table
from sapwood.xml import DocumentBounds, stream_document
from tests.xml.made import documents
from tests.xpaths import expressions


def table(*texts: str) -> Table:
    made = Table()
    for slot, text in enumerate(texts):
        for root in alternatives(parse_xpath(text, bounds=UNBOUNDED).root):
            made.add(slot, decompose(root))
    made.validate()
    made.runs.link()
    return made


class Watched(Passing):
    """Looks after every end at what is still known."""

    def end(self) -> None:
        super().end()
        depth = len(self.states) - 1
        known = {
            occurrence.level for open_ones in self.occurrences.values() for occurrence in open_ones
        }
        assert max(known, default=0) <= depth, "an occurrence outlived its element"
        assert all(0 < levels < 2 << depth for levels in self.levels.values())
        assert all(self.occurrences.values()), "a row without occurrences is forgotten"
        open_ones = sum(map(len, self.occurrences.values()))
        bits = sum(levels.bit_count() for levels in self.levels.values())
        assert open_ones + bits == sum(map(len, self.ending)), "each goes when its level ends"
        rows = sum(len(one.rows) for one in self.table.alternatives)
        assert open_ones + bits <= depth * rows
        for asking in (self.asking_texts, self.asking_strings, self.texts_before):
            assert max(asking, default=0) <= depth
        assert self.texts_before or not self.texts, "texts that nobody asks for"


@given(texts=st.lists(expressions(), max_size=10), data=documents(), single_paths=st.booleans())
def test_nothing_is_known_of_what_has_ended(
    texts: list[str], data: bytes, single_paths: bool
) -> None:
    passing = Watched(table(*texts), expanded=False, single_paths=single_paths)
    stream_document(data, passing)
    assert passing.is_at_an_end()


class _Forgetful(Watched):
    """Does not forget what was known of an element that ended."""

    def _leave(self) -> None:
        self.states.pop()
        self.ending.pop()


@pytest.mark.parametrize("single_paths", [False, True])
def test_occurrence_that_outlives_its_element_is_noticed(single_paths: bool) -> None:
    passing = _Forgetful(table("/a//b"), expanded=False, single_paths=single_paths)
    with pytest.raises(AssertionError):
        stream_document(b"<a/>", passing)
    assert not passing.is_at_an_end()


class Ways(Passing):
    """Counts what the two ways of matching remember."""

    branched = paths = 0

    def start(self, name: str, attributes: Iterable[tuple[str, str]]) -> None:
        super().start(name, attributes)
        self.branched = max(self.branched, len(self.occurrences))
        self.paths = max(self.paths, len(self.levels))


@pytest.mark.parametrize(
    ("text", "single_paths", "branched", "paths"),
    [
        ("/a//b//c", False, 2, 0),
        ("/a//b//c", True, 0, 2),
        ("/a[.//b]//c", True, 1, 0),
        ("/a//b[text() > 1]", True, 0, 2),
        ("/a//b[. > 1]", True, 0, 2),
        ("/a//b[@c or x]", True, 0, 2),  # one for each alternative
        ("/a/*//@c", True, 0, 2),
    ],
)
def test_only_paths_take_the_way_of_single_paths(
    text: str, single_paths: bool, branched: int, paths: int
) -> None:
    passing = Ways(table(text), expanded=False, single_paths=single_paths)
    stream_document(b"<a><b><b c='d'>2<c/></b></b></a>", passing)
    assert (passing.branched, passing.paths) == (branched, paths)
    assert passing.matched == {0}


def test_row_of_a_path_ends_at_several_open_levels() -> None:
    passing = Passing(table("//a/*/b", "//a//b/*/c"), expanded=False, single_paths=True)
    stream_document(b"<a><a><a/><x><b><y><c/></y></b></x></a></a>", passing)
    assert passing.matched == {0, 1}
    passing = Passing(table("//a/*/b"), expanded=False, single_paths=True)
    stream_document(b"<a><a><b/></a></a>", passing)
    assert passing.matched == {0}
    passing = Passing(table("//a/*/b"), expanded=False, single_paths=True)
    stream_document(b"<a><b/><x/><a/><b/></a>", passing)
    assert passing.matched == set()


@pytest.mark.parametrize("single_paths", [False, True])
def test_memory_does_not_grow_with_the_length_of_a_document(single_paths: bool) -> None:
    engine = XTrieEngine(DocumentBounds(elements=10**6), single_paths=single_paths)
    for slot, text in enumerate(("/a//b[c = 'x']//d", "//b//c", "//*/*[@e > 7]", "//c[. = 'y']")):
        engine.add(slot, parse_xpath(text))
    piece = b"<b><c>text</c><c e='7'/></b>"
    peaks: list[int] = []
    for pieces in (10, 10, 1_000):
        data = b"<a>" + piece * pieces + b"</a>"
        tracemalloc.start()
        assert engine.match(data) == [1]
        peaks.append(tracemalloc.get_traced_memory()[1] - min(len(data), 32_768))
        tracemalloc.stop()
    # The first one also makes what is made once.
    assert peaks[2] - peaks[1] < 2_048
