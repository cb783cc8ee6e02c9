"""Covering and intersection of tree patterns.

`twig_covers` looks for a homomorphism: a map of the wide twig into the narrow one that keeps names
(up to `*`), children, levels below, leaves and height. Where there is one, every document that the
narrow twig accepts is accepted by the wide one: the relation is sound, reflexive and transitive.
It is complete

* without `*` and without `//` (Miklau and Suciu; XNet 5, S7), texts compared as sets included;
* for XPEs, absolute, relative and with `//` anywhere: there it is the placement of blocks of the
  XPE dissemination work's "exact covering", which is inclusion of path languages.

With branches, `*` and `//` together containment is coNP-complete and some covers are missed, such
as `/*[.//a][.//b]` of `//c[.//a][.//b]`; so are covers by several alternatives of a disjunction
together, and relations between the text nodes of an element and its string-value.

XNet's algorithms 11 and 12 find less: there `*` must meet a node, here a gap has a length.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from sapwood.model.patterns.twigs import Twig, accepts_names_of

_Known: TypeAlias = dict[tuple[int, int], bool]
"""Results for pairs of twigs, by their identities: both live as long as the search."""


def covers(wide: Iterable[Twig], narrow: Iterable[Twig]) -> bool:
    """True if every twig of `narrow` is covered by one of `wide`."""
    every = tuple(wide)
    return all(any(twig_covers(one, other) for one in every) for other in narrow)


def twig_covers(wide: Twig, narrow: Twig) -> bool:
    """True if there is a homomorphism: an element that satisfies `narrow` then satisfies `wide`.

    Each pair of elements is compared once at most; the cost is the product of the sizes times the
    depth.
    """
    return _maps(wide, narrow, {})


def _maps(wide: Twig, narrow: Twig, known: _Known) -> bool:
    """True if `wide` maps into `narrow` with one root on the other."""
    if wide.reach > narrow.reach or not accepts_names_of(wide.test, narrow.test):
        return False
    pair = (id(wide), id(narrow))
    found = known.get(pair)
    if found is None:
        found = known[pair] = (
            all(any(its.implies(leaf) for its in narrow.leaves) for leaf in wide.leaves)
            and all(any(_maps(one, its, known) for its in narrow.near) for one in wide.near)
            and all(
                any(_maps(one, its, known) for depth, its in narrow.below if depth >= levels)
                for levels, one in wide.far
            )
        )
    return found


def may_intersect(one: Twig, other: Twig) -> bool:
    """True if some document may satisfy both twigs, which are at the document.

    `False` is certain: one of the two accepts nothing, or both name the root element and their
    names, or its string-values, or attributes of one namespace, exclude each other. Otherwise the
    two fit into one document side by side, and `True` is certain too where no string-value is
    compared.
    """
    if not (is_satisfiable(one) and is_satisfiable(other)):
        return False
    return all(_are_compatible(a, b) for a in one.near for b in other.near)


def _are_compatible(one: Twig, other: Twig) -> bool:
    """True if one element may satisfy the names and texts of both twigs."""
    if not (accepts_names_of(one.test, other.test) or accepts_names_of(other.test, one.test)):
        return False
    return all(
        mine.texts.meets(its.texts)
        for mine in one.leaves
        if mine.is_single
        for its in other.leaves
        if (its.kind, its.test) == (mine.kind, mine.test)
    )


def is_satisfiable(twig: Twig) -> bool:
    """True if no leaf requires a text from an empty set."""
    return not any(leaf.texts.is_empty for one in (twig, *twig.descend()) for leaf in one.leaves)
