"""Content models are judged as the set of their words is."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.xml.dtd import (
    ChoiceParticle,
    ContentKind,
    ElementType,
    NameParticle,
    Occurs,
    Particle,
    SequenceParticle,
)
from sapwood.xml.dtd.content import (
    ENDLESS,
    is_possible,
    least_height,
    least_heights,
    may_be_empty,
    occurring,
)

_occurs = st.sampled_from(Occurs)
PARTICLES: st.SearchStrategy[Particle] = st.recursive(
    st.builds(NameParticle, st.sampled_from("abc"), _occurs),
    lambda inner: (
        st.builds(SequenceParticle, st.lists(inner, min_size=1, max_size=3).map(tuple), _occurs)
        | st.builds(ChoiceParticle, st.lists(inner, min_size=1, max_size=3).map(tuple), _occurs)
    ),
    max_leaves=5,
)


def words(particle: Particle) -> set[tuple[str, ...]]:
    """Words of the model, each part repeated twice at most."""
    once: set[tuple[str, ...]]
    match particle:
        case NameParticle(name=name):
            once = {(name,)}
        case SequenceParticle(parts=parts):
            once = {sum(row, ()) for row in product(*(words(part) for part in parts))}
        case ChoiceParticle(parts=parts):
            once = {word for part in parts for word in words(part)}
    if particle.occurs.may_repeat:
        once |= {(*one, *other) for one in once for other in list(once)[:4]}
    return once | {()} if particle.occurs.may_be_absent else once


@given(PARTICLES)
def test_may_be_empty_says_whether_the_empty_word_follows_the_model(particle: Particle) -> None:
    assert may_be_empty(particle) == (() in words(particle))


@given(PARTICLES, st.sets(st.sampled_from("abc")))
def test_occurring_finds_exactly_the_names_in_words_of_known_names(
    particle: Particle, known: set[str]
) -> None:
    possible = [word for word in words(particle) if known.issuperset(word)]
    assert is_possible(particle, known) == bool(possible)
    if possible:
        assert set(occurring(particle, known)) == {name for word in possible for name in word}


@given(PARTICLES, st.dictionaries(st.sampled_from("abc"), st.integers(1, 4)))
def test_least_height_is_that_of_the_lowest_word(
    particle: Particle, heights: dict[str, int]
) -> None:
    every = [
        max((heights.get(name, ENDLESS) for name in word), default=0) for word in words(particle)
    ]
    assert least_height(particle, heights) == min(every)


def element(name: str, model: Particle | None) -> ElementType:
    kind = ContentKind.EMPTY if model is None else ContentKind.ELEMENTS
    return ElementType(name, kind, model)


def test_least_heights_leave_out_what_never_ends_or_is_not_declared() -> None:
    found = least_heights(
        (
            element("top", SequenceParticle((NameParticle("middle"), NameParticle("leaf")))),
            element("middle", ChoiceParticle((NameParticle("middle"), NameParticle("leaf")))),
            element("leaf", None),
            element("endless", NameParticle("endless")),
            element("unknown", NameParticle("ghost", Occurs.AT_LEAST_ONCE)),
        )
    )
    assert found == {"leaf": 1, "middle": 2, "top": 3}


@pytest.mark.parametrize(
    ("kind", "holds"),
    [
        (ContentKind.EMPTY, False),
        (ContentKind.ELEMENTS, False),
        (ContentKind.MIXED, True),
        (ContentKind.ANY, True),
    ],
)
def test_element_type_holds_text_where_its_kind_allows(kind: ContentKind, holds: bool) -> None:
    one = ElementType("a", kind)
    assert one.holds_text is holds
    assert one.may_end
