"""The canonical form depends on the records alone, and knows when to settle for less."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.language import parse_filter
from sapwood.limits import CANONICAL_CONJUNCTIONS_MAX
from sapwood.model import canonical as canonical_module
from sapwood.model.canonical import canonical, consensus, held_by
from sapwood.model.conjunction import Conjunction
from sapwood.model.filter import Filter
from sapwood.model.reduction import Allowance
from tests.strategies import filters


def boxes(*texts: str) -> list[Conjunction]:
    return [box for text in texts for box in parse_filter(text).conjunctions]


@given(wanted=filters(), random=st.randoms(use_true_random=False))
def test_canonical_form_does_not_depend_on_the_order(wanted: Filter, random: Random) -> None:
    shuffled = list(wanted.conjunctions)
    random.shuffle(shuffled)
    assert canonical(shuffled) == wanted.conjunctions


@given(wanted=filters())
def test_canonical_form_of_a_canonical_form_is_itself(wanted: Filter) -> None:
    assert canonical(wanted.conjunctions) == wanted.conjunctions


def test_consensus_is_what_two_boxes_hold_together() -> None:
    a, b = boxes("x < 5 and y between 1 and 4", "x >= 5 and y between 3 and 6")
    assert list(consensus(a, b)) == boxes("(x <= 0 or x > 0) and y between 3 and 4")
    apart = boxes("x = 1 and y = 1", "x = 2 and y = 2")
    assert list(consensus(*apart)) == []


def test_held_by_finds_a_box_that_only_several_hold_together() -> None:
    [whole] = boxes("x between 1 and 9 and y = 1")
    parts = boxes("x between 0 and 5 and y = 1", "x > 5 and y in (1, 2)")
    assert held_by(whole, parts, Allowance(1000))
    assert not held_by(whole, parts[:1], Allowance(1000))
    assert not held_by(whole, parts, Allowance(0))


def test_held_by_does_not_guess_with_patterns() -> None:
    [whole] = boxes("exists x")
    assert not held_by(whole, boxes("x like '%a%'", "x not like '%a%'"), Allowance(1000))


def test_superfluous_boxes_are_removed_though_none_covers_them() -> None:
    wanted = parse_filter(
        "a < 5 and b = 1 or a >= 5 and c = 1 or (a <= 0 or a > 0) and b = 1 and c = 1"
    )
    assert str(wanted) == "a < 5 and b = 1 or a >= 5 and c = 1"


def test_large_unions_are_reduced_without_a_closure() -> None:
    count = CANONICAL_CONJUNCTIONS_MAX + 10
    text = " or ".join(f"a{n} = 1 and b = {n}" for n in range(count))
    assert len(parse_filter(text).conjunctions) == count
    doubled = f"{text} or {text} or a0 = 1 and b = 0 and c = 1"
    assert parse_filter(doubled) == parse_filter(text)


@pytest.mark.parametrize("steps", [0, 3, 8, 20])
def test_unions_past_the_limit_of_steps_are_only_reduced(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = boxes("a = 1 and b = 1", "a = 2 and b = 2", "a = 3 and c = 3")
    monkeypatch.setattr(canonical_module, "CANONICAL_STEPS_MAX", steps)
    assert canonical(given[::-1]) == tuple(given)
