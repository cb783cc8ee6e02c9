"""Synopses: the counts of paths, whatever order documents come in and however they are divided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import reduce
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sapwood.similarity.synopsis as module
from sapwood.errors import InputError, LimitError
from sapwood.similarity import Synopsis, SynopsisBuilder
from sapwood.similarity.synopsis import merged, synopsis_of
from sapwood.xml import read_document
from tests.similarity.kinds import documents


def brute_force(data: list[bytes]) -> dict[tuple[str, ...], int]:
    """The number of documents with each path, found path by path in another parser's trees."""

    def paths(element: ElementTree.Element, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        here = (*above, element.tag)
        yield here
        yield from ((*here, f"@{name}") for name in element.attrib)
        for child in element:
            yield from paths(child, here)

    counts: Counter[tuple[str, ...]] = Counter()
    for one in data:
        counts.update(set(paths(ElementTree.fromstring(one), ())))
    return dict(counts)


def synopsis(data: list[bytes]) -> Synopsis:
    return synopsis_of(map(read_document, data))


def test_the_worked_example_has_the_arrays_of_the_module() -> None:
    found = synopsis([b"<a><b/><b/></a>", b'<a x="1"><c/></a>'])
    assert found.names == ("", "a", "@x", "b", "c")
    assert found.parents == (-1, 0, 1, 1, 1)
    assert found.counts == (2, 2, 1, 1, 1)


@given(documents)
def test_a_synopsis_counts_the_documents_that_have_each_path(data: list[bytes]) -> None:
    """PT27."""
    found, expected = synopsis(data), brute_force(data)
    assert dict(found.paths()) == expected
    assert all(found.count(path) == count for path, count in expected.items())
    assert found.documents == len(data)
    assert found.count(("a", "no such name")) == 0


@given(documents, st.randoms(use_true_random=False))
def test_the_order_of_documents_does_not_count(data: list[bytes], random: object) -> None:
    """PT27."""
    shuffled = list(data)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert synopsis(shuffled) == synopsis(data)


def skeleton(names: tuple[str, ...], parents: tuple[int, ...], node: int = 1) -> bytes:
    """The document that a synopsis of one document is the skeleton of."""
    kids = [kid for kid, parent in enumerate(parents) if parent == node]
    attributes = "".join(f' {names[kid][1:]}="v"' for kid in kids if names[kid][0] == "@")
    inside = b"".join(skeleton(names, parents, kid) for kid in kids if names[kid][0] != "@")
    return f"<{names[node]}{attributes}>".encode() + inside + f"</{names[node]}>".encode()


@given(documents.filter(bool).map(lambda some: some[0]))
def test_a_document_s_skeleton_has_one_child_a_name_and_the_same_paths(data: bytes) -> None:
    """PT28: and it is a skeleton's own skeleton."""
    found = synopsis([data])
    below = list(zip(found.parents, found.names, strict=True))
    assert len(set(below)) == len(below)
    assert dict(found.paths()) == brute_force([data])
    bare = skeleton(tuple(found.names), tuple(found.parents))
    assert synopsis([bare]) == found


@given(documents, documents, documents)
def test_partial_synopses_merged_in_any_tree_are_that_of_one_process(
    one: list[bytes], other: list[bytes], third: list[bytes]
) -> None:
    parts = [synopsis(one), synopsis(other), synopsis(third)]
    whole = synopsis([*one, *other, *third])
    assert merged(parts) == whole
    assert reduce(lambda left, right: merged([right, left]), parts) == whole


def test_without_content_attributes_are_left_out() -> None:
    document = read_document(b'<a x="1"><b/></a>', content=False)
    assert synopsis_of([document]).names == ("", "a", "b")


def test_a_document_beyond_the_bound_is_refused_and_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SYNOPSIS_NODES_MAX", 3)
    builder = SynopsisBuilder()
    builder.add(read_document(b"<a/>"))
    with pytest.raises(LimitError, match="SYNOPSIS_NODES_MAX"):
        builder.add(read_document(b"<a><b/><c/></a>"))
    assert builder.synopsis() == synopsis([b"<a/>"])


@pytest.mark.parametrize(
    ("names", "parents", "counts"),
    [
        ((), (), ()),
        (("a",), (-1,), (1,)),
        (("",), (0,), (1,)),
        (("",), (-1,), (-1,)),
        (("", "a"), (-1,), (1, 1)),
        (("", "b", "a"), (-1, 0, 0), (1, 1, 1)),
        (("", "a", "a"), (-1, 0, 0), (1, 1, 1)),
        (("", "a", "b"), (-1, 0, 2), (1, 1, 1)),
        (("", "a", "b", "c"), (-1, 0, 0, 1), (1, 1, 1, 1)),
        (("", "a"), (-1, 0), (1, 2)),
        (("", "a"), (-1, 0), (1, 0)),
    ],
)
def test_nodes_that_are_no_synopsis_in_canonical_form_are_refused(
    names: tuple[str, ...], parents: tuple[int, ...], counts: tuple[int, ...]
) -> None:
    with pytest.raises(InputError):
        Synopsis(names, parents, counts)
