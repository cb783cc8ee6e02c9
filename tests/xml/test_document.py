"""The flat form, asked what it holds."""

from __future__ import annotations

import pytest

from sapwood.xml.document import Document, local_name
from sapwood.xml.reader import read_document


def test_string_value_is_all_text_within() -> None:
    document = read_document(b"<a>1<b>2<c>3</c>4</b>5<d/></a>")
    assert [document.string_value(at) for at in range(4)] == ["12345", "234", "3", ""]


def test_ends_are_where_subtrees_end() -> None:
    assert read_document(b"<a><b><c/></b><d/></a>").ends() == (4, 3, 3, 4)
    assert Document(("a",), (-1,)).ends() == (1,)


@pytest.mark.parametrize(("name", "local"), [("a", "a"), ("{u}a", "a"), ("{u}v}a", "a")])
def test_local_name_leaves_the_namespace_out(name: str, local: str) -> None:
    assert local_name(name) == local
