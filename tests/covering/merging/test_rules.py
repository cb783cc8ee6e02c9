"""The rules of merging: which XPEs come together, and that their mergers accept all of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.covering.merging.rules import candidates, join
from sapwood.covering.xpe import XPE, pattern_of
from tests.covering.merging.worlds import accepts, small_dtd, xpe, xpes

PATHS = tuple(small_dtd().paths.up_to(6))


def found(*texts: str) -> dict[str, list[str]]:
    return {
        str(pattern_of(merger)): sorted(str(pattern_of(member)) for member in members)
        for merger, members in candidates([xpe(text) for text in texts]).items()
    }


def test_one_name_that_differs_becomes_any() -> None:
    mergers = found("/a/*/c/d", "/a/*/c/e", "/a/*/c/f")
    assert mergers["/a/*/c/*"] == ["/a/*/c/d", "/a/*/c/e", "/a/*/c/f"]


def test_one_axis_that_differs_becomes_any_depth() -> None:
    assert found("/a/b//c/d", "/a//b/c/d")["/a//b//c/d"] == ["/a//b/c/d", "/a/b//c/d"]


def test_a_name_and_an_axis_that_differ_become_any() -> None:
    assert "/a//b/*/d" in found("/a/b/x/d", "/a//b/y/d")


def test_what_has_too_little_in_common_is_left_alone() -> None:
    assert found("//a", "//b") == {}
    assert found("/a/b", "/c/d") == {}


@pytest.mark.parametrize(
    ("one", "other", "joined"),
    [
        ("/a/b/x/y/c/d", "/a/b/z/c/d", "/a/b//c/d"),
        ("/a/b/x", "/a/b/y", "/a/b/*"),
        ("/a/b//x", "/a/b/y", "/a/b//*"),
        ("/x/b/c", "/y/b/c", "//b/c"),
        ("/a/c", "/a/b/c", "/a//c"),
        ("/a/b", "/a/b/c", None),
        ("/a/b/c", "/x/y/z", None),
    ],
)
def test_join_keeps_head_and_tail(one: str, other: str, joined: str | None) -> None:
    for first, second in ((one, other), (other, one)):
        merger = join(xpe(first), xpe(second))
        assert (None if merger is None else str(pattern_of(merger))) == joined


@given(st.lists(xpes(), max_size=6))
def test_mergers_accept_whatever_their_members_accept(known: list[XPE]) -> None:
    for merger, members in candidates(known).items():
        assert len(members) > 1
        assert set(members) <= set(known)
        wide = pattern_of(merger)
        for member in members:
            assert wide.covers(pattern_of(member))
            assert all(accepts(merger, path) for path in PATHS if accepts(member, path))
