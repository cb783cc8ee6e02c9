"""Patterns as rows, with the printed example of XNet (L791-803) in its corrected form."""

from __future__ import annotations

from math import inf

import pytest

from sapwood.language.xpath import parse_xpath
from sapwood.matching.published.xtrie.alternatives import (
    AttributeLabel,
    ElementLabel,
    Label,
    ValueLabel,
    alternatives,
)
from sapwood.matching.published.xtrie.decomposition import RowKind, decompose


def shown(label: Label) -> str:
    match label:
        case ElementLabel(test=test):
            return test.local
        case AttributeLabel(test=test):
            return f"@{test.local}"
        case ValueLabel(text=text):
            return f'"{text}"'


def rows(expression: str) -> list[tuple[str, int, float, float]]:
    """The run (or what a row waits for), the parent, and the levels of each row."""
    (root,) = alternatives(parse_xpath(expression).root)
    return [
        (
            "/".join(map(shown, row.run)) or row.kind.name,
            row.parent,
            row.nearest,
            row.farthest,
        )
        for row in decompose(root)
    ]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("/a/b/c", [("a/b/c", -1, 3, 3)]),
        ("//a/b", [("a/b", -1, 2, inf)]),
        ("/a//b", [("a", -1, 1, 1), ("b", 0, 1, inf)]),
        ("/a/*/b", [("a", -1, 1, 1), ("b", 0, 2, 2)]),
        ("/*/*", [("ANYTHING", -1, 2, 2)]),
        ("//*//a", [("a", -1, 2, inf)]),
        ("/a[b]/c", [("a", -1, 1, 1), ("a/b", 0, 1, 1), ("a/c", 0, 1, 1)]),
        (
            "//Stock[Symbol/text() = 'GHI'][Price]",
            [("Stock", -1, 1, inf), ("Stock/Price", 0, 1, 1), ('Stock/Symbol/"GHI"', 0, 2, 2)],
        ),
        ("/a[@x = 'v']", [('a/@x/"v"', -1, 3, 3)]),
        ("/a[@x > 1]", [("a/@x", -1, 2, 2), ("TEXT", 0, 1, 1)]),
        ("/a[. > 1]", [("a", -1, 1, 1), ("STRING", 0, 0, 0)]),
    ],
)
def test_pattern_is_decomposed_into_the_longest_runs(
    expression: str, expected: list[tuple[str, int, float, float]]
) -> None:
    assert rows(expression) == expected


def test_rows_know_how_many_hang_on_them() -> None:
    (root,) = alternatives(parse_xpath("/a[b][c][@x > 1]").root)
    decomposed = decompose(root)
    assert [row.hanging for row in decomposed] == [3, 1, 0, 0, 0]
    assert [row.bit for row in decomposed if row.parent == 0] == [0, 1, 2]
    assert [row.kind for row in decomposed if row.comparison] == [RowKind.TEXT]
