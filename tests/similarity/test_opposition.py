"""Opposition: what no valid element has together, against all words of small content models."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.similarity import Opposition
from sapwood.similarity.opposition import together
from sapwood.xml.dtd import (
    ChoiceParticle,
    NameParticle,
    Occurs,
    Particle,
    SequenceParticle,
    read_dtd,
)

NAMES = "abc"

particles = st.recursive(
    st.builds(NameParticle, st.sampled_from(NAMES), st.sampled_from(Occurs)),
    lambda inner: st.builds(
        lambda kind, parts, occurs: kind(tuple(parts), occurs),
        st.sampled_from([SequenceParticle, ChoiceParticle]),
        st.lists(inner, min_size=1, max_size=3),
        st.sampled_from(Occurs),
    ),
    max_leaves=4,
)


def words(particle: Particle, length: int) -> set[str]:
    """All words of a model up to a length, built up from those of its parts."""
    match particle:
        case NameParticle(name=name):
            once = {name}
        case SequenceParticle(parts=parts):
            once = {"".join(some) for some in product(*(words(one, length) for one in parts))}
        case ChoiceParticle(parts=parts):
            once = {word for one in parts for word in words(one, length)}
    once = {word for word in once if len(word) <= length}
    found = set(once)
    if particle.occurs.may_repeat:
        fresh = once
        while fresh:
            fresh = {a + b for a in fresh for b in once if len(a + b) <= length} - found
            found |= fresh
    return found | ({""} if particle.occurs.may_be_absent else set())


@given(particles, st.sets(st.sampled_from(NAMES)))
def test_pairs_are_those_of_the_words_of_the_model(particle: Particle, known: set[str]) -> None:
    """PT29."""
    allowed = {word for word in words(particle, 8) if set(word) <= known}
    names, pairs = together(particle, known)
    assert names == {name for word in allowed for name in word}
    assert pairs == {
        (one, other)
        for word in allowed
        for one, other in product(NAMES, repeat=2)
        if (word.count(one) > 1 if one == other else {one, other} <= set(word))
    }


@pytest.mark.parametrize(
    ("model", "opposed"),
    [
        ("(a?,b)", {"aa", "bb"}),
        ("(a,b)", {"aa", "bb"}),
        ("((a?)+,b)", {"bb"}),
        ("(a)", {"aa", "ab", "bb"}),
        ("(a|b)*", set()),
        ("(a|b)?", {"aa", "ab", "bb"}),
        ("(a|b)", {"aa", "ab", "bb"}),
        ("(a|b)+", set()),
        ("(#PCDATA|a|b)*", set()),
        ("ANY", set()),
        ("((a,x)|(b,y))", {"aa", "ab", "bb"}),
    ],
)
def test_the_printed_rules_hold(model: str, opposed: set[str]) -> None:
    """PT29."""
    leaves = "".join(f"<!ELEMENT {name} EMPTY>" for name in "abxy")
    opposition = Opposition(read_dtd(f"<!ELEMENT e {model}>{leaves}".encode(), "e"))
    found = {pair for pair in ("aa", "ab", "bb") if opposition.opposed("e", *pair)}
    assert found == opposed


def test_opposition_is_not_transitive() -> None:
    """PT29."""
    leaves = b"".join(b"<!ELEMENT %c EMPTY>" % name for name in b"abxy")
    opposition = Opposition(read_dtd(b"<!ELEMENT e ((a,x)|(b,y))>" + leaves, "e"))
    assert opposition.opposed("e", "a", "b")
    assert opposition.opposed("e", "b", "x")
    assert not opposition.opposed("e", "a", "x")


def test_what_has_no_finite_document_is_absent() -> None:
    endless = b"<!ELEMENT e ((a,b)|(a,c))><!ELEMENT a EMPTY><!ELEMENT c EMPTY><!ELEMENT b (b)>"
    opposition = Opposition(read_dtd(endless, "e"))
    assert opposition.opposed("e", "a", "b")
    assert not opposition.opposed("e", "a", "c")
