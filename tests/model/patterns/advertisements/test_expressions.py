"""Path expressions have a normal form, and a class."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood.language.advertisements import parse_advertisement
from sapwood.model.patterns.advertisements import Expression, PathKind, Step
from sapwood.model.patterns.advertisements.expressions import (
    alternatives_of,
    chain,
    choice,
    repeat,
    steps,
)
from tests.model.patterns.advertisements.made import expressions, words

A, B = Step("a"), Step("b")


def test_normal_form_has_nothing_directly_inside_its_own_kind() -> None:
    assert chain((A, chain((B, A)))) == chain((chain((A, B)), A))
    assert choice((B, choice((A, B)))) == choice((A, B))
    assert repeat(repeat(A)) == repeat(A)
    assert chain((A,)) == choice((A, A)) == A


@given(expressions(), expressions())
def test_constructors_mean_what_they_say(one: Expression, other: Expression) -> None:
    mine, its = words(one, 4), words(other, 4)
    assert words(choice((one, other)), 4) == mine | its
    joined = {a + b for a in mine for b in its}
    assert words(chain((one, other)), 4) == {word for word in joined if len(word) <= 8}
    assert mine <= words(repeat(one), 4)


def test_steps_and_alternatives_are_found() -> None:
    whole = choice((chain((A, repeat(B))), A))
    assert list(steps(whole)) == [A, A, B]
    assert alternatives_of(whole) == (A, chain((A, repeat(B))))
    assert alternatives_of(A) == (A,)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("/a/*/b", PathKind.NON_RECURSIVE),
        ("/a(/b/c)+/d", PathKind.SIMPLE),
        ("(/a)+", PathKind.SIMPLE),
        ("/a(/b)+/c(/d)+", PathKind.SERIES),
        ("/a(/b(/c)+)+/d", PathKind.EMBEDDED),
        ("/a(/b(/c(/d)+)+)+", PathKind.EMBEDDED),
        ("/a(/b(/c)+)+(/d)+", PathKind.GENERAL),
        ("/a(/b|/c)+", PathKind.GENERAL),
        ("/a|/b", PathKind.GENERAL),
        ("/a(/b|/c)/d", PathKind.GENERAL),
    ],
)
def test_kind_is_the_class_of_the_work(text: str, kind: PathKind) -> None:
    assert parse_advertisement(text).kind is kind
